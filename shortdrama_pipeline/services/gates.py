"""The human gates between the stages: what stands before one, who passes it, what re-opens it (§2).

Only a person passes a gate (D-22), and only for exactly the versions that are chosen now: the gate is
bound to the digest over them, so any other choice asks again. A stage starts only when every gate
before it is passed.
"""

from dataclasses import dataclass

import sqlalchemy as sa

from shortdrama_pipeline.errors import Refusal
from shortdrama_pipeline.rules import gates as rules
from shortdrama_pipeline.rules.actors import require_person
from shortdrama_pipeline.rules.gates import Standing
from shortdrama_pipeline.rules.stages import ORDER, RIGHTS, before
from shortdrama_pipeline.rules.states import MediaKind, Stage
from shortdrama_pipeline.rules.versions import digest_of
from shortdrama_pipeline.services.channels import channels_of
from shortdrama_pipeline.services.context import Studio
from shortdrama_pipeline.stages.catalogue import CATALOGUE
from shortdrama_pipeline.stages.making import make_free
from shortdrama_pipeline.stages.view import View, load_view
from shortdrama_pipeline.store import audit, decisions, gates, selections, versions
from shortdrama_pipeline.store.decisions import CONFIRMED, REJECTED, Decision
from shortdrama_pipeline.store.gates import PassedGate
from shortdrama_pipeline.store.versions import Version


@dataclass(frozen=True, slots=True)
class GateState:
    """A gate as it stands. `passed` is the decision over exactly what is chosen now, or None."""

    stage: Stage
    standing: Standing
    passed: PassedGate | None

    @property
    def rights_asked(self) -> bool:
        return self.stage in RIGHTS

    def to_json(self) -> dict[str, object]:
        return {
            "stage": str(self.stage),
            "passed": self.passed is not None,
            "digest": self.standing.digest,
            "covers": [cover.to_json() for cover in self.standing.covers],
            "missing": [f"{subject}#{role}" for subject, role in self.standing.missing],
            "rejected": [f"{subject}#{role}" for subject, role in self.standing.rejected],
            "rights_asked": self.rights_asked,
            "passed_by": None if self.passed is None else self.passed.actor,
            "passed_at": None if self.passed is None else self.passed.created_at,
            "rights": None if self.passed is None else self.passed.rights,
            "note": None if self.passed is None else self.passed.note,
        }


@dataclass(frozen=True, slots=True)
class Words:
    """Every decision on an episode: the newest on each version, and the passed gates by (stage, digest)."""

    on_versions: dict[str, Decision]
    on_gates: dict[tuple[str, str], PassedGate]


def load_words(tx: sa.Connection, episode_id: str) -> Words:
    return Words(
        decisions.find_newest_decisions(tx, episode_id),
        {(gate.stage, gate.digest): gate for gate in gates.find_gates(tx, episode_id)},
    )


def gate_state(tx: sa.Connection, episode_id: str, stage: Stage | str) -> GateState:
    """Return how the gate of a stage stands now."""
    return state_of(tx, load_view(tx, episode_id, channels=()), Stage(stage))


def state_of(tx: sa.Connection, view: View, stage: Stage, *, words: Words | None = None) -> GateState:
    """Return the same from what is loaded already."""
    words = words or load_words(tx, view.episode_id)
    standing = _standing(view, stage, words)
    passed = words.on_gates.get((stage, standing.digest)) if standing.digest else None
    if passed is None and stage is Stage.PILOT:
        passed = find_pilot_of_same_look(tx, view)
    return GateState(stage, standing, None if standing.rejected else passed)


def find_pilot_of_same_look(tx: sa.Connection, view: View) -> PassedGate | None:
    """Return a passed pilot of another episode with the same bible and video binding, if any (D-24)."""
    bible, channel = view.version("bible"), view.channel(MediaKind.VIDEO)
    if bible is None or channel is None:
        return None
    look = digest_of(bible.content)
    for gate in gates.find_stage_gates(tx, Stage.PILOT):
        covered = versions.find_by_ids(tx, [cover["version_id"] for cover in gate.covers]).values()
        films = [version for version in covered if version.role == "video"]
        if (
            any(version.subject == "bible" and digest_of(version.content) == look for version in covered)
            and films
            and all(film.provenance.get("binding_id") == channel.binding_id for film in films)
        ):
            return gate
    return None


def bring_up_to(studio: Studio, episode_id: str, stage: Stage) -> View:
    """Make the free products of every stage up to `stage`, each only behind its passed gates.

    Returns the view of `stage`, ready to be planned or finished. Raises GateClosed at the first gate
    that is not passed; what was made before it stays.
    """
    channels = channels_of(studio)
    with studio.db.begin() as tx:
        view = load_view(tx, episode_id, channels=channels)
        words = load_words(tx, episode_id)
        shut = None
        for each in (*before(stage), stage):
            view = make_free(tx, view, each, channels=channels)
            if each is not stage and state_of(tx, view, each, words=words).passed is None:
                shut = each
                break
    if shut is not None:
        raise rules.closed(stage, shut)
    return view


def pass_gate(
    studio: Studio,
    episode_id: str,
    stage: Stage | str,
    *,
    actor: str,
    rights: bool = False,
    note: str = "",
    seen_digest: str | None = None,
) -> GateState:
    """Confirm everything a stage's gate covers, and pass it. Again with nothing changed: no effect.

    `seen_digest` binds the word to what the person looked at. Raises GateClosed with what is in the way.
    """
    require_person(actor, "pass a gate")
    stage = Stage(stage)
    bring_up_to(studio, episode_id, stage)
    with studio.db.begin() as tx:
        view = load_view(tx, episode_id, channels=channels_of(studio))
        state = state_of(tx, view, stage)
        rules.check_passable(state.standing, rights=rights, seen_digest=seen_digest)
        if gates.find_gate(tx, episode_id, stage, state.standing.digest) is None:
            _record_passed(tx, view, state, rights=rights, note=note, actor=actor)
        return state_of(tx, view, stage)


