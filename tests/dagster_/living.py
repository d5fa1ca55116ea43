"""A studio with all of Dagster running, as a person runs it: `shortdrama dev`, its page, its daemon."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import sqlalchemy as sa

from shortdrama_pipeline.rules.states import Stage
from shortdrama_pipeline.services.confirming import confirm_quote
from shortdrama_pipeline.services.context import Studio
from shortdrama_pipeline.services.draining import drain
from shortdrama_pipeline.services.gates import pass_gate
from shortdrama_pipeline.services.stage_planning import plan_stage
from tests.fake_vendor import FakeVendor
from tests.stages_ import flow
from tests.stages_.flow import PERSON

START_SECONDS_MAX = 240
WORK_SECONDS_MAX = 300
STOP_SECONDS_MAX = 90
LOOK_S = 0.25
LOCATION = "shortdrama"
REPOSITORY = "__repository__"
_PAGE = re.compile(r"Dagster +(http://\S+)")
_REEXECUTE = """mutation($run: String!, $strategy: ReexecutionStrategy!) {
  launchRunReexecution(reexecutionParams: {parentRunId: $run, strategy: $strategy}) {
    __typename ... on LaunchRunSuccess { run { runId } } ... on PythonError { message } } }"""
_BACKFILL = """mutation($assets: [AssetKeyInput!], $partitions: [String!]) {
  launchPartitionBackfill(backfillParams: {assetSelection: $assets, partitionNames: $partitions}) {
    __typename ... on LaunchBackfillSuccess { backfillId } ... on PythonError { message } } }"""
_MATERIALISE = """mutation($selector: JobOrPipelineSelector!, $tags: [ExecutionTag!]) {
  launchPipelineExecution(executionParams: {selector: $selector, executionMetadata: {tags: $tags}}) {
    __typename ... on LaunchRunSuccess { run { runId } } ... on PythonError { message } } }"""
_ASSETS = """query($selector: RepositorySelector!) { repositoryOrError(repositorySelector: $selector) {
  ... on Repository { assetNodes { assetKey { path } isExecutable } } } }"""


@dataclass(slots=True)
class Living:
    """The studio, its vendor, and what Dagster's database says. `process` is `shortdrama dev`."""

    studio: Studio
    vendor: FakeVendor
    dagster: sa.Engine
    process: "subprocess.Popen[str] | None" = None
    said: list[str] = field(default_factory=list)
    listener: threading.Thread = field(default_factory=threading.Thread)

    @property
    def home(self) -> Path:
        return self.studio.settings.home

    # --- starting and ending -----------------------------------------------------------------------

    def start(self) -> None:
        """Start `dev` and return when it says that all is there."""
        program = "from shortdrama_pipeline.cli.app import main; main()"
        self.said.clear()
        self.process = subprocess.Popen(
            [sys.executable, "-c", program, "dev", "--home", str(self.home), "--port", "0"],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
        )  # fmt: skip
        ready = threading.Event()
        self.listener = threading.Thread(target=self._listen, args=(self.process, ready), daemon=True)
        self.listener.start()
        in_time = ready.wait(START_SECONDS_MAX)
        assert in_time, "".join(self.said)
        assert self.process.poll() is None, "".join(self.said)

    def _listen(self, process: "subprocess.Popen[str]", ready: threading.Event) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            self.said.append(line)
            if "Ctrl-C stops all of it" in line:
                ready.set()
        ready.set()  # it ended; the caller looks

    def stop(self) -> None:
        """End it by Ctrl-C; it must leave nobody behind."""
        process, self.process = self.process, None
        assert process is not None
        left = children(process.pid)
        process.send_signal(signal.SIGINT)
        try:
            code = process.wait(timeout=STOP_SECONDS_MAX)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
        self.listener.join(timeout=STOP_SECONDS_MAX)
        assert process.stdout is not None
        process.stdout.close()
        assert code == 0, "".join(self.said)
        assert not [each for each in left if Path("/proc", str(each)).exists()]

    def kill_daemon(self) -> None:
        """End the daemon without a word; `dev` starts it again."""
        assert self.process is not None
        for child in children(self.process.pid):
            if b"dagster._daemon" in Path("/proc", str(child), "cmdline").read_bytes():
                os.kill(child, signal.SIGKILL)
                return
        raise AssertionError("there is no daemon")

    # --- the page, as its buttons use it -------------------------------------------------------------

    def ask(self, query: str, **variables: object) -> dict[str, Any]:
        """Send one GraphQL request as the page does; return its first field."""
        page = next(found[1] for line in self.said if (found := _PAGE.match(line)))
        answer = httpx.post(
            f"{page}/graphql", json={"query": query, "variables": variables}, timeout=60, trust_env=False
        ).json()
        assert "errors" not in answer, json.dumps(answer)[:2000]
        first: dict[str, Any] = next(iter(answer["data"].values()))
        return first

    def reexecute(self, run_id: str, strategy: str) -> str:
        """Press "Re-execute"; return the new run's id."""
        said = self.ask(_REEXECUTE, run=run_id, strategy=strategy)
        assert said["__typename"] == "LaunchRunSuccess", said
        return str(said["run"]["runId"])

    def backfill(self, assets: Iterable[str], partitions: Iterable[str]) -> str:
        """Launch a backfill nobody approved, as the page does."""
        said = self.ask(_BACKFILL, assets=[{"path": [each]} for each in assets], partitions=list(partitions))
        assert said["__typename"] == "LaunchBackfillSuccess", said
        return str(said["backfillId"])

    def materialise(self, assets: Iterable[str], episode_id: str) -> str:
        """Press "Materialize" with one partition chosen; return the run's id."""
        selector = {
            "repositoryName": REPOSITORY, "repositoryLocationName": LOCATION, "pipelineName": "__ASSET_JOB",
            "assetSelection": [{"path": [each]} for each in assets],
        }  # fmt: skip
        tags = [{"key": "dagster/partition", "value": episode_id}]
        said = self.ask(_MATERIALISE, selector=selector, tags=tags)
        assert said["__typename"] == "LaunchRunSuccess", said
        return str(said["run"]["runId"])

    def every_asset(self) -> list[str]:
        """Return what "Materialize all" covers."""
        selector = {"repositoryName": REPOSITORY, "repositoryLocationName": LOCATION}
        nodes = self.ask(_ASSETS, selector=selector)["assetNodes"]
        return ["/".join(each["assetKey"]["path"]) for each in nodes if each["isExecutable"]]

    # --- what Dagster's database says ----------------------------------------------------------------

    def rows(self, query: str, **bound: object) -> list[Any]:
        with self.dagster.connect() as connection:
            return list(connection.execute(sa.text(query), bound))

    def materialised(self, episode_id: str) -> set[str]:
        """Return the assets that have been materialised for an episode."""
        found = self.rows(
            "select distinct asset_key from event_logs where dagster_event_type = 'ASSET_MATERIALIZATION'"
            " and partition = :episode_id",
            episode_id=episode_id,
        )
        return {str(row.asset_key).strip('[]"') for row in found}

    def run_states(self, **tags: str) -> dict[str, str]:
        """Return (run id, status) of all runs, or of those with a tag (`__` for `/`)."""
        found = self.rows("select run_id, status from runs order by id")
        for name, value in tags.items():
            key = name.replace("__", "/")
            tagged = {
                row.run_id
                for row in self.rows(
                    "select run_id from run_tags where key = :key and value = :value", key=key, value=value
                )
            }
            found = [row for row in found if row.run_id in tagged]
        return {str(row.run_id): str(row.status) for row in found}

    def words(self, run_id: str) -> str:
        """Return everything a run's failures say."""
        found = self.rows(
            "select event from event_logs where run_id = :run_id and dagster_event_type = 'STEP_FAILURE'",
            run_id=run_id,
        )
        return "\n".join(str(row.event) for row in found)

    def await_known(self, episode_id: str) -> None:
        """Wait until the episode has its partition."""
        query = "select 1 from dynamic_partitions where partition = :episode_id"
        self.await_true(lambda: bool(self.rows(query, episode_id=episode_id)))

    def await_run(self, run_id: str) -> str:
        """Wait until a run has ended; return how."""
        ended = {"SUCCESS", "FAILURE", "CANCELED"}
        self.await_true(lambda: self.run_states().get(run_id) in ended)
        return self.run_states()[run_id]

    # --- the studio ----------------------------------------------------------------------------------

    def order(self, episode_id: str, stage: Stage) -> int:
        """Plan and confirm what a stage lacks; return how many items that is."""
        planned = plan_stage(self.studio, episode_id, stage, actor=PERSON)
        confirm_quote(self.studio, planned.quote_id, idempotency_key=planned.quote_id, actor=PERSON)
        return len(planned.items)

    def drive_to(self, episode_id: str, stage: Stage) -> None:
        """Buy and confirm everything before `stage`, by the engine alone."""
        for each in Stage:
            if each is stage:
                return
            if each not in {Stage.OUTLINE, Stage.SCRIPT}:
                self.order(episode_id, each)
                drain(self.studio, worker="furnishing")
            pass_gate(self.studio, episode_id, each, actor=PERSON, rights=True)

    def episode(self, number: int, *, stage: Stage) -> str:
        """Return a new episode that stands at `stage`."""
        episode_id = flow.episode_with_script(self.studio, number=number)
        self.drive_to(episode_id, stage)
        return episode_id

    def twice_posted(self) -> list[str]:
        """Return the tasks that were posted more than once."""
        with self.studio.db.read() as tx:
            tasks = {
                str(row.attempt_id): str(row.task_id)
                for row in tx.execute(sa.text("select attempt_id, task_id from provider_attempts"))
            }
        posted = [tasks[str(seen.body["client_id"])] for seen in self.vendor.posts()]
        return sorted({each for each in posted if posted.count(each) > 1})

    def await_true(self, true: Callable[[], bool], *, seconds_max: int = WORK_SECONDS_MAX) -> None:
        """Wait for a condition; a database that is away for a moment is asked again."""
        pause = threading.Event()
        for _ in range(int(seconds_max / LOOK_S)):
            with _patience():
                if true():
                    return
            pause.wait(LOOK_S)
        raise AssertionError(f"it never came; dev said: {''.join(self.said)[-2000:]}")


@contextmanager
def _patience() -> Iterator[None]:
    try:
        yield
    except sa.exc.DBAPIError:
        return


def children(pid: int) -> list[int]:
    """Return the processes whose parent is `pid`."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rsplit(") ", 1)[1].split()
        except OSError:
            continue
        if int(fields[1]) == pid:
            found.append(int(stat.parent.name))
    return found
