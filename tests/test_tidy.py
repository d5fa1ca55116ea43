"""The rules of the house that no linter knows."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

ROOT = Path(__file__).parent.parent
CORE = ROOT / "shortdrama_pipeline"
GLUE = ("assets", "sensors", "resources")
STRAIGHT = ("assets", "sensors")  # a resource may have to catch what Dagster or a process throws
GLUE_LINES_MAX = 15
CORE_LINES_MAX = 70
# Credentials are references until a request is sent; there `env:NAME` is read.
ENVIRONMENT_DOORS = {
    CORE / "settings.py",
    CORE / "services" / "opening.py",
    CORE / "providers" / "credentials.py",
    CORE / "crashpoints.py",
}

# Written so that this file does not find itself.
HOSTS = re.compile(r"p[y]pi\.[a-z]+/|p[y]thonh[o]sted|registry\.[n]pm|deb\.[d]ebian")
MACHINE_PATHS = re.compile(r"/w[o]rk/|/f[a]rm/|/r[o]ot/")
LOOSE_ENDS = re.compile(
    r"# *(T[O]DO|F[I]XME|X[X]X)|pytest\.mark\.(s[k]ip|x[f]ail)|pytest\.s[k]ip\(|raise NotImplemented[E]rror"
)

Function = ast.FunctionDef | ast.AsyncFunctionDef


def python_files(*folders: str) -> list[Path]:
    return sorted(file for folder in folders for file in (ROOT / folder).rglob("*.py"))


def functions(file: Path) -> Iterator[Function]:
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, Function):
            yield node


def body_lines(function: Function) -> int:
    """Count from behind the docstring to the end; a function inside counts by itself."""
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    if not body:
        return 0
    inner = (node for node in ast.walk(function) if isinstance(node, Function) and node is not function)
    return span(body[0], body[-1]) - sum(span(each, each) for each in inner)


def span(first: ast.stmt, last: ast.stmt) -> int:
    return (last.end_lineno or last.lineno) - first.lineno + 1


def where(file: Path, line: int, what: object) -> str:
    return f"{file.relative_to(ROOT)}:{line} {what}"


def tracked_files() -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    return [ROOT / name for name in listed.decode().split("\0") if name and (ROOT / name).is_file()]


def tracked_lines() -> Iterator[tuple[Path, int, str]]:
    for file in tracked_files():
        try:
            text = file.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        for number, line in enumerate(text.splitlines(), 1):
            yield file, number, line


def test_glue_is_at_most_fifteen_straight_lines() -> None:
    wrong = [
        where(file, function.lineno, f"{function.name} has {body_lines(function)} lines")
        for file in python_files(*STRAIGHT)
        for function in functions(file)
        if body_lines(function) > GLUE_LINES_MAX
    ]
    assert wrong == []


def test_glue_neither_loops_nor_catches() -> None:
    wrong = [
        where(file, node.lineno, type(node).__name__)
        for file in python_files(*STRAIGHT)
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.For | ast.While | ast.Try | ast.AsyncFor)
    ]
    assert wrong == []


def test_no_function_is_longer_than_seventy_lines() -> None:
    wrong = [
        where(file, function.lineno, f"{function.name} has {body_lines(function)} lines")
        for file in python_files("shortdrama_pipeline")
        for function in functions(file)
        if body_lines(function) > CORE_LINES_MAX
    ]
    assert wrong == []


def test_no_float_comes_near_money_or_film_time() -> None:
    waiting = {"timeout", "wait"}  # how long to wait for a process is neither
    wrong = [
        where(file, node.lineno, ast.unparse(node))
        for file in python_files("shortdrama_pipeline/rules", "shortdrama_pipeline/store")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant | ast.Call | ast.arg | ast.AnnAssign | ast.FunctionDef)
        and makes_float(node)
        and not any(
            word in file.read_text(encoding="utf-8").splitlines()[node.lineno - 1] for word in waiting
        )
    ]
    assert wrong == []


def makes_float(node: ast.AST) -> bool:
    """Is this a float, a conversion to one, or a name declared as one? A refusal of floats is none."""
    match node:
        case ast.Constant(value=float()) | ast.Call(func=ast.Name(id="float")):
            return True
        case (
            ast.arg(annotation=declared)
            | ast.AnnAssign(annotation=declared)
            | ast.FunctionDef(returns=declared)
        ):
            return declared is not None and "float" in ast.unparse(declared)
        case _:
            return False


def test_the_environment_is_read_at_the_doors_alone() -> None:
    wrong = [
        where(file, node.lineno, ast.unparse(node))
        for file in python_files("shortdrama_pipeline", *GLUE)
        if file not in ENVIRONMENT_DOORS and file.parent != CORE / "cli"
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and node.attr in {"environ", "getenv"}
    ]
    assert wrong == []


def test_dagster_s_rooms_keep_their_annotations_at_run_time() -> None:
    """Dagster rejects an annotated `context` under postponed annotations."""
    wrong = [
        str(file.relative_to(ROOT))
        for file in python_files(*GLUE)
        if "from __future__ import annotations" in file.read_text(encoding="utf-8")
    ]
    assert wrong == []


def test_the_four_packages_share_one_home() -> None:
    """Somebody else's `assets` on the path would be imported instead, without a word."""
    homes = {Path(str(import_module(name).__file__)).parent.parent for name in ("shortdrama_pipeline", *GLUE)}
    assert homes == {CORE.parent}


def test_every_folder_of_tests_is_a_package_and_none_is_called_like_a_room() -> None:
    folders = {file.parent for file in python_files("tests")}
    assert [str(each) for each in folders if not (each / "__init__.py").exists()] == []
    assert {each.name for each in folders} & {*GLUE} == set()


def test_no_tracked_file_names_a_registry_or_this_machine() -> None:
    wrong = [
        where(file, number, line.strip()[:80])
        for file, number, line in tracked_lines()
        if HOSTS.search(line) or MACHINE_PATHS.search(line)
    ]
    assert wrong == []


def test_nothing_is_left_undone() -> None:
    wrong = [
        where(file, number, line.strip()[:80])
        for file, number, line in tracked_lines()
        if file.suffix == ".py" and LOOSE_ENDS.search(line)
    ]
    assert wrong == []


def test_no_large_file_is_tracked() -> None:
    assert [str(file) for file in tracked_files() if file.stat().st_size > 1024 * 1024] == []


def test_commands_that_do_not_touch_dagster_do_not_import_it() -> None:
    code = """
import sys
from importlib.util import find_spec
from shortdrama_pipeline.cli import app
import shortdrama_pipeline.services.opening
for noun in app.NOUNS:
    if noun not in {"dev", "demo"} and find_spec(f"shortdrama_pipeline.cli.{noun}"):
        app.run([noun, "--help"])
        assert "dagster" not in sys.modules, noun
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
