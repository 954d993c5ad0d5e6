# %% [markdown]
# # What did my network learn?
#
# You have a network of your own, trained by your own loop. What does it compute? Here it is a plain MLP on one-hots: in
# PyTorch where that is installed, and otherwise the same in a few lines of JAX. Nothing of it is modgrok's.

# %%
import numpy as np

import modgrok as mg

try:
    import torch
except ImportError:
    torch = None
    import jax
    import optax

P, WIDTH, STEPS = 31, 128, 2000
rows = np.array([(a, b) for a in range(P) for b in range(P)])
answers = np.array([(3 * a + b) % P for a, b in rows.tolist()])
training = np.random.default_rng(0).random(len(rows)) < 0.7
one_hots = np.concatenate([np.eye(P)[rows[:, 0]], np.eye(P)[rows[:, 1]]], axis=1).astype(np.float32)


# %%
def trained_in_torch(targets, steps=STEPS):
    """Full-batch AdamW on the training set; returns the module."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(2 * P, WIDTH), torch.nn.ReLU(), torch.nn.Linear(WIDTH, P))
    optimiser = torch.optim.AdamW(model.parameters(), lr=0.01, weight_decay=1.0, betas=(0.9, 0.98))
    inputs, wanted = torch.tensor(one_hots[training]), torch.tensor(targets[training])
    for _ in range(steps):
        optimiser.zero_grad()
        torch.nn.functional.cross_entropy(model(inputs), wanted).backward()
        optimiser.step()
    return model


def trained_in_jax(targets, steps=STEPS):
    """The same by hand; returns a state dict with the names that torch would give."""
    rng = np.random.default_rng(0)
    sizes = {"0.weight": (WIDTH, 2 * P), "0.bias": (WIDTH,), "2.weight": (P, WIDTH), "2.bias": (P,)}
    weights = {name: rng.uniform(-0.12, 0.12, size).astype(np.float32) for name, size in sizes.items()}
    optimiser = optax.adamw(0.01, b2=0.98, weight_decay=1.0)

    def loss(weights):
        hidden = jax.nn.relu(one_hots[training] @ weights["0.weight"].T + weights["0.bias"])
        logits = hidden @ weights["2.weight"].T + weights["2.bias"]
        return optax.softmax_cross_entropy_with_integer_labels(logits, targets[training]).mean()

    def step(_, state):
        weights, moments = state
        updates, moments = optimiser.update(jax.grad(loss)(weights), moments, weights)
        return optax.apply_updates(weights, updates), moments

    run = jax.jit(lambda state: jax.lax.fori_loop(0, steps, step, state))
    return {name: np.asarray(values) for name, values in run((weights, optimiser.init(weights)))[0].items()}


trained = trained_in_jax if torch is None else trained_in_torch
model = trained(answers)

# %% [markdown]
# Wrapped, it is a network like any other: `verify`, `inspect`, `predict` and `export` take it. Its function is not said
# here; only its modulus, which inputs trained it, and the activation, which a state dict does not tell.

# %%
network = mg.wrap(model, mod=P, training=training, activation="relu")
network

# %% [markdown]
# ## Back to mathematics
#
# `decompile` asks its answers first. Which formula gives them, if any does? Sums, products, polynomials, groups and all
# of these in disguise are tried, millions of formulas; one is given only if random answers would not get it as well,
# and if it holds on inputs that did not train it.

# %%
found = mg.decompile(network)
found

# %%
print(found.paragraph())

# %% [markdown]
# Left, the answers of the network and of its *twin*, in the order in which the residues lie on a circle. In the middle
# the mean logit of each class, by the sum of the places: the right answers are the diagonal. Right, the amplitude of
# each frequency. The twin was rebuilt from these amplitudes alone, without a single weight of the original.

# %%
found.plot()

# %% [markdown]
# The waves in numbers, and the hidden neurons: each has one frequency, up to what is left over.

# %%
for wave in found.waves[:5]:
    print(f"frequency {wave['frequency']:2}: amplitude {wave['amplitude']:.2f}, {wave['share']:.1%} of the variance")

# %%
found.neurons

# %% [markdown]
# ## The twin
#
# It is a network with a formula for every weight, and a file like any other after
# `found.twin.network.save("twin.safetensors")`.

# %%
mg.verify(found.twin.network)

# %% [markdown]
# ## No formula
#
# The same network, trained on the same answers in a random order, fits its training set too. There is nothing to
# learn, and nothing is made up.

# %%
memorised = trained(np.random.default_rng(1).permutation(answers), steps=500)
print(mg.decompile(mg.wrap(memorised, mod=P, training=training, activation="relu")).paragraph())
