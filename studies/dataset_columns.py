"""What every column of the published data set means, and in which unit it is; the card and the schemas say it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import pyarrow as pa

from modgrok.base.errors import InputError
from modgrok.base.provenance import Made

NAME, SHARE, NUMBER = "name", "share from 0 to 1", "number"
"""Units of what is a word, a share, or a plain number without any."""


class Column(NamedTuple):
    """The meaning of a column, and the unit of its values."""

    text: str
    unit: str


COLUMNS = {
    "table_id": Column("the table that the network was trained on: the key of the configuration tables", NAME),
    "network": Column("number of the network in its census; with steps, the key of a row", "ordinal"),
    "family": Column("the generator of the table: a name of docs/census.md, or a template with random letters", NAME),
    "table_seed": Column("which table of the family it is: the generator's seed", "ordinal"),
    "expression": Column("the table as a polynomial in x = n1 and y = n2; null where it has none", "text"),
    "modulus": Column("n: the table has n rows, n columns and values from 0 to n - 1", "residues"),
    "values": Column("the table row by row: f(a, b) stands at place a n + b", "residue"),
    "model": Column("power: two layers and x²; mlp: layers of ReLU; transformer: one block with attention", NAME),
    "width": Column("hidden neurons of the network or of each of its layers; of a transformer its stream", "neurons"),
    "fraction": Column("share of the table's cells that it was trained on", SHARE),
    "train_rows": Column("cells that it was trained on", "cells"),
    "seed": Column("of the split and of the initial weights", "ordinal"),
    "learning_rate": Column("of AdamW", NUMBER),
    "weight_decay": Column("of AdamW: a step shrinks a weight by learning_rate times this", NUMBER),
    "steps": Column("full-batch steps after which this row was measured", "steps"),
    "beside": Column("networks that trained in the same program, which the last bits depend on", "networks"),
    "room": Column("training rows that the program had room for, which the last bits depend on", "cells"),
    "train_loss": Column(
        "on the training cells: of power the mean squared error to one-hot answers, else cross-entropy in nats", NUMBER
    ),
    "test_loss": Column("the same on all other cells; null where there are none", NUMBER),
    "train_accuracy": Column("training cells that are answered right", SHARE),
    "test_accuracy": Column("other cells that are answered right; null where there are none", SHARE),
    "ipr": Column("mean inverse participation ratio of the neurons' weights: 1 for pure cosines", SHARE),
    "ipr_alive": Column("the same over living neurons alone", SHARE),
    "alive": Column("neurons whose squared norm is above a thousandth of the largest", "neurons"),
    "embed_norm": Column("length of all weights that read inputs, as one vector", NUMBER),
    "readout_norm": Column("length of all weights that give logits, as one vector", NUMBER),
    "verdict": Column("is the table h(g1(n1) + g2(n2)) for some maps? in-class, not-in-class or unknown", NAME),
    "verdict_family": Column("the kind of that form: additive, multiplicative, …; null outside the class", NAME),
    "redundancy": Column("test cells with a twin (an equal row and an equal column) in a training set", SHARE),
    "permuted_redundancy": Column("test cells that follow from rows or columns equal up to renamed values", SHARE),
    "orbit_redundancy": Column("test cells in one orbit with a training cell, at most", SHARE),
    "effective_rank": Column("directions over which coincidences of values spread, over n²", SHARE),
    "unfolding_norm": Column("largest nuclear norm of the one-hot tensor's unfoldings, over n^1.5", NUMBER),
    "shifts": Column("shifts of n1 and n2 that permute the values, of n²", "shifts"),
    "scalings": Column(
        "scalings of n1 and n2 that permute the values, of (n - 1)²; null unless n is prime", "scalings"
    ),
    "characters": Column("least share of pairs of frequencies that the one-hot tensor needs", SHARE),
    "entropy": Column("of the values over all cells", "bits"),
}


@dataclass(frozen=True)
class Configuration:
    """What `load_dataset` gives under a name: rows, in a file, and where they come from; of tables no network."""

    name: str
    path: str
    text: str
    rows: pa.Table
    networks: int
    made: Made
    planned: int = 0
    missing: str = ""
    """Of the planned networks, in words."""


def described(rows: pa.Table) -> pa.Table:
    """The table with description and unit of every column in its schema; an `InputError` where one has none."""
    if missing := [name for name in rows.column_names if name not in COLUMNS]:
        raise InputError(f"no description of {', '.join(missing)}; say in studies/dataset_columns.py what it is")
    about = {name: COLUMNS[name] for name in rows.column_names}
    return rows.cast(
        pa.schema(
            [
                field.with_metadata({"description": about[field.name].text, "unit": about[field.name].unit})
                for field in rows.schema
            ]
        )
    )
