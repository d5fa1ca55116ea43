"""Spoken lines: one voice per character, at the tempo people speak, soft enough to listen to.

48 kHz mono 16-bit wav, silence trimmed, peak at -3 dBFS. Chinese runs at about 5.0 characters a
second, English at about 2.5 words a second, pauses included.
"""

import math
import re
import wave
from pathlib import Path

import numpy as np

from shortdrama_pipeline.rehearsal.book import Json
from shortdrama_pipeline.rehearsal.synthesiser import Samples, synthesiser
from shortdrama_pipeline.rehearsal.voices import Voice, find_voice

PEAK = 10 ** (-3 / 20)
HEAD_S, TAIL_S = 0.04, 0.10
SWITCH_S = 0.05  # between two languages in one line
SILENCE = 10 ** (-46 / 20)
TEMPO = {"zh-CN": 232, "en-US": 138}  # words a minute as espeak counts them
ESPEAK_LANGUAGE = {"zh-CN": "cmn", "en-US": "en-us"}
_CJK = re.compile(r"[\u3400-\u9fff\uf900-\ufaff]")
_LATIN = re.compile(r"[A-Za-zÀ-ɏ]")
_MANNERS = (  # words in a parenthetical, rate in percent, pitch in steps
    (("急", "快", "怒", "吼", "喊", "angr", "shout", "urgent", "fast", "hurr"), 112, 8),
    (("慢", "沉", "悲", "疲", "哽", "slow", "sad", "tired", "weary"), 90, -6),
    (("轻", "低声", "耳语", "悄", "soft", "quiet", "whisper", "low"), 95, -3),
)


def speak(params: Json, target: Path) -> int:
    """Write the line as wav and return its length in milliseconds. The voice is known to exist."""
    language, kind = str(params["language"]), str(params["kind"])
    voice = find_voice(str(params["voice"]), language)
    assert voice is not None
    rate_hz = int(str(params["sample_rate"]))
    dry = _spoken(str(params["text"]).strip(), language, voice, str(params["manner"]))
    sound = _resampled(dry, synthesiser().sample_rate, rate_hz, soft=kind == "inner")
    sound = _levelled(sound, rate_hz)
    sound = _in_room(
        sound, rate_hz, wet=0.30 if kind == "inner" else 0.05, length_s=0.5 if kind == "inner" else 0.12
    )
    sound = _framed(sound, rate_hz)
    _write(sound, rate_hz, target)
    return round(len(sound) * 1000 / rate_hz)


def by_language(text: str, language: str) -> list[tuple[str, str]]:
    """Split a mixed line into runs of one language each; digits and marks stay with what precedes."""
    runs: list[tuple[str, str]] = []
    for piece in re.findall(r"[A-Za-zÀ-ɏ][A-Za-zÀ-ɏ'’.\-\s]*|[^A-Za-zÀ-ɏ]+", text):
        if _CJK.search(piece):
            tongue = "zh-CN"
        elif _LATIN.search(piece):
            tongue = "en-US"
        else:
            tongue = runs[-1][1] if runs else language
        if runs and runs[-1][1] == tongue:
            runs[-1] = (runs[-1][0] + piece, tongue)
        else:
            runs.append((piece, tongue))
    return runs


