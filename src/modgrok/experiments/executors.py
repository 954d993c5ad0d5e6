"""Threads of this process that keep its device busy: while one part trains, programs of later ones are compiled."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache

import jax
import numpy as np

from modgrok.experiments.part import AnyPart, Part, TrainedPart, train_part
from modgrok.experiments.workers import Threads
from modgrok.training.config import hyper
from modgrok.training.ensemble import train_ensemble
from modgrok.training.steps import Shape

TRAINING_THREADS = {"cpu": 1, "gpu": 2}
"""Parts on the device at once: with a second one a GPU never waits for the host."""
COMPILING_THREADS = {"cpu": 1, "gpu": 4}


class LocalWorkers(Threads[AnyPart, TrainedPart]):
    """Trains parts on the default device of this process; futures end in the order in which parts are submitted."""

    def __init__(self, todo: Sequence[AnyPart]) -> None:
        device = jax.default_backend()
        super().__init__(self.train, TRAINING_THREADS.get(device, 2))
        self.window += 1
        self.compiling = ThreadPoolExecutor(COMPILING_THREADS.get(device, 4), "compiling")
        programs = dict.fromkeys((part.shape, part.size) for part in todo)
        self.programs = {program: self.compiling.submit(compile_ahead, *program) for program in programs}

    def train(self, part: AnyPart) -> TrainedPart:
        ready = self.prepared(part)
        self.programs[part.shape, part.size].result()
        return train_part(ready)

    def prepared(self, part: AnyPart) -> AnyPart:
        """The part with what was made for it meanwhile."""
        return part

    def close(self) -> None:
        """Give up what has not begun; parts in training come to their end."""
        self.compiling.shutdown(cancel_futures=True)
        super().close()


def train_compiled(part: Part) -> TrainedPart:
    """What a worker elsewhere does: compiling counts as no training."""
    compile_ahead(part.shape, part.size)
    return train_part(part)


@cache
def compile_ahead(shape: Shape, networks: int) -> None:
    """Compile what all parts of this program run: training it for no step at all does."""
    settings = hyper(seed=np.zeros(networks), train_rows=shape.train_rows)
    train_ensemble(shape, settings, np.zeros((networks, shape.rows), np.int32), steps=0)
