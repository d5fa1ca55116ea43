"""May an item be asked for? References, parameters, capability and price (P-1.3, P-9.1, P-12.2).

Everything that can be seen to be wrong is refused here, before a Quote exists, with the place named.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from shortdrama_pipeline.errors import Fact, NotReady
from shortdrama_pipeline.rules.plans import ItemRequest
from shortdrama_pipeline.rules.states import GenerationReadiness, MediaKind

SIDE_MIN, SIDE_MAX = 64, 4096
ASPECT_MAX = Fraction(21, 9)  # wider or taller than this no model and no screen takes
SPEECH_CHARACTERS_MAX = 2_000
DURATION_MS_MAX = 60_000
RATE_MAX = 60
REASONS_SHOWN_MAX = 20


@dataclass(frozen=True, slots=True)
class Channel:
    """What a configured binding can do, as far as its labels say. None is "not said"."""

    binding_id: str
    kind: MediaKind
    duration_ms_min: int | None = None
    duration_ms_max: int | None = None
    references_max: int | None = None
    characters_max: int | None = None
    voices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Reason:
    """Why an item is not ready. `code` is stable; `message` is for a person."""

    code: str
    item: str
    message: str

    def to_json(self) -> dict[str, Fact]:
        return {"code": self.code, "item": self.item, "message": self.message}


@dataclass(frozen=True, slots=True)
class Readiness:
    """The domain "generation readiness" of one item."""

    state: GenerationReadiness
    reasons: tuple[Reason, ...] = ()


def channel_of(binding_id: str, kind: str, labels: Mapping[str, str]) -> Channel:
    """Read what a binding's labels say of its limits.

    Whole numbers: duration_ms_min, duration_ms_max, references_max, characters_max. Names with
    commas between: voices.
    """
    return Channel(
        binding_id=binding_id,
        kind=MediaKind(kind),
        duration_ms_min=_whole(labels, "duration_ms_min"),
        duration_ms_max=_whole(labels, "duration_ms_max"),
        references_max=_whole(labels, "references_max"),
        characters_max=_whole(labels, "characters_max"),
        voices=tuple(name.strip() for name in labels.get("voices", "").split(",") if name.strip()),
    )


def check_item(
    request: ItemRequest, channels: Sequence[Channel], *, priced: Collection[str], stale: bool
) -> Readiness:
    """Return whether `request` could be made now; every reason at once, not the first only."""
    able = [channel for channel in channels if channel.kind is request.kind]
    pinned = request.constraints.get("binding_id")
    if isinstance(pinned, str):
        able = [channel for channel in able if channel.binding_id == pinned]
    reasons = [*_references(request), *_parameters(request)]
    if not able:
        reasons.append(_reason(request, "capability", f"no binding makes {request.kind}"))
    elif not any(channel.binding_id in priced for channel in able):
        reasons.append(_reason(request, "price", f"no price is published for {able[0].binding_id}"))
    else:
        reasons += _limits(request, able[0])
    if reasons:
        return Readiness(GenerationReadiness.NOT_READY, tuple(reasons))
    return Readiness(GenerationReadiness.STALE if stale else GenerationReadiness.READY)


def refuse(reasons: Sequence[Reason]) -> None:
    """Raise NotReady naming what is missing or illegal, if anything is."""
    if not reasons:
        return
    more = f" (and {len(reasons) - 1} more)" if len(reasons) > 1 else ""
    raise NotReady(
        f"{reasons[0].item} is not ready: {reasons[0].message}{more}",
        hint="Mend what `reasons` lists, then plan again; nothing was quoted",
        reasons=[reason.to_json() for reason in reasons[:REASONS_SHOWN_MAX]],
    )


def _references(request: ItemRequest) -> list[Reason]:
    """A picture or film that names references must carry each of them as a stored file."""
    found: list[Reason] = []
    listed = request.params.get("references")
    wanted = request.constraints.get("references")
    if isinstance(listed, Sequence) and isinstance(wanted, int) and len(listed) < wanted:
        found.append(
            _reason(request, "reference", f"{wanted - len(listed)} reference pictures are not chosen")
        )
    if request.kind is MediaKind.VIDEO and not _sha256(request.params.get("frame")):
        found.append(_reason(request, "reference", "its first frame is not chosen"))
    if isinstance(listed, Sequence) and not all(_sha256(each) for each in listed):
        found.append(_reason(request, "reference", "a reference picture has no file"))
    return found


def _parameters(request: ItemRequest) -> list[Reason]:
    params = request.params
    match request.kind:
        case MediaKind.IMAGE:
            return _size(request, params)
        case MediaKind.VIDEO:
            return [*_size(request, params), *_duration(request, params)]
        case MediaKind.SPEECH:
            return _speech(request, params)
        case _:
            return []


def _size(request: ItemRequest, params: Mapping[str, object]) -> list[Reason]:
    width, height = params.get("width"), params.get("height")
    if not (isinstance(width, int) and isinstance(height, int)):
        return [_reason(request, "ratio", "its picture has no size")]
    if not (SIDE_MIN <= width <= SIDE_MAX and SIDE_MIN <= height <= SIDE_MAX):
        return [_reason(request, "ratio", f"{width}x{height} is not a size that can be made")]
    if not 1 / ASPECT_MAX <= Fraction(width, height) <= ASPECT_MAX:
        return [_reason(request, "ratio", f"the ratio {width}:{height} is not allowed")]
    if request.kind is MediaKind.VIDEO and (width % 2 or height % 2):
        return [_reason(request, "ratio", f"a film of {width}x{height} cannot be coded: sides must be even")]
    return []


def _duration(request: ItemRequest, params: Mapping[str, object]) -> list[Reason]:
    frames, rate = params.get("duration_frames"), params.get("frame_rate")
    match rate:
        case [int(numerator), int(denominator)] if numerator > 0 and denominator > 0:
            if numerator > RATE_MAX * denominator:
                return [_reason(request, "duration", "more frames a second than a film can have")]
        case _:
            return [_reason(request, "duration", "it has no frame rate")]
    if not isinstance(frames, int) or frames <= 0:
        return [_reason(request, "duration", f"a length of {frames} frames cannot be filmed")]
    if duration_ms(params) > DURATION_MS_MAX:
        return [_reason(request, "duration", f"{duration_ms(params)} ms are too long for one shot")]
    return []


def _speech(request: ItemRequest, params: Mapping[str, object]) -> list[Reason]:
    found: list[Reason] = []
    text, voice = params.get("text"), params.get("voice")
    if not isinstance(text, str) or not text.strip():
        found.append(_reason(request, "text", "there is nothing to say"))
    elif len(text) > SPEECH_CHARACTERS_MAX:
        found.append(_reason(request, "text", f"{len(text)} characters are too many for one line"))
    if not isinstance(voice, str) or not voice:
        found.append(_reason(request, "voice", f"{params.get('speaker') or 'its speaker'} has no voice"))
    return found


def _limits(request: ItemRequest, channel: Channel) -> list[Reason]:
    found: list[Reason] = []
    if request.kind is MediaKind.VIDEO:
        length = duration_ms(request.params)
        if channel.duration_ms_max is not None and length > channel.duration_ms_max:
            found.append(_limit(request, channel, f"{length} ms is longer than {channel.duration_ms_max} ms"))
        if channel.duration_ms_min is not None and 0 < length < channel.duration_ms_min:
            found.append(
                _limit(request, channel, f"{length} ms is shorter than {channel.duration_ms_min} ms")
            )
    listed = request.params.get("references")
    if (
        isinstance(listed, Sequence)
        and channel.references_max is not None
        and len(listed) > channel.references_max
    ):
        found.append(_limit(request, channel, f"{len(listed)} references, at most {channel.references_max}"))
    if request.kind is MediaKind.SPEECH:
        text, voice = str(request.params.get("text", "")), request.params.get("voice")
        if channel.characters_max is not None and len(text) > channel.characters_max:
            found.append(
                _limit(request, channel, f"{len(text)} characters, at most {channel.characters_max}")
            )
        if channel.voices and isinstance(voice, str) and voice and voice not in channel.voices:
            found.append(_reason(request, "voice", f"{channel.binding_id} has no voice {voice}"))
    return found


def duration_ms(params: Mapping[str, object]) -> int:
    """Return the length asked for, rounded up; 0 where none is."""
    match params:
        case {"duration_frames": int(frames), "frame_rate": [int(numerator), int(denominator)]} if (
            numerator > 0
        ):
            return -(-frames * 1000 * denominator // numerator)
        case _:
            return 0


def _limit(request: ItemRequest, channel: Channel, message: str) -> Reason:
    return _reason(request, "capability", f"{channel.binding_id} cannot make it: {message}")


def _reason(request: ItemRequest, code: str, message: str) -> Reason:
    return Reason(code, f"{request.subject}#{request.role}", message)


def _sha256(value: object) -> bool:
    return (
        isinstance(value, Mapping)
        and isinstance(value.get("sha256"), str)
        and len(str(value["sha256"])) == 64
    )


def _whole(labels: Mapping[str, str], name: str) -> int | None:
    text = labels.get(name, "")
    return int(text) if text.isascii() and text.isdigit() else None
