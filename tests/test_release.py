"""What leads out of the repository: places, versions, old names, workflows and pages of versions agree."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
import warnings
from datetime import date
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

import modgrok as mg
from modgrok.base.deprecation import DEPRECATED, Renamed, minor
from modgrok.base.results import json_text
from modgrok.commands import COMMANDS, EXAMPLES

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
URLS = PROJECT["urls"]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def text_of(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def script(name: str) -> ModuleType:
    """A script of release/, by its path: it is no package, and `pages` and `check` are words of others too."""
    spec = spec_from_file_location(f"release_{name}", ROOT / "release" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# ------------------------------------------------------------------------------------------ versions and places


def test_every_file_that_names_the_version_names_this_one():
    cited = re.search(r"^version: (\S+)$", text_of("CITATION.cff"), re.MULTILINE)
    assert cited and cited[1] == mg.__version__
    latest = re.search(r"^## \[(\d+\.\d+\.\d+)\] - (\d{4}-\d\d-\d\d)$", text_of("CHANGELOG.md"), re.MULTILINE)
    assert latest and latest[1] == mg.__version__
    released = re.search(r"^date-released: (\S+)$", text_of("CITATION.cff"), re.MULTILINE)
    assert released and date.fromisoformat(released[1]) == date.fromisoformat(latest[2])


def test_the_repository_has_one_place_and_all_that_name_it_name_that():
    home = URLS["Homepage"]
    owner, name = home.removeprefix("https://github.com/").split("/")
    assert URLS["Documentation"] == f"https://{owner}.github.io/{name}/"
    assert all(url.startswith(f"{home}/") for key, url in URLS.items() if key in ("Changelog", "Issues"))
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    paths = [ROOT / each.decode() for each in tracked.split(b"\0") if each]
    named = re.compile(r"(?:github\.com|githubusercontent\.com|colab\.research\.google\.com/github)/([\w.-]+/[\w-]+)")
    foreign = {"rsms/inter", "stipub/stixfonts"}
    found: dict[str, set[str]] = {}
    for path in paths:
        if (
            path.name != "package-lock.json"
            and path.suffix in (".md", ".toml", ".cff", ".json", ".yml", ".py", "")
            and path.stat().st_size < 1 << 20
        ):
            places = {place.removesuffix(".git") for place in named.findall(path.read_text("utf-8", errors="replace"))}
            found[path.name] = {place for place in places if place not in foreign and "advisories" not in place}
    ours = {file for file, places in found.items() if f"{owner}/{name}" in places}
    assert {"pyproject.toml", "CITATION.cff", "mkdocs.yml", "notebooks.md", ".zenodo.json", "config.yml"} <= ours
    assert not {file: places for file, places in found.items() if places - {f"{owner}/{name}"}}


def test_citation_and_deposit_say_what_the_package_says():
    deposit, cited = json.loads(text_of(".zenodo.json")), text_of("CITATION.cff")
    assert f'title: "{deposit["title"]}"' in cited and PROJECT["description"].lower() in deposit["title"].lower()
    listed = re.search(r"^keywords:\n((?:  - .*\n)+)", cited, re.MULTILINE)
    assert listed and re.findall(r"  - (.*)\n", listed[1]) == deposit["keywords"] == PROJECT["keywords"]
    licences = re.search(r"^license:\n((?:  - .*\n)+)", cited, re.MULTILINE)
    assert licences and " AND ".join(re.findall(r"  - (.*)\n", licences[1])) == PROJECT["license"]


def test_the_changelog_begins_with_one_screen_for_users():
    notes = script("notes")
    part = notes.for_users(mg.__version__, text_of("CHANGELOG.md"))
    assert 10 <= len(part.splitlines()) <= 45
    assert len(part) < len(notes.section(mg.__version__, text_of("CHANGELOG.md"))) / 3
    with pytest.raises(SystemExit, match=r"no section \[9.9.9\]"):
        notes.section("9.9.9", text_of("CHANGELOG.md"))


# ------------------------------------------------------------------------------------------ old names


def test_old_names_are_gone_when_they_were_said_to_be_and_stand_in_the_table_till_then():
    assert mg.Network and DEPRECATED, "its module has old names"
    page = text_of("docs/stability.md")
    for each in DEPRECATED:
        assert minor(each.since) <= minor(mg.__version__) < minor(each.gone), f"remove {each.owner}.{each.old}"
        name = each.owner.lower()
        assert f"| `{name}.{each.old}` | `{name}.{each.new}` | {each.since} | {each.gone} |" in page
    assert len(re.findall(r"^\| `\w+\.\w+` \| `", page, re.MULTILINE)) == len(DEPRECATED)


def test_an_old_name_works_and_warns_with_the_new_one():
    network = mg.compile("n1 + n2", mod=3)
    with pytest.warns(
        DeprecationWarning, match=r"network.certificate is called network.proof since modgrok 0.3"
    ) as told:
        assert network.certificate is network.proof
    assert told[0].filename == __file__, "the warning points to who asked"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "certificate" not in repr(network) + json_text(network)
    with pytest.raises(ValueError, match="cannot be gone in 0.3"):
        Renamed("new", since="0.3", gone="0.3")
    DEPRECATED[:] = [each for each in DEPRECATED if hasattr(each, "owner")]


def test_every_command_has_an_example_and_its_help_ends_with_it():
    assert list(EXAMPLES) == list(COMMANDS)
    assert all(line.startswith(f"modgrok {name}") for name, line in EXAMPLES.items())
    done = subprocess.run(
        [sys.executable, "-m", "modgrok", "runs", "--help"], capture_output=True, text=True, check=True
    )
    assert done.stdout.rstrip().endswith(f"example: {EXAMPLES['runs']}")


# ------------------------------------------------------------------------------------------ workflows


def make_targets() -> set[str]:
    return set(re.findall(r"^([\w-]+):(?!=)", text_of("Makefile"), re.MULTILINE))


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_calls_make_targets_that_exist_and_pins_every_action(path):
    text = path.read_text(encoding="utf-8")
    called = set(re.findall(r"make ([a-z][\w-]*)", re.sub(r"#.*", "", text)))
    called |= {word for row in re.findall(r"target: \[(.*)\]", text) for word in row.split(", ")}
    assert called and called <= make_targets()
    scripts = set(re.findall(r"release/(\w+\.py)", text))
    assert all((ROOT / "release" / name).exists() for name in scripts)
    uses = re.findall(r"uses: (\S+)(.*)", text)
    assert uses and all(re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}", action) for action, _ in uses)
    assert all(re.fullmatch(r" # v\d+\.\d+\.\d+", version) for _, version in uses)
    assert re.search(r"^permissions: \{\}$", text, re.MULTILINE), "rights are given job by job"


def test_one_action_has_one_commit_everywhere():
    pinned = {}
    for path in WORKFLOWS:
        for action, commit in re.findall(r"uses: (\S+)@(\w+)", path.read_text(encoding="utf-8")):
            pinned.setdefault(action, set()).add(commit)
    assert len(pinned) == 5 and all(len(commits) == 1 for commits in pinned.values())


def test_ci_and_the_release_check_the_same():
    assert re.search(r"^make .*release-check$", text_of(".ci/run"), re.MULTILINE) and "make release-check" in text_of(
        ".github/workflows/release.yml"
    )


# ------------------------------------------------------------------------------------------ the container


def test_the_container_that_was_tried_has_no_rights_and_is_the_one_of_the_docs():
    found, page = json.loads(text_of("benchmarks/results/container.json")), text_of("docs/container.md")
    assert set(found["uids"]) == {found["user"].partition(":")[0]} and "0" not in found["uids"]
    assert not any(int(each, 16) for each in found["capabilities"].values()) and found["no_new_privileges"]
    assert set(found["can_write_to"]) <= {"/tmp", "/var/tmp"}  # podman puts memory under both
    assert found["health_check_exit_code"] == found["exit_code"] == found["other_visitor_sees_runs"] == 0
    assert found["training"]["state"] == "finished" and found["downloads"] == [200, 200]
    assert f"docker run {' '.join(found['options'])} modgrok\n" in page
    assert f"The image has {found['megabytes']:,} MB, {found['megabytes_of_the_base']} of them" in page


# ------------------------------------------------------------------------------------------ pages of every version


def test_versions_of_the_documentation_lie_side_by_side(tmp_path):
    pages = script("pages")
    site, notebooks, published = (tmp_path / name for name in ("site", "notebooks", "published"))
    for folder in (site, notebooks, published):
        folder.mkdir()
    (site / "index.html").write_text("first")
    (site / "notebooks.html").write_text("blob/gh-pages/dev/notebooks/a.ipynb")
    (notebooks / "a.ipynb").write_text(json.dumps({"cells": [{"cell_type": "markdown"}], "nbformat": 4}))
    assert pages.put(site, notebooks, published, "main") == ["dev"]
    assert "url=dev/" in (published / "index.html").read_text()
    assert pages.put(site, notebooks, published, "v0.9.3") == ["0.9", "dev"]
    (site / "index.html").write_text("second")
    assert pages.put(site, notebooks, published, "v0.10.0") == ["0.10", "0.9", "dev"]
    listed = json.loads((published / "versions.json").read_text())
    assert [each["version"] for each in listed if each["aliases"]] == ["0.10"]
    assert (published / "0.9" / "index.html").read_text() == "first", "what is published stays"
    assert "gh-pages/0.9/notebooks" in (published / "0.9" / "notebooks.html").read_text()
    first, second = json.loads((published / "0.9" / "notebooks" / "a.ipynb").read_text())["cells"]
    assert "%pip install --quiet modgrok==0.9.3" in first["source"] and second["cell_type"] == "markdown"
    dev = json.loads((published / "dev" / "notebooks" / "a.ipynb").read_text())["cells"][0]["source"]
    assert f"git+{URLS['Homepage']}" in dev
    with pytest.raises(SystemExit, match="a version is main, or a tag"):
        pages.folder_of("0.3")


def test_every_notebook_can_be_opened_in_colab():
    listing = text_of("docs/notebooks.md")
    for path in (ROOT / "notebooks").glob("*.py"):
        place = URLS["Homepage"].removeprefix("https://")
        link = f"https://colab.research.google.com/{place.replace('github.com', 'github')}/blob/gh-pages/dev/notebooks"
        assert f"({link}/{path.stem}.ipynb)" in listing
