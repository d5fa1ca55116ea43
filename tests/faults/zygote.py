"""A process that has everything imported and forks workers in milliseconds; each is a real process to kill.

Started as `python -m tests.faults.zygote`. It reads one JSON order per line and tells, also by lines,
which process began, stopped and ended. A worker is its child alone: no thread, socket or connection of
the tests is shared with it.
"""

import gc
import json
import os
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent.parent
WAIT_S = 180


class Worker:
    """One forked process, seen from the tests."""

    def __init__(self) -> None:
        self.pid = 0
        self.code: int | None = None  # as subprocess has it: -9 for a kill
        self.began = threading.Event()
        self.stopped = threading.Event()
        self.ended = threading.Event()

    def wait(self, seconds: float = WAIT_S) -> int:
        """Wait for the end; returns the exit code, negative for a signal."""
        if not self.ended.wait(seconds):
            self.signal(signal.SIGKILL)
            raise AssertionError(f"process {self.pid} did not end within {seconds} s")
        assert self.code is not None
        return self.code

    def wait_stopped(self, seconds: float = WAIT_S) -> bool:
        """Wait until it stands still or has ended; did it stop?"""
        pause = threading.Event()
        for _ in range(int(seconds * 100)):
            if self.stopped.is_set() or self.ended.is_set():
                break
            pause.wait(0.01)
        return self.stopped.is_set() and not self.ended.is_set()

    def go_on(self) -> None:
        self.stopped.clear()
        self.signal(signal.SIGCONT)

    def signal(self, number: int) -> None:
        if not self.ended.is_set():
            os.kill(self.pid, number)


class Zygote:
    """The tests' end of the line."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.faults.zygote"],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
        )
        self._workers: dict[int, Worker] = {}
        self._by_pid: dict[int, Worker] = {}
        self._lock = threading.Lock()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def fork(self, order: Mapping[str, Any]) -> Worker:
        """Fork one worker for an order of `jobs.run`; returns when it has a process id."""
        worker = Worker()
        with self._lock:
            number = len(self._workers) + 1
            self._workers[number] = worker
            assert self._process.stdin is not None
            self._process.stdin.write(json.dumps({"number": number, "order": order}) + "\n")
            self._process.stdin.flush()
        if not worker.began.wait(WAIT_S):
            raise AssertionError("the zygote does not answer")
        return worker

    def close(self) -> None:
        for each in list(self._workers.values()):
            if each.began.is_set():
                each.signal(signal.SIGKILL)
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(timeout=WAIT_S)
        self._reader.join(timeout=WAIT_S)
        assert self._process.stdout is not None
        self._process.stdout.close()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            told = json.loads(line)
            if "number" in told:
                worker = self._workers[told["number"]]
                worker.pid = told["pid"]
                self._by_pid[worker.pid] = worker
                worker.began.set()
            elif told["what"] == "stopped":
                self._by_pid[told["pid"]].stopped.set()
            else:
                worker = self._by_pid.pop(told["pid"])
                worker.code = told["code"]
                worker.ended.set()


# --- the other end --------------------------------------------------------------------------------------


def _say(**told: object) -> None:
    sys.stdout.write(json.dumps(told) + "\n")
    sys.stdout.flush()


def _fork(number: int, order: Mapping[str, Any]) -> None:
    pid = os.fork()
    if pid:
        _say(number=number, pid=pid)
        return
    code = 1
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        nothing = os.open(os.devnull, os.O_RDWR)
        log = os.open(order["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        for target, source in ((0, nothing), (1, log), (2, log)):
            os.dup2(source, target)
        from tests.faults import jobs

        jobs.run(order)
        code = 0
    except BaseException:  # noqa: BLE001 - whatever it was, the log has it and the tests see the code
        import traceback

        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _reap() -> None:
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG | os.WUNTRACED)
        except ChildProcessError:
            return
        if pid == 0:
            return
        if os.WIFSTOPPED(status):
            _say(pid=pid, what="stopped")
        else:
            _say(pid=pid, what="ended", code=os.waitstatus_to_exitcode(status))


def main() -> None:
    from tests.faults import jobs  # everything is imported once, here

    jobs.warm_up()
    gc.collect()
    gc.freeze()
    ear, mouth = os.pipe()
    os.set_blocking(mouth, False)
    os.set_blocking(ear, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(mouth)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the tests; they close us
    buffer = b""
    while True:
        ready, _, _ = select.select([0, ear], [], [])
        if ear in ready:
            os.read(ear, 4096)
            _reap()
        if 0 in ready:
            heard = os.read(0, 1 << 16)
            if not heard:
                return
            *lines, buffer = (buffer + heard).split(b"\n")
            for line in lines:
                told = json.loads(line)
                _fork(told["number"], told["order"])


if __name__ == "__main__":
    main()
