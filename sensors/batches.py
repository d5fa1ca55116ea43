"""A confirmed batch becomes a backfill over exactly its episodes (D-21)."""

import dagster as dg

from assets.building import EPISODES
from resources.backfills import add_backfills
from resources.studio import StudioResource
from shortdrama_pipeline.services import watching


@dg.sensor(
    minimum_interval_seconds=4,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Turns every confirmed batch into a backfill of `<stage>_ordered`, one run per episode.",
)
def confirmed_batches(context: dg.SensorEvaluationContext, studio: StudioResource) -> dg.SensorResult:
    opened = studio.open()
    found = watching.batches_to_backfill(opened)
    partitions = sorted({episode for batch in found for episode in batch.episode_ids})
    context.instance.add_dynamic_partitions(str(EPISODES.name), partitions)
    add_backfills(context, found)
    watching.mark_backfilled(opened, [batch.batch_id for batch in found])
    return dg.SensorResult(skip_reason=None if found else "no batch was confirmed")
