"""The embedded PostgreSQL of a home: started by whoever comes first, left running, stopped by `db stop`.

`home/postgres` (mode 700) holds the password file and the lock, and as an ordinary user also the data
and the socket. Run as root the server's files lie in a place of its own, named by `LOCATION`, since
PostgreSQL refuses to run as root and no parent folder of the home may be opened for another account.
It listens on a unix socket alone, in a folder only its owner can enter, and asks every connection for
a generated password (scram) that stands in a file of mode 600 and in no URL and no command line.
"""

import fcntl
import os
import secrets
import shutil
import socket
import stat
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import sqlalchemy as sa

from shortdrama_pipeline.errors import Outside
from shortdrama_pipeline.store import programs

ROLE = "shortdrama"
DATABASES = ("shortdrama", "dagster")
SOCKET_PATH_BYTES_MAX = 100  # the kernel's limit is 108, with the zero
START_TRIES_MAX = 40  # a quarter of a second apart: a killed server's processes need a moment to go
LOG_BYTES_MAX = 10 * 1024 * 1024

_SETTINGS = {
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    "password_encryption": "scram-sha-256",
    "max_connections": "200",
    "shared_buffers": "128MB",
    "jit": "off",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "log_line_prefix": "%m [%p] %d ",
}

_PG_CTL = ("-w", "-t", "60", "-s")  # wait for the end of it, say only what is wrong
_STILL_GOING = ("pre-existing shared memory block", "already exists")  # a killed server's last processes


@dataclass(frozen=True, slots=True)
class Server:
    """One home's server. `keys` is home/postgres, `uid` whom it runs as (None: as ourselves)."""

    keys: Path
    place: Path
    sockets: Path
    uid: int | None
    started: bool = False

    @property
    def data(self) -> Path:
        return self.place / "data"

    @property
    def log(self) -> Path:
        return self.place / "server.log"

    @property
    def passfile(self) -> Path:
        return self.keys / "passfile"

    def url(self, database: str = DATABASES[0], *, driver: str = "psycopg", role: str = ROLE) -> str:
        """Return a URL that names the password file, never the password."""
        query = {"host": str(self.sockets), "passfile": str(self.passfile)}
        return sa.URL.create(
            f"postgresql+{driver}", username=role, database=database, query=query
        ).render_as_string(hide_password=False)

    def answers(self) -> bool:
        """Is it up and past its recovery, with its databases made?"""
        try:
            lines = (self.data / "postmaster.pid").read_text().splitlines()
            with socket.socket(socket.AF_UNIX) as probe:
                probe.connect(str(self.sockets / ".s.PGSQL.5432"))
        except OSError:
            return False
        return len(lines) > 7 and lines[7].strip() == "ready"


def start(home: Path, *, settings: Mapping[str, str] | None = None) -> Server:
    """Return the running server of `home`, making and starting it where needed; a no-op else.

    Raises Outside when the disk is full or not writable, or when PostgreSQL gives another reason.
    """
    keys = home / "postgres"
    try:
        ready = (keys / "READY").exists()
        server = find(home)
        if server and ready and server.answers():
            return server
        if server is None and ready:
            raise _files_gone(keys)
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        keys.mkdir(mode=0o700, exist_ok=True)
        with _lock(keys):
            server = _make_place(keys)
            launched = not server.answers()
            if launched:
                _launch(server, {**_SETTINGS, **(settings or {})})
            if not (keys / "READY").exists():
                _make_databases(server)
                (keys / "READY").touch()
            return Server(server.keys, server.place, server.sockets, server.uid, started=launched)
    except OSError as error:
        raise Outside(
            f"The embedded database cannot use {error.filename or home}: {error.strerror}",
            hint="Make the home writable and leave room on its disk, or name another with --home",
            home=str(home),
        ) from error


def find(home: Path) -> Server | None:
    """Return the server that `home` has, running or not; None before its first start."""
    keys = home / "postgres"
    location = keys / "LOCATION"
    place = Path(location.read_text().strip()) if location.exists() else keys
    if not (place / "data").exists():
        return None
    owner = (place / "data").stat().st_uid
    return Server(keys, place, _sockets(keys, place), owner if os.geteuid() == 0 else None)


