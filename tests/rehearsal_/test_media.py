"""What it draws, films, speaks and writes, measured."""

import hashlib
import json
import re
import wave
from itertools import pairwise
from pathlib import Path

import av
import numpy as np
import pytest
from PIL import Image, ImageChops

from shortdrama_pipeline.rehearsal import draw, film, voices
from shortdrama_pipeline.rehearsal.descriptions import colour, years
from shortdrama_pipeline.rehearsal.looks import look_of
from shortdrama_pipeline.rehearsal.places import place_of
from shortdrama_pipeline.rehearsal.prices import price_micros
from shortdrama_pipeline.rehearsal.slate import wrapped
from shortdrama_pipeline.rehearsal.speak import by_language, speak
from shortdrama_pipeline.rehearsal.staging import stand
from shortdrama_pipeline.rehearsal.write import write
from shortdrama_pipeline.rules.script import LineKind, from_json
from shortdrama_pipeline.stages.text_results import read_outline, read_script
from tests.rehearsal_.conftest import SHOT

SIZE = (180, 320)


def image(tmp_path: Path, name: str, **changes: object) -> Path:
    params: dict[str, object] = {
        "subject_kind": "frame",
        "title": "",
        "caption": "",
        "prompt": "",
        "width": SIZE[0],
        "height": SIZE[1],
        "seed": 1,
        "language": "zh-CN",
        "references": [],
        "shot": SHOT,
    }
    target = tmp_path / name
    draw.draw(params | changes, tmp_path, target)
    return target


def opened(path: Path) -> Image.Image:
    with Image.open(path) as picture:
        return picture.copy()


def stored(folder: Path, path: Path) -> str:
    name = hashlib.sha256(path.read_bytes()).hexdigest()
    (folder / name).write_bytes(path.read_bytes())
    return name


# --- drawing --------------------------------------------------------------------------------------


def test_a_character_keeps_the_look_of_its_reference_in_every_frame(tmp_path: Path) -> None:
    reference = image(tmp_path, "r.png", subject_kind="character", title="林晚", caption="女，医生", seed=77)
    listed = [{"sha256": stored(tmp_path, reference), "role": "character", "title": "林晚"}]
    frame = image(tmp_path, "f.png", references=listed)
    look = draw.read_note(reference)["look"]
    assert draw.read_note(frame)["frame"]["cast"] == [look]  # type: ignore[index]
    assert look["costume"] == "coat"  # type: ignore[index]


def test_the_same_order_draws_the_same_bytes(tmp_path: Path) -> None:
    assert image(tmp_path, "a.png").read_bytes() == image(tmp_path, "b.png").read_bytes()


@pytest.mark.parametrize("size", ["wide", "full", "medium", "close", "detail", "unheard-of"])
@pytest.mark.parametrize("cast", [[], ["林晚"], ["林晚", "顾沉舟", "小宝"]])
def test_every_size_of_shot_can_be_drawn_with_any_cast(tmp_path: Path, size: str, cast: list[str]) -> None:
    assert opened(image(tmp_path, "f.png", shot=SHOT | {"size": size, "characters": cast})).size == SIZE


def test_sizes_of_one_shot_look_different(tmp_path: Path) -> None:
    one = opened(image(tmp_path, "a.png", shot=SHOT | {"size": "wide"}))
    other = opened(image(tmp_path, "b.png", shot=SHOT | {"size": "close"}))
    below = (0, 70, *SIZE)
    difference = np.asarray(ImageChops.difference(one.crop(below), other.crop(below)))
    assert difference.mean() > 10


@pytest.mark.parametrize(
    ("name", "hour", "indoors", "rain"),
    [
        ("医院走廊", "夜", True, False),
        ("天台", "黄昏", False, False),
        ("Street", "rainy night", False, True),
        ("林晚家", "日", True, False),
        ("nowhere in particular", "", True, False),
    ],
)
def test_a_place_is_read_from_its_words(name: str, hour: str, indoors: bool, rain: bool) -> None:
    place = place_of(name, time_of_day=hour)
    assert (place.indoors, place.rain) == (indoors, rain)


