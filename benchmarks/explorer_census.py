"""The trainings that the explorer's census view shows: an even sample of a census, small enough for the package.

    python benchmarks/explorer_census.py benchmarks/census/large

writes src/modgrok/explorer/census.parquet: one training in `EVERY`, with the columns that are drawn.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pyarrow as pa

from modgrok.censuses.store import read_annotated, write_rows
from modgrok.explorer.censuses import COLUMNS, SAMPLE

EVERY = 12
"""One training in so many is kept, those of each family, modulus and fraction alike."""


def main() -> None:
    folder = Path(sys.argv[1])
    rows = read_annotated(folder)
    rows = rows.filter(np.asarray(rows["steps"]) == np.asarray(rows["steps"]).max())
    rows = rows.sort_by(
        [("family", "ascending"), ("modulus", "ascending"), ("fraction", "ascending"), ("network", "ascending")]
    )
    sample = rows.take(np.arange(0, len(rows), EVERY)).select(list(COLUMNS))
    kinds = {
        "modulus": pa.int16(),
        "table_seed": pa.int32(),
        "fraction": pa.float32(),
        "train_loss": pa.float32(),
        "test_accuracy": pa.float32(),
    }
    sample = sample.cast(pa.schema([(name, kinds.get(name, pa.string())) for name in COLUMNS]))
    about = f"an even sample, one in {EVERY}, of the {len(rows):,} trainings of the large census"
    write_rows(SAMPLE, sample.replace_schema_metadata({"modgrok": about}))
    print(f"{SAMPLE}: {len(sample):,} of {len(rows):,} trainings, {SAMPLE.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