def stop(home: Path) -> bool:
    """Stop the server after its running transactions are rolled back. False when none was running."""
    server = find(home)
    if server is None or not (server.data / "postmaster.pid").exists():
        return False
    with _lock(server.keys):
        ended = programs.run("pg_ctl", "stop", *_PG_CTL, "-D", str(server.data), "-m", "fast", uid=server.uid)
    if ended.code and server.answers():
        raise Outside(
            f"PostgreSQL did not stop: {_cause(ended.text)}",
            hint=f"Read {server.log}",
            log=str(server.log),
        )
    return ended.code == 0


@contextmanager
def _lock(keys: Path) -> Iterator[None]:
    with (keys / "lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield


def _sockets(keys: Path, place: Path) -> Path:
    named = keys / "SOCKETS"
    return Path(named.read_text().strip()) if named.exists() else place / "sockets"


def _make_place(keys: Path) -> Server:
    """Return a server whose data exist. Every step may have been done before and is then left."""
    server = find(keys.parent)
    if server is None:
        uid = programs.private_uid() if os.geteuid() == 0 else None
        place = keys
        if uid is not None:
            location = keys / "LOCATION"
            if not location.exists():
                _write(location, str(programs.new_place()))
            place = Path(location.read_text().strip())
        server = Server(keys, place, _sockets(keys, place), uid)
        _initialise(server)
    sockets = server.sockets
    if not _can_hold_sockets(sockets, server.uid):
        sockets = Path(tempfile.mkdtemp(prefix="shortdrama-"))
        _write(keys / "SOCKETS", str(sockets))
    sockets.mkdir(mode=0o700, exist_ok=True)
    if server.uid is not None:
        os.chown(sockets, server.uid, server.uid)
    return Server(keys, server.place, sockets, server.uid)


def _can_hold_sockets(folder: Path, uid: int | None) -> bool:
    """Is it short and plain enough for a socket's address, and ours (a cleaned /tmp may hold another's)?"""
    if len(os.fsencode(folder / ".s.PGSQL.5432")) > SOCKET_PATH_BYTES_MAX or set(str(folder)) & set(',:"'):
        return False
    try:
        found = folder.lstat()
    except FileNotFoundError:
        return folder.parent.exists() and folder.parent != Path(tempfile.gettempdir())
    return stat.S_ISDIR(found.st_mode) and found.st_uid == (os.geteuid() if uid is None else uid)


def _files_gone(keys: Path) -> Outside:
    location = keys / "LOCATION"
    place = location.read_text().strip() if location.exists() else str(keys)
    return Outside(
        f"The database's files in {place} are gone",
        hint=f"Bring them back, or remove {keys} and restore a backup (`shortdrama db restore`)",
        place=place,
    )


def _initialise(server: Server) -> None:
    """Make the data folder, whole or not at all."""
    if not server.passfile.exists():
        lines = (f"*:*:*:{role}:{secrets.token_urlsafe(32)}\n" for role in ("postgres", ROLE))
        _write(server.passfile, "".join(lines))
    fresh = server.place / "data.new"
    words = server.place / "words"
    shutil.rmtree(fresh, ignore_errors=True)
    _write(words, _password(server, "postgres"))
    maker = None if server.uid is None else programs.listed_uid()
    if maker is not None:
        programs.own(server.place, maker)
    ended = programs.run(
        "initdb", "-D", str(fresh), "-U", "postgres", "--pwfile", str(words), "--encoding=UTF8",
        "--auth-local=scram-sha-256", "--auth-host=scram-sha-256", "--locale-provider=builtin",
        "--builtin-locale=C.UTF-8", "--locale=C", "--no-instructions", uid=maker,
    )  # fmt: skip
    words.unlink()
    if ended.code:
        raise _reason(ended.text, server)
    with (fresh / "postgresql.conf").open("a") as file:
        file.write("include_if_exists = 'shortdrama.conf'\n")
    if server.uid is not None:
        programs.own(server.place, server.uid)
    fresh.rename(server.data)


def _launch(server: Server, settings: Mapping[str, str]) -> None:
    values = {**settings, "unix_socket_directories": f'"{server.sockets}"'}
    text = "".join(f"{name} = {_quoted(value)}\n" for name, value in values.items())
    (server.data / "shortdrama.conf").unlink(missing_ok=True)
    _write(server.data / "shortdrama.conf", text)
    if server.log.exists() and server.log.stat().st_size > LOG_BYTES_MAX:
        server.log.replace(server.log.with_suffix(".log.1"))
    server.log.touch(mode=0o600)
    if server.uid is not None:
        os.chown(server.data / "shortdrama.conf", server.uid, server.uid)
        os.chown(server.log, server.uid, server.uid)
    said = ""
    for _ in range(START_TRIES_MAX):
        _forget_stale_pid(server)
        said_before = server.log.stat().st_size
        ended = programs.run(
            "pg_ctl", "start", *_PG_CTL, "-D", str(server.data), "-l", str(server.log), uid=server.uid
        )
        if ended.code == 0 or server.answers():
            return
        with server.log.open("rb") as file:
            file.seek(said_before)
            said = file.read().decode(errors="replace") + ended.text
        if not any(sign in said for sign in _STILL_GOING):
            break
        threading.Event().wait(0.25)
    raise _reason(said, server)


def _quoted(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _forget_stale_pid(server: Server) -> None:
    """Drop lock files that a killed server left, when no process works in its data folder any more.

    PostgreSQL does so by itself, except when their number now belongs to any other program of this user.
    """
    file = server.data / "postmaster.pid"
    processes = Path("/proc")
    if not processes.is_dir() or server.answers():
        return
    data = server.data.resolve()
    for process in processes.iterdir():
        try:
            if process.name.isdecimal() and (process / "cwd").readlink() == data:
                return  # one of its own is still there; PostgreSQL decides
        except OSError:
            continue
    for each in (file, server.sockets / ".s.PGSQL.5432.lock", server.sockets / ".s.PGSQL.5432"):
        each.unlink(missing_ok=True)


def _make_databases(server: Server) -> None:
    import psycopg
    from psycopg import sql

    with psycopg.connect(
        host=str(server.sockets),
        user="postgres",
        dbname="postgres",
        passfile=str(server.passfile),
        autocommit=True,
    ) as connection:
        # Many rounds protect passwords that can be guessed; this one is 256 random bits. Dagster connects
        # some forty times per run, and each round is paid for at every connection (13 ms at 4096 rounds).
        connection.execute("set scram_iterations = 1")
        # Sent as its scram verifier, so that no log of statements ever holds the password.
        verifier = connection.pgconn.encrypt_password(
            _password(server, ROLE).encode(), ROLE.encode(), b"scram-sha-256"
        ).decode()
        role = sql.Identifier(ROLE)
        if not connection.execute("select from pg_roles where rolname = %s", (ROLE,)).fetchone():
            connection.execute(
                sql.SQL("create role {} login createdb password {}").format(role, sql.Literal(verifier))
            )
        for name in DATABASES:
            if not connection.execute("select from pg_database where datname = %s", (name,)).fetchone():
                connection.execute(sql.SQL("create database {} owner {}").format(sql.Identifier(name), role))


def _password(server: Server, role: str) -> str:
    lines = (line.rsplit(":", 2) for line in server.passfile.read_text().splitlines())
    return next(password for _, name, password in lines if name == role)


def _write(path: Path, text: str) -> None:
    """Write a file of mode 600, whole or not at all."""
    fresh = path.with_name(path.name + ".new")
    fresh.unlink(missing_ok=True)
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(path)


def _reason(said: str, server: Server) -> Outside:
    if "No space left on device" in said:
        return Outside(
            "The disk is full: PostgreSQL cannot start", hint="Free some space, then repeat the command",
            place=str(server.place), log=str(server.log),
        )  # fmt: skip
    return Outside(
        f"PostgreSQL did not start: {_cause(said)}",
        hint=f"Read {server.log}; `shortdrama db stop` ends a server that hangs",
        place=str(server.place), log=str(server.log),
    )  # fmt: skip


def _cause(said: str) -> str:
    """Return the line that names the cause: the first that complains, or else the last."""
    lines = [line for line in said.splitlines() if line.strip()]
    causes = (line for line in lines if any(word in line for word in ("invalid", "FATAL", "PANIC", "error:")))
    return next(causes, (lines or ["no reason given"])[-1])
