"""Figure 3: training on n1·n2 mod 97, width 500: losses, accuracies with the mean IPR, and IPR distributions.

What the caption calls Adam with weight decay 5 is AdamW, with β = (0.9, 0.98). Blocks are read in the order of
discrete logarithms, zero left out.
"""

from __future__ import annotations

from modgrok.figures.style import Figure
from modgrok.figures.training import training_figure
from modgrok.reproduction import trainings
from modgrok.reproduction.item import Effort, ItemResult
from modgrok.training.config import TrainConfig

summarise = trainings.summarise


def compute(effort: Effort) -> ItemResult:
    config = TrainConfig("n1 n2", 97, width=500, steps=300 if effort.quick else 600)
    title = "Figure 3: training on n1 n2 mod 97, width 500, half of the table"
    return trainings.compute_training("figure3", title, config, "ipr", (0, 50, 100, 200, 300, 600), effort.progress)


def figures(result: ItemResult) -> dict[str, Figure]:
    title = r"$n_1 n_2$ mod 97, width 500: trained on half of the table"
    return {"figure3": training_figure(result.data["curves"], result.data["neurons"], title)}
