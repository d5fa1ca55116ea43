"""Running ffmpeg, which comes as a Python package: no shell, no network, no standing in the way."""

import subprocess
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import imageio_ffmpeg

from shortdrama_pipeline.errors import Outside, ToolFailed

SECONDS_MAX = 1800
_TAIL_LINES = 6
_SAYS_NOTHING = {"Conversion failed!"}
_TELLING = ("error", "invalid", "no such", "could not", "unable", "failed")
_FULL_WORDS = ("No space left on device", "Disk quota exceeded")


@cache
def ffmpeg_path() -> Path:
    return Path(imageio_ffmpeg.get_ffmpeg_exe())


def run_ffmpeg(
    arguments: Sequence[str | Path], *, cwd: Path | None = None, seconds_max: int = SECONDS_MAX
) -> str:
    """Run to the end and return what it wrote to stderr. Raises ToolFailed, Outside if the disk is full.

    Inputs are local files only; names inside filters are relative to `cwd`, so none needs escaping.
    The process dies with an interrupted caller or after `seconds_max`.
    """
    command = [str(ffmpeg_path()), "-hide_banner", "-nostdin", "-y", *(str(each) for each in arguments)]
    try:
        ended = subprocess.run(
            command,
            check=False,
            capture_output=True,
            timeout=seconds_max,
            text=True,
            errors="replace",
            cwd=cwd,
        )
    except subprocess.TimeoutExpired as error:
        raise ToolFailed(
            f"ffmpeg did not end within {seconds_max} s",
            hint="Repeat the command on a less busy machine; nothing half-made was kept",
            seconds_max=seconds_max,
        ) from error
    if ended.returncode != 0:
        raise _failed(ended.stderr)
    return ended.stderr


def _failed(stderr: str) -> Outside:
    if any(word in stderr for word in _FULL_WORDS):
        return Outside(
            "No space left on the disk while rendering",
            hint="Free some space and repeat the command; nothing half-made was kept",
        )
    lines = [each for each in stderr.splitlines() if each.strip() and each not in _SAYS_NOTHING]
    telling = [each for each in lines if any(word in each.lower() for word in _TELLING)]
    return ToolFailed(
        f"ffmpeg ended with an error: {(telling or lines or ['no word'])[-1]}",
        hint="Check the named file with `shortdrama audit verify`, then repeat the command",
        last_lines=[*lines[-_TAIL_LINES:]],
    )
