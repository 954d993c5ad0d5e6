"""The package as a user gets it: the wheel, installed alone and called from another folder; and the lock files."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import sysconfig
import tomllib
import venv
import zipfile
from pathlib import Path
from typing import NamedTuple

import pytest
from packaging.requirements import Requirement

import modgrok

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "modgrok"
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT, GROUPS = PYPROJECT["project"], PYPROJECT["dependency-groups"]
LOCKS = tuple(sorted(path.name for path in ROOT.glob("requirements*.lock")))


class Installed(NamedTuple):
    """A virtual environment that holds the wheel, and an empty folder to call it from."""

    wheel: Path
    environment: Path
    folder: Path

    def call(self, program: str, *arguments: str) -> str:
        """What a program of the environment prints; nothing of this test's own environment may help it."""
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        command = [str(self.environment / "bin" / program), *arguments]
        done = subprocess.run(command, cwd=self.folder, env=inherited, capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def json(self, statements: str) -> dict:
        """The object that Python statements of the environment print."""
        return json.loads(self.call("python", "-c", statements))


@pytest.fixture(scope="module")
def installed(tmp_path_factory) -> Installed:
    """The wheel of this source tree in an environment of its own. No network: the dependencies are lent by this one.

    They come through a path file. Python reads no path file of a folder that it found in a path file, so the editable
    modgrok of this environment stays out of sight.
    """
    place = tmp_path_factory.mktemp("packaging")
    environment, folder = place / "environment", place / "elsewhere"
    folder.mkdir()
    quiet = {"check": True, "capture_output": True, "cwd": ROOT}
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(place)], **quiet)
    (wheel,) = place.glob("*.whl")
    venv.create(environment, with_pip=False)
    python = str(environment / "bin" / "python")
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "--no-index", "--no-deps", "--no-compile"]
    subprocess.run([*pip, str(wheel)], **quiet)
    (packages,) = environment.glob("lib/python*/site-packages")
    lent = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    (packages / "lent.pth").write_text("\n".join(sorted(lent)) + "\n", encoding="utf-8")
    return Installed(wheel, environment, folder)


