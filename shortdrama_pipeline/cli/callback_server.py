"""`python -m shortdrama_pipeline.cli.callback_server HOME PORT`: hears callbacks on loopback, for `dev`.

A vendor reaches it through the address that a binding's label `callback_url` names, such as a tunnel's.
"""

import os
import sys
from pathlib import Path

import uvicorn

from shortdrama_pipeline.services.opening import open_studio
from shortdrama_pipeline.settings import load
from shortdrama_pipeline.studio.callbacks import callback_app


def main(home: str, port: str) -> None:
    studio = open_studio(load(Path(home), None, environment=os.environ))
    uvicorn.run(
        callback_app(studio),
        host="127.0.0.1",
        port=int(port),
        log_level="warning",
        timeout_graceful_shutdown=3,
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
