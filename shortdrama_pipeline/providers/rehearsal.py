"""The protocol of the embedded provider, spoken like any vendor's: all four kinds of it."""

import base64
import binascii
import hashlib
import hmac
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from urllib.parse import quote, urlencode

from shortdrama_pipeline.providers.ports import (
    AcceptedJob,
    AnsweredInline,
    Binding,
    CallbackNotice,
    Contract,
    CreateOutcome,
    Finished,
    GenerationFailed,
    HttpAnswer,
    HttpCall,
    Json,
    ListPage,
    ListWindow,
    Output,
    QueryFailed,
    QueryOutcome,
    ReadMedia,
    Rejected,
    RejectionClass,
    ResultExpired,
    StillWorking,
    Unknown,
    Unrecognised,
)
from shortdrama_pipeline.rules.matching import ListedJob, MatchingFact

CALLBACK_AGE_S_MAX = 300
CREATE_PATHS = {"text": "/v1/text", "image": "/v1/images", "speech": "/v1/speech", "video": "/v1/videos"}

CONTRACT = Contract(
    protocol="rehearsal",
    version="1",
    asynchronous_kinds=frozenset({"video"}),
    source="shortdrama_pipeline/rehearsal/protocol.md, held by tests/providers/test_rehearsal_adapter.py",
    rejection_codes={
        "invalid_params": RejectionClass.FINAL,
        "content_refused": RejectionClass.FINAL,
        "bad_key": RejectionClass.MENDABLE,
        "insufficient_balance": RejectionClass.MENDABLE,
        "rate_limited": RejectionClass.CAPACITY,
    },
    lookup_by_client_id=True,
    absence_is_proof=True,
    lists_jobs=True,
    list_verified=frozenset(MatchingFact),
    callback_signed=True,
    batch_query_max=50,
    poll_after_ms=1000,
    poll_max_ms=10_000,
    create_timeout_s=120,
    query_timeout_s=20,
    retention_s=7 * 86_400,
    result_url_s=86_400,
    slate_percent=17,
    voices=(
        "female-1",
        "male-1",
        "female-2",
        "male-2",
        "female-3",
        "male-3",
        "female-4",
        "male-4",
        "old-woman-1",
        "old-man-1",
        "girl-1",
        "boy-1",
        "narrator",
    ),
)


