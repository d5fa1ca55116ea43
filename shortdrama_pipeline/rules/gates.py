"""When a gate may be passed, and for how long it stays so (P-2.1 to P-2.9).

A gate covers the chosen version of every subject its stage owes. It is passed for the digest over
exactly those: another choice, a new subject or a missing one is another digest, and asks again.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from shortdrama_pipeline.errors import GateClosed
from shortdrama_pipeline.rules.stages import RIGHTS
from shortdrama_pipeline.rules.states import Stage
from shortdrama_pipeline.rules.versions import digest_of

Key = tuple[str, str]  # (subject, role)


@dataclass(frozen=True, slots=True, order=True)
class Cover:
    """One chosen version as the gate sees it."""

    subject: str
    role: str
    version_id: str
    digest: str

    def to_json(self) -> dict[str, str]:
        return {
            "subject": self.subject,
            "role": self.role,
            "version_id": self.version_id,
            "digest": self.digest,
        }


@dataclass(frozen=True, slots=True)
class Standing:
    """A stage before its gate: what is chosen, what is owed and not there, what a person rejected."""

    stage: Stage
    covers: tuple[Cover, ...]
    missing: tuple[Key, ...]
    rejected: tuple[Key, ...]

    @property
    def digest(self) -> str:
        """Over everything covered; the empty string while something is missing."""
        return "" if self.missing else gate_digest(self.stage, self.covers)


def stand(
    stage: Stage, owed: Sequence[Key], chosen: Mapping[Key, tuple[str, str]], rejected: frozenset[str]
) -> Standing:
    """Lay what is owed beside what is chosen. `chosen` maps to (version id, digest)."""
    covers = tuple(sorted(Cover(*key, *chosen[key]) for key in owed if key in chosen))
    return Standing(
        stage=stage,
        covers=covers,
        missing=tuple(key for key in owed if key not in chosen),
        rejected=tuple((c.subject, c.role) for c in covers if c.version_id in rejected),
    )


def gate_digest(stage: Stage, covers: Sequence[Cover]) -> str:
    """Return the digest a passed gate is bound to."""
    return digest_of({"stage": str(stage), "covers": [cover.to_json() for cover in sorted(covers)]})


def check_passable(standing: Standing, *, rights: bool, seen_digest: str | None = None) -> None:
    """Refuse a gate that cannot be passed now. Raises GateClosed with what is in the way.

    `seen_digest` is what the person looked at: if the choice changed since, they look again.
    """
    stage = standing.stage
    if standing.missing:
        raise GateClosed(
            f"The gate of {stage} cannot be passed: {_names(standing.missing)}",
            hint=f"Make what is missing first: `shortdrama stage plan EPISODE {stage}`",
            stage=str(stage),
            missing=[f"{subject}#{role}" for subject, role in standing.missing],
        )
    if standing.rejected:
        raise GateClosed(
            f"The gate of {stage} cannot be passed: a chosen version was rejected",
            hint="Choose another version, or order a new one",
            stage=str(stage),
            rejected=[f"{subject}#{role}" for subject, role in standing.rejected],
        )
    if stage in RIGHTS and not rights:
        raise GateClosed(
            f"The gate of {stage} also asks for the rights",
            hint="Confirm that the rights are cleared: repeat with --rights",
            stage=str(stage),
            rights=False,
        )
    if seen_digest is not None and seen_digest != standing.digest:
        raise GateClosed(
            f"The gate of {stage} has changed since it was looked at",
            hint="Look again and confirm what is there now",
            stage=str(stage),
            digest=standing.digest,
        )


def closed(stage: Stage, earlier: Stage) -> GateClosed:
    """Return the refusal of a stage whose earlier gate is not passed."""
    return GateClosed(
        f"{stage} cannot start: the gate of {earlier} is not passed",
        hint=f"Look at {earlier} and confirm it: `shortdrama version confirm EPISODE --stage {earlier}`",
        stage=str(stage),
        gate=str(earlier),
    )


def _names(missing: Sequence[Key]) -> str:
    first = ", ".join(subject for subject, _ in missing[:3])
    return f"{len(missing)} missing ({first}{', …' if len(missing) > 3 else ''})"
