# %% [markdown]
# # First grok
#
# A small network gets half of the multiplication table modulo 23. First it learns that half by heart. Then, long
# after there is nothing left to get right in what it was shown, it begins to answer the other half too. This notebook
# trains one such network, and looks at what happened inside.

# %%
import modgrok as mg

# %% [markdown]
# ## The task
#
# The function is n1 · n2 modulo 23, so its table has 23 · 23 = 529 cells. To a network a residue is a name and not a
# number: it gets a column of weights for each, and nothing tells it that 4 comes after 3. What can be learned of such
# a table from half of its cells, if not the cells themselves?

# %%
function = mg.read_function("n1 n2", mod=23)
function.table[:6, :12]

# %% [markdown]
# ## Training
#
# The network has two layers: an embedding, the square of every neuron, and a readout. `snapshots` keeps the weights
# at steps that are evenly spaced in their logarithm, for later.

# %%
run = mg.train("n1 n2", mod=23, width=200, steps=300, snapshots=20)
run

# %%
print(run.diagnosis.text)
print("training set known from step", run.memorised_at, "and test set from step", run.grokked_at)

# %%
run.plot()

# %% [markdown]
# Between the two steps lies what the word *grokking* was made for. In the middle panel there is a third curve, the
# mean IPR: it measures how close each neuron's weights are to a single cosine. It is small for noise and 1 for a pure
# wave. The network becomes a network of waves while the test accuracy rises, and on the right the neurons are counted
# before and after.
#
# `run.metrics` has every number behind the picture, as columns; `run.metrics.to_pandas()` is a DataFrame.

# %%
run.metrics

# %% [markdown]
# ## Before and after
#
# Here are some neurons early in the training. Dots are weights, lines the cosine that fits them best. The horizontal
# axis is not the residue but its *logarithm*: the k with n = g^k for a primitive root g of 23. Multiplying residues
# adds their logarithms, so this is the order in which a product looks like a sum.

# %%
early = max(step for step in run.snapshots if step <= 30)
mg.inspect(run.at(early)).plot_neurons()

# %% [markdown]
# And the same network at the end:

# %%
seen = run.inspect()
seen.plot_neurons()

# %% [markdown]
# Nobody told it about logarithms. It found that order by itself, since in no other order is the table simple.
#
# How much of the network is in these waves? Replace every neuron by its cosine, throw the rest away, and count how
# many cells this *snapped* network answers right:

# %%
seen

# %% [markdown]
# ## The film
#
# The snapshots tell when each thing happened. The *restricted* loss is that of the waves alone, the *excluded* loss
# that of all but the waves. See which of them falls first, and where the accuracy follows.
#
# One curve is a warning: the snapped network is right at step 0, too. Snapping makes every neuron a wave and puts its
# phases right, so its accuracy proves something only beside the two numbers that snapping did not make: the share of
# neurons that are on one frequency, and how little their phases had to be moved.

# %%
seen.plot_film()

# %% [markdown]
# ## Without pressure, no insight
#
# Weight decay makes large weights expensive, and waves fit the training set with small ones. Take the pressure
# away:

# %%
lazy = mg.train("n1 n2", mod=23, width=200, steps=300, weight_decay=0.0)
mg.compare(run, lazy).plot()

# %%
lazy.diagnosis.text

# %% [markdown]
# Things to try: `fraction=0.3` (how little of the table is enough?), `mod=31`, `"n1 + n2"` (in which order are the
# waves then?), `optimiser="muon"`.