def test_a_name_with_evening_in_it_makes_no_night() -> None:
    assert place_of("林晚家").hour.name == "day"
    assert place_of("客厅", time_of_day="晚").hour.name == "night"


@pytest.mark.parametrize(
    ("name", "about", "female", "age"),
    [
        ("周远", "三十岁，新郎，他的妻子不知情", False, "young"),
        ("林晚", "新娘", True, "young"),
        ("RUTH", "sixty, mother-in-law, she is old", True, "old"),
        ("小宝", "六岁男孩", False, "child"),
    ],
)
def test_a_look_follows_the_description(name: str, about: str, female: bool, age: str) -> None:
    look = look_of(name, about)
    assert (look.female, look.age) == (female, age)


@pytest.mark.parametrize("size", ["medium", "close"])
def test_who_only_hears_a_voice_does_not_move_the_lips(size: str) -> None:
    def drawn(names: list[str]) -> list[bool]:
        standing = stand("s2-06", size, names, speaker="顾沉", words="", light=1)
        return [each.pose.speaking for each in sorted(standing, key=lambda each: each.index)]

    assert drawn(["林晚"]) == [False]
    assert drawn(["林晚", "顾沉"]) == [False, True]


def test_long_lines_break_where_one_may(tmp_path: Path) -> None:
    rows = wrapped("你到底还要瞒我多久？那份合同上的签名，根本不是我写的。", 34, 300, rows_max=5)
    assert len(rows) > 1
    assert not any(row[0] in "，。？" for row in rows)
    assert wrapped("one two three four five", 34, 200, rows_max=9)[0] == "one two"
    assert wrapped("x" * 400, 34, 300, rows_max=2)[-1].endswith("…")


# --- filming --------------------------------------------------------------------------------------


@pytest.mark.parametrize("move", ["still", "push_in", "pull_out", "pan_left", "tilt_up"])
def test_a_film_has_exactly_the_frames_asked_for_and_moves(tmp_path: Path, move: str) -> None:
    frame = stored(tmp_path, image(tmp_path, "f.png"))
    params: dict[str, object] = {
        "width": SIZE[0],
        "height": SIZE[1],
        "frame_rate": [24, 1],
        "duration_frames": 13,
        "frame": {"sha256": frame},
        "references": [],
        "shot": SHOT | {"move": move},
        "language": "zh-CN",
    }
    target = tmp_path / "film.mp4"
    assert film.film(params, tmp_path, target) == round(13_000 / 24)
    with av.open(str(target)) as container:
        stream = container.streams.video[0]
        assert stream.average_rate == 24
        pictures = [each.to_ndarray(format="gray") for each in container.decode(stream)]
    assert len(pictures) == 13
    assert pictures[0].shape == (SIZE[1], SIZE[0])
    moved = np.abs(pictures[0].astype(int) - pictures[-1].astype(int))[80:].mean()
    assert moved > (0.05 if move == "still" else 0.5)


def test_movement_is_smooth_from_frame_to_frame(tmp_path: Path) -> None:
    params: dict[str, object] = {
        "width": 360,
        "height": 640,
        "frame_rate": [24, 1],
        "duration_frames": 24,
        "frame": None,
        "references": [],
        "shot": SHOT | {"move": "pan_right", "size": "wide"},
        "language": "zh-CN",
    }
    parts = film.layers_of(params, tmp_path, (360, 640))
    shooting = film.Shooting((360, 640), 24, (24, 1), "pan_right", 1.08)
    pictures = [np.array(each.planes.luma, dtype=int)[200:] for each in film.pictures(shooting, parts)]
    steps = [np.abs(a - b).mean() for a, b in pairwise(pictures)]
    assert min(steps) > 0
    assert max(steps) < 4 * (sum(steps) / len(steps))


