"""The card of the data set, by the conventions of the Hub; every number in it is counted when it is built."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from modgrok import __version__
from modgrok.base.printing import markdown_table
from modgrok.base.provenance import Made, commit_here
from modgrok.base.results import json_text
from modgrok.censuses.querying import answered
from studies.dataset_columns import COLUMNS, Configuration

NAME, VERSION = "modgrok-censuses", "1.0.0"
"""Of the data set; its version is raised when rows or columns change."""
TITLE = "Censuses of grokking: networks that learned tables of modular arithmetic, or did not"
LICENCE, LICENCE_URL = "cc-by-4.0", "https://creativecommons.org/licenses/by/4.0/"
TAGS = ("grokking", "modular-arithmetic", "generalization", "interpretability", "finite-groups")
SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))

QUESTIONS = {
    "From how much of its table is a sum learned?": """\
WITH tried AS (
    SELECT modulus, fraction, count(*) AS trainings, avg(CAST(test_accuracy >= 0.99 AS INTEGER)) AS grokked
    FROM large WHERE family = '{a}x + {b}y' AND width = 500 GROUP BY modulus, fraction
)
SELECT modulus, min(fraction) AS enough, arg_min(trainings, fraction) AS trainings,
       round(arg_min(grokked, fraction), 3) AS grokked
FROM tried WHERE modulus IN (7, 13, 23, 31, 61, 97, 127) AND grokked >= 0.5
GROUP BY modulus ORDER BY modulus""",
    "Is h(g1 + g2) what networks learn from half of a table?": """\
SELECT verdict, count(*) AS trainings, round(avg(CAST(test_accuracy >= 0.99 AS INTEGER)), 3) AS grokked,
       round(median(CAST(test_accuracy AS DOUBLE)), 3) AS median_accuracy
FROM large WHERE fraction = 0.5 AND width = 500 AND modulus >= 31
GROUP BY verdict ORDER BY verdict""",
    "Which kinds of tables are learned beyond their commonest value?": """\
WITH counted AS (
    SELECT table_id, value, count(*) AS cells FROM (SELECT table_id, unnest("values") AS value FROM tables)
    GROUP BY table_id, value
), guessed AS (SELECT table_id, max(cells) / sum(cells) AS commonest FROM counted GROUP BY table_id)
SELECT family, count(*) AS trainings, round(avg(commonest), 3) AS commonest_value,
       round(avg(test_accuracy), 3) AS accuracy
FROM kinds JOIN guessed USING (table_id) WHERE steps = 2000 AND fraction = 0.5
GROUP BY family ORDER BY accuracy DESC""",
}
"""In SQL, over configurations by name: what a reader sees is what was asked."""

LOADING = """\
from pathlib import Path

import duckdb
from datasets import load_dataset

HERE = str(Path.cwd())    # this folder

def rows(name):
    return load_dataset(HERE, name, split="train").with_format("arrow")[:]

