"""The sound of a film: every line at its exact sample, whatever rate and layout its file has."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import av
import av.error
import numpy as np
from numpy.typing import NDArray

from shortdrama_pipeline.errors import MediaInvalid
from shortdrama_pipeline.media.loudness import SAMPLE_RATE
from shortdrama_pipeline.rules.renders import NATIVE_GAIN_MB
from shortdrama_pipeline.rules.timeline import SPOKEN, AudioClip, Timeline, VideoClip

Samples = NDArray[np.float32]  # (samples, 2)
EDGE_SAMPLES = 480  # 10 ms: what is cut off in the middle is faded, not clicked


@dataclass(frozen=True, slots=True)
class Stems:
    """Of equal length, to be heard together: their sum is the mix."""

    spoken: Samples
    other: Samples

    @property
    def whole(self) -> Samples:
        return self.spoken + self.other


def mix(timeline: Timeline, path_of: Callable[[str], Path]) -> Stems:
    """Lay all sound on an exact grid of samples; the stems are as long as the picture."""
    total = samples_at(timeline.frames, timeline.frame_rate)
    stems = Stems(np.zeros((total, 2), np.float32), np.zeros((total, 2), np.float32))
    for clip in timeline.audio:
        stem = stems.spoken if clip.role in SPOKEN else stems.other
        _lay(stem, _sound_of(clip, path_of), clip.start_ms * SAMPLE_RATE // 1000)
    for shot in timeline.video:
        if shot.keep_native_audio:
            start = samples_at(shot.start, timeline.frame_rate)
            _lay(stems.other, _native_sound(shot, timeline.frame_rate, path_of), start)
    return stems


def samples_at(frame: int, frame_rate: tuple[int, int]) -> int:
    """Return the sample at a frame boundary. Counted from the film's start, so nothing can drift."""
    return frame * SAMPLE_RATE * frame_rate[1] // frame_rate[0]


def decode(path: Path, *, samples_max: int) -> Samples:
    """Decode the first sound stream to stereo at 48 kHz; at most `samples_max` of it."""
    pieces: list[Samples] = []
    count = 0
    try:
        for piece in _decoded(path):
            pieces.append(piece)
            count += len(piece)
            if count >= samples_max:
                break
    except av.error.FFmpegError as error:
        raise MediaInvalid(
            f"The sound of {path.name[:12]} cannot be decoded",
            hint="Check it with `shortdrama audit verify`; transfer it again if it is damaged",
            sha256=path.name,
        ) from error
    whole = np.concatenate(pieces) if pieces else np.zeros((0, 2), np.float32)
    return whole[:samples_max]


def _decoded(path: Path) -> Iterator[Samples]:
    with av.open(str(path)) as opened:
        if not opened.streams.audio:
            return
        stream = opened.streams.audio[0]
        layout = "mono" if stream.codec_context.channels == 1 else "stereo"
        resampler = av.AudioResampler(format="flt", layout=layout, rate=SAMPLE_RATE)
        for frame in opened.decode(stream):
            frame.pts = None
            for even in resampler.resample(frame):
                yield _stereo(even, layout)
        for even in resampler.resample(None):
            yield _stereo(even, layout)


def _stereo(packed: av.AudioFrame, layout: str) -> Samples:
    samples = packed.to_ndarray().astype(np.float32, copy=False)
    return np.repeat(samples.reshape(-1, 1), 2, axis=1) if layout == "mono" else samples.reshape(-1, 2)


def _sound_of(clip: AudioClip, path_of: Callable[[str], Path]) -> Samples:
    limit = clip.duration_ms * SAMPLE_RATE // 1000 + SAMPLE_RATE // 50  # a probe may round a little down
    sound = decode(path_of(clip.sha256), samples_max=limit)
    return _gain(_soft_end(sound, cut=len(sound) == limit), clip.gain_mb)


def _native_sound(shot: VideoClip, rate: tuple[int, int], path_of: Callable[[str], Path]) -> Samples:
    begin = samples_at(shot.source_in, rate)
    end = samples_at(shot.source_in + shot.source_frames, rate)
    sound = decode(path_of(shot.sha256), samples_max=end)[begin:]
    return _gain(_soft_end(sound, cut=True), NATIVE_GAIN_MB)


def _soft_end(sound: Samples, *, cut: bool) -> Samples:
    edge = min(EDGE_SAMPLES, len(sound))
    if cut and edge:
        sound = sound.copy()
        sound[-edge:] *= np.linspace(1, 0, edge, dtype=np.float32)[:, None]
    return sound


def _gain(sound: Samples, millibel: int) -> Samples:
    return sound * np.float32(10 ** (millibel / 2000)) if millibel else sound


def _lay(stem: Samples, sound: Samples, start: int) -> None:
    fits = sound[: max(0, len(stem) - start)]
    stem[start : start + len(fits)] += fits
