"""A plain JAX script that groks n1·n2, as people write them.

`python benchmarks/plain_jax.py MODULUS WIDTH STEPS` prints its last test accuracy. It imports nothing of modgrok;
`modgrok bench train` times it from its start to its end.
"""

import sys

import jax
import jax.numpy as jnp
import numpy as np
import optax

modulus, width, steps = map(int, sys.argv[1:])
a, b = np.divmod(np.random.default_rng(0).permutation(modulus**2), modulus)
identity = np.eye(modulus, dtype=np.float32)
inputs, targets = np.concatenate([identity[a], identity[b]], axis=1), identity[a * b % modulus]
half = round(modulus**2 / 2)
train, test = jax.device_put(((inputs[:half], targets[:half]), (inputs[half:], targets[half:])))

std = 0.5 / (2 * width) ** (1 / 3)
keys = jax.random.split(jax.random.key(0))
weights = std * jax.random.normal(keys[0], (2 * modulus, width)), std * jax.random.normal(keys[1], (width, modulus))
adamw = optax.adamw(0.005, 0.9, 0.98, 1e-8, weight_decay=5.0)
moments = adamw.init(weights)


def loss_and_logits(weights, inputs, targets):
    logits = (inputs @ weights[0]) ** 2 @ weights[1]
    return jnp.mean((logits - targets) ** 2), logits


@jax.jit
def step(weights, moments):
    gradient = jax.grad(lambda weights: loss_and_logits(weights, *train)[0])(weights)
    updates, moments = adamw.update(gradient, moments, weights)
    return optax.apply_updates(weights, updates), moments


@jax.jit
def measure(weights, inputs, targets):
    loss, logits = loss_and_logits(weights, inputs, targets)
    return loss, jnp.mean(logits.argmax(1) == targets.argmax(1))


curves = []
for number in range(1, steps + 1):
    weights, moments = step(weights, moments)
    if number % 10 == 0:
        curves.append([float(value) for part in (train, test) for value in measure(weights, *part)])
print(curves[-1][-1])
