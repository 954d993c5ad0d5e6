"""A run: one training with its settings, metrics, network and snapshots; in memory, or read from its folder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from modgrok.base.errors import InputError
from modgrok.base.files import write_json, write_parquet
from modgrok.base.provenance import KEY, UNKNOWN, Made, read_made
from modgrok.base.results import Columns, Result, html_table, loss_text, percent, plain_object
from modgrok.base.stores import DamagedError, Kinds, read_columns, read_object
from modgrok.inspection.inspecting import Inspection
from modgrok.inspection.order import Order, order_of
from modgrok.loss_law.expectation import Expectation, not_covered
from modgrok.networks.network import Network
from modgrok.networks.storage import WEIGHTS, called_a_table, load
from modgrok.training.beforehand import asked
from modgrok.training.checkpoints import CURVES
from modgrok.training.config import TrainConfig
from modgrok.training.data import train_count
from modgrok.training.diagnosis import Diagnosis, diagnose
from modgrok.training.inspecting import inspect
from modgrok.training.run_folder import AGAIN, FILES, METRICS, NEURONS, RESULT, SITTINGS, load_config
from modgrok.training.snapshots import USUAL, Snapshots, snapshots_in
from modgrok.training.steps import Metrics

if TYPE_CHECKING:
    from modgrok.figures.style import Figure


class Measured:
    """What the settings of a training and its curves say, whatever its state; there is one measurement at least."""

    config: TrainConfig
    curves: Mapping[str, np.ndarray]

    @property
    def step(self) -> int:
        return int(self.curves["step"][-1])

    @property
    def finished(self) -> bool:
        return self.step == self.config.steps

    @property
    def final(self) -> dict[str, float]:
        """The last row of the metrics."""
        return {name: self.curves[name][-1].item() for name in Metrics._fields}

    @cached_property
    def decided(self) -> Diagnosis | None:
        """What the curves alone say became of the training; None before their first measurement."""
        return diagnose(self.config, self.curves) if self.step > 0 else None

    @cached_property
    def diagnosis(self) -> Diagnosis | None:
        """What became of the training, in words; of one that only memorised, with the verdict on its function. None for
        a run that was stopped before its first measurement."""
        if self.outcome != "memorised":
            return self.decided
        return diagnose(self.config, self.curves, *asked(self.config))

    @property
    def memorised_at(self) -> int | None:
        """The first measured step with 99 % of the training set right."""
        return None if self.decided is None else self.decided.memorised_at

    @property
    def grokked_at(self) -> int | None:
        """The first measured step with 99 % of the test set right."""
        return None if self.decided is None else self.decided.grokked_at

    @property
    def expected(self) -> Expectation:
        """The test accuracy that the training loss alone stands for: the loss law."""
        if self.decided is None:
            return not_covered("the network has not been trained yet", "training loss")
        return self.decided.expected

    @property
    def title(self) -> str:
        return self.config.title

    @property
    def about(self) -> str:
        """Model, width, optimiser, rate and decay, in words."""
        config = self.config
        rates = f" at {config.learning_rate:g}, decay {config.weight_decay:g}" if config.rates else ""
        return f"{config.model} of width {config.width}, {config.optimiser}{rates}"

    @property
    def outcome(self) -> str:
        """One word: that of the diagnosis, or untrained."""
        return "untrained" if self.decided is None else self.decided.outcome


@dataclass(frozen=True, eq=False, repr=False)
class Run(Result, Measured):
    """A training that was made, or loaded from its folder.

    `curves` and `neurons` are columns by name; `network` is the trained network, `snapshots` are networks on the way
    to it; `folder` is None for a run that is in memory alone. `seconds` and `steps_per_second` are of the last sitting,
    without compilation; `reused` tells that the run had been finished before, and `provenance` where it comes from, one
    entry for each sitting.
    """

    config: TrainConfig
    network: Network
    curves: dict[str, np.ndarray]
    neurons: dict[str, np.ndarray]
    seconds: float
    steps_per_second: float
    device: str
    folder: Path | None = None
    snapshots: Snapshots = field(default_factory=dict)
    reused: bool = False
    provenance: Made = (UNKNOWN,)
    told = (
        *("folder", "finished", "reused", "step", "final", "memorised_at", "grokked_at", "ipr_blocks", "train_rows"),
        *("test_rows", "unknown_cells", "seconds", "steps_per_second", "device", "diagnosis", "files", KEY),
    )

    @property
    def metrics(self) -> Columns:
        """One row for each measured step; `run.metrics.to_pandas()` is a DataFrame."""
        return Columns(self.curves)

    @property
    def train_rows(self) -> int:
        return train_count(self.config.fraction, self.network.known_rows)

    @property
    def test_rows(self) -> int:
        return self.network.known_rows - self.train_rows

    @property
    def residue_order(self) -> Order:
        """The order of residues in which periodicity was measured."""
        return order_of(self.config.function, self.config.order)

    @property
    def ipr_blocks(self) -> list[str]:
        """The variables, and the readout, whose weights the IPR is the mean over: those that have places."""
        used, names = self.network.model.blocks(self.network.params).places, [*self.network.variables, "readout"]
        with_places = self.residue_order.axes(self.network.variables)
        return [name for k, name in enumerate(names) if k in used and name in with_places]

    def at(self, step: int) -> Network:
        """The network as it was at a step: one of `snapshots`, or the last.

        >>> from modgrok.training.train import train
        >>> run = train("n1 + n2", 5, width=4, steps=10, snapshots=4)
        >>> list(run.snapshots)
        [0, 1, 3, 10]
        >>> run.at(3).method
        'trained'
        """
        if isinstance(step, bool) or not isinstance(step, int | np.integer):
            raise InputError(f"a step is a whole number, got {step!r}; list(run.snapshots) has those that were kept")
        if step == self.step:
            return self.network
        if int(step) in self.snapshots:
            return self.snapshots[int(step)]
        if not self.snapshots:
            raise InputError(
                f"no network was kept at step {step}, only the last one, of step {self.step}; "
                f"train with snapshots={USUAL}"
            )
        kept = sorted({*self.snapshots, self.step}, key=lambda other: abs(other - step))
        nearest = " and ".join(map(str, sorted(kept[:2])))
        raise InputError(f"no network was kept at step {step}; nearest are those at {nearest}: see run.snapshots")

    def plot(self, *, log_steps: bool = False) -> Figure:
        """Losses, accuracies and the mean IPR over the steps, and the IPR of neurons before and after."""
        from modgrok.figures.training import training_figure

        return training_figure(self.curves, self.neurons, self.title, log_steps)

    def inspect(self, **options: Any) -> Inspection:
        """What the trained network computes, and its film where there are snapshots: `mg.inspect` with its options."""
        return inspect(self, **options)

    def to_torch(self) -> Any:
        """The trained network as a PyTorch module: `Network.to_torch`."""
        return self.network.to_torch()

    def weights(self) -> dict[str, np.ndarray]:
        """The trained weights as NumPy arrays by their names: `Network.weights`."""
        return self.network.weights()

    @property
    def files(self) -> list[Path]:
        paths = [] if self.folder is None else [self.folder / name for name in FILES]
        return [path for path in paths if path.name == RESULT or path.exists()]  # the summary, written last, is one

    def summary(self) -> str:
        final, count = self.final, self.unknown_cells
        unknown = f"; network.table() predicts the {count:,} unknown cell{'s' * (count != 1)}" if count else ""
        return (
            f"{self.title}, {self.about}, step {self.step}: "
            f"train {percent(final['train_accuracy'])}, test {percent(final['test_accuracy'])}, {self.outcome}"
            f"{unknown}"
        )

    @property
    def unknown_cells(self) -> int:
        """Cells of a table whose values are not known: they neither train nor test, and the network predicts them."""
        return self.network.rows - self.network.known_rows

    def to_json(self) -> dict[str, Any]:
        """The summary of the run; numbers that do not exist are null."""
        beside = {"order": self.residue_order.name, "expected_accuracy": self.expected}
        return {"config": self.config.to_json(), **super().to_json(), **plain_object(beside)}

    def _repr_html_(self) -> str:
        final = self.final
        facts = {
            "step": f"{self.step} of {self.config.steps}",
            "training set": f"{percent(final['train_accuracy'])}, loss {loss_text(final['train_loss'])}",
            "test set": f"{percent(final['test_accuracy'])}, loss {loss_text(final['test_loss'])}",
            **({"mean IPR": f"{final['ipr']:.3f} ({self.residue_order.name} order)"} if self.ipr_blocks else {}),
            "diagnosis": "none: stopped before the first measurement"
            if self.diagnosis is None
            else self.diagnosis.text,
        }
        if self.folder is not None:
            facts["folder"] = str(self.folder)
        return html_table(facts, f"{self.title}, {self.about}")


def load_run(folder: str | Path) -> Run:
    """The run in a folder, as far as it was written.

    Args:
        folder: a folder that `train` wrote.

    Returns:
        The `Run`; it is `reused`, and `resume` goes on with it.
    """
    folder = Path(folder)
    kinds: Kinds = {"seconds": (int, float), "steps_per_second": (int, float), "device": str}
    config, stored, network = load_config(folder), read_object(folder / RESULT, kinds, AGAIN), load(folder)
    if network.expression not in (config.expression, called_a_table(config.expression)):
        raise DamagedError(
            f"{folder} has the config of {config.expression!r} and the network of {network.expression!r}; {AGAIN}"
        )
    if network.function != config.function:
        raise DamagedError(f"{folder} has the network of another {network.title} than its config says; {AGAIN}")
    return Run(
        config,
        network,
        read_curves(folder),
        read_columns(folder / NEURONS, NEURON_COLUMNS, AGAIN, filled=("neuron",)),
        stored["seconds"],
        stored["steps_per_second"],
        stored["device"],
        folder,
        snapshots_in(folder),
        reused=True,
        provenance=made_in(folder, stored),
    )


def made_in(folder: Path, stored: Mapping[str, Any]) -> Made:
    """Where the run in a folder comes from, as its summary says."""
    try:
        return read_made(stored.get(KEY))
    except InputError as error:
        raise DamagedError(f"{folder / RESULT}: {error}; {AGAIN}") from None


def earlier_sittings(folder: Path | None, first_step: int) -> Made:
    """Where the steps before this sitting come from, as the last sitting said, with its checkpoint if it was killed."""
    if folder is None or not first_step:
        return ()
    said = SITTINGS if (folder / SITTINGS).exists() else RESULT
    try:
        return made_in(folder, read_object(folder / said, {}, AGAIN))
    except DamagedError:
        return (UNKNOWN,)


def read_curves(folder: Path) -> dict[str, np.ndarray]:
    """The metrics of a run as far as they were written."""
    return read_columns(folder / METRICS, CURVES, AGAIN, filled=("step",))


NEURON_COLUMNS = pa.schema(
    [("neuron", pa.int64()), ("ipr_initial", pa.float32()), ("ipr_final", pa.float32()), ("alive", pa.bool_())]
)


def write_run(run: Run, folder: Path, *, figure: bool = True) -> None:
    """Everything but checkpoint and snapshots; the summary last, so that it stands for a folder that is whole."""
    write_parquet(folder / METRICS, run.curves, CURVES)
    write_parquet(folder / NEURONS, run.neurons)
    run.network.save(folder / WEIGHTS)
    if figure:
        draw_run(run, folder)
    write_json(folder / RESULT, run.to_json())
    (folder / SITTINGS).unlink(missing_ok=True)


def draw_run(run: Run, folder: Path) -> None:
    """The figure of a training, into its folder."""
    from modgrok.figures.style import save_figure

    save_figure(run.plot(), folder / "curves")
