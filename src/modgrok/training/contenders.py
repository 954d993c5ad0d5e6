"""The loops that a benchmark times: modgrok's own, and those that people write.

Every one trains the same thing: a two-layer x² network on half of the table of n1·n2, full batch, mean squared error,
AdamW with modgrok's default settings, float32.

    modgrok          the laboratory as `train_ensemble` runs it: scanned on the device, networks side by side
    modgrok float32  the same without the fused step, where that is what the laboratory takes (`fused_step`)
    jax vmap scan    plain JAX at its best: one-hot matrix products, `vmap` over networks, `scan` over steps
    jax one-hot      a plain JAX loop: one-hot matrix products, a compiled step, one network at a time
    torch            the plain PyTorch loop: one-hot inputs, nn.Linear, AdamW, one network at a time
    torch batched    PyTorch batched by hand: torch.bmm over all networks, AdamW (fused on a GPU)

Networks of the loops side by side share one split of the table, which lets a product take all of them at once; those
of modgrok have a split each.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Float, Int

from modgrok.base.errors import InputError
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

    def split(self) -> tuple[Float[np.ndarray, "row input"], Float[np.ndarray, "row p"]]:
        """One-hot inputs and targets of the training rows, for the contenders that multiply by them."""
        return self.one_hot(np.random.default_rng(0).permutation(self.modulus**2)[: self.train_rows])

    def one_hot(
        self, rows: Int[np.ndarray, "row"]
    ) -> tuple[Float[np.ndarray, "row input"], Float[np.ndarray, "row p"]]:
        identity = np.eye(self.modulus, dtype=np.float32)
        inputs = np.concatenate([identity[rows // self.modulus], identity[rows % self.modulus]], axis=1)
        return inputs, identity[self.table[rows]]

    def weights(self, seed: int) -> tuple[Float[np.ndarray, "input width"], Float[np.ndarray, "width p"]]:
        random = np.random.default_rng(seed)
        std = DEFAULTS.init_scale / (2 * self.width) ** (1 / 3)
        shapes = (2 * self.modulus, self.width), (self.width, self.modulus)
        embed, readout = (std * random.standard_normal(shape, dtype=np.float32) for shape in shapes)
        return embed, readout


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
def onehot_loss(weights: Any, inputs: Any, targets: Any) -> Any:
    return jnp.mean(((inputs @ weights[0]) ** 2 @ weights[1] - targets) ** 2)


def jax_loop(case: Case) -> Train:
    inputs, targets = (jnp.asarray(array) for array in case.split())
    step = jax.jit(onehot_step)
    weights: Any = tuple(jnp.asarray(array) for array in case.weights(0))
    moments = ADAMW.init(weights)

    def train(steps: int) -> float:
        nonlocal weights, moments
        for _ in range(steps):
            weights, moments, loss = step(weights, moments, inputs, targets)
        return float(loss)

    return train


ADAMW = optax.adamw(
    DEFAULTS.learning_rate, DEFAULTS.beta1, DEFAULTS.beta2, DEFAULTS.eps, weight_decay=DEFAULTS.weight_decay
)


def onehot_step(weights: Any, moments: Any, inputs: Any, targets: Any) -> tuple[Any, Any, Any]:
    loss, gradient = jax.value_and_grad(onehot_loss)(weights, inputs, targets)
    updates, moments = ADAMW.update(gradient, moments, weights)
    return optax.apply_updates(weights, updates), moments, loss


SCANNED = 64
"""Steps of one call where `scan` takes them: their number is part of the compiled program."""


def jax_scanned(case: Case) -> Train:
    inputs, targets = (jnp.asarray(array) for array in case.split())
    steps_of_all: Any = jax.vmap(onehot_step, in_axes=(0, 0, None, None))

    @partial(jax.jit, static_argnums=1, donate_argnums=0)
    def scanned(state: Any, steps: int) -> tuple[Any, Any]:
        def step(state: Any, _: None) -> tuple[Any, Any]:
            weights, moments, losses = steps_of_all(*state, inputs, targets)
            return (weights, moments), losses

        state, losses = jax.lax.scan(step, state, length=steps)
        return state, losses[-1]

    arrays = zip(*(case.weights(seed) for seed in range(case.networks)), strict=True)
    weights = tuple(jnp.asarray(np.stack(stack)) for stack in arrays)
    state: Any = weights, jax.vmap(ADAMW.init)(weights)
    programs = {length: scanned.lower(state, length).compile() for length in (SCANNED, 1)}  # before any clock runs

    def train(steps: int) -> float:
        nonlocal state
        for length in [SCANNED] * (steps // SCANNED) + [1] * (steps % SCANNED):
            state, losses = programs[length](state)
        return float(losses[0])

    return train


def torch_loop(case: Case) -> Train:
    import torch

    device = torch_device()
    inputs, targets = (torch.tensor(array, device=device) for array in case.split())
    first = torch.nn.Linear(2 * case.modulus, case.width, bias=False, device=device)
    second = torch.nn.Linear(case.width, case.modulus, bias=False, device=device)
    with torch.no_grad():
        for layer, array in zip((first, second), case.weights(0), strict=True):
            layer.weight.copy_(torch.tensor(array.T))
    optimiser = torch.optim.AdamW([first.weight, second.weight], **torch_settings())

    def train(steps: int) -> float:
        for _ in range(steps):
            optimiser.zero_grad()
            loss = ((second(first(inputs) ** 2) - targets) ** 2).mean()
            loss.backward()
            optimiser.step()
        return float(loss.detach())

    return train


def torch_batched(case: Case) -> Train:
    import torch

    device = torch_device()
    inputs, targets = (torch.tensor(array, device=device) for array in case.split())
    arrays = zip(*(case.weights(seed) for seed in range(case.networks)), strict=True)
    embed, readout = (torch.tensor(np.stack(stack), device=device, requires_grad=True) for stack in arrays)
    optimiser = torch.optim.AdamW([embed, readout], fused=device == "cuda", **torch_settings())
    batch = inputs.expand(case.networks, *inputs.shape)

    def train(steps: int) -> float:
        for _ in range(steps):
            optimiser.zero_grad()
            losses = ((torch.bmm(torch.bmm(batch, embed) ** 2, readout) - targets) ** 2).mean(dim=(1, 2))
            losses.sum().backward()
            optimiser.step()
        return float(losses[0].detach())

    return train


def torch_device() -> str:
    return "cpu" if jax.default_backend() == "cpu" else "cuda"


def torch_settings() -> dict[str, Any]:
    return {
        "lr": DEFAULTS.learning_rate,
        "betas": (DEFAULTS.beta1, DEFAULTS.beta2),
        "eps": DEFAULTS.eps,
        "weight_decay": DEFAULTS.weight_decay,
    }


def contenders(case: Case) -> dict[str, Callable[[Case], Train]]:
    """Those that can run here: PyTorch where it is installed and has the device that JAX has."""
    loops: dict[str, Callable[[Case], Train]] = {"modgrok": modgrok_loop}
    if with_fused_step(case.shape, case.networks) != case.shape:
        loops["modgrok float32"] = partial(modgrok_loop, fused=False)
    loops |= {"jax vmap scan": jax_scanned, "jax one-hot": jax_loop}
    if importlib.util.find_spec("torch") is None:
        return loops
    import torch

    torch.set_float32_matmul_precision("high")  # as JAX does on a GPU
    if torch_device() == "cuda" and not torch.cuda.is_available():
        return loops
    return loops | {"torch": torch_loop, "torch batched": torch_batched}


ONE_AT_A_TIME = ("jax one-hot", "torch")
OURS = ("modgrok", "modgrok float32")
