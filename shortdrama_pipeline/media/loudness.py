"""Loudness in two passes: measure, bring to −16 LUFS, measure again. Numbers in thousandths.

The gain is linear. Only where the peaks would pass −1.5 dBTP are they held by a limiter that looks
ahead at four times the rate, and the lost loudness is given back; so speech keeps its dynamics.
"""

import re
from dataclasses import dataclass
from pathlib import Path

from shortdrama_pipeline.errors import ToolFailed
from shortdrama_pipeline.media.tools import run_ffmpeg
from shortdrama_pipeline.rules.renders import LOUDNESS_MILLI_LUFS, TRUE_PEAK_MILLI_DB

SAMPLE_RATE = 48_000
RAW = ("-f", "f32le", "-ar", str(SAMPLE_RATE), "-ac", "2")
SILENCE_MILLI_LUFS = -60_000  # below this there is nothing to bring up
GAIN_MILLI_DB_MAX = 36_000
PASSES_MAX = 4
LOUDNESS_OFF_MILLI_MAX = 300
_INTEGRATED = re.compile(r"I:\s+(-?[\d.]+|-?inf|nan) LUFS")
_PEAK = re.compile(r"Peak:\s+(-?[\d.]+|-?inf|nan) dBFS")


@dataclass(frozen=True, slots=True)
class Loudness:
    """EBU R128 integrated loudness and true peak."""

    milli_lufs: int
    true_peak_milli_db: int

    @property
    def silent(self) -> bool:
        return self.milli_lufs <= SILENCE_MILLI_LUFS


def measure(*source: str | Path) -> Loudness:
    """Measure a file, given as ffmpeg input arguments and its path."""
    *before, path = source
    told = run_ffmpeg(
        [*before, "-i", path, "-vn", "-af", "ebur128=peak=true:framelog=quiet", "-f", "null", "-"]
    )
    summary = told[told.rfind("Summary:") :]
    integrated, peak = _INTEGRATED.search(summary), _PEAK.search(summary)
    if integrated is None or peak is None:
        raise _unmeasured()
    return Loudness(_milli(integrated[1]), _milli(peak[1]))


def normalise(raw: Path, into: Path) -> Loudness:
    """Write `raw` (32-bit float, stereo, 48 kHz) at the target loudness to `into`; return what it now is."""
    found = measure(*RAW, raw)
    gain = 0 if found.silent else min(LOUDNESS_MILLI_LUFS - found.milli_lufs, GAIN_MILLI_DB_MAX)
    limited = found.true_peak_milli_db + gain > TRUE_PEAK_MILLI_DB
    heard = _apply(raw, into, gain, limited=limited)
    for _ in range(PASSES_MAX if limited else 0):
        off = LOUDNESS_MILLI_LUFS - heard
        if abs(off) <= LOUDNESS_OFF_MILLI_MAX or gain >= GAIN_MILLI_DB_MAX:
            break
        gain = min(gain + off, GAIN_MILLI_DB_MAX)
        heard = _apply(raw, into, gain, limited=True)
    return measure(*RAW, into)


def _apply(raw: Path, into: Path, gain: int, *, limited: bool) -> int:
    """Write `into` and return how loud it came out (LUFS in thousandths); peaks are heard at the end only."""
    heard = f"{_filters(gain, limited=limited)},ebur128=framelog=quiet"
    told = run_ffmpeg([*RAW, "-i", raw, "-af", heard, *RAW, into])
    integrated = _INTEGRATED.search(told[told.rfind("Summary:") :])
    if integrated is None:
        raise _unmeasured()
    return _milli(integrated[1])


def _filters(gain_milli_db: int, *, limited: bool) -> str:
    volume = f"volume={_decibel(gain_milli_db)}dB:precision=float"
    if not limited:
        return volume
    ceiling = 10 ** ((TRUE_PEAK_MILLI_DB - 200) / 20_000)  # the way down to 48 kHz and AAC adds a little
    limiter = f"alimiter=limit={ceiling:.5f}:attack=3:release=80:level=false:latency=true"
    return f"{volume},aresample={SAMPLE_RATE * 4},{limiter},aresample={SAMPLE_RATE}"


def _decibel(milli: int) -> str:
    sign = "-" if milli < 0 else ""
    return f"{sign}{abs(milli) // 1000}.{abs(milli) % 1000:03d}"


def _milli(word: str) -> int:
    return -120_000 if word in {"-inf", "nan", "inf"} else round(float(word) * 1000)


def _unmeasured() -> ToolFailed:
    return ToolFailed("Loudness could not be measured", hint="Repeat the command")
