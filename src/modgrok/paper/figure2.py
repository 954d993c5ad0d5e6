"""Figure 2: training on n1 + n2 + n3 + n4 mod 11, width 5000: losses, accuracies with the mean IPR, distributions.

What the caption calls Adam with weight decay 5 is AdamW, with β = (0.9, 0.98). Most of the 5000 neurons die: their
weights decay to nothing, and the IPR of nothing means nothing. So the mean over the living is the one compared.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from modgrok.figures.training import draw_training
from modgrok.paper.trainings import compute_training
from modgrok.progress import Progress
from modgrok.training.steps import TrainConfig


def compute(*, quick: bool = False, progress: Progress | None = None) -> dict[str, Any]:
    width, steps = (1000, 400) if quick else (5000, 2000)
    config = TrainConfig("n1 + n2 + n3 + n4", 11, width=width, steps=steps)
    title = f"Figure 2: training on n1 + n2 + n3 + n4 mod 11, width {width}, half of the table"
    return compute_training("figure2", title, config, "ipr_alive", (0, 100, 200, 300, 400, 1000, 2000), progress)


def draw(result: dict[str, Any], folder: Path) -> list[Path]:
    title = rf"$n_1 + n_2 + n_3 + n_4$ mod 11, width {result['settings']['width']}: trained on half of the table"
    return draw_training(result["curves"], result["neurons"], title, folder / "figure2", log_steps=True)
