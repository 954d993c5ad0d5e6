# %% [markdown]
# # A sweep and a phase diagram
#
# Whether a network groks depends on how hard weight decay pulls, how large the steps are, and how much of the table
# it sees. One run says little: seeds differ. This notebook trains a hundred networks at once and draws where grokking
# lives.

# %%
import modgrok as mg

# %% [markdown]
# ## One setting, many seeds
#
# A seed decides which half of the table trains, and the initial weights. Ten of them, in one compiled program:

# %%
seeds = mg.sweep("n1 n2", mod=23, width=100, steps=300, seeds=10)
seeds

# %%
seeds.plot()

# %% [markdown]
# The line is the median over seeds, the band holds half of them. `seeds.rows` has each network:

# %%
for row in seeds.rows:
    print(f"seed {row['seed']}: test {row['test_accuracy']:6.1%}, grokked at {row['grokked_at']}, {row['outcome']}")

# %% [markdown]
# ## Two settings: a phase diagram
#
# Six weight decays, six learning rates, three seeds each. Both settings are *traced*: they are numbers that go into
# one compiled program, and not parts of it, so 108 trainings cost one compilation.

# %%
found = mg.sweep(
    "n1 n2",
    mod=23,
    width=100,
    steps=200,
    seeds=3,
    weight_decay=[0.5, 1, 2, 5, 10, 20],
    learning_rate=[0.001, 0.002, 0.005, 0.01, 0.02, 0.05],
)
print(found.compilations, "compilation,", len(found.rows), "trainings")
print(found.words)

# %%
found.phase_diagram()

# %% [markdown]
# Grokking lives in a corner. Towards the bottom steps are so small that little has happened after 200 of them. On the
# left weight decay is weak: a step of AdamW shrinks every weight by learning rate · weight decay, so it takes a large
# rate to get anywhere. On the right it is so strong that the training set cannot be fitted, whatever the rate. What
# became of the networks, in words:

# %%
outcomes = [row["outcome"] for row in found.rows]
{outcome: outcomes.count(outcome) for outcome in sorted(set(outcomes))}

# %% [markdown]
# ## How much of the table?
#
# The share of the table that trains is traced as well. With little of it networks stay with what they memorised; with
# more they find the rule, and the more they see, the sooner.

# %%
shares = mg.sweep("n1 n2", mod=23, width=100, steps=400, seeds=5, fraction=[0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8])
shares.phase_diagram()

# %%
for each in shares.medians:
    grokked_at = "never" if each.grokked_at is None else f"step {each.grokked_at:.0f}"
    print(f"fraction {each.settings['fraction']}: median test {each.test_accuracy:6.1%}, grokked at {grokked_at}")

# %% [markdown]
# ## Models side by side
#
# Settings that change the program itself, such as the model or the width, make groups with a compilation each.

# %%
widths = mg.sweep("n1 n2", mod=23, steps=300, seeds=5, width=[20, 50, 100, 200])
widths.phase_diagram()

# %% [markdown]
# Things to try: `out="sweeps/mine"`, so that a sweep that was stopped goes on; `keep_weights=True` and then
# `mg.inspect("sweeps/mine/weights/00000.safetensors")`; `model=["power", "mlp"]`; `found.table.to_pandas()`. On
# the command line: `modgrok sweep "n1 n2" --mod 23 --weight-decay 0.5,1,2,5,10,20 --learning-rate 0.001:0.05:6log
# --seeds 3`.
