"""Figure 2: training on n1 + n2 + n3 + n4 mod 11, width 5000: losses, accuracies with the mean IPR, distributions.

What the caption calls Adam with weight decay 5 is AdamW, with β = (0.9, 0.98). Most of the 5000 neurons die: their
weights decay to nothing, and the IPR of nothing means nothing. So the mean over the living is the one compared.
"""

from __future__ import annotations

from modgrok.figures.style import Figure
from modgrok.figures.training import training_figure
from modgrok.reproduction import trainings
from modgrok.reproduction.item import Effort, ItemResult
from modgrok.training.config import TrainConfig

summarise = trainings.summarise


def compute(effort: Effort) -> ItemResult:
    width, steps = (1000, 400) if effort.quick else (5000, 2000)
    config = TrainConfig("n1 + n2 + n3 + n4", 11, width=width, steps=steps)
    title = f"Figure 2: training on n1 + n2 + n3 + n4 mod 11, width {width}, half of the table"
    shown = (0, 100, 200, 300, 400, 1000, 2000)
    return trainings.compute_training("figure2", title, config, "ipr_alive", shown, effort.progress)


def figures(result: ItemResult) -> dict[str, Figure]:
    title = rf"$n_1 + n_2 + n_3 + n_4$ mod 11, width {result.settings['width']}: trained on half of the table"
    return {"figure2": training_figure(result.data["curves"], result.data["neurons"], title, log_steps=True)}
