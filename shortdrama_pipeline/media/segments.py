"""The picture, shot by shot: each becomes a segment of an exact number of frames, all alike.

Segments are encoded with the same settings, each with closed groups of pictures, so they join by
copying packets; the place of every packet is counted in frames, never taken from a file's clock.
A segment depends on nothing but its clip, its neighbour's last picture and the request: it could be
kept under a digest of these and used again (`segment_key`).
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from pathlib import Path

import av
import av.error

from shortdrama_pipeline.errors import ToolFailed
from shortdrama_pipeline.media.probe import demuxer_of
from shortdrama_pipeline.media.tools import run_ffmpeg
from shortdrama_pipeline.rules.renders import TEMPLATE, TIERS, RenderRequest, frame_at
from shortdrama_pipeline.rules.timeline import Subtitle, Timeline, VideoClip, ms_of
from shortdrama_pipeline.rules.versions import digest_of

COVER_PERCENT = 8  # aspects this near fill the picture, a sliver cropped; others stand on black
KEY_SECONDS = 2
ASS_NAME = "burned.ass"
FONTS_NAME = "fonts"
_BT709 = "setparams=range=tv:color_primaries=bt709:color_trc=bt709:colorspace=bt709"
_COLOURS = ("-color_primaries", "bt709", "-color_trc", "bt709", "-colorspace", "bt709", "-color_range", "tv")


@dataclass(frozen=True, slots=True)
class Source:
    """A take as it is shown: rotation and sample aspect applied."""

    path: Path
    demuxer: str
    width: int
    height: int
    bt709: bool


@dataclass(frozen=True, slots=True)
class Segment:
    """One clip on the grid of the output. `start` and `frames` count frames at the output's rate."""

    clip: VideoClip
    before: VideoClip | None
    start: int
    frames: int
    subtitles: tuple[Subtitle, ...]


@dataclass(frozen=True, slots=True)
class Encoded:
    """`burned` carries subtitles; `clean` does not, and is None where nobody asked for it."""

    burned: Path
    clean: Path | None


def lay_out(timeline: Timeline, request: RenderRequest) -> list[Segment]:
    """Put the clips on the output's grid: boundaries are rounded, so lengths sum exactly."""
    segments: list[Segment] = []
    before: VideoClip | None = None
    for clip in timeline.video:
        start = frame_at(clip.start, timeline.frame_rate, request.frame_rate)
        end = frame_at(clip.start + clip.frames, timeline.frame_rate, request.frame_rate)
        begin_ms, end_ms = (ms_of(each, request.frame_rate) for each in (start, end))
        shown = tuple(cue for cue in timeline.subtitles if cue.start_ms < end_ms and cue.end_ms > begin_ms)
        if end > start:
            segments.append(Segment(clip, before, start, end - start, shown if request.burned else ()))
        before = clip
    return segments


def segment_key(segment: Segment, timeline: Timeline, request: RenderRequest) -> str:
    """Return a digest of all that shapes the segment's pixels."""
    return digest_of(
        {
            "template": TEMPLATE,
            "clip": asdict(segment.clip),
            "before": asdict(segment.before) if segment.before else None,
            "span": [segment.start, segment.frames],
            "subtitles": [asdict(each) for each in segment.subtitles],
            "grid": list(timeline.frame_rate),
            "request": asdict(request),
        }
    )


