"""`shortdrama version`: list, look, choose, confirm, reject; and what is stale."""

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from shortdrama_pipeline.cli import output, session, words
from shortdrama_pipeline.errors import UsageError
from shortdrama_pipeline.services import gates, versioning

app = typer.Typer(no_args_is_help=True, help="Versions: list, show, diff, select, confirm, reject, stale.")
Id = Annotated[str, typer.Argument(help="a version's id")]
Episode = Annotated[str, typer.Argument(help="the episode's id")]
Note = Annotated[str, typer.Option(help="why, kept with the decision")]


@app.command("list")
def list_all(
    episode: Episode,
    subject: Annotated[str | None, typer.Option(help="such as shot:s1-03 or character:c1")] = None,
    role: Annotated[
        str | None, typer.Option(help="content, reference, voice, frame, video or speech")
    ] = None,
) -> None:
    """List the versions of an episode: state, choice, and whether each is stale."""
    studio = session.open_studio()
    rows = versioning.list_versions(studio, episode, subject=subject, role=role)
    say = words.Words(studio.settings.studio.language)

    def human(console: Console) -> None:
        table = Table(
            say("subject"), say("role"), "#", say("state"), say("selected"), say("stale"), say("version")
        )
        for each in rows:
            table.add_row(
                str(each["subject"]),
                str(each["role"]),
                str(each["number"]),
                str(each["state"]),
                say("yes") if each["selected"] else "",
                _path(each["stale"]),
                str(each["version_id"]),
            )
        console.print(table)

    output.show({"versions": rows}, human)


@app.command()
def show(version: Id) -> None:
    """Show one version whole: content, origins, provenance, decisions."""
    output.show(versioning.show_version(session.open_studio(), version))


@app.command()
def diff(version: Id, other: Annotated[str, typer.Argument(help="the version to compare with")]) -> None:
    """Show what differs between two versions."""
    output.show(versioning.diff_versions(session.open_studio(), version, other))


@app.command()
def select(version: Id) -> None:
    """Make a version the choice of its subject. Free; shows what becomes stale by it."""
    output.show(versioning.select_version(session.open_studio(), version, actor=session.actor()))


@app.command()
def edit(
    version: Id,
    content: Annotated[Path, typer.Option(help="a JSON file with the whole new content")],
) -> None:
    """Record a changed script, outline, shot or setting as a new draft, and choose it."""
    try:
        changed = json.loads(content.read_text(encoding="utf-8"))
    except ValueError as error:
        raise UsageError(
            f"{content} is not JSON: {error}", hint="Start from what `version show` prints as content"
        ) from error
    if not isinstance(changed, dict):
        raise UsageError(f"{content} is not a JSON object", hint="Start from what `version show` prints")
    output.show(versioning.edit_version(session.open_studio(), version, changed, actor=session.actor()))


@app.command()
def confirm(
    version: Annotated[str, typer.Argument(help="a version's id; with --stage the episode's id")],
    stage: Annotated[
        str | None, typer.Option(help="confirm all this stage's gate covers, and pass it")
    ] = None,
    rights: Annotated[bool, typer.Option("--rights", help="the rights are cleared (outline, audio)")] = False,
    digest: Annotated[str | None, typer.Option(help="pass only if the gate still has this digest")] = None,
    note: Note = "",
) -> None:
    """Confirm a version; the last word a gate waits for passes it. Only a person may."""
    studio = session.open_studio()
    if stage is None:
        output.show(gates.confirm_version(studio, version, actor=session.actor(), rights=rights, note=note))
        return
    state = gates.pass_gate(
        studio,
        version,
        words.stage(stage),
        actor=session.actor(),
        rights=rights,
        note=note,
        seen_digest=digest,
    )
    output.show({"episode_id": version, **state.to_json()})


@app.command()
def reject(version: Id, note: Note = "") -> None:
    """Reject a version with the reason. If it was chosen, nothing is chosen any more; nothing is ordered."""
    output.show(gates.reject_version(session.open_studio(), version, actor=session.actor(), note=note))


@app.command()
def merge(
    episode: Episode,
    keep: Annotated[str, typer.Option(help="the character that stays, such as c1")],
    drop: Annotated[str, typer.Option(help="the character that becomes the other")],
) -> None:
    """Make one character of two in a new draft of the script."""
    output.show(
        versioning.merge_characters(session.open_studio(), episode, keep, drop=drop, actor=session.actor())
    )


@app.command()
def stale(episode: Episode) -> None:
    """Show what is stale, by which path, and what a redo would cost. Orders nothing."""
    studio = session.open_studio()
    document = versioning.stale_versions(studio, episode)
    say = words.Words(studio.settings.studio.language)

    def human(console: Console) -> None:
        table = Table(say("subject"), say("role"), say("made from"), say("price"))
        rows = document["stale"]
        assert isinstance(rows, list)
        for each in rows:
            table.add_row(each["subject"], each["role"], _path(each), words.amount(each["redo_cost"]))
        console.print(table)
        console.print(f"{say('total')}: {words.amount(document['redo_total'])}")

    output.show(document, human)


def _path(stale: object) -> str:
    if not isinstance(stale, dict):
        return ""
    return " ← ".join(f"{step['subject']}#{step['role']}" for step in stale["path"])
