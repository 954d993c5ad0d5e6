"""The published data set: every census of the repository as Parquet, with a card, Croissant metadata and checksums.

    README.md              the card, by the conventions of the Hub: what it is, three questions answered, faults
    croissant.json         the same for machines, with the fields for responsible use
    SHA256SUMS             of all other files
    data/large.parquet     a census: one row for each network and measured step
    data/tables.parquet    the tables that networks were trained on, each once, by `table_id`

Every folder of benchmarks/census that has a plan is a configuration. Rows are those of the censuses, column by column;
what a census does not have it has no column for, but for the model. Tables are made
again from (family, modulus, seed), and compared with what the rows say of them: the expression, and the entropy of the
values where it was noted. Nothing depends on the clock, so the same clone gives the same bytes.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator
from dataclasses import replace
from math import isclose
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from modgrok.base.errors import InputError
from modgrok.base.files import claim_folder, read_json, reason, write_json, write_text
from modgrok.base.progress import Progress
from modgrok.base.provenance import Made
from modgrok.base.stores import DamagedError
from modgrok.censuses import store
from modgrok.censuses.dataset import Dataset
from modgrok.censuses.families import make_table
from modgrok.experiments.row_store import write_rows
from modgrok.separable.measures.complexity import entropy
from modgrok.training.presets import DEFAULTS
from studies.dataset_card import NAME, card
from studies.dataset_columns import Configuration, described
from studies.dataset_croissant import croissant

TEXTS = {
    "large": "sums, products, both in disguise, polynomials and noise, from a tenth to nine tenths of a table",
    "kinds": "tables of every kind, measured eight times on the way",
    "kinds-mlp": "some of the same tables, with MLPs",
    "kinds-transformer": "the same with transformers",
    "other-kinds": "more kinds of tables, at sides that the census of kinds has not",
    "older": "the first census, at three moduli, with trainings on whole tables",
}
"""What a configuration is for, before what is counted of it; the first of them is the default one."""
OTHER_NAMES = {"results": "older"}
"""Configurations that are not called as their folder is."""
KEY = ("family", "modulus", "table_seed")
CROISSANT, CARD, SUMS, DATA = "croissant.json", "README.md", "SHA256SUMS", "data"


def build(folder: Path, source: Path, progress: Progress | None = None) -> Dataset:
    """Write the censuses in a folder as a data set to another one."""
    began = time.perf_counter()
    claim_folder(folder, CROISSANT, lambda: described_difference(folder), hint="choose another folder: out= (--out)")
    found = [configuration(name, where) for name, where in censuses_in(source).items()]
    found.append(tables_of(found, progress))
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}-") as temporary:
            files = written(Path(temporary), found)
            for path in files:
                (folder / path).parent.mkdir(parents=True, exist_ok=True)
                (Path(temporary) / path).replace(folder / path)
    except OSError as error:
        raise InputError(f"cannot write {folder}: {reason(error)}; give a folder with space") from error
    paths = tuple(folder / path for path in files)
    return Dataset(
        folder,
        paths,
        tuple(each.name for each in found),
        sum(each.networks for each in found),
        sum(len(each.rows) for each in found[:-1]),
        len(found[-1].rows),
        sum(path.stat().st_size for path in paths),
        time.perf_counter() - began,
    )


def described_difference(folder: Path) -> str:
    """What a folder holds that is no such data set; empty where it is one."""
    said = read_json(folder / CROISSANT)
    return "" if isinstance(said, dict) and said.get("name") == NAME else "data set"


def written(folder: Path, found: list[Configuration]) -> tuple[str, ...]:
    """All files, below a folder; what says whose folder it is comes first."""
    for each in found:
        write_rows(folder / each.path, each.rows, each.made)
    sums = {each.path: sha256(folder / each.path) for each in found}
    write_json(folder / CROISSANT, croissant(found, sums))
    write_text(folder / CARD, card(found))
    sums |= {name: sha256(folder / name) for name in (CROISSANT, CARD)}
    write_text(folder / SUMS, "".join(f"{digest}  {name}\n" for name, digest in sorted(sums.items())))
    return (CROISSANT, *(each.path for each in found), CARD, SUMS)


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


# ------------------------------------------------------------------------------------------------- rows


def censuses_in(source: Path) -> dict[str, Path]:
    """Every census in a folder by its configuration: those that `TEXTS` has words for, then all others by name."""
    folders = {OTHER_NAMES.get(path.parent.name, path.parent.name): path.parent for path in source.glob("*/plan.json")}
    if not folders:
        raise InputError(f"no census in {source}; make one with modgrok census PLAN --out {source / 'NAME'}")
    known = [name for name in TEXTS if name in folders]
    return {name: folders[name] for name in (*known, *sorted(set(folders) - set(known)))}


def configuration(name: str, folder: Path) -> Configuration:
    """The rows of a census, with the names of their tables and models."""
    census = store.stored(folder)
    rows = with_models(census.rows())
    rows = rows.select([column for column in rows.column_names if rows[column].null_count < len(rows)])
    ids = pa.array([table_id(*key) for key in keys(rows)], pa.string())
    rows, there = described(rows.add_column(0, "table_id", ids)), set(rows["network"].to_pylist())
    plan = store.load_stored_plan(folder)
    lost = sorted({(each.modulus, each.width) for each in plan.networks() if each.number not in there})
    missing = "missing are some of modulus and width " + ", ".join(f"{n} and {width}" for n, width in lost)
    if plan.shuffle or not lost:
        missing = "what is there is a sample, since the plan is shuffled" if lost else ""
    path, text = f"{DATA}/{name}.parquet", "; ".join([*filter(None, [TEXTS.get(name)]), counted(rows)])
    return Configuration(name, path, text, rows, len(there), published(census.made()), census.planned, missing)


def with_models(rows: pa.Table) -> pa.Table:
    """Rows that say nothing of their model are older than the choice: all are x² networks."""
    said = rows["model"] if "model" in rows.column_names else pa.nulls(len(rows), pa.string())
    others = [name for name in rows.column_names if name != "model"]
    return rows.select(others).append_column("model", pc.fill_null(said, DEFAULTS["model"]))


def counted(rows: pa.Table) -> str:
    """What a census is about, from its rows."""
    models = " and ".join(sorted(set(rows["model"].to_pylist())))
    least, most = (pc.min_max(rows["modulus"])[end].as_py() for end in ("min", "max"))
    families = pc.count_distinct(rows["family"]).as_py()
    return f"{models}, {families} families, n from {least} to {most}"


def keys(rows: pa.Table) -> Iterator[tuple[str, int, int]]:
    return zip(*(rows[name].to_pylist() for name in KEY), strict=True)


def table_id(family: str, modulus: int, seed: int) -> str:
    """The name of a table, from which it can be made again.

    >>> table_id("two-monomials", 43, 7)
    'two-monomials/43/7'
    """
    return f"{family}/{modulus}/{seed}"


def published(made: Made) -> Made:
    """Where rows come from; folders of the machine that trained them are nobody's affair."""

    def plain(command: str) -> str:
        return " ".join(Path(word).name if word.startswith("/") else word for word in command.split())

    return tuple(replace(each, command=plain(each.command)) if each.command else each for each in made)


