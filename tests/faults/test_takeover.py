"""G-104: a killed worker's work goes on elsewhere within 30 s, where it was left, with the product's leases.

Both workers are the command line's `work drain --follow`. `make faults` takes 5,000 items, `make test` a few.
"""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from shortdrama_pipeline.rules.states import MediaKind
from tests.engine.conftest import Shop
from tests.fake_vendor import Seen
from tests.faults.catalogue import Mode
from tests.faults.recording import FULL, Hit, note
from tests.faults.scene import Scene

ITEMS = 5_000 if FULL else 12
LAST_BUT_ONE = ITEMS - 2  # item 4,999, counted from one
WITHIN_S = 30
MAIN = "from shortdrama_pipeline.cli.app import main; main()"


def test_g104_a_killed_workers_last_but_one_item_goes_on_within_30_s(scene: Scene, tmp_path: Path) -> None:
    shop = scene.shop
    order = shop.order(*[MediaKind.IMAGE] * ITEMS)
    rows = shop.rows("select task_id, request->'params'->>'seed' as seed from tasks")
    by_seed = {int(each["seed"]): each["task_id"] for each in rows}
    hanging, last = by_seed[LAST_BUT_ONE], by_seed[ITEMS - 1]
    _postpone(shop, last)
    reached, released = threading.Event(), threading.Event()

    def hold(seen: Seen) -> None:
        if seen.body["params"]["seed"] == LAST_BUT_ONE:
            reached.set()
            released.wait(600)

    scene.vendor.on_post.append(hold)
    _write_configuration(scene)
    with _working(scene, tmp_path / "first.log") as first:
        assert reached.wait(600)
        scene.wait_for(lambda: _succeeded(shop) == ITEMS - 2, seconds=900)
        with _working(scene, tmp_path / "second.log"):
            before, killed_at = _facts(shop, {hanging, last}), time.monotonic()
            os.kill(first.pid, signal.SIGKILL)
            released.set()
            scene.wait_for(lambda: _is_taken_over(shop, hanging), seconds=2 * WITHIN_S)
            took_s = time.monotonic() - killed_at
            shop.run("update tasks set next_action_at = clock_timestamp() where task_id = :id", id=last)
            scene.wait_for(lambda: _succeeded(shop) == ITEMS, seconds=2 * WITHIN_S)
    assert took_s <= WITHIN_S
    assert _facts(shop, {hanging, last}) == before
    assert scene.posts() == ITEMS == len(order)
    assert len({seen.body["client_id"] for seen in scene.vendor.posts()}) == ITEMS
    assert len([each for each in scene.settlements() if each.startswith("settle:")]) == ITEMS
    assert scene.problems() == []
    title = f"a killed worker's item {ITEMS - 1} of {ITEMS} is taken over"
    note(Hit("G-104", f"{title} after {took_s:.1f} s", "", str(Mode.TWO), []))


def _postpone(shop: Shop, task_id: str) -> None:
    """Nobody has come to the last item yet."""
    tomorrow = "clock_timestamp() + interval '1 day'"
    shop.run(f"update tasks set next_action_at = {tomorrow} where task_id = :id", id=task_id)


def _succeeded(shop: Shop) -> int:
    (row,) = shop.rows(
        "select count(*) as n from tasks join reservations r using (task_id)"
        " where tasks.state = 'succeeded' and r.state = 'settled'"
    )
    return int(row["n"])


def _is_taken_over(shop: Shop, task_id: str) -> bool:
    return bool(shop.task(task_id)["lease_token"] > 1)


def _facts(shop: Shop, without: set[str]) -> list[object]:
    """Task, Attempt and money of every other item, whole."""
    return [
        shop.rows(
            f"select to_jsonb(t)::text from {table} t where task_id <> all(:without) order by 1",
            without=sorted(without),
        )
        for table in ("tasks", "provider_attempts", "reservations")
    ]


def _write_configuration(scene: Scene) -> None:
    url = scene.shop.studio.db.engine.url.render_as_string(hide_password=False)
    bindings = [
        f'[[binding]]\nid = "{each.id}"\nkind = "{each.kind}"\nprotocol = "rehearsal"\n'
        f'model = "{each.model}"\nbase_url = "{each.base_url}"\ncredential = "{each.credential}"\n'
        "allow_private = true\nrequests_per_minute = 600000\nin_flight_max = 64"
        for each in scene.shop.studio.bindings.values()
    ]
    lines = [f'[database]\nurl = "{url}"', *bindings]
    (scene.shop.studio.settings.home / "shortdrama.toml").write_text("\n\n".join(lines) + "\n")


@contextmanager
def _working(scene: Scene, log: Path) -> Iterator["subprocess.Popen[bytes]"]:
    home = scene.shop.studio.settings.home
    command = [sys.executable, "-c", MAIN, "--home", str(home), "work", "drain", "--follow"]
    with log.open("wb") as out:
        process = subprocess.Popen(command, stdout=out, stderr=out)
        try:
            yield process
        except BaseException:
            sys.stderr.write(log.read_text())
            raise
        finally:
            process.kill()
            process.wait()
