"""What ships, and what it is made from."""

import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent


def test_the_wheel_holds_the_four_packages_and_their_data_and_nothing_else(tmp_path: Path) -> None:
    build = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-deps",
        "--no-build-isolation",
        "--no-index",
    ]
    subprocess.run(
        [*build, "--wheel-dir", str(tmp_path), str(ROOT)], check=True, capture_output=True, text=True
    )
    (wheel,) = tmp_path.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.split("/")[0] for name in names}
    assert {each for each in tops if not each.endswith(".dist-info")} == {
        "shortdrama_pipeline",
        "assets",
        "sensors",
        "resources",
    }
    assert "shortdrama_pipeline/store/migrations/versions/baseline_0001.sql" in names
    assert "shortdrama_pipeline/prices/rehearsal.toml" in names
    assert [name for name in names if name.endswith("licenses/LICENSE")]


def test_the_wheel_may_not_reach_a_public_index() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert "Private :: Do Not Upload" in project["classifiers"]


def test_every_dependency_is_locked_with_hashes_and_without_an_address() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lock = (ROOT / "requirements.lock").read_text()
    wanted = {plain(each) for each in [*project["dependencies"], *project["optional-dependencies"]["dev"]]}
    locked = {plain(line) for line in lock.splitlines() if line[:1].isalnum()}
    assert wanted <= locked
    assert lock.count("--hash=sha256:") > len(locked)
    assert "://" not in lock


def plain(requirement: str) -> str:
    name = re.match(r"[\w.-]+", requirement)
    assert name is not None
    return re.sub(r"[-_.]+", "-", name[0]).lower()
