"""A run launcher that can say whether a run is still alive (dagster.yaml names it)."""

from dagster._core.errors import DagsterUserCodeUnreachableError
from dagster._core.launcher import CheckRunHealthResult, DefaultRunLauncher, WorkerStatus
from dagster._core.storage.dagster_run import DagsterRun
from dagster._grpc.types import CanCancelExecutionRequest, CanCancelExecutionResult
from dagster._serdes import deserialize_value

ANSWER_WITHIN_S = 5


class HealthCheckedRunLauncher(DefaultRunLauncher):
    """The default launcher never looks after a run it started: after a crash it stays STARTED for ever.

    With this one the run monitor asks the code server of every started run, so that a dead run is
    failed within one poll, also after the whole machine went down.
    """

    @property
    def supports_check_run_worker_health(self) -> bool:
        return True

    def check_run_worker_health(self, run: DagsterRun) -> CheckRunHealthResult:
        client = self._get_grpc_client_for_termination(run.run_id)  # type: ignore[no-untyped-call]
        if client is None:
            return CheckRunHealthResult(WorkerStatus.UNKNOWN, "no code server recorded")
        try:
            said = client.can_cancel_execution(
                CanCancelExecutionRequest(run_id=run.run_id), timeout=ANSWER_WITHIN_S
            )
        except DagsterUserCodeUnreachableError:
            return CheckRunHealthResult(WorkerStatus.NOT_FOUND, "its code server is gone")
        if deserialize_value(said, CanCancelExecutionResult).can_cancel:
            return CheckRunHealthResult(WorkerStatus.RUNNING)
        return CheckRunHealthResult(WorkerStatus.FAILED, "its code server does not know the run")
