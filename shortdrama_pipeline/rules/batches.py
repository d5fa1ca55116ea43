"""A batch: one approval over explicit episodes, with a ceiling (P-11)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from shortdrama_pipeline.errors import UsageError
from shortdrama_pipeline.rules.states import Stage, TaskState

EPISODES_PER_BATCH_MAX = 200
BATCH_STAGES = frozenset({Stage.ASSETS, Stage.STORYBOARD, Stage.PILOT, Stage.SHOTS, Stage.AUDIO})


@dataclass(frozen=True, slots=True)
class Continuation:
    """What "continue" does per item (P-11.3): ask the vendor again for free, or quote anew."""

    untouched: tuple[str, ...]
    query: tuple[str, ...]
    quote: tuple[str, ...]


def check_episodes(episode_ids: Sequence[str], stage: Stage) -> tuple[str, ...]:
    """Return the episodes in order, each once; refuse none, too many, or a stage no batch may cover."""
    unique = tuple(dict.fromkeys(episode_ids))
    if not 0 < len(unique) <= EPISODES_PER_BATCH_MAX:
        raise UsageError(
            f"A batch covers 1 to {EPISODES_PER_BATCH_MAX} episodes, not {len(unique)}",
            hint="Name them with --episodes",
        )
    if stage not in BATCH_STAGES:
        raise UsageError(
            f"The stage {stage} is not ordered in batches",
            hint=f"Plan it per episode, or choose one of: {', '.join(sorted(BATCH_STAGES))}",
        )
    return unique


def continuation(states: Mapping[str, TaskState]) -> Continuation:
    """Sort task ids by what may happen to them; only a failed or cancelled one may cost again."""
    untouched, query, quote = [], [], []
    for task_id, state in states.items():
        match state:
            case TaskState.NEEDS_RECONCILIATION:
                query.append(task_id)
            case TaskState.FAILED | TaskState.CANCELLED:
                quote.append(task_id)
            case _:
                untouched.append(task_id)
    return Continuation(tuple(untouched), tuple(query), tuple(quote))
