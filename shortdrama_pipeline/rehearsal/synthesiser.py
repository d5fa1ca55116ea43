"""espeak-ng through ctypes: text in, 16-bit samples out. Global to its process, so one lock guards it."""

import ctypes
import threading

import espeakng_loader
import numpy as np
from numpy.typing import NDArray

Samples = NDArray[np.float64]

_OUTPUT_SYNCHRONOUS = 2
_CHARS_UTF8 = 1
_POSITION_CHARACTER = 1
_RATE, _VOLUME, _PITCH, _RANGE = 1, 2, 3, 4

_Callback = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)
_LOCK = threading.Lock()


class SynthesiserFailed(Exception):
    """The library refused a voice or could not start."""


class Synthesiser:
    """The opened library. `sample_rate` is the rate of what it speaks."""

    def __init__(self) -> None:
        self._library = ctypes.CDLL(espeakng_loader.get_library_path())
        data = espeakng_loader.get_data_path().encode()
        self.sample_rate = int(self._library.espeak_Initialize(_OUTPUT_SYNCHRONOUS, 0, data, 0))
        if self.sample_rate <= 0:
            raise SynthesiserFailed("espeak-ng did not open")
        self._chunks: list[bytes] = []
        self._keep = _Callback(self._receive)  # the library holds only a pointer
        self._library.espeak_SetSynthCallback(self._keep)

    def say(self, text: str, *, voice: str, rate: int, pitch: int, pitch_range: int) -> Samples:
        """Speak `text`; `rate` in words per minute, `pitch` and `pitch_range` 0 to 99. Samples in [-1, 1]."""
        with _LOCK:
            if self._library.espeak_SetVoiceByName(voice.encode()) != 0:
                raise SynthesiserFailed(f"espeak-ng has no voice {voice}")
            for parameter, value in ((_RATE, rate), (_VOLUME, 90), (_PITCH, pitch), (_RANGE, pitch_range)):
                self._library.espeak_SetParameter(parameter, value, 0)
            self._chunks.clear()
            raw = text.encode()
            self._library.espeak_Synth(raw, len(raw) + 1, 0, _POSITION_CHARACTER, 0, _CHARS_UTF8, None, None)
            self._library.espeak_Synchronize()
            samples = np.frombuffer(b"".join(self._chunks), dtype="<i2")
        return samples.astype(np.float64) / 32768

    def _receive(self, wave: int | None, count: int, _events: int | None) -> int:
        if wave and count > 0:
            self._chunks.append(ctypes.string_at(wave, count * 2))
        return 0


_open: list[Synthesiser] = []


def synthesiser() -> Synthesiser:
    """Return this process's one synthesiser, opened at first use."""
    if not _open:
        _open.append(Synthesiser())
    return _open[0]
