"""Make one result in a worker process: parameters and inputs in, one whole file and its facts out."""

import json
import multiprocessing
import os
import threading
from pathlib import Path

from shortdrama_pipeline.rehearsal.book import Json

NICENESS = 10


def prepare_worker() -> None:
    """Give way to the server, and die with it even when it is killed."""
    os.nice(NICENESS)
    threading.Thread(target=_die_with_parent, daemon=True).start()


def _die_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def render(kind: str, params: Json, inputs: Path, target: Path) -> Json:
    """Write the result to `target`, whole or not at all, and return what is known of it.

    `inputs` is the folder of sent media, named by sha256.
    """
    # The name keeps its suffix, since ffmpeg reads the container from it.
    partial = target.with_name(f"partial-{os.getpid()}-{target.name}")
    facts = _render(kind, params, inputs, partial)
    with partial.open("rb") as handle:
        os.fsync(handle.fileno())
    partial.replace(target)
    return facts


def _render(kind: str, params: Json, inputs: Path, target: Path) -> Json:
    match kind:
        case "text":
            from shortdrama_pipeline.rehearsal import write

            target.write_text(json.dumps(write.write(params), ensure_ascii=False), encoding="utf-8")
            return {}
        case "image":
            from shortdrama_pipeline.rehearsal import draw

            draw.draw(params, inputs, target)
            return {"seed": params["seed"]}
        case "speech":
            from shortdrama_pipeline.rehearsal import speak

            return {"duration_ms": speak.speak(params, target)}
        case _:
            from shortdrama_pipeline.rehearsal import film

            return {"duration_ms": film.film(params, inputs, target)}
