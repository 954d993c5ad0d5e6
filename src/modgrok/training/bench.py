"""Training speed, side by side in one run: modgrok against usual training loops in JAX and PyTorch.

Every contender trains the same thing: a two-layer x² network on half of the table of n1·n2, full batch, mean squared
error, AdamW with modgrok's default settings, float32. `modgrok` is the laboratory as `train_ensemble` runs it: scanned
on the device, networks side by side; `modgrok float32` is the same without the fused step, where that is what the
laboratory takes (`fused_step`). The others are in the repository (`studies/contenders.py`); without it modgrok is timed
alone.

Contenders take turns within each round, so that whatever else the machine does meets all of them; the figure of each
is the median over rounds, in network-steps per second. Loops that train one network at a time have the same figure for
any number of networks.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from modgrok.base.errors import InputError
from modgrok.base.files import write_json
from modgrok.base.machine import Machine, machine
from modgrok.base.progress import Progress
from modgrok.base.provenance import UNKNOWN, Made, provenance
from modgrok.base.repository import has_studies, study
from modgrok.base.results import Result
from modgrok.networks.models import Power
from modgrok.training.config import TrainConfig, hyper
from modgrok.training.data import train_count
from modgrok.training.ensemble import chunk_size, pick, stacked_places, start_all, with_fused_step
from modgrok.training.steps import Shape, advance

DEFAULTS = TrainConfig("n1 n2", 97)

Train = Callable[[int], float]
"""Take that many steps with every network, wait for the device, and return the training loss of the first."""


@dataclass(frozen=True)
class Case:
    """One line of the benchmark."""

    modulus: int
    width: int
    networks: int

    def __post_init__(self) -> None:
        if min(self.modulus - 1, self.width, self.networks) < 1:
            given = f"{self.modulus},{self.width},{self.networks}"
            raise InputError(f"a case needs a modulus above 1, a width and networks above 0; got {given}")

    @classmethod
    def read(cls, text: str) -> Case:
        """The case that "97,500,16" stands for: modulus, width, networks."""
        try:
            modulus, width, networks = (int(word) for word in text.split(","))
        except ValueError:
            raise InputError(f"a case is P,WIDTH,NETWORKS, for example 97,500,16; got {text!r}") from None
        return cls(modulus, width, networks)

    @property
    def table(self) -> Int[np.ndarray, "row"]:
        return np.multiply.outer(np.arange(self.modulus), np.arange(self.modulus)).reshape(-1) % self.modulus

    @property
    def train_rows(self) -> int:
        return train_count(DEFAULTS.fraction, self.modulus**2)

    @property
    def shape(self) -> Shape:
        return Shape(Power((self.modulus,) * 2, self.modulus, width=self.width), self.train_rows)

    def one_hot(
        self, rows: Int[np.ndarray, "row"]
    ) -> tuple[Float[np.ndarray, "row input"], Float[np.ndarray, "row p"]]:
        identity = np.eye(self.modulus, dtype=np.float32)
        inputs = np.concatenate([identity[rows // self.modulus], identity[rows % self.modulus]], axis=1)
        return inputs, identity[self.table[rows]]


def modgrok_loop(case: Case, fused: bool | None = None) -> Train:
    shape = with_fused_step(case.shape, case.networks, fused)
    advance_all = jax.jit(jax.vmap(advance, in_axes=(None, 0, 0, 0, None)), static_argnums=0)
    settings = hyper(seed=np.arange(case.networks), train_rows=case.train_rows)
    size = chunk_size(shape, case.networks)
    chunks = [pick(settings, slice(first, first + size)) for first in range(0, case.networks, size)]
    tables = jnp.tile(jnp.asarray(case.table, jnp.int32), (case.networks, 1))
    places = [stacked_places(shape, chunk.seed.size, None) for chunk in chunks]
    started = [
        start_all(shape, chunk, tables[: chunk.seed.size], own, None) for chunk, own in zip(chunks, places, strict=True)
    ]
    states = [state for _, state in started]
    own_rows = np.asarray(started[0][0].shuffled[0, : case.train_rows])  # those that the first network trains on
    inputs, targets = (jnp.asarray(array) for array in case.one_hot(own_rows))

    def train(steps: int) -> float:
        for k, (chunk, (examples, _)) in enumerate(zip(chunks, started, strict=True)):
            states[k] = advance_all(shape, chunk, examples, states[k], steps)
        jax.block_until_ready(states)
        first = jax.tree.map(lambda leaf: leaf[0], states[0].params)
        return float(onehot_loss((jnp.concatenate(list(first.embed)), first.readout), inputs, targets))

    return train


@jax.jit
def onehot_loss(weights: tuple[Array, Array], inputs: Array, targets: Array) -> Array:
    return jnp.mean(((inputs @ weights[0]) ** 2 @ weights[1] - targets) ** 2)


def contenders(case: Case) -> dict[str, Callable[[Case], Train]]:
    """Those that can run here."""
    loops: dict[str, Callable[[Case], Train]] = {"modgrok": modgrok_loop}
    if with_fused_step(case.shape, case.networks) != case.shape:
        loops["modgrok float32"] = partial(modgrok_loop, fused=False)
    return loops | (study("contenders").loops() if has_studies() else {})


ONE_AT_A_TIME = ("jax one-hot", "torch")
OURS = ("modgrok", "modgrok float32")

CPU_CASES = (Case(97, 500, 1), Case(97, 500, 4), Case(23, 500, 1), Case(23, 500, 16))
GPU_CASES = tuple(Case(97, 500, n) for n in (1, 16, 128)) + tuple(Case(23, 500, n) for n in (1, 128, 1024))
MOST_ROUNDS, LONGEST, MOST_CALLED = 1000, 3600, 100_000


@dataclass(frozen=True)
class Contender:
    """What one loop reached in one case; `by_round` has its network-steps per second in each round."""

    network_steps_per_second: float
    modgrok_is_faster_by: float
    by_round: tuple[float, ...]
    loss_after_20_steps: float


@dataclass(frozen=True)
class Called:
    """One training as somebody calls it: seconds from the start of Python to its result, by an empty compilation cache
    and by a full one, and how many times longer that is than modgrok's."""

    cold_seconds: float
    warm_seconds: float
    cold_ratio: float
    warm_ratio: float
    test_accuracy: float


