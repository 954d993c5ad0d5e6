"""The trainings that the explorer's census view shows: those of a census at the default width, small enough to ship.

    python benchmarks/explorer_census.py benchmarks/census/large

writes src/modgrok/explorer/census.parquet, with the columns that are drawn, to three digits: a dot is no finer.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from modgrok.base.files import whole_file
from modgrok.censuses.store import read_annotated
from modgrok.explorer.censuses import COLUMNS, SAMPLE, with_ratios
from modgrok.training.presets import DEFAULTS

DIGITS = 3
KINDS = {"modulus": pa.int16(), "table_seed": pa.int32()} | dict.fromkeys(
    ("fraction", "train_loss", "ratio", "test_accuracy"), pa.float32()
)


def rounded(values: np.ndarray) -> np.ndarray:
    """Positive numbers to `DIGITS` significant digits."""
    unit = 10.0 ** (np.floor(np.log10(values)) - DIGITS + 1)
    return np.round(values / unit) * unit


def share_rounded(values: np.ndarray) -> np.ndarray:
    """Shares to `DIGITS` places; what is less than 1 stays less."""
    return np.where(values < 1, np.minimum(values.round(DIGITS), 1 - 10.0**-DIGITS), 1)


def main() -> None:
    census = with_ratios(read_annotated(Path(sys.argv[1])))
    rows = census.filter(np.asarray(census["width"]) == DEFAULTS["width"])
    rows = rows.sort_by([(name, "ascending") for name in ("family", "modulus", "table_seed", "fraction")])
    changed = {"train_loss": rounded, "ratio": lambda x: x.round(DIGITS), "test_accuracy": share_rounded}
    columns = {name: rows[name] for name in COLUMNS}
    columns |= {name: pa.array(change(rows[name].to_numpy().astype(float))) for name, change in changed.items()}
    sample = pa.table(columns).cast(pa.schema([(name, KINDS.get(name, pa.string())) for name in COLUMNS]))
    about = f"the {len(sample):,} of the large census at the default width of {DEFAULTS['width']} neurons"
    with whole_file(SAMPLE) as temporary:  # rounded numbers repeat, so that each column has a dictionary
        options = {"compression": "zstd", "compression_level": 19, "write_page_checksum": True}
        pq.write_table(sample.replace_schema_metadata({"modgrok": about}), temporary, **options)
    print(f"{SAMPLE}: {len(sample):,} of {len(census):,} trainings, {SAMPLE.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
