"""What a result depends on besides its settings: code, data that ship, libraries; each as a digest or a text.

The code of a module is its own file and those of all modules of this project that it imports, now or later, and that
these import: statements are read from the sources, those inside functions too, and nothing is imported for it. Rooms
that draw, show and ask compute nothing and are left out, so a result outlives a change of the page that shows it. The
data of a module are the data files in the folders of its code.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import re
import time
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from modgrok.base.repository import STUDIES

PACKAGE = Path(__file__).parent.parent
BEGAN = time.time()
"""When this process loaded this module, which is among the first."""
NOT_COMPUTING = ("report", "commands", "figures", "explorer", "cli", "__main__")
"""Parts of the package that no result depends on."""
DATA = (".json", ".parquet", ".npy", ".csv", ".safetensors")
LIBRARIES = ("jax", "jaxlib", "optax", "numpy")
IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+([\w.]+)[ \t]+import[ \t]+(?:\(([^)]*)\)|([^\n]*))|import[ \t]+([\w.]+))", re.MULTILINE
)


def libraries() -> dict[str, str]:
    """The versions of what computes."""
    return {name: importlib.metadata.version(name) for name in LIBRARIES}


@cache
def code_digest(*roots: str | Path) -> str:
    """Of all code that these depend on: modules by name (`modgrok.reproduction.table2`), or scripts by path."""
    return digest_of(code_of(roots))


@cache
def data_digest(*roots: str | Path, read: tuple[Path, ...] = ()) -> str:
    """Of the data files that ship with that code, and of files that were `read` besides."""
    folders = {path.parent for path in code_of(roots)}
    shipped = (path for folder in folders if folder.is_relative_to(PACKAGE) for path in folder.iterdir())
    return digest_of([*(path for path in shipped if path.suffix in DATA), *read])


def edited_since(*roots: str | Path) -> bool:
    """Whether any of that code was written since this process began: what is loaded may be what stood there before."""
    return any(not path.exists() or path.stat().st_mtime > BEGAN for path in code_of(roots))


def digest_of(paths: Iterable[Path]) -> str:
    """Of the names and contents of some files."""
    digest = hashlib.sha256()
    for path in sorted(paths):
        digest.update("/".join(path.parts[-2:]).encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def code_of(roots: Iterable[str | Path]) -> set[Path]:
    """The files of the roots, and of all that they import of this project; `modgrok` itself is whole, and unread."""
    roots, found = tuple(roots), set[Path]()
    whole = set(files_of("modgrok")) if "modgrok" in roots else set[Path]()
    new = {path for root in roots for path in ([root] if isinstance(root, Path) else files_of(root))}
    while new:
        found |= new
        new = {path for file in new - whole for path in imported_by(file)} - found
    return found


@cache
def imported_by(file: Path) -> frozenset[Path]:
    """The files of the modules that one imports, as far as they are of this project and compute."""
    if file == PACKAGE / "__init__.py":
        return frozenset()  # it names every verb and imports none
    names = {*imported_names(file.read_text(encoding="utf-8"))}
    beside = (path for name in names if "." not in name and (path := file.parent / f"{name}.py").is_file())
    return frozenset([*(path for name in names for path in found_files(PACKAGE, STUDIES, name)), *beside])


def imported_names(source: str) -> Iterator[str]:
    """Every name that is imported: that of a module, or of something in one."""
    for module, several, few, alone in IMPORT.findall(source):
        if alone or module != "modgrok":
            yield alone or module
        for name in re.split(r"[,\n]", re.sub(r"#[^\n]*", "", several or few)):
            if words := name.split():
                yield f"{module}.{words[0]}"


@cache
def found_files(package: Path, studies: Path, name: str) -> tuple[Path, ...]:
    """`files_of`, which a thousand imports ask for the same names."""
    return tuple(files_of(name))


def files_of(name: str) -> Iterator[Path]:
    """The file of a module of this project, and those of the packages that it stands in.

    `modgrok` is all of it, since its verbs are imported when they are called for.
    """
    root, *rest = name.split(".")
    if root not in ("modgrok", "studies") or (rest and rest[0] in NOT_COMPUTING):
        return
    folder = PACKAGE if root == "modgrok" else STUDIES
    places = [folder.joinpath(*rest[:depth]) for depth in range(len(rest) + 1)]
    found = [path for place in places for path in (place / "__init__.py", place.with_suffix(".py")) if path.is_file()]
    if name == "modgrok" or (len(rest) == 1 and len(found) == 1 and rest[0] != "__version__" and root == "modgrok"):
        found += [
            path
            for path in PACKAGE.rglob("*.py")
            if path.relative_to(PACKAGE).with_suffix("").parts[0] not in NOT_COMPUTING
        ]
    yield from found
