"""Take results over that were computed elsewhere: python benchmarks/adopt.py FILE ...

Copies JSON files to benchmarks/results. A machine that has the code without its history cannot say which commit it is
of: where the digest of that code is the one of this clone, and nothing of it is changed here, the commit is filled in.
Paths of that machine (`files`) are left out; nothing else is added or changed.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from modgrok.base.dependencies import PACKAGE, code_digest
from modgrok.base.errors import InputError
from modgrok.base.files import read_json, write_json
from modgrok.base.provenance import KEY, Provenance, commit_here, read_made

ROOT = PACKAGE.parents[1]


def with_commit(made: Provenance) -> Provenance:
    """The same with the commit of this clone, if the code is that of it."""
    commit, changed = commit_here()
    if made.commit is not None or commit is None or changed or not made.code_of:
        return made
    roots = [ROOT / name if name.endswith(".py") else name for name in made.code_of]
    if any(isinstance(root, Path) and not root.is_file() for root in roots) or code_digest(*roots) != made.code_digest:
        return made
    return replace(made, commit=commit, changed=False)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--out", type=Path, default=ROOT / "benchmarks" / "results")
    args = parser.parse_args()
    for path in args.files:
        found = read_json(path)
        if not isinstance(found, dict):
            raise InputError(f"{path} must hold an object, got {type(found).__name__}; parts stay where they are")
        made = tuple(with_commit(each) for each in read_made(found.get(KEY)))
        write_json(args.out / path.name, {name: found[name] for name in found if name != "files"} | {KEY: made})
        print(f"{args.out / path.name}: {'; '.join(each.text() for each in made)}")


if __name__ == "__main__":
    main()
