"""Events without a run: a passed gate as a materialisation of `<stage>_confirmed`."""

import dagster as dg

from shortdrama_pipeline.store.watching import PassedGateRow

DATA_VERSION = "dagster/data_version"


def confirmed_event(row: PassedGateRow) -> dg.AssetMaterialization:
    """Say who passed which gate, for which digest."""
    return dg.AssetMaterialization(
        asset_key=f"{row.stage}_confirmed",
        partition=row.episode_id,
        metadata={"passed by": row.actor, "passed at": row.created_at.isoformat(), "digest": row.digest},
        tags={DATA_VERSION: row.digest},
    )


def shows(instance: dg.DagsterInstance, asset: str, episode_id: str, digest: str) -> bool:
    """Does the newest materialisation of this asset and episode carry this digest?"""
    record = instance.get_latest_data_version_record(dg.AssetKey(str(asset)), partition_key=episode_id)
    newest = record.asset_materialization if record else None
    return bool(newest and newest.tags and newest.tags.get(DATA_VERSION) == digest)
