"""`python -m tests.chaos.vendor HOME`: the rehearsal provider with its book and faults, results ready made.

Only drawing, speaking and filming are left out: under fire the workers are to be slow, not the vendor.
HOME is the provider's own folder; it serves at the port that stands there, as the embedded one does.
"""

import sys
import zlib
from pathlib import Path

import uvicorn

from shortdrama_pipeline.rehearsal import answers, misanswers, rendering, serving
from shortdrama_pipeline.rehearsal.bench import Bench
from shortdrama_pipeline.rehearsal.book import Json, Request
from shortdrama_pipeline.rehearsal.server import Provider, build_app
from tests.chaos.orders import FRAMES_PER_FILM, SIDE
from tests.fake_vendor import film, picture, sound


class ReadyMade(Bench):
    """Hands out what was made before."""

    async def _render(self, request: Request) -> Json:
        target = answers.result_path(self.results, request)
        number = zlib.crc32(request.request_id.encode())
        match request.kind:
            case "text":
                return rendering.render("text", request.params, self.inputs, target)
            case "image":
                target.write_bytes(picture(number, SIDE, SIDE))
                return {"seed": request.params["seed"]}
            case "speech":
                target.write_bytes(sound(number))
                return {"duration_ms": 500}
            case _:
                target.write_bytes(film(number % 16, SIDE, SIDE, FRAMES_PER_FILM))
                return {"duration_ms": FRAMES_PER_FILM * 1000 // 24}


class QuickProvider(Provider):
    """The provider over such a bench."""

    def __init__(self, home: Path, *, base_url: str, key: str) -> None:
        super().__init__(home, base_url=base_url, key=key)
        self.bench = ReadyMade(self.book, home, on_change=self._changed)


def main(home: Path) -> None:
    """Serve until told to stop."""
    port = int((home / "port").read_text())
    provider = QuickProvider(home, base_url=f"http://127.0.0.1:{port}", key=serving.ensure_key(home))
    uvicorn.Server(misanswers.configuration(build_app(provider), port=port)).run()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
