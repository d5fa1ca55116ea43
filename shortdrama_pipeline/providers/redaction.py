"""What may stand in a receipt, a log, an error or on a screen: no key, no media, no long text (P-6.15, V-14).

The one place that knows what a secret looks like; the command line blanks by it too.
"""

import hashlib
import re
from collections.abc import Iterable, Mapping

TEXT_CHARS_MAX = 400
GONE = "[redacted]"
_NAME = (
    r"password|passwd|passphrase|secret|token|signature|sig|authorization|cookie|set-cookie"
    r"|(?:[\w-]*[_-])?(?:api|access|secret|private|signing|account)[-_ ]?key(?:[-_ ]?id)?|apikey"
    r"|(?:[\w-]*[_-])?(?:password|passwd|secret)"
    r"|(?:access|refresh|auth|id|session|security|api|bearer)[-_]?token"
    r"|x-[a-z]+-(?:signature|credential|security-token)"
)
_IS_NAME = re.compile(rf"(?i){_NAME}")
_IN_URL = re.compile(r"(\w+://[^\s:/@]*):[^\s/@]+@")
_IN_QUERY = re.compile(
    r"(?i)([?&][^=&#\s]*(?:key|token|sig|secret|credential|passw|auth)[^=&#\s]*=)[^&#\s\"']+"
)
# A name, what separates it from its value (also inside JSON inside JSON), and the value: quoted or one word.
_NAMED = re.compile(
    rf"(?i)(?<![\w-])({_NAME})(\\*[\"']?\s*(?:=>|[:=])\s*)(?!\[redacted\])"
    r"(?:(\\*[\"'])(?:(?!\3).)*\3|(?:(?:bearer|basic|token)\s+)?[^\s\"'&,;}\]]+)"
)
_SCHEME = re.compile(r"(?i)\b(bearer|basic)\s+[\w.~+/=-]{6,}")
_OPTION = re.compile(r"(?i)(--(?:password|secret|token|api-?key))\s+\S+")
_SHAPE = re.compile(r"\bsk-[\w-]{8,}")
_BLOB = re.compile(r"[A-Za-z0-9+/=_-]{120,}")


def blank(text: str, secrets: Iterable[str] = ()) -> str:
    """Return `text` without the given secrets and without anything that looks like one."""
    for secret in secrets:
        if secret:
            text = text.replace(secret, "[redacted]")
    text = _IN_URL.sub(rf"\1:{GONE}@", text)
    text = _IN_QUERY.sub(rf"\1{GONE}", text)
    text = _NAMED.sub(_without_value, text)
    text = _SCHEME.sub(rf"\1 {GONE}", text)
    text = _OPTION.sub(rf"\1 {GONE}", text)
    return _SHAPE.sub(GONE, text)


def blank_json(value: object, secrets: Iterable[str] = ()) -> object:
    """The same for JSON values: a text under a secret's name is gone whatever it looks like."""
    known = tuple(secrets)
    match value:
        case Mapping():
            return {str(name): _hidden(name, each) or blank_json(each, known) for name, each in value.items()}
        case list() | tuple():
            return [blank_json(each, known) for each in value]
        case str():
            return blank(value, known)
        case _:
            return value


def _without_value(found: re.Match[str]) -> str:
    quote = found[3] or ""
    return f"{found[1]}{found[2]}{quote}{GONE}{quote}"


def redact(text: str, secrets: Iterable[str] = ()) -> str:
    """Return `text` blanked, without long runs of characters that nobody reads, and cut short."""
    text = blank(text, secrets)
    text = _BLOB.sub(lambda found: f"[{len(found.group())} characters]", text)
    return text if len(text) <= TEXT_CHARS_MAX else text[:TEXT_CHARS_MAX] + "…"


def redact_json(value: object, secrets: Iterable[str] = ()) -> object:
    """The same for JSON values; long texts become their digest, so that equality can still be seen."""
    known = tuple(secrets)
    if isinstance(value, Mapping):
        return {str(name): _hidden(name, each) or redact_json(each, known) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [redact_json(each, known) for each in value]
    if isinstance(value, bytes):
        return f"[{len(value)} bytes sha256:{hashlib.sha256(value).hexdigest()}]"
    if isinstance(value, str) and len(value) > TEXT_CHARS_MAX:
        return f"[{len(value)} characters sha256:{hashlib.sha256(value.encode()).hexdigest()}]"
    return redact(value, known) if isinstance(value, str) else value


def _hidden(name: object, value: object) -> str | None:
    """Return what stands for a text under a secret's name; a token that counts leases is no secret."""
    return GONE if isinstance(value, str) and _IS_NAME.fullmatch(str(name)) else None
