"""modgrok: a compiler and a laboratory for modular arithmetic in neural networks.

    import modgrok as mg
    network = mg.compile("2n1^4 n2 + n1^2 n2^2 + 3n1 n2^3", mod=97)
    mg.verify(network).accuracy
    run = mg.train("n1 n2", mod=97)
    mg.inspect(run)

Names are imported when they are first used, so that the command line starts at once.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from modgrok.algebra.function import Function, read_function
    from modgrok.algebra.polynomial import table
    from modgrok.answers.classifying import Answer, classify
    from modgrok.base.errors import ExpressionError, InputError
    from modgrok.censuses.runner import CensusRun, census
    from modgrok.censuses.speed import CensusBenchmark, bench_census
    from modgrok.compiler.compiling import compile
    from modgrok.experiments.sweep_result import Sweep
    from modgrok.experiments.sweeps import sweep
    from modgrok.explorer.serving import Explored, explore
    from modgrok.inspection.inspecting import Inspection
    from modgrok.loss_law.expectation import Expectation
    from modgrok.networks.circuit import Circuit, Expert
    from modgrok.networks.export import Exported, export
    from modgrok.networks.models.base import Model
    from modgrok.networks.network import Network
    from modgrok.networks.storage import load
    from modgrok.networks.verification import Prediction, Predictions, Verification, predict, verify
    from modgrok.report.reproducing import Report, paper
    from modgrok.reproduction.item import ItemResult
    from modgrok.separable.checking import Check, check
    from modgrok.separable.reductions.orders import Orders, smallest_group
    from modgrok.training.bench import Benchmark, bench
    from modgrok.training.comparison import Comparison, compare
    from modgrok.training.config import TrainConfig, register
    from modgrok.training.inspecting import inspect
    from modgrok.training.mixture import mix
    from modgrok.training.run import Run, load_run
    from modgrok.training.run_list import RunList, runs
    from modgrok.training.train import resume, train
    from modgrok.training.watching import watch

__version__ = "0.2.0"

HOMES = {
    "algebra.function": ("Function", "read_function"),
    "algebra.polynomial": ("table",),
    "answers.classifying": ("Answer", "classify"),
    "censuses.speed": ("CensusBenchmark", "bench_census"),
    "censuses.runner": ("CensusRun", "census"),
    "compiler.compiling": ("compile",),
    "base.errors": ("ExpressionError", "InputError"),
    "experiments.sweep_result": ("Sweep",),
    "experiments.sweeps": ("sweep",),
    "explorer.serving": ("Explored", "explore"),
    "loss_law.expectation": ("Expectation",),
    "inspection.inspecting": ("Inspection",),
    "networks.circuit": ("Circuit", "Expert"),
    "networks.export": ("Exported", "export"),
    "networks.models.base": ("Model",),
    "networks.network": ("Network",),
    "networks.storage": ("load",),
    "networks.verification": ("Prediction", "Predictions", "Verification", "predict", "verify"),
    "reproduction.item": ("ItemResult",),
    "separable.checking": ("Check", "check"),
    "separable.reductions.orders": ("Orders", "smallest_group"),
    "report.reproducing": ("Report", "paper"),
    "training.bench": ("Benchmark", "bench"),
    "training.config": ("TrainConfig", "register"),
    "training.inspecting": ("inspect",),
    "training.mixture": ("mix",),
    "training.comparison": ("Comparison", "compare"),
    "training.run": ("Run", "load_run"),
    "training.run_list": ("RunList", "runs"),
    "training.train": ("resume", "train"),
    "training.watching": ("watch",),
}
"""The public surface: which module each public name comes from."""

__all__ = [
    "Answer",
    "Benchmark",
    "CensusBenchmark",
    "CensusRun",
    "Check",
    "Circuit",
    "Comparison",
    "Expectation",
    "Expert",
    "Explored",
    "Exported",
    "ExpressionError",
    "Function",
    "InputError",
    "Inspection",
    "ItemResult",
    "Model",
    "Network",
    "Orders",
    "Prediction",
    "Predictions",
    "Report",
    "Run",
    "RunList",
    "Sweep",
    "TrainConfig",
    "Verification",
    "bench",
    "bench_census",
    "census",
    "check",
    "classify",
    "compare",
    "compile",
    "explore",
    "export",
    "inspect",
    "load",
    "load_run",
    "mix",
    "paper",
    "predict",
    "read_function",
    "register",
    "resume",
    "runs",
    "smallest_group",
    "sweep",
    "table",
    "train",
    "verify",
    "watch",
]


def __getattr__(name: str) -> Any:
    for module, names in HOMES.items():
        if name in names:
            from modgrok.base.compilation_cache import use_compilation_cache

            use_compilation_cache()
            found = getattr(import_module(f"modgrok.{module}"), name)
            globals()[name] = found  # a room of the same name, imported later, must not take its place
            return found
    raise AttributeError(f"module 'modgrok' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
