"""Usual training loops, for `modgrok bench train` (`modgrok.training.bench`) to time beside modgrok's own.

    jax vmap scan    plain JAX at its best: one-hot matrix products, `vmap` over networks, `scan` over steps
    jax one-hot      a plain JAX loop: one-hot matrix products, a compiled step, one network at a time
    torch            the plain PyTorch loop: one-hot inputs, nn.Linear, AdamW, one network at a time
    torch batched    PyTorch batched by hand: torch.bmm over all networks, AdamW (fused on a GPU)

Networks side by side share one split of the table, which lets a product take all of them at once; those of modgrok
have a split each.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Float

from modgrok.training.bench import DEFAULTS, Case, Train, onehot_loss


def split(case: Case) -> tuple[Float[np.ndarray, "row input"], Float[np.ndarray, "row p"]]:
    """One-hot inputs and targets of the training rows."""
    return case.one_hot(np.random.default_rng(0).permutation(case.modulus**2)[: case.train_rows])


def weights_of(case: Case, seed: int) -> tuple[Float[np.ndarray, "input width"], Float[np.ndarray, "width p"]]:
    random = np.random.default_rng(seed)
    std = DEFAULTS.init_scale / (2 * case.width) ** (1 / 3)
    shapes = (2 * case.modulus, case.width), (case.width, case.modulus)
    embed, readout = (std * random.standard_normal(shape, dtype=np.float32) for shape in shapes)
    return embed, readout


def jax_loop(case: Case) -> Train:
    inputs, targets = (jnp.asarray(array) for array in split(case))
    step = jax.jit(onehot_step)
    weights: Any = tuple(jnp.asarray(array) for array in weights_of(case, 0))
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
    inputs, targets = (jnp.asarray(array) for array in split(case))
    steps_of_all: Any = jax.vmap(onehot_step, in_axes=(0, 0, None, None))

    @partial(jax.jit, static_argnums=1, donate_argnums=0)
    def scanned(state: Any, steps: int) -> tuple[Any, Any]:
        def step(state: Any, _: None) -> tuple[Any, Any]:
            weights, moments, losses = steps_of_all(*state, inputs, targets)
            return (weights, moments), losses

        state, losses = jax.lax.scan(step, state, length=steps)
        return state, losses[-1]

    arrays = zip(*(weights_of(case, seed) for seed in range(case.networks)), strict=True)
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
    inputs, targets = (torch.tensor(array, device=device) for array in split(case))
    first = torch.nn.Linear(2 * case.modulus, case.width, bias=False, device=device)
    second = torch.nn.Linear(case.width, case.modulus, bias=False, device=device)
    with torch.no_grad():
        for layer, array in zip((first, second), weights_of(case, 0), strict=True):
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
    inputs, targets = (torch.tensor(array, device=device) for array in split(case))
    arrays = zip(*(weights_of(case, seed) for seed in range(case.networks)), strict=True)
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


def loops() -> dict[str, Callable[[Case], Train]]:
    """Those that can run here: PyTorch where it is installed and has the device that JAX has."""
    plain_jax: dict[str, Callable[[Case], Train]] = {"jax vmap scan": jax_scanned, "jax one-hot": jax_loop}
    if importlib.util.find_spec("torch") is None:
        return plain_jax
    import torch

    torch.set_float32_matmul_precision("high")  # as JAX does on a GPU
    if torch_device() == "cuda" and not torch.cuda.is_available():
        return plain_jax
    return plain_jax | {"torch": torch_loop, "torch batched": torch_batched}
