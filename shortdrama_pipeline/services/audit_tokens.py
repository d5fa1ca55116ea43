"""Audit tokens of the compensation desk: JWTs signed with a key of this home (G-305).

Whoever can read the key file can issue them, so they say who of the people at this home decided, for
which actions and until when; they do not guard against the owner of the home. The key never leaves it.
"""

import os
import secrets
from datetime import UTC, datetime
from pathlib import Path

import jwt
from jwt.types import Options
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from shortdrama_pipeline.errors import GrantRefused, Outside
from shortdrama_pipeline.ids import new_id
from shortdrama_pipeline.rules.actors import require_person
from shortdrama_pipeline.rules.audit_tokens import VALID_S, AuditToken, check_validity, read_scope

ALGORITHM = "HS256"
ISSUER = "shortdrama"
AUDIENCE = "compensation"
KEY_BYTES = 32
TOKEN_CHARACTERS_MAX = 4_096


class _Claims(BaseModel):
    """Every claim is required; a token with others besides is none of ours."""

    model_config = ConfigDict(extra="forbid", strict=True)
    iss: str
    aud: str
    operator_id: str = Field(min_length=1, max_length=200)
    scope: list[str] = Field(min_length=1)
    iat: int
    exp: int = Field(ge=0, le=2**40)
    jti: str = Field(min_length=8, max_length=100)


def issue_token(
    home: Path, *, operator: str, scope: list[str], now: datetime, valid_s: int = VALID_S
) -> tuple[str, AuditToken]:
    """Sign a token for a person; `now` is aware. The text is shown once and stored nowhere."""
    person = str(require_person(operator, "decide about a compensation"))
    claims = _Claims(
        iss=ISSUER,
        aud=AUDIENCE,
        operator_id=person,
        scope=sorted(str(each) for each in read_scope(scope)),
        iat=int(now.timestamp()),
        exp=int(now.timestamp()) + check_validity(valid_s),
        jti=new_id("jti"),
    )
    text = jwt.encode(claims.model_dump(), _key(home, make=True), algorithm=ALGORITHM)
    return text, _token(claims)


def read_token(home: Path, text: str) -> AuditToken:
    """Verify signature, issuer and shape; whether it is live and covers the action, the rule says."""
    if not text.strip() or len(text) > TOKEN_CHARACTERS_MAX:
        raise _refused("There is no audit token")
    options: Options = {
        "verify_exp": False,  # judged by the rule, with a clock that is passed in
        "verify_iat": False,
        "strict_aud": True,
        "require": ["exp", "iat", "jti", "iss", "aud"],
    }
    try:
        body = jwt.decode(
            text.strip(),
            _key(home, make=False),
            algorithms=[ALGORITHM],
            issuer=ISSUER,
            audience=AUDIENCE,
            options=options,
        )
        return _token(_Claims.model_validate(body))
    except (jwt.PyJWTError, ValidationError, OverflowError) as error:
        raise _refused(f"The audit token does not hold ({type(error).__name__})") from None


def _token(claims: _Claims) -> AuditToken:
    return AuditToken(
        claims.operator_id,
        read_scope(claims.scope),
        datetime.fromtimestamp(claims.exp, UTC),
        claims.jti,
    )


def _key(home: Path, *, make: bool) -> bytes:
    """Read the key, or make it on first use; mode 600, and refused when others may read it."""
    place = home / "compensation" / "token.key"
    try:
        if make and not place.exists():
            _make_key(place)
        if place.stat().st_mode & 0o077:
            raise Outside(
                "The key of the audit tokens can be read by others",
                hint=f"Run chmod 600 {place}; if somebody had it, remove it: a new one is made",
            )
        return place.read_bytes()
    except FileNotFoundError:
        raise _refused("No audit token was ever issued in this home") from None


def _make_key(place: Path) -> None:
    """Whole or not at all: a second process at the same moment keeps the first one's."""
    place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    fresh = place.with_name(new_id("key"))
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as out:
        out.write(secrets.token_bytes(KEY_BYTES))
        out.flush()
        os.fsync(out.fileno())
    try:
        os.link(fresh, place)
    except FileExistsError:
        return
    finally:
        fresh.unlink()


def _refused(message: str) -> GrantRefused:
    return GrantRefused(message, hint="Issue one: shortdrama compensation token issue --operator person:NAME")
