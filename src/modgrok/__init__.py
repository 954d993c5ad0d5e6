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
    from modgrok.algebra.fields import Field, finite_field
    from modgrok.algebra.function import Function, read_function, table
    from modgrok.algebra.groups import Group, group
    from modgrok.algebra.known_tasks import TaskList, tasks
    from modgrok.answers.classifying import Answer, classify
    from modgrok.answers.complexity import Complexity, complexity
    from modgrok.base.errors import ExpressionError, InputError
    from modgrok.censuses.dataset import Dataset, build_dataset
    from modgrok.censuses.runner import CensusRun, census
    from modgrok.censuses.speed import CensusBenchmark, bench_census
    from modgrok.compiler.compiling import compile
    from modgrok.experiments.sweep_result import Sweep
    from modgrok.experiments.sweeps import sweep
    from modgrok.experiments.zoo import Specimen, Zoo, build_zoo, zoo
    from modgrok.experiments.zoo_score import ZooScore, zoo_score
    from modgrok.explorer.serving import Explored, explore
    from modgrok.explorer.sharing import Shared, share
    from modgrok.inspection.decompiling import Decompiled
    from modgrok.inspection.inspecting import Inspection
    from modgrok.inspection.wrapping import wrap
    from modgrok.loss_law.expectation import Expectation
    from modgrok.networks.circuit import Circuit, Expert
    from modgrok.networks.export import Exported, export
    from modgrok.networks.models.base import Model
    from modgrok.networks.network import Network
    from modgrok.networks.predicting import Prediction, Predictions, predict
    from modgrok.networks.storage import load
    from modgrok.networks.verification import Verification, verify
    from modgrok.recognition.recognising import Recognised, recognise
    from modgrok.report.comparing import PaperDiff, paper_diff
    from modgrok.report.reproducing import Report, paper
    from modgrok.reproduction.item import ItemResult
    from modgrok.separable.checking import Check, check
    from modgrok.separable.reductions.orders import Orders, smallest_group
    from modgrok.training.bench import Benchmark, bench
    from modgrok.training.comparison import Comparison, compare
    from modgrok.training.config import TrainConfig, register
    from modgrok.training.decompiling import decompile
    from modgrok.training.inspecting import inspect
    from modgrok.training.mixture import mix
    from modgrok.training.run import Run, load_run
    from modgrok.training.run_list import RunList, runs
    from modgrok.training.train import resume, train
    from modgrok.training.watching import watch

__version__ = "0.3.0"

HOMES = {
    "algebra.fields": ("Field", "finite_field"),
    "algebra.function": ("Function", "read_function", "table"),
    "algebra.groups": ("Group", "group"),
    "algebra.known_tasks": ("TaskList", "tasks"),
    "answers.classifying": ("Answer", "classify"),
    "answers.complexity": ("Complexity", "complexity"),
    "censuses.dataset": ("Dataset", "build_dataset"),
    "censuses.speed": ("CensusBenchmark", "bench_census"),
    "censuses.runner": ("CensusRun", "census"),
    "compiler.compiling": ("compile",),
    "base.errors": ("ExpressionError", "InputError"),
    "experiments.sweep_result": ("Sweep",),
    "experiments.sweeps": ("sweep",),
    "experiments.zoo": ("Specimen", "Zoo", "build_zoo", "zoo"),
    "experiments.zoo_score": ("ZooScore", "zoo_score"),
    "explorer.serving": ("Explored", "explore"),
    "explorer.sharing": ("Shared", "share"),
    "loss_law.expectation": ("Expectation",),
    "inspection.decompiling": ("Decompiled",),
    "inspection.inspecting": ("Inspection",),
    "inspection.wrapping": ("wrap",),
    "networks.circuit": ("Circuit", "Expert"),
    "networks.export": ("Exported", "export"),
    "networks.models.base": ("Model",),
    "networks.network": ("Network",),
    "networks.storage": ("load",),
    "networks.predicting": ("Prediction", "Predictions", "predict"),
    "networks.verification": ("Verification", "verify"),
    "recognition.recognising": ("Recognised", "recognise"),
    "reproduction.item": ("ItemResult",),
    "separable.checking": ("Check", "check"),
    "separable.reductions.orders": ("Orders", "smallest_group"),
    "report.comparing": ("PaperDiff", "paper_diff"),
    "report.reproducing": ("Report", "paper"),
    "training.bench": ("Benchmark", "bench"),
    "training.config": ("TrainConfig", "register"),
    "training.decompiling": ("decompile",),
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
    "Complexity",
    "Dataset",
    "Decompiled",
    "Expectation",
    "Expert",
    "Explored",
    "Exported",
    "ExpressionError",
    "Field",
    "Function",
    "Group",
    "InputError",
    "Inspection",
    "ItemResult",
    "Model",
    "Network",
    "Orders",
    "PaperDiff",
    "Prediction",
    "Predictions",
    "Recognised",
    "Report",
    "Run",
    "RunList",
    "Shared",
    "Specimen",
    "Sweep",
    "TaskList",
    "TrainConfig",
    "Verification",
    "Zoo",
    "ZooScore",
    "bench",
    "bench_census",
    "build_dataset",
    "build_zoo",
    "census",
    "check",
    "classify",
    "compare",
    "compile",
    "complexity",
    "decompile",
    "explore",
    "export",
    "finite_field",
    "group",
    "inspect",
    "load",
    "load_run",
    "mix",
    "paper",
    "paper_diff",
    "predict",
    "read_function",
    "recognise",
    "register",
    "resume",
    "runs",
    "share",
    "smallest_group",
    "sweep",
    "table",
    "tasks",
    "train",
    "verify",
    "watch",
    "wrap",
    "zoo",
    "zoo_score",
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
