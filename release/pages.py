"""The documentation of every version, side by side: python release/pages.py --version v0.3.0 [--push]

The branch gh-pages has a folder for each version: `dev` for the branch main, and `0.3` for v0.3.0 and what mends it.
Its versions.json is what the site's menu of versions reads, and its index.html leads to the newest release, or to `dev`
as long as there is none. Beside the pages lie the notebooks with their figures, for whoever opens one in Colab: a first
cell installs modgrok there. `make docs notebooks` makes both, and `make docs-publish` calls this.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import tempfile
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
SITE, NOTEBOOKS, BRANCH, DEVELOPMENT = ROOT / "site", ROOT / "notebooks", "gh-pages", "dev"
PLACE = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["urls"]["Homepage"]
INDEX = """\
<!doctype html>
<meta charset="utf-8">
<title>modgrok</title>
<meta http-equiv="refresh" content="0; url={newest}/">
<a href="{newest}/">The documentation of modgrok {newest}</a>
"""


def folder_of(version: str) -> str:
    """
    >>> [folder_of(word) for word in ("main", "v0.3.0", "v0.10.2")]
    ['dev', '0.3', '0.10']
    """
    if version == "main":
        return DEVELOPMENT
    found = re.fullmatch(r"v(\d+\.\d+)\.\d+", version)
    if found is None:
        raise SystemExit(f"a version is main, or a tag such as v0.3.0, got {version!r}")
    return found[1]


def installing(version: str) -> dict[str, Any]:
    """The first cell of a published notebook."""
    what = f"git+{PLACE}" if version == "main" else f"modgrok=={version.removeprefix('v')}"
    source = f'import sys\n\nif "google.colab" in sys.modules:\n    %pip install --quiet {what}'
    return {
        "cell_type": "code",
        "execution_count": None,
        "id": "install",
        "metadata": {},
        "outputs": [],
        "source": source,
    }


def put(site: Path, notebooks: Path, pages: Path, version: str) -> list[str]:
    """The site in its folder of the pages, in place of what was there; all folders, newest first and `dev` last."""
    folder = folder_of(version)
    shutil.rmtree(pages / folder, ignore_errors=True)
    shutil.copytree(site, pages / folder)
    (pages / folder / "notebooks").mkdir()
    for path in sorted(notebooks.glob("*.ipynb")):
        notebook = json.loads(path.read_text(encoding="utf-8"))
        notebook["cells"].insert(0, installing(version))
        (pages / folder / "notebooks" / path.name).write_text(json.dumps(notebook, indent=1) + "\n", encoding="utf-8")
    listing = pages / folder / "notebooks.html"
    here = listing.read_text(encoding="utf-8").replace(f"{BRANCH}/{DEVELOPMENT}/", f"{BRANCH}/{folder}/")
    listing.write_text(here, encoding="utf-8")
    releases = [path.name for path in pages.iterdir() if re.fullmatch(r"\d+\.\d+", path.name)]
    releases.sort(key=lambda name: [int(part) for part in name.split(".")], reverse=True)
    folders = [*releases, *([DEVELOPMENT] if (pages / DEVELOPMENT).is_dir() else [])]
    listed = [{"version": name, "title": name, "aliases": ["latest"] if name == folders[0] else []} for name in folders]
    (pages / "versions.json").write_text(json.dumps(listed, indent=1) + "\n", encoding="utf-8")
    (pages / "index.html").write_text(INDEX.format(newest=folders[0]), encoding="utf-8")
    (pages / ".nojekyll").touch()
    return folders


def git(folder: Path, *words: str) -> str:
    return subprocess.run(["git", "-C", str(folder), *words], check=True, capture_output=True, text=True).stdout


def publish(version: str, *, root: Path = ROOT, remote: str = "origin", push: bool) -> None:
    """A commit on the branch of pages, which is made where there is none."""
    with tempfile.TemporaryDirectory() as name:
        pages = Path(name) / "pages"
        begun = bool(git(root, "ls-remote", "--heads", remote, BRANCH))
        if begun:
            git(root, "fetch", "--depth=1", remote, f"+refs/heads/{BRANCH}:refs/remotes/{remote}/{BRANCH}")
        git(root, "worktree", "add", "--detach", str(pages), f"{remote}/{BRANCH}" if begun else "HEAD")
        try:
            if not begun:  # a branch without a past, and without the source
                git(pages, "checkout", "--orphan", f"{BRANCH}-first")
                git(pages, "rm", "-rf", "--quiet", ".")
            folders = put(root / SITE.name, root / NOTEBOOKS.name, pages, version)
            git(pages, "add", "--all")
            if git(pages, "status", "--porcelain"):
                by = ["-c", "user.name=modgrok", "-c", "user.email=modgrok@users.noreply.github.com"]
                git(pages, *by, "commit", "--quiet", "-m", f"Documentation of {version}")
                if push:
                    git(pages, "push", remote, f"HEAD:refs/heads/{BRANCH}")
            print(f"{version} among {', '.join(folders)}" + ("" if push else "; nothing was pushed"))
        finally:
            git(root, "worktree", "remove", "--force", str(pages))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--version", required=True, help="main, or the tag of a release")
    parser.add_argument("--push", action="store_true", help="push the branch gh-pages, too")
    given = parser.parse_args()
    publish(given.version, push=given.push)
