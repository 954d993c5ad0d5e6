"""A film of a training: the network at logarithmically spaced steps, all in one safetensors file of the run.

Much happens in the first steps and little in the last ones, so the steps are spaced evenly in their logarithm:
`snapshot_steps(1000, 8)` is 0, 1, 3, 10, 32, …. A file of tensors has its table of contents in front and cannot grow,
so it is replaced whole, never torn: a kill leaves the file of the checkpoint before. The tensors of step 32 are those
of a network file with `32/` before their names; the metadata are those of a network file, with the list of `steps`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from modgrok.base.errors import InputError
from modgrok.base.stores import DamagedError, open_tensors, write_tensors
from modgrok.networks.network import Network
from modgrok.networks.storage import check_network, read_format_2

SNAPSHOTS = "snapshots.safetensors"
USUAL, USUAL_BYTES, FEWEST = 32, 64_000_000, 8
"""Snapshots that a training keeps unless it is told how many, what they may take together, and how many at least make
a film: of a network so large that not even these fit, none is kept."""

Snapshots = Mapping[int, Network]
"""The network at each of some steps, in rising order: a dict, or a file that is read as it is asked."""


def usual_snapshots(size: int) -> int:
    """How many snapshots of a network of `size` bytes are kept where nobody says how many.

    >>> usual_snapshots(582_000), usual_snapshots(6_000_000), usual_snapshots(9_000_000)
    (32, 10, 0)
    """
    fit = min(USUAL, USUAL_BYTES // max(size, 1))
    return fit if fit >= FEWEST else 0


def snapshot_steps(steps: int, count: int) -> list[int]:
    """`count` steps from 0 to `steps`, evenly spaced in their logarithm as far as whole numbers can be.

    Where that would give a step twice, the next one is taken; what is left is spaced evenly again.

    >>> snapshot_steps(1000, 8)
    [0, 1, 3, 10, 32, 101, 318, 1000]
    >>> snapshot_steps(20, 10)
    [0, 1, 2, 3, 4, 6, 8, 11, 15, 20]
    """
    if count < 2:
        return [steps] * count
    if count > steps:
        return list(range(steps + 1))
    found = [0]
    for left in range(count - 1, 0, -1):
        last = found[-1]
        even = round(last * (steps / last) ** (1 / left)) if last else 1 if left > 1 else steps
        found.append(min(max(last + 1, even), steps - left + 1))
    return found


class SnapshotFile(Snapshots):
    """The snapshots in a file, each read when it is asked for."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            with open_tensors(path, "a film of snapshots") as file:
                self.about: dict[str, Any] = file.about
                self.steps: tuple[int, ...] = tuple(map(int, file.about["steps"]))
        except (InputError, OSError) as error:
            raise DamagedError(f"{path} holds no snapshots ({error}); `modgrok train` makes them again") from None

    def __getitem__(self, step: int) -> Network:
        if step not in self.steps:
            raise KeyError(step)
        try:
            with open_tensors(self.path, "a film of snapshots") as file:
                return check_network(read_format_2(self.about, lambda name: file(f"{step}/{name}")))
        except InputError as error:
            raise DamagedError(f"{self.path} cannot be used at step {step}: {str(error).splitlines()[0]}") from None

    def __iter__(self) -> Iterator[int]:
        return iter(self.steps)

    def __len__(self) -> int:
        return len(self.steps)

    def __repr__(self) -> str:
        return f"<SnapshotFile: {len(self)} networks at steps {self.steps[0]} to {self.steps[-1]}, in {self.path}>"


def write_snapshots(path: Path, snapshots: Snapshots) -> None:
    """All snapshots of a training in one file, which is replaced whole."""
    stored = {step: network.stored() for step, network in snapshots.items()}
    about, _ = next(iter(stored.values()))
    tensors = {f"{step}/{name}": tensor for step, (_, named) in stored.items() for name, tensor in named.items()}
    write_tensors(path, about | {"steps": list(stored)}, tensors)


def snapshots_in(folder: Path) -> Snapshots:
    """The snapshots of the run in a folder; none where none were kept."""
    return SnapshotFile(folder / SNAPSHOTS) if (folder / SNAPSHOTS).exists() else {}