def test_a_foreign_frame_and_a_broken_rate_are_filmed_too(tmp_path: Path) -> None:
    foreign = tmp_path / "foreign.png"
    Image.effect_noise((200, 100), 40).convert("RGB").save(foreign)
    params: dict[str, object] = {
        "width": SIZE[0],
        "height": SIZE[1],
        "frame_rate": [30_000, 1001],
        "duration_frames": 7,
        "frame": {"sha256": stored(tmp_path, foreign)},
        "references": [],
        "shot": SHOT,
        "language": "en-US",
    }
    assert film.film(params, tmp_path, tmp_path / "film.mp4") == round(7 * 1001 / 30)


def test_rain_is_heard_and_rooms_are_silent(tmp_path: Path) -> None:
    for place, count in (("街道", 1), ("客厅", 0)):
        params: dict[str, object] = {
            "width": SIZE[0],
            "height": SIZE[1],
            "frame_rate": [24, 1],
            "duration_frames": 24,
            "frame": None,
            "references": [],
            "shot": SHOT | {"place": place, "time_of_day": "雨夜"},
            "language": "zh-CN",
        }
        film.film(params, tmp_path, tmp_path / "film.mp4")
        with av.open(str(tmp_path / "film.mp4")) as container:
            assert len(container.streams.audio) == count
            assert container.duration is not None
            assert abs(container.duration / av.time_base - 1) < 1 / 24


# --- speaking -------------------------------------------------------------------------------------


def spoken(tmp_path: Path, text: str, **changes: object) -> np.ndarray[tuple[int], np.dtype[np.int16]]:
    params: dict[str, object] = {
        "text": text,
        "voice": "female-1",
        "language": "zh-CN",
        "kind": "dialogue",
        "manner": "",
        "sample_rate": 48_000,
    }
    speak(params | changes, tmp_path / "line.wav")
    with wave.open(str(tmp_path / "line.wav")) as sound:
        assert (sound.getnchannels(), sound.getsampwidth(), sound.getframerate()) == (1, 2, 48_000)
        return np.frombuffer(sound.readframes(sound.getnframes()), dtype=np.int16)


CHINESE = "你到底还要瞒我多久？那份合同上的签名，根本不是我写的。"
ENGLISH = "You promised me the truth, and all I got was another signature on another contract."


def test_lines_run_at_the_tempo_people_speak(tmp_path: Path) -> None:
    chinese = len(spoken(tmp_path, CHINESE)) / 48_000
    english = len(spoken(tmp_path, ENGLISH, language="en-US")) / 48_000
    assert 4.3 < len(re.findall(r"[\u4e00-\u9fff]", CHINESE)) / chinese < 5.7
    assert 2.1 < len(ENGLISH.split()) / english < 2.9


@pytest.mark.parametrize("kind", ["dialogue", "narration", "inner"])
def test_the_level_is_even_and_the_ends_are_quiet(tmp_path: Path, kind: str) -> None:
    sound = spoken(tmp_path, CHINESE, kind=kind).astype(float) / 32768
    assert abs(20 * np.log10(np.abs(sound).max()) + 3) < 0.3
    assert np.abs(sound[:480]).max() < 0.01
    assert np.abs(sound[-240:]).max() < 0.02


def test_every_voice_speaks_both_languages_in_its_own_way(tmp_path: Path) -> None:
    offered = [str(each["name"]) for each in voices.offered()]
    assert len(offered) >= 12
    for language, text in (("zh-CN", "我们离婚吧。"), ("en-US", "Get out of here.")):
        sounds = {spoken(tmp_path, text, voice=name, language=language).tobytes() for name in offered}
        assert len(sounds) == len(offered)


