"""Makes small real media for tests, and an episode whose every file is real."""

import struct
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np
from PIL import Image

from shortdrama_pipeline.ids import new_id
from shortdrama_pipeline.media.object_store import LocalObjectStore
from shortdrama_pipeline.media.probe import Probe, probe
from shortdrama_pipeline.media.tools import run_ffmpeg
from shortdrama_pipeline.rules.cut import Speech, Take, assemble
from shortdrama_pipeline.rules.plans import ItemRequest
from shortdrama_pipeline.rules.shots import Shot, ShotLine
from shortdrama_pipeline.rules.states import MediaState, Stage
from shortdrama_pipeline.rules.timeline import Timeline
from shortdrama_pipeline.services.context import Studio
from shortdrama_pipeline.services.gates import bring_up_to, pass_gate
from shortdrama_pipeline.stages.registering import StoredOutput, register_result
from shortdrama_pipeline.store import media
from shortdrama_pipeline.store.media import Judgement, StagedFile
from tests.stages_.flow import (
    PERSON,
    FakeTask,
    episode_with_script,
    item_of,
    requests_of,
    said,
    scene,
    small_script,
)
from tests.stages_.flow import done as acted

BYTES_MAX = 10**9
TINY = ("-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p")


def clip(
    into: Path, *, size: str = "108x192", rate: str = "24", frames: int = 48, sound: int = 0, colour: str = ""
) -> Path:
    """Film a test card (or one colour), with a tone at `sound` Hz sampling rate if it is not 0."""
    source = f"color={colour}:s={size}:r={rate}" if colour else f"testsrc2=s={size}:r={rate}"
    tone = ["-f", "lavfi", "-i", f"sine=330:r={sound}"] if sound else []
    run_ffmpeg(
        [
            "-f",
            "lavfi",
            "-i",
            source,
            *tone,
            "-frames:v",
            str(frames),
            "-shortest",
            *TINY,
            "-c:a",
            "aac",
            into,
        ]
    )
    return into


def voice(into: Path, *, ms: int = 1000, rate: int = 48_000, channels: int = 1, hertz: int = 440) -> Path:
    """Write a tone that swells and fades like a word, as 16-bit WAV."""
    count = rate * ms // 1000
    time = np.arange(count) / rate
    wave = np.sin(2 * np.pi * hertz * time) * (0.2 + 0.3 * np.sin(2 * np.pi * 3 * time) ** 2)
    data = np.repeat((wave * 32767).astype("<i2")[:, None], channels, axis=1).tobytes()
    block = 2 * channels
    header = struct.pack(
        "<4sL4s4sLHHLLHH4sL", b"RIFF", 36 + len(data), b"WAVE", b"fmt ", 16, 1, channels, rate, rate * block,
        block, 16, b"data", len(data),
    )  # fmt: skip
    into.write_bytes(header + data)
    return into


def shot(
    number: int, *, frames: int = 24, text: str = "", transition: str = "cut", kind: str = "dialogue"
) -> Shot:
    lines = (ShotLine(f"s1-l{number}", kind, "c1", text, "", 100, 800),) if text else ()
    seen = ("close", "still", "客厅", "夜", ("c1",), (), "她转身")
    return Shot(f"s1-{number:02d}", "s1", number, *seen, lines, frames, transition)


def cut_of(
    store: LocalObjectStore,
    shots: list[Shot],
    films: list[Path],
    voices: dict[str, Path],
    *,
    language: str = "zh-CN",
) -> Timeline:
    """Store the files and cut them; the timeline has the size of the test cards."""
    takes = {}
    for each, path in zip(shots, films, strict=True):
        sha256, _ = store.put_file(path, bytes_max=BYTES_MAX)
        found = probe(store.path(sha256))
        rate = found["frame_rate"]
        takes[each.id] = Take(
            f"ver_{each.id}", sha256, found["frames"], (rate[0], rate[1]), found["has_audio"]
        )
    speeches = {}
    for line_id, path in voices.items():
        sha256, _ = store.put_file(path, bytes_max=BYTES_MAX)
        speeches[line_id] = Speech(f"ver_{line_id}", sha256, probe(store.path(sha256))["duration_ms"])
    made = assemble(shots, takes, speeches, title="雨夜", language=language)
    return replace(made, width=108, height=192)


def filmed_episode(studio: Studio, scratch: Path, *, number: int = 0) -> str:
    """Drive a small episode to a passed timeline, every file of it real."""
    lines = (acted("林晚站在天台边缘。"), said("c1", "你终于来了！"), said("c2", "我{一直}都在。"))
    episode_id = episode_with_script(studio, number=number, script=small_script(scenes=(scene(1, *lines),)))
    for stage in Stage:
        if stage is Stage.EXPORT:
            break
        deliver_real(studio, requests_of(studio, episode_id, stage), scratch)
        bring_up_to(studio, episode_id, stage)
        pass_gate(studio, episode_id, stage, actor=PERSON, rights=True)
    return episode_id


def deliver_real(studio: Studio, requests: Iterable[ItemRequest], scratch: Path) -> None:
    """Register one real file per request, as ingest would."""
    for index, request in enumerate(requests):
        sha256, size = studio.objects.put_file(_file_for(request, scratch, index), bytes_max=BYTES_MAX)
        found: Probe = probe(studio.objects.path(sha256))
        with studio.db.begin() as tx:
            media.stage(tx, [StagedFile(sha256, size, found["media_type"])])
            media.judge(tx, [Judgement(sha256, MediaState.READY, found["media_type"], dict(found))])
            task = FakeTask(
                new_id("task"),
                request.episode_id,
                request.subject,
                request.role,
                "ingesting",
                item_of(request),
            )
            output = StoredOutput(0, sha256, found["media_type"], dict(found))
            register_result(tx, task, new_id("att"), [output])


def _file_for(request: ItemRequest, scratch: Path, index: int) -> Path:
    name = scratch / new_id("file")
    match request.role:
        case "video":
            frames = int(str(request.params["duration_frames"]))
            return clip(name.with_suffix(".mp4"), frames=frames)
        case "speech":
            return voice(name.with_suffix(".wav"), ms=900 + 50 * index)
        case _:
            colour = (40 + 17 * index % 200, 90, 120)
            Image.new("RGB", (54, 96), colour).save(name.with_suffix(".png"))
            return name.with_suffix(".png")
