"""`python -m shortdrama_pipeline.rehearsal HOME [PORT]`: the server without the command line around it."""

import sys
from pathlib import Path

from shortdrama_pipeline.rehearsal.serving import serve


def main() -> None:
    port = int(sys.argv[2]) if len(sys.argv) > 2 else None
    serve(Path(sys.argv[1]), port=port, tell=lambda line: print(line, flush=True))  # noqa: T201 - its own door


if __name__ == "__main__":
    main()