class RehearsalAdapter:
    """Pure translations; the request's `kind` picks the path."""

    @property
    def contract(self) -> Contract:
        return CONTRACT

    def build_create(
        self, binding: Binding, request: Json, *, client_id: str, read_media: ReadMedia
    ) -> HttpCall:
        """Media the parameters name travel inside the request, by their sha256."""
        kind = str(request["kind"])
        params = _object(request["params"])
        body: Json = {"client_id": client_id, "model": str(request["product_model"]), "params": params}
        if kind in ("image", "video"):
            names = _media_names(params)
            body["media"] = {each: base64.b64encode(read_media(each)).decode() for each in names}
        callback_url = binding.labels.get("callback_url")
        if kind == "video" and callback_url:
            body["callback_url"] = callback_url
        return HttpCall("POST", CREATE_PATHS[kind], body, CONTRACT.create_timeout_s)

    def read_create(self, answer: HttpAnswer) -> CreateOutcome:
        """Only an id proves acceptance, only a code of the contract proves the opposite (P-5.5)."""
        body = _read(answer.body)
        if body is None:
            return Unknown(f"status {answer.status} with a body that is not a JSON object")
        if 200 <= answer.status < 300:
            return _accepted(body) or Unknown(f"status {answer.status} without a whole acceptance")
        code, message = _error(body)
        kind = CONTRACT.rejection_codes.get(code) if answer.status < 500 else None
        if kind is None:
            return Unknown(f"status {answer.status} with code {code or 'none'}")
        return Rejected(code, kind, message, retry_after_s=_retry_after_s(answer))

    def build_query(self, binding: Binding, checkpoints: list[Json]) -> HttpCall:  # noqa: ARG002 - one form for all
        ids = ",".join(quote(str(each["external_id"]), safe="") for each in checkpoints)
        return HttpCall("GET", f"/v1/videos?ids={ids}", None, CONTRACT.query_timeout_s)

    def read_query(self, answer: HttpAnswer, external_ids: list[str]) -> dict[str, QueryOutcome]:
        """A failed query says nothing about any job (P-7.3)."""
        body = _read(answer.body)
        videos = body.get("videos") if body is not None and answer.status == 200 else None
        if not isinstance(videos, list):
            return dict.fromkeys(external_ids, _failed_query(answer, body))
        found = {str(each.get("id")): each for each in videos if isinstance(each, dict)}
        return {
            each: _outcome(found[each]) if each in found else Unrecognised("not in the answer")
            for each in external_ids
        }

    def build_lookup(self, binding: Binding, client_id: str) -> HttpCall | None:  # noqa: ARG002
        return HttpCall(
            "GET", f"/v1/requests?client_id={quote(client_id, safe='')}", None, CONTRACT.query_timeout_s
        )

    def read_lookup(self, answer: HttpAnswer) -> AcceptedJob | AnsweredInline | Unknown | None:
        """The oldest accepted request under our identity; more than one is for a person to see."""
        body = _read(answer.body)
        requests = body.get("requests") if body is not None and answer.status == 200 else None
        if not isinstance(requests, list) or not all(isinstance(each, dict) for each in requests):
            return Unknown(f"the look-up failed: status {answer.status}")
        if len(requests) > 1:
            return Unknown(f"{len(requests)} requests carry this identity")
        if not requests:
            return None
        accepted = _accepted(requests[0])
        return accepted or Unknown(f"accepted, not answered yet: {requests[0].get('status')}")

    def build_list(self, binding: Binding, window: ListWindow, *, page: str | None) -> HttpCall:  # noqa: ARG002
        asked = {"since": _written(window.since), "until": _written(window.until)}
        if page is not None:
            asked["after"] = page
        return HttpCall("GET", f"/v1/jobs?{urlencode(asked)}", None, CONTRACT.query_timeout_s)

    def read_list(self, answer: HttpAnswer) -> ListPage | Unknown:
        """A list that cannot be read whole proves nothing at all."""
        body = _read(answer.body)
        jobs = body.get("jobs") if body is not None and answer.status == 200 else None
        if body is None or not isinstance(jobs, list):
            return Unknown(f"the list failed: status {answer.status}")
        try:
            listed = tuple(_listed(_object(each)) for each in jobs)
        except (KeyError, TypeError, ValueError):
            return Unknown("the list holds a job that cannot be read")
        following = body.get("next")
        return ListPage(listed, following if isinstance(following, str) and following else None)

    def read_callback(
        self, headers: Mapping[str, str], raw_body: bytes, *, secret: bytes | None, now_s: int
    ) -> CallbackNotice | None:
        """Verified only with a fresh, right signature over the raw body (P-7.6)."""
        body = _read(raw_body)
        external_id = None if body is None else body.get("id")
        if not isinstance(external_id, str) or not external_id:
            return None
        lower = {name.lower(): value for name, value in headers.items()}
        event_id = lower.get("x-rehearsal-event", "")
        verified = secret is not None and _is_signed(lower, event_id, raw_body, secret=secret, now_s=now_s)
        return CallbackNotice(external_id, event_id, verified=verified)


def sign_callback(secret: bytes, *, timestamp: str, event_id: str, raw_body: bytes) -> str:
    """Return the signature the protocol asks for."""
    return hmac.new(secret, f"{timestamp}.{event_id}.".encode() + raw_body, hashlib.sha256).hexdigest()


def _is_signed(
    headers: Mapping[str, str], event_id: str, raw_body: bytes, *, secret: bytes, now_s: int
) -> bool:
    timestamp = headers.get("x-rehearsal-timestamp", "")
    if not event_id or not (timestamp.isascii() and timestamp.isdigit()):
        return False
    if len(timestamp) > 12 or abs(now_s - int(timestamp)) > CALLBACK_AGE_S_MAX:
        return False
    expected = sign_callback(secret, timestamp=timestamp, event_id=event_id, raw_body=raw_body)
    return hmac.compare_digest(expected.encode(), headers.get("x-rehearsal-signature", "").encode())


def _media_names(params: Json) -> list[str]:
    names = []
    frame = params.get("frame")
    references = params.get("references")
    for each in [frame, *(references if isinstance(references, list) else [])]:
        if isinstance(each, dict) and isinstance(each.get("sha256"), str) and each["sha256"] not in names:
            names.append(each["sha256"])
    return names


