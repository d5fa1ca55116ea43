"""What makes two versions the same: digests over canonical content, file and origins (P-11.4)."""

import hashlib
from collections.abc import Iterable, Mapping

import rfc8785

Uses = Iterable[tuple[str, str]]  # (version id, purpose)


def version_digest(
    *, kind: str, subject: str, role: str, content: Mapping[str, object], sha256: str | None, uses: Uses
) -> str:
    """Return `sha256:<hex>` over everything that makes this version what it is."""
    return digest_of(
        {
            "kind": kind,
            "subject": subject,
            "role": role,
            "content": dict(content),
            "sha256": sha256,
            "uses": sorted([version_id, purpose] for version_id, purpose in uses),
        }
    )


def digest_of(value: object) -> str:
    """Return `sha256:<hex>` of the canonical JSON (RFC 8785) of `value`; floats are refused."""
    _refuse_floats(value)
    return "sha256:" + hashlib.sha256(rfc8785.dumps(value)).hexdigest()  # type: ignore[arg-type]


def _refuse_floats(value: object) -> None:
    """A float has no one spelling across languages and drivers: whole numbers and text only."""
    match value:
        case float():
            raise TypeError(f"A version holds no float: {value!r}")
        case dict():
            for each in value.values():
                _refuse_floats(each)
        case list() | tuple():
            for each in value:
                _refuse_floats(each)
        case _:
            return