large, kinds, tables = rows("large"), rows("kinds"), rows("tables")
"""


def card(found: Sequence[Configuration]) -> str:
    """README.md of the data set."""
    censuses, tables = found[:-1], found[-1].rows
    networks, rows = sum(each.networks for each in censuses), sum(len(each.rows) for each in censuses)
    commit, changed = commit_here()
    lines = [
        *front_matter(found, rows),
        f"# {TITLE}",
        "",
        f"{networks:,} small networks, each trained on a part of a table of n × n whole numbers and tested on the "
        f"rest, in {rows:,} measurements; and the {len(tables):,} tables: sums and products modulo n, groups, "
        "polynomials, noise. What can be learned from how much of it, and what tells beforehand?",
        "",
        "```python",
        LOADING + "```",
        "",
        'Parquet alone does as well: `pyarrow.parquet.read_table("data/large.parquet")`, whose '
        "schema has the description and the unit of every column.",
        "",
        *markdown_table(
            ("configuration", "networks", "planned", "rows", "what it is"),
            [[each.name, each.networks or "", each.planned or "", len(each.rows), each.text] for each in found],
        ),
        f"{models(censuses)} All are trained on the whole training part at every step, by AdamW. Rows of one table are "
        "related: split by `table_id`, not by row.",
        "",
        "## Three questions",
        "",
        "Asked of these files when they were made; the code above loads what the queries name.",
        "",
        *questions(found),
        "## Columns",
        "",
        *markdown_table(("column", "unit", "meaning", "in"), columns(found)),
        "## How it was made",
        "",
        f"Data set version {VERSION}; built by `modgrok dataset build` of modgrok {__version__}, commit "
        f"{commit or 'not known'}{', changed since' if changed else ''}. A table is made again from its id (family, "
        "modulus, seed), and was compared with the expression of its rows and, where rows have it, the entropy.",
        "",
        *markdown_table(("configuration", "trained by"), [[each.name, sittings(each.made)] for each in censuses]),
        "What is older than the keeping of such notes says *version unknown*; it was trained on one NVIDIA H200.",
        "",
        "## Known faults",
        "",
        *(f"- {fault}" for fault in faults(censuses, tables)),
        "",
        "## Licence",
        "",
        "The data are under CC BY 4.0: use them for anything, and say where they come from. A licence for software, as "
        "the MIT licence of the code that made them, says nothing of data. Checksums of all files are in SHA256SUMS "
        "(`sha256sum -c SHA256SUMS`), metadata for machines in croissant.json.",
        "",
    ]
    return "\n".join(lines)


MODELS = {
    "power": "two layers, hidden activation x², no bias, mean squared error to one-hot answers",
    "mlp": "three layers, ReLU, cross-entropy",
    "transformer": "one block of attention and ReLU over both inputs, cross-entropy",
}


def models(censuses: Sequence[Configuration]) -> str:
    """How many networks there are of each model, and what it is."""
    count: Counter[str] = Counter()
    for each in censuses:
        count.update(dict(zip(*(each.rows[name].to_pylist() for name in ("network", "model")), strict=True)).values())
    told = [f"{number:,} are `{name}` ({MODELS[name]})" for name, number in count.most_common()]
    return f"Of the networks {', '.join(told)}."


def front_matter(found: Sequence[Configuration], rows: int) -> Iterator[str]:
    """What the Hub reads: YAML, every value as JSON, which is YAML too."""
    yield from ("---", f"license: {LICENCE}", f"pretty_name: {json_text(TITLE)}", "annotations_creators:")
    yield from ("- machine-generated", "source_datasets:", "- original", "task_categories:", "- tabular-regression")
    yield from ("size_categories:", f"- {next(word for most, word in SIZES if rows < most)}", "tags:")
    yield from (f"- {tag}" for tag in TAGS)
    yield "configs:"
    for each in found:
        yield from (f"- config_name: {each.name}", "  data_files:", "  - split: train", f"    path: {each.path}")
        if each is found[0]:
            yield "  default: true"
    yield from ("---", "")


def questions(found: Sequence[Configuration]) -> Iterator[str]:
    named = {each.name: each.rows for each in found if each.name.isidentifier()}
    for question, sql in QUESTIONS.items():
        names, rows = answered(sql, named)
        yield from (f"### {question}", "", "```python", f'duckdb.sql("""\n{sql}\n""")', "```", "")
        yield from markdown_table(names, [list(row.values()) for row in rows])


def columns(found: Sequence[Configuration]) -> list[list[str]]:
    censuses, everything = {each.name for each in found[:-1]}, {each.name for each in found}
    short = {frozenset(everything): "all", frozenset(censuses): "all but tables"}
    present = {name: [each.name for each in found if name in each.rows.column_names] for name in COLUMNS}
    return [
        [f"`{name}`", about.unit, about.text, short.get(frozenset(present[name]), ", ".join(present[name]))]
        for name, about in COLUMNS.items()
        if present[name]
    ]


def sittings(made: Made) -> str:
    return "; ".join(dict.fromkeys(each.text() + (f", `{each.command}`" if each.command else "") for each in made))


def faults(censuses: Sequence[Configuration], tables: pa.Table) -> Iterator[str]:
    """What a user must know before trusting a number, counted where it can be."""
    yield "Censuses were stopped by the clock. " + ". ".join(
        f"`{each.name}` has {each.networks:,} of {each.planned:,} planned networks; {each.missing}"
        for each in censuses
        if each.missing
    )
    old = [f"`{each.name}`" for each in censuses if not any(one.is_known for one in each.made)]
    yield (
        f"The code behind {' and '.join(old)} was not written down (*version unknown*), and trainings of that time on "
        "a GPU did not repeat to the last bit: near the edge of what is learned the same seed may end otherwise. They "
        "have no columns `beside` and `room`, without which no single run repeats a row."
    )
    if dirty := [f"`{each.name}`" for each in censuses if any(one.changed for one in each.made)]:
        yield f"{' and '.join(dirty)} were trained from a clone with changes that were not committed."
    yield (
        "Wherever eight or more networks of the model `power` trained side by side on a GPU, but for `older`, "
        "gradients were products of bfloat16 numbers, summed in float32; elsewhere they are float32."
    )
    yield "`ipr` of `older` was measured in the natural order of residues, also for products, whose waves it misses."
    judged = [each for each in censuses if "verdict" in each.rows.column_names]
    unknown = {each.name: pc.sum(pc.equal(each.rows["verdict"], "unknown")).as_py() for each in judged}
    yield (
        "Verdicts were sought with a quarter of the usual effort: `unknown` in "
        + ", ".join(f"{count:,} rows of `{name}`" for name, count in unknown.items())
        + "; the others have none."
    )
    different = len({each.values.to_numpy().tobytes() for each in tables["values"]})
    yield f"{len(tables) - different:,} of the {len(tables):,} tables have the values of another one under another id."
    yield (
        "One optimiser, one learning rate and weight decay for each model, mostly one width: what other optimisers, "
        "other rates or longer trainings do is not in here. Functions of two variables only."
    )