@dataclass(frozen=True)
class CaseResult:
    """One case: every contender by its name; where it has one network, trainings as they are called, too."""

    modulus: int
    width: int
    networks: int
    contenders: Mapping[str, Contender]
    called: Mapping[str, Called]


@dataclass(frozen=True)
class BenchSettings:
    """How it was measured: `seconds` is the time of a contender in a round, `called_steps` what a called one takes."""

    rounds: int
    seconds: float
    called_steps: int
    unit: str = "network-steps per second, median over rounds"


@dataclass(frozen=True, repr=False)
class Benchmark(Result):
    """What the contenders reached in each case; `files` is what was written."""

    machine: Machine
    settings: BenchSettings
    cases: tuple[CaseResult, ...]
    files: tuple[Path, ...]
    seconds: float
    provenance: Made = (UNKNOWN,)

    @property
    def contenders(self) -> tuple[str, ...]:
        """The names of all that took part in any case."""
        fullest = max(self.cases, key=lambda case: len(case.contenders))
        return tuple(fullest.contenders)

    def summary(self) -> str:
        """How fast modgrok is in each case: beside the fastest of the others, where there are others."""
        parts = []
        for case in self.cases:
            others = [c.modgrok_is_faster_by for name, c in case.contenders.items() if name not in OURS]
            rate = case.contenders["modgrok"].network_steps_per_second
            figure = f"{min(others):.2f} ×" if others else f"{rate:,.0f} network-steps a second"
            networks = f"{case.networks} network{'s' if case.networks > 1 else ''}"
            parts.append(f"p = {case.modulus}, width {case.width}, {networks}: {figure}")
        against = " as a multiple of the fastest other loop's" if set(self.contenders) - set(OURS) else ""
        return f"modgrok's speed{against}, on {self.machine.device}. {'; '.join(parts)}"


