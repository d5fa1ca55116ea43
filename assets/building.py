"""What all stages share: the partitions, the shape of a result, who acts, how a picture is shown."""

from base64 import b64encode
from collections.abc import Mapping
from io import BytesIO
from typing import Any

import dagster as dg
from PIL import Image

from shortdrama_pipeline.services.context import Studio
from shortdrama_pipeline.services.exporting import Export
from shortdrama_pipeline.services.stage_runs import OrderReport, StageReport

EPISODES = dg.DynamicPartitionsDefinition(name="episode_id")
PRODUCERS = ["team:producers"]
ACTOR = "schedule:dagster"  # plans and finishes; it may not confirm a gate or a Quote (D-22)
CODE_VERSION = "1"
THUMBNAIL_PIXELS = (270, 480)


def materialised(
    studio: Studio, report: StageReport, *, more: Mapping[str, dg.MetadataValue[Any]] | None = None
) -> dg.MaterializeResult[Any]:
    """Say what a complete stage holds; its data version is the digest its gate is bound to."""
    spent = {f"spent {each.currency}": dg.MetadataValue.text(str(each)) for each in report.spent}
    picture = thumbnail(studio, report.thumbnail_sha256) if report.thumbnail_sha256 else {}
    return dg.MaterializeResult(
        metadata={
            **picture,
            **(more or {}),
            **spent,
            "items": dg.MetadataValue.int(report.done),
            "digest": dg.MetadataValue.text(report.digest),
            "versions": dg.MetadataValue.json(report.versions),
        },
        data_version=dg.DataVersion(report.digest),
    )


def ordered(report: OrderReport) -> dg.MaterializeResult[Any]:
    """Say that everything a stage needs is in the engine's hands; nothing of it need be finished."""
    return dg.MaterializeResult(
        metadata={"ordered": dg.MetadataValue.int(report.ordered), "of": dg.MetadataValue.int(report.of)}
    )


def where_it_lies(export: Export) -> dict[str, dg.MetadataValue[Any]]:
    """Return the page with film and files, and their folder: paths, since no page may link to a file."""
    return {
        "page": dg.MetadataValue.path(str(export.folder / "index.html")),
        "folder": dg.MetadataValue.path(str(export.folder)),
    }


def thumbnail(studio: Studio, sha256: str) -> dict[str, dg.MetadataValue[Any]]:
    """Return a small picture that the UI shows in place, and where the whole one lies."""
    path = studio.objects.path(sha256)
    small = BytesIO()
    with Image.open(path) as picture:
        picture.thumbnail(THUMBNAIL_PIXELS)
        picture.convert("RGB").save(small, "JPEG", quality=70)
    data = b64encode(small.getvalue()).decode()
    return {
        "picture": dg.MetadataValue.md(f"![{sha256[:12]}](data:image/jpeg;base64,{data})"),
        "picture file": dg.MetadataValue.path(str(path)),
    }
