"""One training as somebody calls it, for `modgrok bench train`: from the start of Python to a network with its curves.

Three programs train a network on half of n1·n2 and measure both losses and both accuracies every ten steps:

    modgrok    mg.train, which also measures the IPR of the neurons in the right order of residues, and keeps a film
    jax        benchmarks/plain_jax.py: one-hot matrix products, a compiled step, a loop in Python
    torch      benchmarks/plain_torch.py: nn.Linear and AdamW, if PyTorch is installed

Each runs twice in a process of its own: with an empty compilation cache, and with what that left there. The plain
scripts ask for no cache.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time

from modgrok.base.compilation_cache import VARIABLE
from modgrok.base.errors import InputError
from modgrok.base.repository import folder_of
from modgrok.training.bench import Called, Case
from studies.contenders import loops

MODGROK = """\
import sys, modgrok
modulus, width, steps = map(int, sys.argv[1:])
run = modgrok.train("n1 n2", mod=modulus, width=width, steps=steps, metrics_every=10, live=False)
print(run.final["test_accuracy"])
"""


def times(case: Case, steps: int) -> dict[str, Called]:
    """How long each program takes for one network of a case."""
    scripts = folder_of("benchmarks")
    programs = {"modgrok": ["-c", MODGROK], "jax": [str(scripts / "plain_jax.py")]}
    if "torch" in loops():
        programs["torch"] = [str(scripts / "plain_torch.py")]
    sizes = [str(case.modulus), str(case.width), str(steps)]
    found: dict[str, Called] = {}
    for name, words in programs.items():
        with tempfile.TemporaryDirectory() as cache:
            (cold, _), (warm, accuracy) = (timed([*words, *sizes], cache) for _ in range(2))
        ours = found.get("modgrok") or Called(cold, warm, 1.0, 1.0, accuracy)
        found[name] = Called(cold, warm, cold / ours.cold_seconds, warm / ours.warm_seconds, accuracy)
    return found


def timed(words: list[str], cache: str) -> tuple[float, float]:
    """Seconds of a whole process, and the test accuracy that it prints."""
    began = time.perf_counter()
    done = subprocess.run(
        [sys.executable, *words], env=os.environ | {VARIABLE: cache}, capture_output=True, text=True, check=False
    )
    seconds = time.perf_counter() - began
    try:
        return seconds, float(done.stdout)
    except ValueError:
        said = (done.stderr.strip() or "nothing").splitlines()[-1]
        raise InputError(f"a training as called, {words[-4:]}, ended with: {said}; run it by itself") from None
