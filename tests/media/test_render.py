"""Any mix of takes becomes a film of exact frames and samples, at the right loudness."""

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest
from numpy.typing import NDArray

from shortdrama_pipeline.errors import NotReady, ToolFailed
from shortdrama_pipeline.media import mix
from shortdrama_pipeline.media.loudness import SAMPLE_RATE, measure, normalise
from shortdrama_pipeline.media.object_store import LocalObjectStore
from shortdrama_pipeline.media.render import Film, render
from shortdrama_pipeline.media.segments import lay_out, segment_key
from shortdrama_pipeline.media.tools import run_ffmpeg
from shortdrama_pipeline.rules.renders import RenderRequest, frame_at, plan_body, plan_digest, request_render
from shortdrama_pipeline.rules.timeline import AudioClip, Timeline, ms_of
from tests.media.making import clip, cut_of, shot, voice

DRAFT = RenderRequest(108, 192, (24, 1), "draft")


@pytest.fixture
def store(tmp_path: Path) -> LocalObjectStore:
    return LocalObjectStore(tmp_path / "media")


def run(store: LocalObjectStore, timeline: Timeline, request: RenderRequest = DRAFT) -> Film:
    return render(timeline, request, path_of=store.path, folder=store.root.parent / "out")


def pictures(path: Path) -> list[NDArray[np.uint8]]:
    with av.open(str(path)) as opened:
        return [frame.to_ndarray(format="gray").astype(np.uint8) for frame in opened.decode(video=0)]


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> tuple[LocalObjectStore, Timeline]:
    """Return every difference that breaks a join: size, rate, turn, pixel shape, sound or none, its rate."""
    tmp = tmp_path_factory.mktemp("mixed")
    store = LocalObjectStore(tmp / "media")
    turned = clip(tmp / "plain.mp4", size="192x108", sound=44_100)
    run_ffmpeg(["-display_rotation", "90", "-i", turned, "-c", "copy", tmp / "turned.mp4"])
    run_ffmpeg(
        ["-i", clip(tmp / "s.mp4", size="96x192"), "-vf", "setsar=9/8", "-c:v", "libx264", tmp / "sar.mp4"]
    )
    films = [
        clip(tmp / "a.mp4", frames=24),  # silent, and first
        clip(tmp / "b.mp4", rate="25", frames=50, sound=22_050),
        clip(tmp / "c.mp4", rate="30000/1001", size="108x188", sound=48_000),
        tmp / "turned.mp4",
        tmp / "sar.mp4",
        clip(tmp / "e.mp4", size="192x108", rate="12", frames=12),
    ]
    texts = ["", "你好。", "", "那封信{改变}了一切。", "", "再见。"]
    moves = ["cut", "cut", "dissolve", "fade", "cut", "dissolve"]
    shots = [
        shot(number, frames=20 + number, text=text, transition=move)
        for number, (text, move) in enumerate(zip(texts, moves, strict=True), 1)
    ]
    rates = {2: 16_000, 4: 44_100, 6: 8_000}
    voices = {
        f"s1-l{n}": voice(tmp / f"v{n}.wav", ms=700 + 100 * n, rate=rate, channels=1 + n % 4 // 2)
        for n, rate in rates.items()
    }
    return store, cut_of(store, shots, films, voices)


@pytest.mark.parametrize("rate", [(24, 1), (30, 1), (30000, 1001)])
def test_takes_of_every_kind_join_without_drift(
    mixed: tuple[LocalObjectStore, Timeline], tmp_path: Path, rate: tuple[int, int]
) -> None:
    store, timeline = mixed
    request = replace(DRAFT, frame_rate=rate)
    film = render(timeline, request, path_of=store.path, folder=tmp_path)
    frames = frame_at(timeline.frames, (24, 1), rate)
    with av.open(str(film.film)) as opened:
        video, audio = opened.streams.video[0], opened.streams.audio[0]
        assert (video.frames, video.average_rate) == (frames, Fraction(*rate))
        shown = [frame.pts * frame.time_base for frame in opened.decode(video)]  # type: ignore[operator]
        assert shown == [Fraction(number * rate[1], rate[0]) for number in range(frames)]
        context = video.codec_context
        assert (context.color_primaries, context.color_trc, context.colorspace, context.color_range) == (
            1,
            1,
            1,
            1,
        )
        assert (audio.codec_context.sample_rate, audio.codec_context.channels) == (48_000, 2)
    assert film.frames == frames
    assert film.av_difference_us < 40_000
    assert abs(film.loudness.milli_lufs + 16_000) <= 500
    assert film.loudness.true_peak_milli_db <= -1_000
    with film.film.open("rb") as opened_bytes:
        head = opened_bytes.read(4096)
    assert b"moov" in head  # can be played while it loads
    assert sorted(each.name for each in film.film.parent.iterdir() if each.is_file()) == [
        "burned.ass", "dialogue.wav", "film.mp4", "track.m4a",
    ]  # fmt: skip


def test_lines_are_heard_at_their_exact_sample(store: LocalObjectStore, tmp_path: Path) -> None:
    shots = [shot(number, frames=24, text="好。") for number in range(1, 6)]
    films = [clip(tmp_path / "f.mp4", frames=24)] * 5
    voices = {f"s1-l{n}": voice(tmp_path / f"v{n}.wav", ms=300, rate=rate)
              for n, rate in enumerate([48_000, 44_100, 22_050, 16_000, 8_000], 1)}  # fmt: skip
    timeline = cut_of(store, shots, films, voices)
    stems = mix.mix(timeline, store.path)
    assert len(stems.spoken) == timeline.frames * 2000
    heard = np.abs(stems.spoken[:, 0]) > 0.01
    for sound in timeline.audio:
        start = sound.start_ms * 48
        first = start + int(np.argmax(heard[start - 200 :])) - 200
        assert abs(first - start) < 48  # under a millisecond, after any number of shots
    assert not stems.other.any()


def test_a_take_keeps_its_own_sound_low_and_music_lies_under_speech(
    store: LocalObjectStore, tmp_path: Path
) -> None:
    shots = [shot(1), shot(2, text="好。")]
    timeline = cut_of(
        store, shots, [clip(tmp_path / "a.mp4", sound=44_100), clip(tmp_path / "b.mp4", sound=44_100)],
        {"s1-l2": voice(tmp_path / "v.wav", ms=300)},
    )  # fmt: skip
    stems = mix.mix(timeline, store.path)
    own, spoken = np.abs(stems.other[: 24 * 2000]).max(), np.abs(stems.spoken).max()
    assert 0 < own < spoken / 8
    assert not stems.other[24 * 2000 + 10 :].any()
    sha256, _ = store.put_file(voice(tmp_path / "m.wav", ms=5000, hertz=220), bytes_max=10**8)
    music = AudioClip("", "music", "ver_m", sha256, 0, 1500, -600)
    louder = mix.mix(replace(timeline, audio=(*timeline.audio, music)), store.path)
    assert 0.2 < np.abs(louder.other[30_000:40_000]).max() < 0.3
    assert not louder.other[1520 * 48 + 100 :].any()


@pytest.mark.parametrize(
    ("ratio", "size"), [("9:16", (540, 960)), ("16:9", (960, 540)), ("1:1", (540, 540)), ("3:4", (540, 720))]
)
def test_every_ratio_shows_the_whole_picture(
    store: LocalObjectStore, tmp_path: Path, ratio: str, size: tuple[int, int]
) -> None:
    timeline = cut_of(store, [shot(1, frames=3)], [clip(tmp_path / "w.mp4", colour="white", frames=3)], {})
    film = run(store, timeline, request_render(ratio, tier="draft"))
    assert (film.width, film.height) == size
    picture = pictures(film.film)[1]
    lit = (picture > 200).mean()
    expected = min(1.0, (size[1] * 9 / 16) / size[0])
    assert abs(lit - expected) < 0.02
    assert picture[size[1] // 2, size[0] // 2] > 200


def test_the_last_picture_is_held_and_transitions_blend(store: LocalObjectStore, tmp_path: Path) -> None:
    white = clip(tmp_path / "w.mp4", colour="white", frames=6)
    grey = clip(tmp_path / "g.mp4", colour="gray", frames=24)
    moves = ("cut", "dissolve", "fade")
    shots = [shot(number, frames=24, transition=move) for number, move in enumerate(moves, 1)]
    film = run(store, cut_of(store, shots, [white, grey, white], {}), replace(DRAFT, burned=False))
    means = [float(each.mean()) for each in pictures(film.film)]
    assert len(means) == 72
    assert min(means[:24]) > 225
    assert means[24] > 215
    assert means[30] < means[25]
    assert 110 < means[40] < 140
    assert means[48] < 40
    assert means[66] > 225
    assert film.loudness.silent


def test_a_master_comes_with_a_clean_film(store: LocalObjectStore, tmp_path: Path) -> None:
    shots = [shot(1, frames=12), shot(2, frames=12, text="你好。")]
    black = clip(tmp_path / "b.mp4", colour="black", frames=24)
    timeline = cut_of(store, shots, [black, black], {"s1-l2": voice(tmp_path / "v.wav", ms=600)})
    film = run(store, timeline, replace(DRAFT, tier="master"))
    assert film.clean is not None
    assert max(each.max() for each in pictures(film.film)) > 150
    assert max(each.max() for each in pictures(film.clean)) < 40
    assert len(pictures(film.film)) == len(pictures(film.clean)) == timeline.frames


def test_nothing_starts_with_an_impossible_request(store: LocalObjectStore, tmp_path: Path) -> None:
    timeline = cut_of(store, [shot(1, frames=3)], [clip(tmp_path / "w.mp4", frames=3)], {})
    for wrong in (
        replace(DRAFT, width=109), replace(DRAFT, height=8), replace(DRAFT, frame_rate=(7, 1)),
        replace(DRAFT, tier="best"), replace(DRAFT, width=9000),
    ):  # fmt: skip
        with pytest.raises(NotReady):
            run(store, timeline, wrong)
    for ratio, tier in (("2:7", "draft"), ("9:16", "best")):
        with pytest.raises(NotReady):
            request_render(ratio, tier=tier)
    assert not (tmp_path / "out").exists()


def test_a_broken_take_fails_without_leaving_a_film(store: LocalObjectStore, tmp_path: Path) -> None:
    films = [clip(tmp_path / "a.mp4"), clip(tmp_path / "b.mp4", rate="25")]
    timeline = cut_of(store, [shot(1), shot(2)], films, {})
    broken = store.path(timeline.video[1].sha256)
    broken.chmod(0o644)
    broken.write_bytes(broken.read_bytes()[:900])
    with pytest.raises((ToolFailed, av.error.InvalidDataError)):
        run(store, timeline)
    assert not (tmp_path / "out" / "film.mp4").exists()


def test_the_plan_freezes_all_and_any_change_is_another_plan(
    mixed: tuple[LocalObjectStore, Timeline],
) -> None:
    timeline = mixed[1]
    base = plan_digest(plan_body("ver_1", "sha256:x", timeline, DRAFT))
    assert base == plan_digest(plan_body("ver_1", "sha256:x", timeline, DRAFT))
    others = [
        plan_body("ver_2", "sha256:x", timeline, DRAFT),
        plan_body("ver_1", "sha256:x", timeline, replace(DRAFT, height=190)),
        plan_body("ver_1", "sha256:x", timeline, replace(DRAFT, burned=False)),
        plan_body("ver_1", "sha256:x", timeline, replace(DRAFT, tier="master")),
        plan_body("ver_1", "sha256:x", replace(timeline, subtitles=timeline.subtitles[1:]), DRAFT),
        plan_body("ver_1", "sha256:x", replace(timeline, audio=timeline.audio[1:]), DRAFT),
        plan_body("ver_1", "sha256:x", replace(timeline, video=timeline.video[:-1]), DRAFT),
    ]
    assert len({base, *map(plan_digest, others)}) == 8
    body = plan_body("ver_1", "sha256:x", timeline, DRAFT)
    assert {"segments", "audio", "subtitles", "template", "output", "loudness", "timeline"} <= set(body)
    keys = [segment_key(each, timeline, DRAFT) for each in lay_out(timeline, DRAFT)]
    assert len(set(keys)) == 6
    assert keys[0] == segment_key(lay_out(timeline, DRAFT)[0], replace(timeline, title="x"), DRAFT)


@pytest.mark.parametrize("rate", [(24, 1), (25, 1), (30, 1), (30000, 1001), (60, 1)])
def test_boundaries_sum_exactly_at_every_rate(
    mixed: tuple[LocalObjectStore, Timeline], rate: tuple[int, int]
) -> None:
    timeline = mixed[1]
    segments = lay_out(timeline, replace(DRAFT, frame_rate=rate))
    assert sum(each.frames for each in segments) == frame_at(timeline.frames, (24, 1), rate)
    assert abs(ms_of(segments[-1].start + segments[-1].frames, rate) - timeline.duration_ms) <= 20


@pytest.mark.parametrize(("scale", "peaks"), [(0.02, 0), (0.5, 0), (0.05, 40)])
def test_loudness_is_reached_linearly_or_by_holding_peaks(tmp_path: Path, scale: float, peaks: int) -> None:
    seconds = 6
    time = np.arange(SAMPLE_RATE * seconds) / SAMPLE_RATE
    sound = (np.sin(2 * np.pi * 300 * time) * scale * (1 + np.sin(2 * np.pi * time))).astype(np.float32)
    for peak in range(peaks):
        sound[peak * 7000 : peak * 7000 + 20] = 0.9
    np.repeat(sound[:, None], 2, axis=1).tofile(tmp_path / "raw.f32")
    heard = normalise(tmp_path / "raw.f32", tmp_path / "even.f32")
    assert abs(heard.milli_lufs + 16_000) <= 500
    assert heard.true_peak_milli_db <= -1_400
    assert (tmp_path / "even.f32").stat().st_size == (tmp_path / "raw.f32").stat().st_size


def test_silence_stays_silence(tmp_path: Path) -> None:
    np.zeros((SAMPLE_RATE, 2), np.float32).tofile(tmp_path / "raw.f32")
    assert normalise(tmp_path / "raw.f32", tmp_path / "even.f32").silent
    assert measure(voice(tmp_path / "v.wav", ms=2000)).milli_lufs < -5_000