def _spoken(text: str, language: str, voice: Voice, manner: str) -> Samples:
    rate, pitch = voice.rate, voice.pitch
    for words, percent, steps in _MANNERS:
        if any(each in manner.lower() for each in words):
            rate, pitch = rate * percent // 100, pitch + steps
            break
    machine = synthesiser()
    parts: list[Samples] = []
    for run, tongue in by_language(text, language):
        sound = machine.say(
            run,
            voice=f"{ESPEAK_LANGUAGE[tongue]}+{voice.variant}",
            rate=TEMPO[tongue] * rate // 100,
            pitch=max(0, min(99, pitch)),
            pitch_range=voice.range,
        )
        sound = _trimmed(sound)
        if len(sound):
            parts += [sound, np.zeros(int(SWITCH_S * machine.sample_rate))]
    # A line of marks alone is a breath, not an error.
    return np.concatenate(parts[:-1]) if parts else np.zeros(machine.sample_rate // 2)


def _trimmed(sound: Samples) -> Samples:
    heard = np.nonzero(np.abs(sound) > SILENCE)[0]
    return sound[heard[0] : heard[-1] + 1] if len(heard) else sound[:0]


def _resampled(sound: Samples, from_hz: int, to_hz: int, *, soft: bool) -> Samples:
    """Change the rate and the colour in one pass over the spectrum: less rumble, buzz and hiss."""
    step = math.gcd(from_hz, to_hz)
    blocks = _fast_length(len(sound) // (from_hz // step) + 20)
    size, count = blocks * (from_hz // step), blocks * (to_hz // step)
    spectrum = np.fft.rfft(sound, size)
    hertz: Samples = np.fft.rfftfreq(size, 1 / from_hz).astype(np.float64)
    spectrum *= _colour(hertz, edge_hz=4200 if soft else 7600)
    resized = np.zeros(count // 2 + 1, dtype=complex)
    common = min(len(resized), len(spectrum))
    resized[:common] = spectrum[:common]
    coloured: Samples = np.fft.irfft(resized, count) * (count / size)
    return coloured[: round(len(sound) * to_hz / from_hz)]


def _fast_length(count: int) -> int:
    """Return the next length without a prime factor above 5, which a transform likes."""
    while True:
        rest = count
        for factor in (2, 3, 5):
            while rest % factor == 0:
                rest //= factor
        if rest == 1:
            return count
        count += 1


def _smoothed(values: Samples, window: int) -> Samples:
    """Return the running mean over `window`, as long as `values`."""
    padded = np.pad(values, (window // 2 + 1, window - window // 2 - 1), mode="edge")
    total = np.cumsum(padded)
    mean: Samples = (total[window:] - total[:-window])[: len(values)] / window
    return mean


def _colour(hertz: Samples, *, edge_hz: float) -> Samples:
    high_pass = 1 / np.sqrt(1 + (75 / np.maximum(hertz, 1)) ** 4)
    low_pass = 1 / np.sqrt(1 + (hertz / edge_hz) ** 6)
    octaves = np.log2(np.maximum(hertz, 1))
    warm = 2.5 * np.exp(-(((octaves - np.log2(220)) / 0.9) ** 2))
    harsh = -4.0 * np.exp(-(((octaves - np.log2(3300)) / 0.5) ** 2))
    coloured: Samples = high_pass * low_pass * 10 ** ((warm + harsh) / 20)
    return coloured


def _levelled(sound: Samples, rate_hz: int) -> Samples:
    """Even out loud and quiet syllables: 2.5 to 1 above -22 dB, smoothed over 40 ms."""
    window = rate_hz * 40 // 1000
    envelope = np.sqrt(np.maximum(_smoothed(np.square(sound), window), 0)) + 1e-9
    threshold = 10 ** (-22 / 20)
    gain = np.minimum(1.0, (threshold / envelope) ** (1 - 1 / 2.5))
    levelled: Samples = sound * _smoothed(gain, window)
    return levelled


def _in_room(sound: Samples, rate_hz: int, *, wet: float, length_s: float) -> Samples:
    """Add a little of a room, the same each time."""
    count = int(rate_hz * length_s)
    noise = np.random.default_rng(7).standard_normal(count)
    echo = noise * np.exp(-6.9 * np.arange(count) / count)
    echo[: rate_hz // 125] = 0  # 8 ms before the first wall answers
    echo /= np.sqrt(np.sum(np.square(echo)))
    total = _fast_length(len(sound) + count)
    room = np.fft.irfft(np.fft.rfft(sound, total) * np.fft.rfft(echo, total), total)
    mixed: Samples = np.concatenate([sound, np.zeros(count)]) + wet * room[: len(sound) + count]
    return mixed


def _framed(sound: Samples, rate_hz: int) -> Samples:
    """Set peak, ends and fades."""
    peak = float(np.max(np.abs(sound), initial=0.0))
    if peak > 0:
        sound = sound * (PEAK / peak)
    heard = np.nonzero(np.abs(sound) > SILENCE)[0]
    last = min(len(sound), int(heard[-1]) + int(TAIL_S * rate_hz)) if len(heard) else len(sound)
    framed: Samples = np.concatenate([np.zeros(int(HEAD_S * rate_hz)), sound[:last]])
    fade = min(len(framed), int(0.06 * rate_hz))
    framed[-fade:] *= np.linspace(1, 0, fade)
    return framed


def _write(sound: Samples, rate_hz: int, target: Path) -> None:
    with wave.open(str(target), "wb") as out:
        out.setnchannels(1)
        out.setsampwidth(2)
        out.setframerate(rate_hz)
        out.writeframes((np.clip(sound, -1, 1) * 32767).round().astype("<i2").tobytes())
