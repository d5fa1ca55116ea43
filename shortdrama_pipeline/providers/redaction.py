"""What may stand in a receipt, a log or an error: no key, no media, no long text (P-6.15, V-14)."""

import hashlib
import re
from collections.abc import Iterable, Mapping

TEXT_CHARS_MAX = 400
_BEARER = re.compile(
    r"(?i)\b(bearer|basic|api[-_ ]?key|token|secret|signature|authorization)\b(\s*[:=]?\s*)\S+"
)
_QUERY_SECRET = re.compile(r"(?i)([?&][^=&#\s]*(?:key|token|sign|secret|credential)[^=&#\s]*=)[^&#\s]+")
_BLOB = re.compile(r"[A-Za-z0-9+/=_-]{120,}")


def redact(text: str, secrets: Iterable[str] = ()) -> str:
    """Return `text` without the given secrets, without anything that looks like one, and cut short."""
    for secret in secrets:
        if secret:
            text = text.replace(secret, "[redacted]")
    text = _BEARER.sub(r"\1\2[redacted]", text)
    text = _QUERY_SECRET.sub(r"\1[redacted]", text)
    text = _BLOB.sub(lambda found: f"[{len(found.group())} characters]", text)
    return text if len(text) <= TEXT_CHARS_MAX else text[:TEXT_CHARS_MAX] + "…"


def redact_json(value: object, secrets: Iterable[str] = ()) -> object:
    """The same for JSON values; long texts become their digest, so that equality can still be seen."""
    known = tuple(secrets)
    if isinstance(value, Mapping):
        return {str(name): redact_json(each, known) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [redact_json(each, known) for each in value]
    if isinstance(value, bytes):
        return f"[{len(value)} bytes sha256:{hashlib.sha256(value).hexdigest()}]"
    if isinstance(value, str) and len(value) > TEXT_CHARS_MAX:
        return f"[{len(value)} characters sha256:{hashlib.sha256(value.encode()).hexdigest()}]"
    return redact(value, known) if isinstance(value, str) else value
