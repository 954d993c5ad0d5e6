# %% [markdown]
# # A transformer's circuit
#
# A transformer with one layer reads the tokens n1, n2, = and is to answer n1 + n2 modulo 31. It has attention, a
# stream, a ReLU MLP: nothing in it is made for waves. What does it compute with, once it answers right?

# %%
import modgrok as mg

# %%
run = mg.train("n1 + n2", mod=31, model="transformer", width=64, fraction=0.7, steps=1500, snapshots=25)
run

# %%
run.plot(log_steps=True)

# %% [markdown]
# Memorising is quick, the rest takes more than ten times as long. `inspect` needs no knowledge of the model for its
# first question: what do the *logits* compute?

# %%
seen = run.inspect()
seen.logits

# %%
seen.plot_logits()

# %% [markdown]
# Left: the share of the logits' variance on cos(2πf(n1 + n2 − q)/31), by frequency f. A few key frequencies hold
# nearly all of it. Middle: the mean logit of a class by its distance from the right one; dots are the transformer,
# the line is the analytical form with its frequencies. Few waves leave side lobes, but they agree at distance 0
# alone. Right: the spectrum over the inputs, where what depends on n1 + n2 lies on the rising diagonal.
#
# ## Is that all of it?
#
# Keep the key frequencies' terms and throw away everything else: that is the *restricted* network. Throw away these
# terms and keep everything else: the *excluded* one.

# %%
logits = seen.logits
for part in ("full", "restricted", "excluded"):
    accuracy, loss = logits.accuracies[part]["all"], logits.losses[part]["all"]
    print(f"{part:10} accuracy {accuracy:6.1%}, loss {loss:.4f}")

# %% [markdown]
# ## Inside
#
# The embedding of the residues, looked at by frequency, and the readout: they have the same few lines.

# %%
seen.plot_spectra()

# %% [markdown]
# Neurons of the MLP as functions of (n1, n2). Stripes and checks of one frequency: products of waves of n1 and of n2,
# from which the wave of the sum is made.

# %%
seen.plot_neurons()

# %% [markdown]
# And the attention: the share that each head gives to n1. It gives half on average to either, but which half is again
# a wave of the inputs. This is one way to multiply in a transformer: a wave that weighs a wave.

# %%
seen.plot_attention()

# %% [markdown]
# ## When was it built?
#
# The snapshots say it. Look at the restricted loss on the test set: it falls far below the loss of the whole
# network, so the waves are there while what was memorised is still in their way. Later the excluded loss on the
# training set rises: what was memorised is given up. Below on the left the key frequencies grow, and most others
# fade.

# %%
seen.plot_film()

# %% [markdown]
# ## The same mathematics
#
# Compare with the paper's two-layer network on the same table. It has other means, and uses every frequency; what its
# answers are made of is the same.

# %%
power = mg.train("n1 + n2", mod=31, width=200, steps=400, fraction=0.7)
for each in (run, power):
    view = each.inspect().logits
    print(f"{each.config.model:12} {view.analytical_share:.1%} analytical, frequencies {view.key_frequencies}")

# %% [markdown]
# Things to try: `"n1 n2"`, where the waves lie in logarithms; `seed=1` (other frequencies?); `model="mlp"` with
# `depth=3`; `mg.train(table, model="transformer")` on a table without a rule, which has no waves to find.
