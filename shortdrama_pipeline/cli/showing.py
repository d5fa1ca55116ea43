"""Materialises stages on the persistent Dagster instance, in this process, beside the work.

A thread of its own loads Dagster and shows each complete stage while the next one is being made, so
that the demo does not wait for it.
"""

import os
from queue import SimpleQueue
from threading import Thread

from shortdrama_pipeline.errors import Outside
from shortdrama_pipeline.rules.states import Stage
from shortdrama_pipeline.services.context import Studio


class Showing:
    """Takes complete stages in order; `finish` waits until all of them are shown."""

    def __init__(self, studio: Studio, episode_id: str) -> None:
        self._studio = studio
        self._episode_id = episode_id
        self._stages: SimpleQueue[Stage | None] = SimpleQueue()
        self._failed: list[BaseException] = []
        self._thread = Thread(target=self._run, name="showing", daemon=True)
        self._thread.start()

    def stage(self, stage: Stage) -> None:
        self._stages.put(stage)

    def finish(self) -> None:
        """Raises Outside if Dagster could not be told; the film itself is not touched by that."""
        self._stages.put(None)
        self._thread.join()
        if self._failed:
            raise Outside(
                f"Dagster could not be told: {self._failed[0]}",
                hint="The episode is complete; `shortdrama dev` shows it once Dagster works again",
            ) from self._failed[0]

    def _run(self) -> None:
        try:
            self._show_all()
        except Exception as error:  # noqa: BLE001 - handed to the thread that waits
            self._failed.append(error)

    def _show_all(self) -> None:
        from resources import instance

        os.environ.update(instance.environment(self._studio.settings))
        instance.write_config(self._studio.settings)
        import dagster as dg

        from assets.showing import show_gates, show_stage
        from resources.studio import close_opened

        with dg.DagsterInstance.get() as opened:
            # Keeps its connections: one run would open some forty else.
            opened.optimize_for_webserver(**instance.KEEP_CONNECTIONS)
            while stage := self._stages.get():
                show_stage(opened, self._studio, self._episode_id, stage)
            show_gates(opened, self._studio, self._episode_id)
        close_opened()
