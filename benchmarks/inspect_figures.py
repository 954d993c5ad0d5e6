"""The figures of docs/inspect.md: python benchmarks/inspect_figures.py (a minute on two cores)

Trains the three models on n1 n2 modulo 31, keeps the weights of the power network and the transformer at some steps,
and writes what `modgrok inspect` draws of them into docs/images, small enough for a page.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from modgrok.base.files import whole_file
from modgrok.figures.film import save_animation
from modgrok.figures.inspection import figure_makers
from modgrok.figures.style import Figure
from modgrok.networks.network import Network
from modgrok.training.checkpoints import begin
from modgrok.training.config import TrainConfig
from modgrok.training.inspecting import inspect

DPI = 110
MODELS: dict[str, dict[str, Any]] = {
    "power": {"width": 200, "steps": 400},
    "mlp": {"steps": 800, "fraction": 0.7},
    "transformer": {"width": 64, "steps": 1000, "fraction": 0.6},
}
DRAWN = {
    "power": ("logits", "spectrum", "neurons", "phases", "film"),
    "mlp": ("logits", "neurons"),
    "transformer": ("logits", "neurons", "attention", "film"),
}


def frames(config: TrainConfig) -> list[tuple[int, Network]]:
    """The network at logarithmically spaced steps, from 0 to the last."""
    steps = sorted({0, *np.geomspace(1, config.steps, 30).round().astype(int).tolist()})
    training, found = begin(config), []
    for step in steps:
        training = training.segment(step - training.step)
        found.append((step, training.network(config)))
    return found


def save(figure: Figure, path: Path) -> None:
    with whole_file(path) as temporary:
        figure.savefig(temporary, dpi=DPI)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("docs/images"))
    args = parser.parse_args()
    for model, settings in MODELS.items():
        kept = frames(TrainConfig("n1 n2", 31, model=model, **settings))
        found = inspect(kept[-1][1], film=kept)
        print(found, found.logits, sep="\n", flush=True)
        makers = figure_makers(found)
        for name in DRAWN[model]:
            save(makers[name](), args.out / f"inspect-{model}-{name}.png")
        if found.film is not None and model == "power":
            save_animation(found.film, args.out / f"inspect-{model}-film.gif")


if __name__ == "__main__":
    main()
