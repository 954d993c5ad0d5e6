"""The published data set: every census of the repository as Parquet, for others; a clone writes it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from modgrok.base.progress import Progress
from modgrok.base.repository import folder_of, study
from modgrok.base.results import Result


@dataclass(frozen=True, repr=False)
class Dataset(Result):
    """A data set that was written to a folder; `configurations` are those that `load_dataset` takes."""

    folder: Path
    files: tuple[Path, ...]
    configurations: tuple[str, ...]
    networks: int
    rows_total: int
    tables: int
    bytes_total: int
    seconds: float

    def summary(self) -> str:
        return (
            f"{self.networks:,} networks in {self.rows_total:,} rows and {self.tables:,} tables, "
            f"{self.bytes_total / 1e6:.1f} MB in {self.folder}"
        )


def build_dataset(out: str | Path, *, progress: Progress | None = None) -> Dataset:
    """Write the censuses of the repository as a data set that others can load.

    Arguments:
        out: the folder to write; an earlier one of the kind is replaced.
        progress: called with the tables that have been made, and with all of them.

    Returns:
        A `Dataset`: its files, and how much is in it.
    """
    source = folder_of("benchmarks/census")
    found: Dataset = study("dataset_building").build(Path(out), source, progress)
    return found
