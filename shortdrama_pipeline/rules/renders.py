"""What a render is asked for, and the RenderPlan that freezes it (P-12.1). Pure.

The digest of the plan is the identity of the RenderJob: the same export again is the same job
(P-12.5), any other ratio, tier or content another one (P-12.6).
"""

from collections.abc import Mapping
from dataclasses import dataclass

from shortdrama_pipeline.errors import NotReady
from shortdrama_pipeline.rules.timeline import FRAME_RATES, SIDE_MAX, Timeline, to_json
from shortdrama_pipeline.rules.versions import digest_of

SCHEMA = 1
TEMPLATE = "film-1"  # grows when the look of subtitles, fades or holds changes, so that old digests stay true
LOUDNESS_MILLI_LUFS = -16_000
TRUE_PEAK_MILLI_DB = -1_500  # aimed at; what leaves must stay under -1000
NATIVE_GAIN_MB = -1_800  # a take's own sound under everything else
SPEED = (1, 1)

RATIOS: Mapping[str, tuple[int, int]] = {
    "9:16": (1080, 1920),
    "3:4": (1080, 1440),
    "1:1": (1080, 1080),
    "16:9": (1920, 1080),
}


@dataclass(frozen=True, slots=True)
class Tier:
    """`size_percent` of the ratio's full size; `preset`, `tuning` and `quality` are x264's."""

    size_percent: int
    preset: str
    tuning: str
    quality: int
    clean: bool  # also a film without burned subtitles


TIERS: Mapping[str, Tier] = {
    "draft": Tier(50, "ultrafast", "bframes=0", 26, clean=False),
    # Measured: twice as fast as plain veryfast for a fifth more bytes, at the same quality setting.
    "standard": Tier(100, "veryfast", "rc-lookahead=8:me=dia:subme=1:bframes=2", 20, clean=False),
    "master": Tier(100, "medium", "bframes=2", 17, clean=True),
}


@dataclass(frozen=True, slots=True)
class RenderRequest:
    """One way to render one timeline."""

    width: int
    height: int
    frame_rate: tuple[int, int]
    tier: str
    burned: bool = True  # subtitles drawn into the picture


def request_render(
    ratio: str, *, tier: str = "standard", frame_rate: tuple[int, int] = (24, 1), burned: bool = True
) -> RenderRequest:
    """Return the request for a ratio such as 9:16, refusing what is not offered (P-12.2)."""
    if ratio not in RATIOS:
        raise _refused(f"the ratio {ratio} is not offered", f"Use one of {', '.join(RATIOS)}", ratio)
    if tier not in TIERS:
        raise _refused(f"there is no tier {tier}", f"Use one of {', '.join(TIERS)}", tier)
    percent = TIERS[tier].size_percent
    width, height = (side * percent // 100 // 2 * 2 for side in RATIOS[ratio])
    request = RenderRequest(width, height, frame_rate, tier, burned)
    check_request(request)
    return request


def check_request(request: RenderRequest) -> None:
    """Refuse odd or impossible sizes, rates and tiers before anything is rendered."""
    width, height = request.width, request.height
    if not (16 <= width <= SIDE_MAX and 16 <= height <= SIDE_MAX) or width % 2 or height % 2:
        raise _refused(f"{width}x{height} cannot be rendered", "Give even sides of 16 to 4096 pixels", "size")
    if request.frame_rate not in FRAME_RATES:
        raise _refused(
            "the frame rate is not offered", "Use 24, 25, 30 or 60 frames per second", "frame_rate"
        )
    if request.tier not in TIERS:
        raise _refused(f"there is no tier {request.tier}", f"Use one of {', '.join(TIERS)}", "tier")


def frame_at(frame: int, source: tuple[int, int], target: tuple[int, int]) -> int:
    """Return where a frame boundary of one rate lies in another, to the nearest frame, halves up."""
    above, below = frame * source[1] * target[0], source[0] * target[1]
    return (2 * above + below) // (2 * below)


def plan_body(
    timeline_version_id: str, timeline_digest: str, timeline: Timeline, request: RenderRequest
) -> dict[str, object]:
    """Freeze everything that shapes the film: versions, ranges, speed, tracks, subtitles, template, tier."""
    frozen = to_json(timeline)
    segments = [
        {**segment, "speed": list(SPEED)}
        for segment in frozen["video"]  # type: ignore[attr-defined]
    ]
    tier = TIERS[request.tier]
    return {
        "schema": SCHEMA,
        "template": TEMPLATE,
        "timeline": {"version_id": timeline_version_id, "digest": timeline_digest},
        "title": timeline.title,
        "language": timeline.language,
        "grid": list(timeline.frame_rate),
        "segments": segments,
        "audio": list(frozen["audio"]),  # type: ignore[call-overload]
        "subtitles": list(frozen["subtitles"]) if request.burned else [],  # type: ignore[call-overload]
        "loudness": {
            "milli_lufs": LOUDNESS_MILLI_LUFS,
            "true_peak_milli_db": TRUE_PEAK_MILLI_DB,
            "native_gain_mb": NATIVE_GAIN_MB,
        },
        "output": {
            "width": request.width,
            "height": request.height,
            "frame_rate": list(request.frame_rate),
            "tier": request.tier,
            "preset": tier.preset,
            "tuning": tier.tuning,
            "quality": tier.quality,
            "clean": tier.clean,
            "burned": request.burned,
        },
    }


def plan_digest(body: Mapping[str, object]) -> str:
    return digest_of(body)


def _refused(what: str, hint: str, place: str) -> NotReady:
    return NotReady(f"This cannot be rendered: {what}", hint=hint, place=place)
