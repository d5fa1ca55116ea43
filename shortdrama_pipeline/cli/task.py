"""`shortdrama task`: the task centre. Every action is named for what it does; none is called retry."""

from typing import Annotated

import typer

from shortdrama_pipeline.cli import output, session

app = typer.Typer(
    no_args_is_help=True,
    help="Tasks: list, show, cancel, query, transfer, regenerate, compensate, release-hold, adopt, absent.",
)
TaskId = Annotated[str, typer.Argument(metavar="TASK")]


@app.command("list")
def list_all(
    *,
    episode: Annotated[str | None, typer.Option(help="only this episode")] = None,
    state: Annotated[str | None, typer.Option(help="only this state, such as needsReconciliation")] = None,
) -> None:
    """List tasks, the newest first."""
    from shortdrama_pipeline.services.task_actions import list_tasks

    output.show({"tasks": list_tasks(session.open_studio(), episode_id=episode, state=state)})


@app.command()
def show(task_id: TaskId) -> None:
    """Show a task: states, attempts, lease, history, and what may be done about it."""
    from shortdrama_pipeline.services.task_actions import show_task

    output.show(show_task(session.open_studio(), task_id))


@app.command()
def cancel(task_id: TaskId) -> None:
    """Cancel a queued task; its price comes back. Once sent, only what would follow can be stopped."""
    from shortdrama_pipeline.services.task_actions import cancel_task

    output.show(cancel_task(session.open_studio(), task_id, actor=session.actor()))


@app.command()
def query(
    task_id: TaskId,
    *,
    same_account: Annotated[
        str, typer.Option(help="where it stands that the channel's new key is of the same account")
    ] = "",
) -> None:
    """QUERY ONLY: ask the vendor about the same request. May cost: no."""
    from shortdrama_pipeline.services.task_actions import query_task

    output.show(query_task(session.open_studio(), task_id, actor=session.actor(), same_account=same_account))


@app.command()
def transfer(task_id: TaskId) -> None:
    """TRANSFER ONLY: fetch the same result again. May cost: no."""
    from shortdrama_pipeline.services.task_actions import transfer_task

    output.show(transfer_task(session.open_studio(), task_id, actor=session.actor()))


@app.command()
def regenerate(task_id: TaskId) -> None:
    """REGENERATE: plan the same item anew and leave a Quote. May cost: yes, once that is confirmed."""
    from shortdrama_pipeline.services.task_actions import regenerate_task

    planned = regenerate_task(session.open_studio(), task_id, actor=session.actor())
    output.show(
        {
            "plan_id": planned.plan_id,
            "quote_id": planned.quote_id,
            "input_hash": planned.input_hash,
            "total": planned.total.to_json(),
            "expires_at": planned.expires_at,
            "action": "regenerate",
            "may_cost": True,
        }
    )


@app.command()
def compensate(
    task_id: TaskId, *, note: Annotated[str, typer.Option(help="why, for the audit log")] = ""
) -> None:
    """FUND COMPENSATION: give a settled price back, in the ledger only, at the platform's cost."""
    from shortdrama_pipeline.services.task_actions import compensate_task

    output.show(compensate_task(session.open_studio(), task_id, actor=session.actor(), note=note))


@app.command("release-hold")
def release_hold(task_id: TaskId) -> None:
    """Say that what held a task is mended; it is sent under the confirmation already given."""
    from shortdrama_pipeline.services.task_actions import release_hold as release_it

    output.show(release_it(session.open_studio(), task_id, actor=session.actor()))


@app.command()
def adopt(
    task_id: TaskId,
    *,
    external_id: Annotated[str, typer.Option(help="the vendor's id of the job")],
    note: Annotated[str, typer.Option(help="where it stands, such as a line of the vendor's console")],
) -> None:
    """Say which vendor's job an unanswered request became; a person only. May cost: no."""
    from shortdrama_pipeline.services.task_actions import adopt_task

    studio, actor = session.open_studio(), session.actor()
    output.show(adopt_task(studio, task_id, external_id=external_id, note=note, actor=actor))


@app.command()
def absent(
    task_id: TaskId,
    *,
    note: Annotated[str, typer.Option(help="what shows that the vendor never accepted it")],
) -> None:
    """Attest that an unanswered request was never accepted; its price comes back. May cost: no."""
    from shortdrama_pipeline.services.task_actions import prove_absent_task

    output.show(prove_absent_task(session.open_studio(), task_id, note=note, actor=session.actor()))