# ----------------------------------------------------------------------------------------------- tables


def tables_of(found: list[Configuration], progress: Progress | None) -> Configuration:
    """Every table of the rows, made again; a `DamagedError` where it is not what the rows say."""
    said: dict[tuple[str, int, int], tuple[str | None, float | None]] = {}
    for each in found:
        about = (values(each.rows, name) for name in ("expression", "entropy"))
        for key, expression, bits in zip(keys(each.rows), *about, strict=True):
            if said.get(key, (None, None))[1] is None:
                said[key] = (expression, bits)
    rows = []
    for key, (expression, bits) in sorted(said.items()):
        table = make_table(*key)
        same = bits is None or isclose(entropy(table.values), bits, abs_tol=1e-9)
        if table.expression != expression or not same:
            raise DamagedError(f"{table_id(*key)} is no longer the table that was trained on; build with its version")
        rows.append((table_id(*key), *key, expression, table.values.ravel().astype("uint8")))
        if progress is not None:
            progress(len(rows), len(said))
    columns = [pa.array(column, field.type) for column, field in zip(zip(*rows, strict=True), TABLES, strict=True)]
    made = pa.table(columns, TABLES)
    text = "the value tables that the networks of all configurations were trained on, each once"
    return Configuration("tables", f"{DATA}/tables.parquet", text, described(made), 0, ())


def values(rows: pa.Table, name: str) -> list[Any]:
    """A column; null in every row where there is none."""
    return rows[name].to_pylist() if name in rows.column_names else [None] * len(rows)


TABLES = pa.schema(
    [
        ("table_id", pa.string()),
        ("family", pa.string()),
        ("modulus", pa.int64()),
        ("table_seed", pa.int64()),
        ("expression", pa.string()),
        ("values", pa.list_(pa.uint8())),
    ]
)
