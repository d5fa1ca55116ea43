"""What the provider says about a request: the item of a status query, an inline answer, a look-up."""

import base64
import json
from pathlib import Path

from shortdrama_pipeline.rehearsal.book import Json, Request
from shortdrama_pipeline.rehearsal.prices import CURRENCY

SUFFIXES = {"text": "json", "image": "png", "speech": "wav", "video": "mp4"}


def result_path(results: Path, request: Request) -> Path:
    return results / f"{request.request_id}.{SUFFIXES[request.kind]}"


def inline(request: Request, path: Path) -> Json:
    """Return the answer of a synchronous request that has its result at `path`."""
    answer: Json = {
        "request_id": request.request_id,
        "charged_micros": request.charged_micros,
        "currency": CURRENCY,
    }
    match request.kind:
        case "text":
            answer["output"] = json.loads(path.read_bytes())
        case "image":
            picture = {"slot": 0, "media_type": "image/png", "base64": _base64(path), **request.facts}
            answer["images"] = [picture]
        case _:
            answer["audio"] = {"media_type": "audio/wav", "base64": _base64(path), **request.facts}
    return answer


def item(request: Request, *, url: str) -> Json:
    """Return a video as a status query and a callback show it."""
    succeeded = request.status == "succeeded"
    failed = request.status == "failed"
    return {
        "id": request.request_id,
        "status": request.status,
        "progress": request.progress,
        "result": {"url": url, "media_type": "video/mp4", **request.facts} if succeeded else None,
        "error": {"code": request.error_code, "message": request.error_message} if failed else None,
        "charged_micros": request.charged_micros,
        "currency": CURRENCY,
    }


def found(request: Request, path: Path) -> Json:
    """Return an accepted request as the look-up shows it; a synchronous one brings its answer again."""
    known: Json = {
        "client_id": request.client_id,
        "kind": request.kind,
        "id": request.request_id,
        "status": request.status,
        "received_at": request.received_at,
    }
    if request.kind != "video" and request.status == "succeeded":
        known |= inline(request, path)
    return known


def listed(request: Request, *, model: str) -> Json:
    """Return an accepted video as the list of jobs shows it."""
    return {
        "id": request.request_id,
        "client_id": request.client_id,
        "kind": request.kind,
        "model": model,
        "seed": request.params.get("seed"),
        "received_at": request.received_at,
        "status": request.status,
    }


def _base64(path: Path) -> str:
    return base64.b64encode(path.read_bytes()).decode()
