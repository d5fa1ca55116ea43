"""The nine stages in their order: what each makes, what its gate asks, which word names it (§2)."""

from shortdrama_pipeline.rules.states import Stage, StageRun, VersionKind

ORDER: tuple[Stage, ...] = tuple(Stage)

# The gate asks a person to confirm the rights too: to the story (P-2.1) and to the voices (P-2.7).
RIGHTS: frozenset[Stage] = frozenset({Stage.OUTLINE, Stage.AUDIO})

# Stages that can buy something; the others make their product by rule alone.
PAID: frozenset[Stage] = frozenset(
    {Stage.OUTLINE, Stage.SCRIPT, Stage.ASSETS, Stage.STORYBOARD, Stage.PILOT, Stage.SHOTS, Stage.AUDIO}
)

# The words of `stage_run` (P-1.4), as the surface groups them.
RUN_WORDS: dict[Stage, StageRun] = {
    Stage.OUTLINE: StageRun.SCRIPT,
    Stage.SCRIPT: StageRun.SCRIPT,
    Stage.ASSETS: StageRun.ASSETS,
    Stage.STORYBOARD: StageRun.SHOTS,
    Stage.PILOT: StageRun.SHOTS,
    Stage.SHOTS: StageRun.SHOTS,
    Stage.AUDIO: StageRun.AUDIO,
    Stage.TIMELINE: StageRun.EDIT,
    Stage.EXPORT: StageRun.EDIT,
}

PRODUCTS: dict[Stage, tuple[VersionKind, ...]] = {
    Stage.OUTLINE: (VersionKind.STORY_OUTLINE,),
    Stage.SCRIPT: (VersionKind.SCRIPT,),
    Stage.ASSETS: (VersionKind.ASSET, VersionKind.PROJECT_BIBLE),
    Stage.STORYBOARD: (VersionKind.SHOT, VersionKind.ASSET),
    Stage.PILOT: (VersionKind.ASSET,),
    Stage.SHOTS: (VersionKind.ASSET,),
    Stage.AUDIO: (VersionKind.AUDIO,),
    Stage.TIMELINE: (VersionKind.TIMELINE,),
    Stage.EXPORT: (VersionKind.EXPORT,),
}


def before(stage: Stage) -> tuple[Stage, ...]:
    """Return the stages whose gates must be passed first, in order."""
    return ORDER[: ORDER.index(stage)]


def until(stage: Stage | None) -> tuple[Stage, ...]:
    """Return the stages up to and with `stage`; all of them for None."""
    return ORDER if stage is None else ORDER[: ORDER.index(stage) + 1]
