"""A credential travels by reference and is read at the last moment; only its fingerprint is kept."""

import hashlib
import os
from dataclasses import dataclass, field
from pathlib import Path

from shortdrama_pipeline.errors import CredentialMissing

CREDENTIAL_BYTES_MAX = 64 * 1024


@dataclass(frozen=True, slots=True)
class Credential:
    """`secret` never appears in a representation, a log or an error."""

    reference: str
    fingerprint: str
    secret: str = field(repr=False)


def read_credential(reference: str) -> Credential:
    """Read `env:NAME` or `file:PATH`. Raises CredentialMissing, naming the reference alone (D-9)."""
    scheme, _, place = reference.partition(":")
    secret = _read(scheme, place).strip()
    if not secret or not secret.isprintable():
        raise CredentialMissing(
            f"The credential {reference} is missing or empty",
            hint="Put the key where the binding's `credential` points; held tasks then go on by themselves",
            credential=reference,
        )
    digest = hashlib.sha256(b"shortdrama-credential:" + secret.encode()).hexdigest()
    return Credential(reference, digest[:16], secret)


def _read(scheme: str, place: str) -> str:
    if scheme == "env":
        return os.environ.get(place, "")  # noqa: TID251 - the door a credential comes in by, at submit
    if scheme == "file":
        try:
            with Path(place).open("rb") as source:
                return source.read(CREDENTIAL_BYTES_MAX).decode()
        except (OSError, UnicodeDecodeError):
            return ""
    return ""
