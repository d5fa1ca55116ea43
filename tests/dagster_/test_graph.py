"""What Dagster loads: the graph as it is meant to be read, and no layer that could order twice."""

import ast
import inspect
from pathlib import Path

import dagster as dg
import pytest
from dagster._core.remote_representation.external_data import RepositorySnap
from dagster._serdes import serialize_value

from resources import instance as dagster_instance
from shortdrama_pipeline.definitions import build_definitions
from shortdrama_pipeline.rules.stages import ORDER, PAID
from shortdrama_pipeline.settings import ScheduleSettings, Settings

ROOT = Path(__file__).parents[2]
ROOMS = sorted(file for room in ("assets", "sensors") for file in (ROOT / room).glob("*.py"))
GLUE_LINES_MAX = 15
PARENTS = {
    "outline_ordered": set(),
    "outline": {"outline_ordered"},
    "outline_confirmed": {"outline"},
    "script_ordered": {"outline_confirmed"},
    "script": {"outline", "script_ordered"},
    "script_confirmed": {"script"},
    "assets_ordered": {"script_confirmed"},
    "assets": {"script", "assets_ordered"},
    "assets_confirmed": {"assets"},
    "storyboard_ordered": {"assets_confirmed"},
    "storyboard": {"assets", "storyboard_ordered"},
    "storyboard_confirmed": {"storyboard"},
    "pilot_ordered": {"storyboard_confirmed"},
    "pilot": {"storyboard", "pilot_ordered"},
    "pilot_confirmed": {"pilot"},
    "shots_ordered": {"pilot_confirmed"},
    "shots": {"pilot", "shots_ordered"},
    "shots_confirmed": {"shots"},
    "audio_ordered": {"shots_confirmed"},
    "audio": {"shots", "audio_ordered"},
    "audio_confirmed": {"audio"},
    "timeline": {"audio", "audio_confirmed"},
    "timeline_confirmed": {"timeline"},
    "export": {"timeline", "timeline_confirmed"},
    "export_confirmed": {"export"},
}
GROUPS = {
    "outline": "story",
    "script": "story",
    "assets": "look",
    "storyboard": "look",
    "pilot": "look",
    "shots": "production",
    "audio": "production",
    "timeline": "edit",
    "export": "edit",
}


@pytest.fixture(scope="module")
def defs(tmp_path_factory: pytest.TempPathFactory) -> dg.Definitions:
    return build_definitions(Settings(home=tmp_path_factory.mktemp("home")))


def test_the_graph_reads_from_outline_to_export(defs: dg.Definitions) -> None:
    graph = defs.resolve_asset_graph()
    found = {
        key.to_user_string(): {parent.to_user_string() for parent in graph.get(key).parent_keys}
        for key in graph.get_all_asset_keys()
    }
    assert found == PARENTS


def test_every_asset_stands_in_its_group_with_words_and_an_owner(defs: dg.Definitions) -> None:
    graph = defs.resolve_asset_graph()
    for key in graph.get_all_asset_keys():
        node = graph.get(key)
        assert (
            node.group_name
            == GROUPS[key.to_user_string().removesuffix("_ordered").removesuffix("_confirmed")]
        )
        assert node.description
        assert node.owners == ["team:producers"]
        assert isinstance(node.partitions_def, dg.DynamicPartitionsDefinition)
        assert node.partitions_def.name == "episode_id"


def test_gates_are_external_and_stages_are_not(defs: dg.Definitions) -> None:
    graph = defs.resolve_asset_graph()
    runnable = {key.to_user_string() for key in graph.executable_asset_keys}
    assert runnable == {str(each) for each in ORDER} | {f"{each}_ordered" for each in PAID}


def test_no_layer_of_dagster_retries_or_starts_by_itself(defs: dg.Definitions) -> None:
    repository = defs.get_repository_def()
    for job in repository.get_all_jobs():
        assert all(node.retry_policy is None for node in job.nodes), job.name
        assert job.executor_def is dg.in_process_executor, job.name
        assert all(node.definition.pools <= {"order", "drain"} for node in job.nodes)
    graph = repository.asset_graph
    for key in graph.get_all_asset_keys():
        assert graph.get(key).automation_condition is None
        assert graph.get(key).backfill_policy in {None, dg.BackfillPolicy.multi_run(1)}
    assert "run_retries" not in dagster_instance.CONFIG