def bench(
    what: str = "train",
    *,
    cases: Sequence[Case] | None = None,
    rounds: int = 5,
    seconds: float = 1.0,
    called_steps: int = 300,
    out: str | Path | None = None,
    progress: Progress | None = None,
) -> Benchmark:
    """Time modgrok and usual training loops, side by side, on this machine.

    Arguments:
        what: what to time; "train" is all there is.
        cases: modulus, width and number of networks of each case; some usual ones if not given.
        rounds: rounds in which the contenders take turns.
        seconds: time of a contender in a round.
        called_steps: steps of a training that is timed as people call it, in processes of its own, beside plain
            scripts that do the same, where a case has one network and the repository is there; 0 for none.
        out: a JSON file to write the result to.
        progress: called after every round.

    Returns:
        A `Benchmark`: for each case, every contender's network-steps per second and loss.

    >>> found = bench(cases=[Case(5, 4, 1)], rounds=1, seconds=0.001, called_steps=0)
    >>> found.contenders[0], found.cases[0].contenders["modgrok"].modgrok_is_faster_by
    ('modgrok', 1.0)
    """
    started = time.perf_counter()
    if what != "train":
        raise InputError(f"bench times train, got {what!r}")
    if not (1 <= rounds <= MOST_ROUNDS and 0 < seconds <= LONGEST):
        raise InputError(
            f"bench takes 1 to {MOST_ROUNDS:,} rounds of at most {LONGEST:,} seconds, got {rounds} of {seconds:g}; "
            "5 of 1 are usual"
        )
    if called_steps and not 10 <= called_steps <= MOST_CALLED:
        raise InputError(f"called_steps must be 10 to {MOST_CALLED:,}, or 0 for none, got {called_steps}; 300 is usual")
    if cases is None:
        cases = CPU_CASES if jax.default_backend() == "cpu" else GPU_CASES
    if not cases:
        raise InputError("bench needs at least one case, such as Case(97, 500, 16)")
    found, done = [], 0
    for case in cases:
        trains = {name: make(case) for name, make in contenders(case).items()}
        losses = {name: train(20) for name, train in trains.items()}
        steps = {name: calibrated_steps(train, seconds) for name, train in trains.items()}
        rates: dict[str, list[float]] = {name: [] for name in trains}
        for _ in range(rounds):
            for name, train in trains.items():
                networks = 1 if name in ONE_AT_A_TIME else case.networks
                rates[name].append(networks * steps[name] / timed(train, steps[name]))
            done += 1
            if progress:
                progress(done, rounds * len(cases))
        calls = called_steps if case.networks == 1 and has_studies() else 0
        found.append(case_result(case, rates, losses, study("as_called").times(case, calls) if calls else {}))
    files = () if out is None else (Path(out),)
    settings, took = BenchSettings(rounds, seconds, called_steps), time.perf_counter() - started
    made = provenance(started, {"cases": [vars(case) for case in cases]}, "modgrok.training.bench")
    result = Benchmark(machine("jax", "torch"), settings, tuple(found), files, took, (made,))
    for path in files:
        write_json(path, result.to_json())
    return result


def calibrated_steps(train: Train, seconds: float) -> int:
    """How many steps take about that long: doubled until they take a quarter of it."""
    steps = 2
    while (took := timed(train, steps)) < seconds / 4:
        steps *= 2
    return max(1, round(steps * seconds / took))


def timed(train: Train, steps: int) -> float:
    start = time.perf_counter()
    train(steps)
    return time.perf_counter() - start


def case_result(
    case: Case, rates: Mapping[str, list[float]], losses: Mapping[str, float], called: Mapping[str, Called]
) -> CaseResult:
    medians = {name: statistics.median(values) for name, values in rates.items()}
    found = {
        name: Contender(medians[name], medians["modgrok"] / medians[name], tuple(rates[name]), losses[name])
        for name in rates
    }
    return CaseResult(case.modulus, case.width, case.networks, found, called)