def _listed(item: Json) -> ListedJob:
    seed = item.get("seed")
    reference = item.get("client_id")
    return ListedJob(
        external_id=_named(item["id"]),
        created_at=_aware(str(item["received_at"])),
        model=None if item.get("model") is None else str(item["model"]),
        seed=seed if isinstance(seed, int) else None,
        client_reference=reference if isinstance(reference, str) and reference else None,
        status=str(item.get("status", ""))[:80],
    )


def _named(value: object) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError("a job without an id")
    return value


def _aware(text: str) -> datetime:
    at = datetime.fromisoformat(text)
    if at.tzinfo is None:
        raise ValueError("a time without its zone")
    return at


def _written(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _accepted(body: Json) -> AcceptedJob | AnsweredInline | None:
    """Read an acceptance, whole or not at all."""
    video_id = body.get("id")
    if body.get("kind", "video") == "video":
        if isinstance(video_id, str) and video_id:
            return AcceptedJob(video_id, {"external_id": video_id})
        if "id" in body:
            return None
    request_id = body.get("request_id")
    cost, currency = _cost(body)
    outputs = _inline_outputs(body)
    if not outputs or not isinstance(request_id, str) or not request_id:
        return None
    if cost is None:
        return None
    return AnsweredInline(request_id, outputs, cost, currency)


def _inline_outputs(body: Json) -> tuple[Output, ...]:
    try:
        if isinstance(body.get("output"), dict):
            data = json.dumps(body["output"], ensure_ascii=False, sort_keys=True).encode()
            return (Output(0, "application/json", data=data),)
        if isinstance(body.get("images"), list):
            return tuple(_inline(_object(each)) for each in _list(body["images"]))
        if isinstance(body.get("audio"), dict):
            return (_inline(_object(body["audio"])),)
    except (TypeError, ValueError, KeyError, binascii.Error):
        return ()
    return ()


def _inline(item: Json) -> Output:
    facts = {name: value for name, value in item.items() if name not in ("base64", "slot", "media_type")}
    data = base64.b64decode(str(item["base64"]), validate=True)
    if not data:
        raise ValueError("an output without bytes")
    return Output(int(str(item.get("slot", 0))), str(item["media_type"]), data=data, facts=facts)


def _outcome(item: Json) -> QueryOutcome:
    word = item.get("status")
    match word:
        case "queued" | "running":
            return StillWorking(word)
        case "succeeded" | "failed":
            return _ended(item) or Unrecognised(f"{word} without its particulars")
        case "expired":
            return ResultExpired(word)
        case _:
            return Unrecognised(str(word)[:80])


def _ended(item: Json) -> Finished | GenerationFailed | None:
    cost, currency = _cost(item)
    if cost is None:
        return None
    if item["status"] == "failed":
        code, message = _error(item)
        return GenerationFailed(code or "unnamed", message, cost, currency)
    result = item.get("result")
    if not isinstance(result, dict) or not isinstance(result.get("url"), str):
        return None
    facts = {name: value for name, value in result.items() if name not in ("url", "media_type")}
    output = Output(0, str(result.get("media_type", "")), url=result["url"], facts=facts)
    return Finished((output,), cost, currency)


def _failed_query(answer: HttpAnswer, body: Json | None) -> QueryFailed:
    code, _ = _error(body or {})
    retry_after_s = _retry_after_s(answer)
    return QueryFailed(
        f"status {answer.status} {code or 'without a readable body'}",
        auth=code == "bad_key",
        retry_after_ms=None if retry_after_s is None else retry_after_s * 1000,
    )


def _cost(item: Json) -> tuple[int | None, str]:
    cost = item.get("charged_micros")
    currency = item.get("currency")
    if not isinstance(cost, int) or cost < 0 or not isinstance(currency, str):
        return None, ""
    return cost, currency


def _error(body: Json) -> tuple[str, str]:
    error = body.get("error")
    if not isinstance(error, dict):
        return "", ""
    return str(error.get("code", "")), str(error.get("message", ""))


def _retry_after_s(answer: HttpAnswer) -> int | None:
    value = answer.headers.get("retry-after", "")
    return int(value) if value.isascii() and value.isdigit() else None


def _read(raw: bytes) -> Json | None:
    try:
        value = json.loads(raw)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _object(value: object) -> Json:
    if not isinstance(value, dict):
        raise TypeError("not an object")
    return value


def _list(value: object) -> list[object]:
    if not isinstance(value, list):
        raise TypeError("not a list")
    return value
