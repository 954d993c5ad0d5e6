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
    from modgrok.algebra.fields import Field as Field, finite_field as finite_field
    from modgrok.algebra.function import Function as Function, read_function as read_function, table as table
    from modgrok.algebra.groups import Group as Group, group as group
    from modgrok.algebra.known_tasks import TaskList as TaskList, tasks as tasks
    from modgrok.answers.classifying import Answer as Answer, classify as classify
    from modgrok.answers.complexity import Complexity as Complexity, complexity as complexity
    from modgrok.base.errors import ExpressionError as ExpressionError, InputError as InputError
    from modgrok.censuses.dataset import Dataset as Dataset, build_dataset as build_dataset
    from modgrok.censuses.runner import CensusRun as CensusRun, census as census
    from modgrok.censuses.speed import CensusBenchmark as CensusBenchmark, bench_census as bench_census
    from modgrok.compiler.compiling import compile as compile
    from modgrok.experiments.sweep_result import Sweep as Sweep
    from modgrok.experiments.sweeps import sweep as sweep
    from modgrok.experiments.zoo import Specimen as Specimen, Zoo as Zoo, build_zoo as build_zoo, zoo as zoo
    from modgrok.experiments.zoo_score import ZooScore as ZooScore, zoo_score as zoo_score
    from modgrok.explorer.serving import Explored as Explored, explore as explore
    from modgrok.explorer.sharing import Shared as Shared, share as share
    from modgrok.inspection.decompiling import Decompiled as Decompiled
    from modgrok.inspection.inspecting import Inspection as Inspection
    from modgrok.inspection.wrapping import wrap as wrap
    from modgrok.loss_law.expectation import Expectation as Expectation
    from modgrok.networks.circuit import Circuit as Circuit, Expert as Expert
    from modgrok.networks.export import Exported as Exported, export as export
    from modgrok.networks.models.base import Model as Model
    from modgrok.networks.network import Network as Network
    from modgrok.networks.predicting import Prediction as Prediction, Predictions as Predictions, predict as predict
    from modgrok.networks.storage import load as load
    from modgrok.networks.verification import Verification as Verification, verify as verify
    from modgrok.recognition.recognising import Recognised as Recognised, recognise as recognise
    from modgrok.report.comparing import PaperDiff as PaperDiff, paper_diff as paper_diff
    from modgrok.report.reproducing import Report as Report, paper as paper
    from modgrok.reproduction.item import ItemResult as ItemResult
    from modgrok.separable.checking import Check as Check, check as check
    from modgrok.separable.reductions.orders import Orders as Orders, smallest_group as smallest_group
    from modgrok.training.bench import Benchmark as Benchmark, bench as bench
    from modgrok.training.config import TrainConfig as TrainConfig, register as register
    from modgrok.training.inspecting import decompile as decompile, inspect as inspect
    from modgrok.training.live import watch as watch
    from modgrok.training.mixture import mix as mix
    from modgrok.training.run import Run as Run, load_run as load_run
    from modgrok.training.run_list import Comparison as Comparison, RunList as RunList, compare as compare, runs as runs
    from modgrok.training.train import resume as resume, train as train

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
    "training.inspecting": ("decompile", "inspect"),
    "training.live": ("watch",),
    "training.mixture": ("mix",),
    "training.run": ("Run", "load_run"),
    "training.run_list": ("Comparison", "RunList", "compare", "runs"),
    "training.train": ("resume", "train"),
}
"""The public surface: which module each public name comes from."""

__all__ = sorted(name for names in HOMES.values() for name in names)


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
