# %% [markdown]
# # Compiled against learned
#
# The weights of a network that multiplies can be written down. They can also be learned from examples. This notebook
# does both for n1 · n2 modulo 31, puts the results side by side, and asks in what they agree and in what they do not.

# %%
import modgrok as mg

# %% [markdown]
# ## Four networks
#
# - `exact`: closed-form weights whose phases are designed so that everything unwanted cancels;
# - `minimal`: the same with as few frequencies as rank every answer right;
# - `paper`: the construction of *Grokking Modular Polynomials*, with random phases and many neurons;
# - `learned`: trained on half of the table.

# %%
exact = mg.compile("n1 n2", mod=31)
minimal = mg.compile("n1 n2", mod=31, frequencies="minimal")
paper = mg.compile("n1 n2", mod=31, method="paper")
run = mg.train("n1 n2", mod=31, width=200, steps=400)
networks = {"exact": exact, "minimal": minimal, "paper": paper, "learned": run.network}

# %% [markdown]
# ## Are they right?
#
# `verify` compares a network with integer arithmetic on every input. The *margin* is how far the right answer is ahead
# of the best wrong one.

# %%
for name, network in networks.items():
    check = mg.verify(network)
    print(f"{name:8} {network.width:4} neurons, {check.accuracy:.1%} right, smallest margin {check.min_margin:.3f}")

# %% [markdown]
# More than that is known: a proof bounds what rounding can do on any input. The compiler has the exact network proved
# before it gives it out; `verify` proves the learned one from its weights as they are.

# %%
exact.proof, mg.verify(run).proof

# %% [markdown]
# ## The same waves
#
# In the order of logarithms, each neuron of a compiled network is a cosine, with one frequency f at both inputs and
# at the readout. Here is a compiled network:

# %%
views = {name: mg.inspect(network) for name, network in networks.items()}
views["paper"].plot_neurons()

# %% [markdown]
# And here is the learned one. The dots are off their lines a little.

# %%
views["learned"].plot_neurons()

# %% [markdown]
# ## The same law
#
# Write ψ₁ and ψ₂ for the phases of a neuron's inputs and ψ_Q for that of its readout. When the neuron squares cos(x₁
# + ψ₁) + cos(x₂ + ψ₂), the product of the two cosines gives cos(x₁ + x₂ + ψ₁ + ψ₂), the wave of the sum. The readout
# points at the right answer if ψ_Q = ψ₁ + ψ₂. The formula says so; the learned network was never told.

# %%
views["learned"].plot_phases()

# %% [markdown]
# ## What the logits compute
#
# Forget weights, and ask only what the networks answer. The analytical solution has the logits Σ_f A_f cos(2πf(s −
# q)/m), with s the sum of the logarithms and q that of a class. How much of each network's answers has this form, and
# over how many frequencies?

# %%
for name, view in views.items():
    logits = view.logits
    print(f"{name:8} {logits.analytical_share:.1%} analytical, {len(logits.key_frequencies)} key frequencies")

# %%
views["minimal"].plot_logits()

# %%
views["learned"].plot_logits()

# %% [markdown]
# One cosine has its maximum in the right place, but the neighbours come close: its margin is small. All frequencies
# together make a sharp peak. Training takes all of them, like `exact`.
#
# ## Where they differ: the unwanted terms
#
# The square also makes terms that no one asked for, such as cos(x₁ − x₂ + …). In the exact design they cancel between
# the four neurons of a frequency. Random phases make them small by numbers alone. And training?

# %%
for name, view in views.items():
    print(f"{name:8} {view.to_json()['nearest_design']['words']}")

# %% [markdown]
# Training ends between the two. It finds the waves and the law; its unwanted terms are smaller than those of random
# phases, but they do not cancel. The formula needs fewer neurons because there they do.
#
# Things to try: `width=60` for the learned one, as many as `exact` has; `"n1 + n2"`; `"n1^2 n2"`, where n1 has twice
# the frequency of n2; `"n1^2 + n2"`, whose waves lie in the order of squares.