def test_a_mixed_line_is_spoken_in_both_tongues(tmp_path: Path) -> None:
    runs = by_language("把这份PPT发给CEO，今晚3点。", "zh-CN")
    assert [tongue for _, tongue in runs] == ["zh-CN", "en-US", "zh-CN", "en-US", "zh-CN"]
    assert len(spoken(tmp_path, "把这份PPT发给CEO。")) > 48_000


def test_marks_alone_are_a_breath(tmp_path: Path) -> None:
    assert 0 < len(spoken(tmp_path, "……！")) < 48_000


# --- writing --------------------------------------------------------------------------------------


@pytest.mark.parametrize("language", ["zh-CN", "en-US"])
@pytest.mark.parametrize("genre", ["豪门离婚 ceo divorce", "古装志怪 ghost mystery", "亲情 family", "?"])
def test_a_brief_becomes_an_outline_and_a_script_of_a_good_minute(language: str, genre: str) -> None:
    brief = {"genre": genre, "note": ["x"]}
    told = write({"task": "outline", "language": language, "brief": brief, "outline": {}, "seed": 3})
    order = {"task": "script", "language": language, "brief": brief, "outline": told, "seed": 9}
    script = write(order)
    assert write(order) == script
    read_outline(json.dumps(told))
    read_script(json.dumps(script))
    assert script["characters"] == told["characters"]
    scenes = from_json(script).scenes
    texts = [line.text for scene in scenes for line in scene.lines if line.kind is not LineKind.ACTION]
    assert not any("{" in text or " / " in text for text in texts)
    seconds = (
        sum(len(re.findall(r"[\u4e00-\u9fff]", text)) for text in texts) / 5
        if language == "zh-CN"
        else sum(len(text.split()) for text in texts) / 2.5
    )
    assert 50 < seconds < 80


def test_a_brief_with_characters_casts_them() -> None:
    brief = {"genre": "亲情", "characters": [{"name": "赵一"}, "钱二"]}
    told = write({"task": "outline", "language": "zh-CN", "brief": brief, "outline": {}, "seed": 1})
    assert [each["name"] for each in told["characters"]][:2] == ["赵一", "钱二"]  # type: ignore[attr-defined]


# --- prices ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "params", "micros"),
    [
        ("text", {}, 200_000),
        ("image", {}, 40_000),
        ("speech", {"text": " 你好。 "}, 900),
        ("video", {"frame_rate": [24, 1], "duration_frames": 72}, 300_000),
        ("video", {"frame_rate": [24, 1], "duration_frames": 1}, 4_167),
        ("video", {"frame_rate": [30_000, 1001], "duration_frames": 30}, 100_100),
    ],
)
def test_a_price_is_whole_micros_rounded_up(kind: str, params: dict[str, object], micros: int) -> None:
    assert price_micros(kind, params) == micros


# --- reading descriptions ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("二十六岁，新娘", 26),
        ("女，31岁", 31),
        ("十岁的男孩", 10),
        ("六十多岁", 60),
        ("thirty-two, thin and alive", 32),
        ("a man of 38, detective", 38),
        ("a woman in her forties", 45),
        ("tired eyes", None),
    ],
)
def test_an_age_is_read(text: str, expected: int | None) -> None:
    assert years(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("黑色长发，一身白色婚纱", "#f1efea"),
        ("neat silver hair, blue apron", "#2f5c8f"),
        ("藏青色西装", "#23324d"),
        ("brown eyes", None),
        ("reddish mood", None),
    ],
)
def test_a_colour_is_that_of_the_clothes(text: str, expected: str | None) -> None:
    assert colour(text) == expected


def test_what_is_worn_wins_over_the_trade() -> None:
    assert look_of("林晚", "二十六岁，新娘，一身白色婚纱，黑色长发").costume == "dress"
    assert look_of("RUTH", "sixty, mother-in-law, neat silver hair, apron").costume == "apron"
    assert look_of("顾沉", "二十八岁，医生，深色大衣").costume == "jacket"


def test_an_english_word_counts_whole() -> None:
    assert place_of("Barn door").painter is place_of("nowhere").painter
