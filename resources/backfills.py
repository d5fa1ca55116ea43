"""The one place that makes a backfill by hand: Dagster's public ways give it a random id."""

import time
from collections.abc import Sequence

import dagster as dg
from dagster._core.execution.backfill import PartitionBackfill
from sqlalchemy.exc import IntegrityError  # Dagster's storage says "there already" with it

from shortdrama_pipeline.store.watching import ConfirmedBatch

BACKFILL_ID_MAX = 32


def add_backfills(context: dg.SensorEvaluationContext, batches: Sequence[ConfirmedBatch]) -> None:
    """Add one backfill of `<stage>_ordered` per batch, over exactly its episodes."""
    for batch in batches:
        add_backfill(context, batch.batch_id, asset=f"{batch.stage}_ordered", partitions=batch.episode_ids)


def add_backfill(
    context: dg.SensorEvaluationContext, batch_id: str, *, asset: str, partitions: Sequence[str]
) -> str:
    """Add the backfill of a batch once, whoever asks how often; its id is the batch's, 32 characters at most.

    A longer one PostgreSQL refuses; Dagster's other storages would take it.
    """
    backfill_id = batch_id
    assert len(backfill_id) <= BACKFILL_ID_MAX, backfill_id
    assert context.repository_def is not None
    try:
        context.instance.add_backfill(
            PartitionBackfill.from_asset_partitions(
                backfill_id=backfill_id,
                asset_graph=context.repository_def.asset_graph,
                partition_names=list(partitions),
                asset_selection=[dg.AssetKey(asset)],
                backfill_timestamp=time.time(),
                tags={"shortdrama/batch": batch_id, "dagster/max_retries": "0"},
                dynamic_partitions_store=context.instance,
                all_partitions=False,
                title=f"Batch {batch_id}",
                description=f"{len(partitions)} episodes of an approved batch",
                run_config=None,
            )
        )
    except IntegrityError:
        context.log.info("%s is there already", backfill_id)
    return backfill_id