def source_files() -> set[str]:
    files = (path for path in SOURCE.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {str(path.relative_to(SOURCE.parent)) for path in files}


# ------------------------------------------------------------------------------------------------ the wheel


def test_the_wheel_holds_the_whole_package_and_no_more(installed):
    names = set(zipfile.ZipFile(installed.wheel).namelist())
    described = {name for name in names if name.startswith(f"modgrok-{modgrok.__version__}.dist-info/")}
    assert names - described == source_files()
    licences = {name.rpartition("/")[2] for name in described if "/licenses/" in name}
    assert licences == {"LICENSE", *(path.name for path in SOURCE.rglob("LICENSE-*"))} and "LICENSE-Inter" in licences
    data = {"modgrok/py.typed", "modgrok/loss_law/calibration.json", "modgrok/reproduction/recorded/table2.json"}
    assert data <= names


def test_the_package_comes_from_the_wheel_and_its_version_from_one_place(installed):
    found = installed.json(
        "import json, modgrok; from importlib.metadata import distribution; d = distribution('modgrok')\n"
        "print(json.dumps({'file': modgrok.__file__, 'own': modgrok.__version__, 'version': d.version, "
        "'metadata': str(d.locate_file('')), 'extras': d.metadata.get_all('Provides-Extra')}))"
    )
    assert Path(found["file"]).is_relative_to(installed.environment)
    assert Path(found["metadata"]).is_relative_to(installed.environment)
    assert found["own"] == found["version"] == modgrok.__version__
    assert set(found["extras"]) == set(PROJECT["optional-dependencies"])
    assert installed.call("modgrok", "--version") == f"modgrok {modgrok.__version__}\n"


def test_the_installed_command_compiles(installed):
    result = json.loads(installed.call("modgrok", "compile", "n1 n2 + 3", "--mod", "7", "--json", "--out", "net"))
    assert result["modulus"] == 7
    assert result["rows_checked"] == 7**2
    assert result["accuracy"] == 1.0
    assert result["proof"]["holds"]
    written = [path.name for path in installed.folder.iterdir()]
    assert written == [Path(result["files"][0]).name]


def test_the_installed_package_finds_its_data(installed):
    found = installed.json(
        "import json\n"
        "from modgrok.loss_law.calibration import calibration\n"
        "from modgrok.reproduction.records import read_recorded\n"
        "from modgrok.reproduction.registry import ALL\n"
        "read = {item.name: str(read_recorded(item.name).result.verdict) for item in ALL if item.recorded_by}\n"
        "print(json.dumps({'settings': len(calibration().settings), 'recorded': read}))"
    )
    stored = {path.stem: path for path in (SOURCE / "reproduction" / "recorded").glob("*.json")}
    verdicts = {name: json.loads(path.read_bytes())["result"]["verdict"] for name, path in stored.items()}
    assert found["recorded"] == verdicts
    calibration = json.loads((SOURCE / "loss_law" / "calibration.json").read_bytes())
    assert found["settings"] == len(calibration["settings"]) > 0


# ------------------------------------------------------------------------------------------------ the lock files


def pins(lock: str) -> set[tuple[str, str]]:
    """Name and version, with the marker, of everything that a lock file installs; each must have a hash."""
    text = (ROOT / lock).read_text(encoding="utf-8").replace("\\\n", " ")
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    parts = [re.split(r"\s+--hash=sha256:", line.strip()) for line in lines]
    assert all(len(hashes) > 0 for _, *hashes in parts)
    requirements = [Requirement(words[0]) for words in parts]
    assert all(str(requirement.specifier).startswith("==") for requirement in requirements)
    return {(requirement.name, str(requirement)) for requirement in requirements}


@pytest.mark.parametrize("lock", LOCKS)
def test_lock_files_pin_everything_by_hash_and_name_no_place(lock):
    assert pins(lock)
    text = (ROOT / lock).read_text(encoding="utf-8")
    assert not re.search(r"://|^-|--index|--find-links|\s/", text, re.MULTILINE)


def test_lock_files_hold_what_the_project_asks_for():
    extras = PROJECT["optional-dependencies"]
    asked = {"requirements.lock": PROJECT["dependencies"] + extras["census"] + extras["onnx"] + GROUPS["build"]}
    asked["requirements-dev.lock"] = [*asked["requirements.lock"], *extras["dev"], *extras["ray"]]
    for name in ("docs", "notebooks"):
        asked[f"requirements-{name}.lock"] = [*PROJECT["dependencies"], *extras[name]]
    asked["requirements-interop.lock"] = [*PROJECT["dependencies"], *extras["onnx"], *GROUPS["interop"]]
    asked["requirements-release.lock"] = GROUPS["release"]
    asked["requirements-outside.lock"] = GROUPS["outside"]
    assert {*asked, "requirements-uv.lock"} == set(LOCKS)
    for lock, texts in asked.items():
        locked = [Requirement(text) for _, text in pins(lock)]
        for wanted in map(Requirement, texts):
            found = [each for each in locked if each.name == wanted.name]
            found = [each for each in found if wanted.marker in (None, each.marker)]
            assert found or wanted.name == "modgrok", f"{lock} lacks {wanted}; run make lock"
            versions = [str(each.specifier).removeprefix("==") for each in found]
            assert all(wanted.specifier.contains(version) for version in versions), f"{lock}: {wanted}; run make lock"


def test_users_and_contributors_get_the_same_versions():
    assert pins("requirements.lock") < pins("requirements-dev.lock")


@pytest.mark.parametrize("lock", ["requirements-docs.lock", "requirements-notebooks.lock"])
def test_the_site_and_the_notebooks_change_no_version_of_the_environment_they_join(lock):
    theirs, ours = ({text.partition(";")[0] for _, text in pins(each)} for each in (lock, "requirements-dev.lock"))
    names = [{pin.partition("==")[0] for pin in each} for each in (theirs, ours)]
    assert "jax" in names[0] & names[1]
    assert {pin for pin in theirs if pin.partition("==")[0] in names[1]} <= ours


def test_make_docs_says_how_to_search_its_pages_and_lines_of_code_stay_in_their_boxes():
    """No browser searches pages that are opened from a disk."""
    recipe = (ROOT / "Makefile").read_text(encoding="utf-8").split("\ndocs:", 1)[1].split("\n\n", 1)[0]
    assert "browsers do not search" in recipe and "http.server --directory site 8000" in recipe
    assert "  - print.css" in (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    assert "pre > code { white-space: pre-wrap;" in (ROOT / "docs" / "print.css").read_text(encoding="utf-8")
