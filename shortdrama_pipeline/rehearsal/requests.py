"""What may be asked: bytes become checked parameters here, or a refusal that names the field."""

import base64
import binascii
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from shortdrama_pipeline.rehearsal.book import Json
from shortdrama_pipeline.rehearsal.refusals import Refused
from shortdrama_pipeline.rehearsal.voices import find_voice

MODEL = "animatic-1"
BODY_BYTES_MAX = 64 * 1024 * 1024
FRAMES_MAX = 60 * 60
Side = Field(ge=64, le=4096)
Sha256 = Field(pattern=r"^[0-9a-f]{64}$")


class _Params(BaseModel):
    """Unknown keys are kept and ignored: the neutral parameters may say more than we need."""

    model_config = ConfigDict(extra="allow")


class TextParams(_Params):
    task: Literal["outline", "script"]
    language: Literal["zh-CN", "en-US"]
    brief: dict[str, object] = Field(default_factory=dict)
    outline: dict[str, object] = Field(default_factory=dict)
    seed: int = 0


class Reference(_Params):
    sha256: str = Sha256
    role: str = ""
    title: str = ""


class Frame(_Params):
    sha256: str = Sha256


class ShotNote(_Params):
    id: str = ""
    size: str = "medium"
    move: str = "still"
    characters: list[str] = Field(default_factory=list)
    place: str = ""
    time_of_day: str = ""
    action: str = ""
    line: str | None = ""
    speaker: str | None = ""


class ImageParams(_Params):
    prompt: str = Field(default="", max_length=20_000)
    subject_kind: Literal["character", "place", "prop", "frame"]
    title: str = ""
    caption: str = ""
    width: int = Side
    height: int = Side
    seed: int = 0
    style: str = ""
    language: str = "zh-CN"
    references: list[Reference] = Field(default_factory=list)
    shot: ShotNote = Field(default_factory=ShotNote)


class SpeechParams(_Params):
    text: str = Field(min_length=1, max_length=2000)
    voice: str
    language: Literal["zh-CN", "en-US"]
    kind: Literal["dialogue", "narration", "inner"] = "dialogue"
    manner: str = ""
    sample_rate: int = Field(default=48_000, ge=8_000, le=48_000)


class VideoParams(_Params):
    prompt: str = Field(default="", max_length=20_000)
    width: int = Side
    height: int = Side
    frame_rate: tuple[int, int]
    duration_frames: int = Field(ge=1, le=FRAMES_MAX)
    frame: Frame | None = None
    references: list[Reference] = Field(default_factory=list)
    shot: ShotNote = Field(default_factory=ShotNote)
    seed: int = 0
    language: str = "zh-CN"


_PARAMS: Mapping[str, type[_Params]] = {
    "text": TextParams,
    "image": ImageParams,
    "speech": SpeechParams,
    "video": VideoParams,
}


@dataclass(frozen=True, slots=True)
class Asked:
    """A readable create request, not checked yet. `subject` is what a fault rule is matched against."""

    client_id: str
    body: Json

    @property
    def subject(self) -> str:
        return self.client_id + json.dumps(self.body.get("params"), ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class Checked:
    """A create request that can be accepted. `media` are bytes by their own sha256."""

    params: Json
    media: dict[str, bytes]
    callback_url: str | None


def read(raw: bytes) -> Asked:
    """Parse the body as far as it names its client."""
    try:
        body = json.loads(raw)
    except ValueError as error:
        raise Refused("invalid_params", f"The body is not JSON: {error}") from error
    client_id = body.get("client_id") if isinstance(body, dict) else None
    if not isinstance(client_id, str) or not 0 < len(client_id) <= 200:
        raise Refused("invalid_params", "client_id must be a text of 1 to 200 characters")
    return Asked(client_id, body)


def check(kind: str, asked: Asked) -> Checked:
    """Refuse what cannot be made, naming the field."""
    if asked.body.get("model") != MODEL:
        raise Refused("invalid_params", f"model: only {MODEL} is offered")
    try:
        params = _PARAMS[kind].model_validate(asked.body.get("params")).model_dump(mode="json")
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(each) for each in first["loc"]) or "params"
        raise Refused("invalid_params", f"{where}: {first['msg']}") from error
    if kind == "speech":
        _check_speech(params)
    if kind == "video":
        _check_video(params)
    callback_url = asked.body.get("callback_url")
    if callback_url is not None and not str(callback_url).startswith(("http://", "https://")):
        raise Refused("invalid_params", "callback_url: not an http address")
    media = _media(asked.body.get("media") or {}) if kind in ("image", "video") else {}
    return Checked(params, media, None if callback_url is None else str(callback_url))


def _check_speech(params: Json) -> None:
    if not str(params["text"]).strip():
        raise Refused("invalid_params", "text: nothing to say")
    if find_voice(str(params["voice"]), str(params["language"])) is None:
        raise Refused("invalid_params", f"voice: {params['voice']!r} is not offered; see GET /v1/voices")


def _check_video(params: Json) -> None:
    rate = params["frame_rate"]
    assert isinstance(rate, list)
    if min(rate) < 1 or not 1 <= rate[0] / rate[1] <= 60:
        raise Refused("invalid_params", "frame_rate: [numerator, denominator] between 1 and 60 per second")
    if int(str(params["width"])) % 2 or int(str(params["height"])) % 2:
        raise Refused("invalid_params", "width, height: even numbers")


def _media(media: object) -> dict[str, bytes]:
    if not isinstance(media, dict):
        raise Refused("invalid_params", "media: an object of base64 by sha256")
    found = {}
    for name, text in media.items():
        try:
            data = base64.b64decode(str(text), validate=True)
        except binascii.Error as error:
            raise Refused("invalid_params", f"media.{name}: not base64") from error
        if hashlib.sha256(data).hexdigest() != name:
            raise Refused("invalid_params", f"media.{name}: the bytes have another sha256")
        found[name] = data
    return found