def encode_segment(
    segment: Segment,
    grid: tuple[int, int],
    request: RenderRequest,
    *,
    path_of: Callable[[str], Path],
    into: Path,
) -> Encoded:
    """Encode one segment to `into` with exactly `segment.frames` frames, clean beside it if asked for.

    The folder of `into` holds the subtitles (`ASS_NAME`) and the fonts (`FONTS_NAME`).
    """
    tier = TIERS[request.tier]
    clean = into.with_suffix(".clean.mp4") if tier.clean and segment.subtitles else None
    inputs, graph = _graph(segment, grid, request, path_of=path_of)
    offset = f"setpts=PTS+{segment.start},ass={ASS_NAME}:fontsdir={FONTS_NAME},setpts=PTS-{segment.start}"
    if not segment.subtitles:
        graph += "[film]"
    elif clean is None:
        graph += f",{offset}[film]"
    else:
        graph += f",split[clean][raw];[raw]{offset}[film]"
    encode = (
        "-c:v", "libx264", "-preset", tier.preset, "-crf", str(tier.quality), "-threads:v", "1",
        "-profile:v", "high", "-pix_fmt", "yuv420p", "-x264-params", tier.tuning,
        "-g", str(KEY_SECONDS * request.frame_rate[0] // request.frame_rate[1]), *_COLOURS,
        "-frames:v", str(segment.frames), "-fps_mode", "passthrough", "-map_metadata", "-1", "-f", "mp4",
    )  # fmt: skip
    outputs: list[str | Path] = ["-map", "[film]", *encode, into]
    if clean is not None:
        outputs += ["-map", "[clean]", *encode, clean]
    told = run_ffmpeg(
        ["-loglevel", "info", "-filter_threads", "1", *inputs, "-filter_complex", graph, *outputs],
        cwd=into.parent,
    )
    _check_fonts(told)
    return Encoded(into, clean or (into if tier.clean else None))


def join(segments: Sequence[tuple[Path, int]], into: Path, *, frame_rate: tuple[int, int]) -> int:
    """Join encoded segments, each with its number of frames, by copying packets. Returns the frames.

    Every picture of every segment is placed by count; one missing or too many is a ToolFailed.
    """
    base = Fraction(frame_rate[1], frame_rate[0])
    placed = 0
    with av.open(str(into), "w", format="mp4") as out:
        with av.open(str(segments[0][0])) as first:
            stream = out.add_stream_from_template(first.streams.video[0])
        stream.time_base = base
        for path, frames in segments:
            with av.open(str(path)) as opened:
                packets = [each for each in opened.demux(opened.streams.video[0]) if each.size]
                shown = [round(Fraction(each.pts or 0) * Fraction(each.time_base) / base) for each in packets]
                if sorted(shown) != list(range(frames)):
                    raise ToolFailed(
                        f"A segment has {len(shown)} pictures where {frames} were asked for",
                        hint="Repeat the command; if it stays so, probe the shot's video again",
                        frames=len(shown),
                    )
                for number, packet in enumerate(packets):
                    packet.time_base = base
                    packet.pts, packet.dts = placed + shown[number], placed + number - 2
                    packet.duration = 1
                    packet.stream = stream
                    out.mux(packet)
            placed += frames
    return placed


def look_at(path: Path) -> Source:
    """Read what fitting needs of a take's header."""
    demuxer = demuxer_of(path)
    with av.open(str(path), format=demuxer) as opened:
        video = opened.streams.video[0]
        context = video.codec_context
        aspect = Fraction(video.sample_aspect_ratio or 1)
        width, height = round(context.width * aspect), context.height
        frame = next(opened.decode(video))
        if round(getattr(frame, "rotation", 0)) % 180:
            width, height = height, width
        tagged = int(frame.colorspace)
    return Source(path, demuxer, width, height, tagged == 1 or (tagged == 2 and context.height >= 720))


def _graph(
    segment: Segment, grid: tuple[int, int], request: RenderRequest, *, path_of: Callable[[str], Path]
) -> tuple[list[str | Path], str]:
    """Return ffmpeg's inputs and the filters up to the finished picture, without a label."""
    clip, rate = segment.clip, request.frame_rate
    source = look_at(path_of(clip.sha256))
    first = frame_at(clip.source_in, grid, rate)
    last = max(first + 1, frame_at(clip.source_in + clip.source_frames, grid, rate))
    picture = (
        f"[0:v:0]{_even(rate)},trim=start_frame={first}:end_frame={last},{_fit(source, request)},"
        f"tpad=stop_mode=clone:stop=-1,trim=end_frame={segment.frames},setpts=N"
    )
    inputs: list[str | Path] = _input(source)
    length = min(frame_at(clip.transition_frames, grid, rate), segment.frames - 1)
    if clip.transition_in == "fade" and length > 0:
        return inputs, f"{picture},fade=t=in:s=0:n={length}"
    if clip.transition_in == "dissolve" and length > 0 and segment.before is not None:
        before = segment.before
        neighbour = look_at(path_of(before.sha256))
        shown = frame_at(before.source_in + before.source_frames, grid, rate) - 1
        held = (
            f"[1:v:0]{_even(rate)},tpad=stop_mode=clone:stop=-1,"
            f"trim=start_frame={shown}:end_frame={shown + 1},{_fit(neighbour, request)},"
            f"tpad=stop_mode=clone:stop={length - 1},setpts=N,settb={rate[1]}/{rate[0]}"
        )
        seconds = f"{length * 1_000_000 * rate[1] // rate[0]}us"
        faded = f"[held][shot]xfade=transition=fade:duration={seconds}:offset=0,{_BT709}"
        return [*inputs, *_input(neighbour)], f"{held}[held];{picture}[shot];{faded}"
    return inputs, picture


def _input(source: Source) -> list[str | Path]:
    return ["-threads", "1", "-protocol_whitelist", "file", "-f", source.demuxer, "-i", source.path]


def _even(rate: tuple[int, int]) -> str:
    return f"setpts=PTS-STARTPTS,fps={rate[0]}/{rate[1]}"


def _fit(source: Source, request: RenderRequest) -> str:
    """Scale to fill where the aspects nearly agree, else to fit on black; square pixels, BT.709."""
    width, height = request.width, request.height
    across, down = source.width * height, source.height * width
    fills = abs(across - down) * 100 <= COVER_PERCENT * down
    if (across > down) == fills:  # the height decides
        scaled = (-(-source.width * height // source.height), height)
    else:
        scaled = (width, -(-source.height * width // source.width))
    scaled = (max(2, (scaled[0] + fills) // 2 * 2), max(2, (scaled[1] + fills) // 2 * 2))
    matrix = "bt709" if source.bt709 else "auto"
    placed = f"crop={width}:{height}" if fills else f"pad={width}:{height}:-1:-1:black"
    return (
        f"scale={scaled[0]}:{scaled[1]}:flags=bicubic:in_color_matrix={matrix}:out_color_matrix=bt709:out_range=tv,"
        f"format=yuv420p,{placed},setsar=1,{_BT709}"
    )


def _check_fonts(told: str) -> None:
    """The glyphs were checked before; should libass still reach for a font of the machine, say so."""
    for line in told.splitlines():
        if "fontselect" in line and "/" in line.rpartition("->")[2]:
            raise ToolFailed(
                "A subtitle was lettered in a font of this machine instead of ours",
                hint="Install the package's fonts again (`make setup`)",
                line=line[-200:],
            )
