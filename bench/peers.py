"""The product beside other queues, measured by a harness that knows nothing of it.

The harness is a folder with `run.py`, `harness.py`, `common.py` and one `peer_NAME.py` per peer; it keeps an
environment per peer under $PERF_HOME. It is copied, gets `peer_product.py` beside the others, and all send
their requests with the clients the product uses, so that queues are compared and not clients.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
MODES = "e2e,enqueue8,latency"
TASKS = 600
Figures = dict[str, Any]
# For the end of `harness.py`: a fresh httpx connection per POST, aiohttp's kept connections for reads.
CLIENTS = """
class Http:
    sessions = {}
    @classmethod
    async def post(cls, number):
        import httpx
        async with httpx.AsyncHTTPTransport(verify=False, trust_env=False, retries=0) as wire:
            request = httpx.Request("POST", f"{BASE}/jobs?k={number}", content=b'{"prompt":"x"}')
            answer = await wire.handle_async_request(request)
            return json.loads(await answer.aread())["id"]
    @classmethod
    async def get(cls, job):
        import aiohttp
        loop = id(asyncio.get_running_loop())
        if loop not in cls.sessions:
            cls.sessions[loop] = aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=64))
        async with cls.sessions[loop].get(f"{BASE}/jobs/{job}") as answer:
            return json.loads(await answer.read())["status"]
    @classmethod
    async def close(cls):
        session = cls.sessions.pop(id(asyncio.get_running_loop()), None)
        if session is not None:
            await session.close()
"""


def compare(harness: Path, *, rounds: int) -> Figures:
    """Interleaved rounds of every peer that has an environment; medians, and how often ours is theirs."""
    home = Path(os.environ.get("PERF_HOME", Path.home() / ".cache" / "shortdrama-bench"))
    names = sorted(
        each.stem.removeprefix("peer_")
        for each in harness.glob("peer_*.py")
        if (home / f"v-{each.stem.removeprefix('peer_')}" / "bin" / "python").exists()
    )
    with tempfile.TemporaryDirectory(prefix="shortdrama-peers-") as folder:
        place = Path(folder)
        for each in harness.iterdir():
            if each.is_file():
                shutil.copyfile(each, place / each.name)
        shutil.copyfile(HERE / "peer_product.py", place / "peer_product.py")
        with (place / "harness.py").open("a") as file:
            file.write(CLIENTS)
        out = place / "out.json"
        words = ["run.py", "--rounds", str(rounds), "--n", str(TASKS), "--modes", MODES, "--out", str(out)]
        subprocess.run(
            [sys.executable, *words, "--peers", ",".join(["http", "product", *names])],
            cwd=place,
            env=os.environ | {"PERF_PY_PRODUCT": sys.executable, "PYTHONPATH": str(HERE.parent)},
            check=True,
            stdout=subprocess.DEVNULL,
        )
        document = json.loads(out.read_text())
    failed = [each for each in document["rows"] if "error" in each]
    return {"floor": document["floor"], "median": document["median"], "failed": failed}
