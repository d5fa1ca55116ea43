"""Render (P-2.9): the confirmed timeline becomes an ExportVersion; made by `services/exporting.py`."""

from shortdrama_pipeline.rules.states import Stage
from shortdrama_pipeline.stages.view import Key, View
from shortdrama_pipeline.stages.work import StageWork

KEY: Key = ("export", "content")


def _owed(view: View) -> list[Key]:  # noqa: ARG001 the same for every episode
    return [KEY]


WORK = StageWork(Stage.EXPORT, owed=_owed)