@pytest.mark.parametrize("name", ["plan", "drain", "order", "finish"])
def test_every_job_says_again_that_its_runs_are_not_retried(defs: dg.Definitions, name: str) -> None:
    assert defs.resolve_job_def(name).tags["dagster/max_retries"] == "0"


def test_the_code_location_can_be_told_to_other_processes(defs: dg.Definitions) -> None:
    """`dagster definitions validate` does not try this; page and daemon need it."""
    snap = RepositorySnap.from_def(defs.get_repository_def())
    assert serialize_value(snap)


def test_every_configured_schedule_is_one_of_dagster_s_and_switched_on(tmp_path: Path) -> None:
    specs = (
        ScheduleSettings(id="weekly-a", cron="0 9 * * 1", labels={"env": "test"}),
        ScheduleSettings(id="news", cron="0 9,18 * * *", labels={"env": "test"}),
    )
    loaded = build_definitions(Settings(home=tmp_path, schedule=specs))
    found = {each.name: each for each in loaded.schedules or [] if isinstance(each, dg.ScheduleDefinition)}
    assert set(found) == {"weekly_a", "news"}
    assert found["news"].cron_schedule == "0 9,18 * * *"
    assert found["news"].execution_timezone == "Asia/Shanghai"
    assert {each.default_status for each in found.values()} == {dg.DefaultScheduleStatus.RUNNING}


def test_without_a_configured_schedule_a_weekly_one_waits_to_be_switched_on(defs: dg.Definitions) -> None:
    (weekly,) = [each for each in defs.schedules or [] if isinstance(each, dg.ScheduleDefinition)]
    assert (weekly.name, weekly.default_status) == ("weekly", dg.DefaultScheduleStatus.STOPPED)


@pytest.mark.parametrize("file", ROOMS, ids=lambda file: f"{file.parent.name}/{file.name}")
def test_glue_is_short_and_straight(file: Path) -> None:
    for function in _functions(ast.parse(file.read_text())):
        inner = [
            each for each in ast.walk(function) if isinstance(each, ast.FunctionDef) and each is not function
        ]
        inside = {id(node) for each in inner for node in ast.walk(each)}
        own = [node for node in ast.walk(function) if id(node) not in inside]
        crooked = [node for node in own if isinstance(node, ast.For | ast.While | ast.Try | ast.AsyncFor)]
        assert not crooked, f"{file.name}: {function.name} is not straight"
        assert _lines(function, inner) <= GLUE_LINES_MAX, f"{file.name}: {function.name} is long"


@pytest.mark.parametrize("file", ROOMS, ids=lambda file: f"{file.parent.name}/{file.name}")
def test_the_rooms_keep_their_annotations(file: Path) -> None:
    assert "from __future__ import annotations" not in file.read_text()


def _functions(tree: ast.Module) -> list[ast.FunctionDef]:
    return [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]


def _lines(function: ast.FunctionDef, inner: list[ast.FunctionDef]) -> int:
    """Count the lines of the body alone: no signature, docstring, decorator or function inside."""
    body = function.body[1:] if ast.get_docstring(function) else function.body
    if not body:
        return 0
    first, last = body[0].lineno, body[-1].end_lineno or body[-1].lineno
    lines = set(range(first, last + 1))
    for each in inner:
        begin = min([each.lineno, *(decorator.lineno for decorator in each.decorator_list)])
        lines -= set(range(begin, (each.end_lineno or each.lineno) + 1))
    return len(lines)


def test_the_launcher_named_in_the_configuration_is_ours() -> None:
    from resources.launcher import HealthCheckedRunLauncher

    named = dagster_instance.CONFIG["run_launcher"]
    assert named == {
        "module": HealthCheckedRunLauncher.__module__,
        "class": HealthCheckedRunLauncher.__name__,
    }
    assert "supports_check_run_worker_health" in dict(inspect.getmembers(HealthCheckedRunLauncher))
