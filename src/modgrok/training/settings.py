"""Every setting of a training: what it means, and what it may be where it is one of a few words."""

from __future__ import annotations

from modgrok.inspection.order import ORDER_NAMES
from modgrok.networks.models import trainable
from modgrok.networks.models.mlp import ACTIVATIONS, NORMS
from modgrok.training.losses import LOSSES
from modgrok.training.optimisers import OPTIMISERS

CHOICES: dict[str, tuple[str, ...]] = {
    "order": ORDER_NAMES,
    "model": trainable(),
    "activation": tuple(ACTIVATIONS),
    "norm": NORMS,
    "loss": tuple(LOSSES),
    "optimiser": tuple(OPTIMISERS),
}
HELP = {
    "model": "the paper's two-layer network, a deeper mlp, or a transformer; it has settings of its own by default",
    "depth": "layers of weights of an mlp (2 to 4), or layers of a transformer (1 or 2)",
    "activation": "of an mlp",
    "norm": "layer normalisation (mlp, transformer) or batch normalisation (mlp)",
    "dropout": "share of the hidden neurons that is dropped at random in every step",
    "loss": "mean squared error to the one-hot, or cross-entropy",
    "optimiser": "adam has no weight decay, adam-l2 has it inside the gradient, sgd has momentum beta1",
    "width": "hidden neurons; of a transformer, the dimension of its stream",
    "power": "the activation of the power network is x^power; the number of variables if not given",
    "steps": "full-batch steps; more than before lets a run go on",
    "learning_rate": "learning rate",
    "weight_decay": "weight decay",
    "beta1": "decay of the mean of gradients; momentum of sgd and muon",
    "beta2": "decay of the mean of squared gradients in Adam",
    "eps": "the term in Adam's denominator",
    "fraction": "share of the table to train on; the rest is for testing",
    "init_scale": "size of the initial weights; init_scale / (2 width)^(1/3) is their deviation in the power network",
    "seed": "seed of the split and of the initial weights",
    "metrics_every": "steps between measurements",
    "snapshots": "networks to keep on the way, at logarithmically spaced steps",
    "order": "order of residues in which periodicity is measured; auto takes the function's own",
}
"""Every setting of a training, and what it means."""
