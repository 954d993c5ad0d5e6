"""The recipe for conda-forge, made of pyproject.toml and the source distribution: release/recipe.py dist/*.tar.gz

It is what a pull request to conda-forge/staged-recipes holds, in the form of recipe.yaml, version 1. Nothing in it is
typed by hand that pyproject.toml says, so it cannot fall behind; `make release-check` renders it with rattler-build.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
CONDA_NAMES = {"matplotlib": "matplotlib-base"}
"""Packages that are called otherwise there, or are a smaller part of what has the name."""


def recipe(source: Path) -> dict[str, Any]:
    """The recipe for a source distribution."""
    pyproject = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    project = pyproject["project"]
    name, version = re.fullmatch(r"(\w+)-(.+)\.tar\.gz", source.name).groups()  # type: ignore[union-attr]
    return {
        "schema_version": 1,
        "context": {"version": version, "python_min": project["requires-python"].removeprefix(">=")},
        "package": {"name": name, "version": "${{ version }}"},
        "source": {
            "url": f"https://pypi.org/packages/source/{name[0]}/{name}/{name}-${{{{ version }}}}.tar.gz",
            "sha256": hashlib.sha256(source.read_bytes()).hexdigest(),
        },
        "build": {
            "number": 0,
            "noarch": "python",
            "script": "${{ PYTHON }} -m pip install . -vv --no-deps --no-build-isolation",
            "python": {"entry_points": [f"{word} = {place}" for word, place in project["scripts"].items()]},
        },
        "requirements": {
            "host": ["python ${{ python_min }}.*", "pip", *map(conda, pyproject["build-system"]["requires"])],
            "run": ["python >=${{ python_min }}", *map(conda, project["dependencies"])],
        },
        "tests": [
            {"python": {"imports": [name], "pip_check": True, "python_version": ["${{ python_min }}.*", "*"]}},
            {
                "requirements": {"run": ["python ${{ python_min }}.*"]},
                "script": ["modgrok --version", 'modgrok compile "n1 n2 + 3" --mod 7'],
            },
        ],
        "about": {
            "summary": project["description"],
            "license": project["license"],
            "license_file": license_files(project["license-files"]),
            "homepage": project["urls"]["Homepage"],
            "repository": project["urls"]["Homepage"],
            "documentation": project["urls"]["Documentation"],
        },
        "extra": {"recipe-maintainers": ["modgrok"]},
    }


def conda(requirement: str) -> str:
    """
    >>> conda("matplotlib>=3.9"), conda("jax>=0.10")
    ('matplotlib-base >=3.9', 'jax >=0.10')
    """
    name, bounds = re.fullmatch(r"([\w-]+)(.*)", requirement).groups()  # type: ignore[union-attr]
    return f"{CONDA_NAMES.get(name, name)} {bounds}".strip()


def license_files(patterns: list[str]) -> list[str]:
    return [path.relative_to(ROOT).as_posix() for pattern in patterns for path in sorted(ROOT.glob(pattern))]


if __name__ == "__main__":
    print(json.dumps(recipe(Path(sys.argv[1])), indent=2))  # JSON is YAML
