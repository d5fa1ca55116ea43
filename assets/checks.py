"""Asset checks: does a person's word stand on a stage, and is the film as it must be. None of them blocks.

A check that waits for a person is a warning, never an error: the normal course shows no red.
"""

import dagster as dg

from resources.studio import StudioResource
from shortdrama_pipeline.rules.stages import ORDER
from shortdrama_pipeline.rules.states import Stage
from shortdrama_pipeline.services import watching

PARTITION = "dagster/partition"
GATE = "gate"


def gate_check(stage: Stage) -> dg.AssetChecksDefinition:
    """Return the check that says who passed the gate of `stage`, or that it waits."""

    @dg.asset_check(
        asset=dg.AssetKey(str(stage)),
        name=GATE,
        description=f"A person confirmed `{stage}` for exactly these versions.",
    )
    def gate(context: dg.AssetCheckExecutionContext, studio: StudioResource) -> dg.AssetCheckResult:
        waiting = watching.waiting_at_gate(studio.open(), stage, context.run.tags.get(PARTITION))
        return dg.AssetCheckResult(
            passed=not waiting,
            severity=dg.AssetCheckSeverity.WARN,
            description=f"waits for a person: {', '.join(waiting)}" if waiting else "passed",
        )

    return gate


@dg.asset_check(
    asset=dg.AssetKey(str(Stage.EXPORT)),
    name="quality",
    description="Sound and picture end together, and the loudness is what platforms ask for.",
)
def quality(context: dg.AssetCheckExecutionContext, studio: StudioResource) -> dg.AssetCheckResult:
    measured = watching.measured_films(studio.open(), context.run.tags.get(PARTITION))
    faults = {each.episode_id: list(each.faults) for each in measured if each.faults}
    return dg.AssetCheckResult(
        passed=not faults,
        metadata={
            "films": len(measured),
            "faults": dg.MetadataValue.json(faults),
            "milli LUFS": dg.MetadataValue.json(
                {each.episode_id: each.loudness_milli_lufs for each in measured}
            ),
        },
    )


CHECKS = [*(gate_check(stage) for stage in ORDER), quality]
