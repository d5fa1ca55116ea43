"""Events without a run: a passed gate as a materialisation of `<stage>_confirmed`."""

from collections.abc import Sequence

import dagster as dg

from shortdrama_pipeline.store.watching import PassedGateRow

DATA_VERSION = "dagster/data_version"


WordEvent = dg.AssetMaterialization | dg.AssetCheckEvaluation


def word_events(instance: dg.DagsterInstance, rows: Sequence[PassedGateRow]) -> list[WordEvent]:
    """Return what shows a person's word where it is not shown yet: the gate, and its check."""
    unshown = [
        row for row in rows if not shows(instance, f"{row.stage}_confirmed", row.episode_id, row.digest)
    ]
    return [event(row) for row in unshown for event in (confirmed_event, passed_check)]


def confirmed_event(row: PassedGateRow) -> dg.AssetMaterialization:
    """Say who passed which gate, for which digest."""
    return dg.AssetMaterialization(
        asset_key=f"{row.stage}_confirmed",
        partition=row.episode_id,
        metadata={"passed by": row.actor, "passed at": row.created_at.isoformat(), "digest": row.digest},
        tags={DATA_VERSION: row.digest},
    )


def passed_check(row: PassedGateRow) -> dg.AssetCheckEvaluation:
    """Say that the stage's gate check holds now; its run saw it waiting."""
    return dg.AssetCheckEvaluation(
        asset_key=dg.AssetKey(row.stage),
        check_name="gate",
        passed=True,
        metadata={"episode": row.episode_id, "passed by": row.actor, "digest": row.digest},
    )


def shows(instance: dg.DagsterInstance, asset: str, episode_id: str, digest: str) -> bool:
    """Does the newest materialisation of this asset and episode carry this digest?"""
    record = instance.get_latest_data_version_record(dg.AssetKey(str(asset)), partition_key=episode_id)
    newest = record.asset_materialization if record else None
    return bool(newest and newest.tags and newest.tags.get(DATA_VERSION) == digest)
