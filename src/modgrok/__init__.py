"""modgrok: a compiler and a laboratory for modular arithmetic in neural networks.

    import modgrok as mg
    network = mg.compile("2n1^4 n2 + n1^2 n2^2 + 3n1 n2^3", mod=97)
    mg.verify(network).accuracy

Names are imported when they are first used, so that the command line starts at once.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from modgrok.compiler.compiling import ExactSettings, PaperSettings, compile
    from modgrok.errors import ExpressionError, InputError
    from modgrok.inspection.inspecting import inspect_network
    from modgrok.networks.circuit import Circuit, Expert
    from modgrok.networks.export import export
    from modgrok.networks.network import Network, load
    from modgrok.networks.verification import Prediction, Verification, predict, verify
    from modgrok.separable import classify_table
    from modgrok.training.mixture import MixSettings, mix
    from modgrok.training.runs import train_run
    from modgrok.training.steps import TrainConfig

__version__ = "0.2.0"

HOMES = {
    "networks.circuit": ("Circuit", "Expert"),
    "compiler.compiling": ("ExactSettings", "PaperSettings", "compile"),
    "errors": ("ExpressionError", "InputError"),
    "inspection.inspecting": ("inspect_network",),
    "networks.export": ("export",),
    "training.mixture": ("MixSettings", "mix"),
    "networks.network": ("Network", "load"),
    "training.runs": ("train_run",),
    "separable": ("classify_table",),
    "training.steps": ("TrainConfig",),
    "networks.verification": ("Prediction", "Verification", "predict", "verify"),
}
"""The public surface: which module each public name comes from."""

__all__ = [
    "Circuit",
    "ExactSettings",
    "Expert",
    "ExpressionError",
    "InputError",
    "MixSettings",
    "Network",
    "PaperSettings",
    "Prediction",
    "TrainConfig",
    "Verification",
    "classify_table",
    "compile",
    "export",
    "inspect_network",
    "load",
    "mix",
    "predict",
    "train_run",
    "verify",
]


def __getattr__(name: str) -> Any:
    for module, names in HOMES.items():
        if name in names:
            return getattr(import_module(f"modgrok.{module}"), name)
    raise AttributeError(f"module 'modgrok' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
