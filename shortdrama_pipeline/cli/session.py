"""What a verb asks for: the settings, the studio, and who is acting. Opened when asked, not before."""

import getpass
import os
from functools import cache
from typing import TYPE_CHECKING

from shortdrama_pipeline.cli import output
from shortdrama_pipeline.rules.actors import parse_actor

if TYPE_CHECKING:
    from pathlib import Path

    from shortdrama_pipeline.services.context import Studio
    from shortdrama_pipeline.settings import Settings

_opened: "list[Studio]" = []


def settings() -> "Settings":
    """Return the settings of --home and --config, the environment, or the folder one stands in."""
    from shortdrama_pipeline.settings import load

    return load(output.options.home, output.options.config, environment=os.environ)


def open_studio() -> "Studio":
    """Open the studio of this home; its embedded database is started when it is not running."""
    from shortdrama_pipeline.services.opening import open_studio as open_it

    _opened.append(open_it(settings()))
    return _opened[-1]


def opened_home() -> "Path | None":
    """Return the home of the studio this command opened, if it opened one."""
    return _opened[-1].settings.home if _opened else None


def close() -> None:
    """Give back the connections of every studio this command opened."""
    while _opened:
        _opened.pop().db.close()


def actor() -> str:
    """Return who decides: --actor, or else the person logged in (D-22)."""
    return str(parse_actor(output.options.actor or f"person:{_login_name()}"))


@cache
def _login_name() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a user id without a name, as in some containers
        return f"uid-{os.getuid()}"