def confirm_version(
    studio: Studio, version_id: str, *, actor: str, rights: bool = False, note: str = ""
) -> dict[str, object]:
    """Confirm one version (P-1.2). The last word a gate waits for also passes it.

    Returns {"version_id", "digest", "state", "gate": null | the stage whose gate this passed}.
    """
    require_person(actor, "confirm a version")
    with studio.db.begin() as tx:
        version = versions.load_version(tx, version_id)
        decisions.record_decisions(tx, [version], verdict=CONFIRMED, actor=actor, rights=rights, note=note)
        audit.record_decision(
            tx, "version.confirm", version_id, actor=actor, facts={"digest": version.digest, "rights": rights}
        )
        passed = _pass_if_last(tx, studio, version, note=note, actor=actor)
    return {
        "version_id": version_id,
        "digest": version.digest,
        "state": CONFIRMED,
        "gate": None if passed is None else str(passed),
    }


def reject_version(studio: Studio, version_id: str, *, actor: str, note: str) -> dict[str, object]:
    """Reject one version with the reason. If it was the choice, nothing is chosen any more.

    The version stays, usable for historic films (P-11.7); nothing is ordered (P-11.6).
    """
    require_person(actor, "reject a version")
    if not note.strip():
        raise Refusal("A rejection needs its reason", hint="Say why: --note TEXT", version_id=version_id)
    with studio.db.begin() as tx:
        version = versions.load_version(tx, version_id)
        decisions.record_decisions(tx, [version], verdict=REJECTED, actor=actor, note=note)
        audit.record_decision(
            tx, "version.reject", version_id, actor=actor, facts={"digest": version.digest, "note": note}
        )
        chosen = selections.find_selected(tx, version.episode_id, version.subject, version.role)
        dropped = chosen is not None and chosen.version_id == version_id
        if dropped:
            selections.drop_selections(tx, version.episode_id, [(version.subject, version.role)])
    return {"version_id": version_id, "digest": version.digest, "state": REJECTED, "was_selected": dropped}


def gates_of(tx: sa.Connection, view: View) -> dict[Stage, GateState]:
    """Return every gate of an episode in the order of the stages."""
    words = load_words(tx, view.episode_id)
    return {stage: state_of(tx, view, stage, words=words) for stage in ORDER}


def _standing(view: View, stage: Stage, words: Words) -> Standing:
    chosen = {key: (version.version_id, version.digest) for key, version in view.chosen.items()}
    said = words.on_versions.items()
    rejected = frozenset(version_id for version_id, word in said if word.verdict == REJECTED)
    return rules.stand(stage, CATALOGUE[stage].owed(view), chosen, rejected)


def _record_passed(
    tx: sa.Connection, view: View, state: GateState, *, rights: bool, note: str, actor: str
) -> None:
    """Write the person's word on each covered version that has none yet, then the gate over all."""
    standing = state.standing
    words = decisions.find_newest_decisions(tx, view.episode_id)
    covered = [view.chosen[cover.subject, cover.role] for cover in standing.covers]
    unsaid = [version for version in covered if not _confirmed(version, words)]
    decisions.record_decisions(tx, unsaid, verdict=CONFIRMED, actor=actor, rights=rights, note=note)
    gates.record_gate(
        tx,
        episode_id=view.episode_id,
        stage=standing.stage,
        digest=standing.digest,
        covers=[cover.to_json() for cover in standing.covers],
        rights=rights,
        note=note,
        actor=actor,
    )
    audit.record_decision(
        tx,
        "gate.pass",
        view.episode_id,
        actor=actor,
        facts={"stage": str(standing.stage), "digest": standing.digest, "rights": rights},
    )


def _pass_if_last(
    tx: sa.Connection, studio: Studio, version: Version, *, note: str, actor: str
) -> Stage | None:
    """Pass the gate that waited for this word alone, if there is one and the gates before it are passed."""
    view = load_view(tx, version.episode_id, channels=channels_of(studio))
    words = load_words(tx, version.episode_id)
    for stage in ORDER:
        standing = _standing(view, stage, words)
        if version.version_id not in {cover.version_id for cover in standing.covers}:
            continue
        covered = [view.chosen[cover.subject, cover.role] for cover in standing.covers]
        if standing.missing or not all(_confirmed(each, words.on_versions) for each in covered):
            continue
        rights = all(words.on_versions[each.version_id].rights for each in covered)
        if stage in RIGHTS and not rights:
            continue
        state = state_of(tx, view, stage, words=words)
        earlier = [state_of(tx, view, each, words=words) for each in before(stage)]
        if state.passed is not None or any(each.passed is None for each in earlier):
            continue
        _record_passed(tx, view, state, rights=rights, note=note, actor=actor)
        return stage
    return None


def _confirmed(version: Version, words: dict[str, Decision]) -> bool:
    word = words.get(version.version_id)
    return word is not None and word.verdict == CONFIRMED and word.digest == version.digest


def confirmation_of(version: Version, words: dict[str, Decision]) -> str:
    """Return the domain "content confirmation" of a version, or `rejected` where a person said no."""
    word = words.get(version.version_id)
    if word is not None and word.digest == version.digest:
        return word.verdict
    return "draft"
