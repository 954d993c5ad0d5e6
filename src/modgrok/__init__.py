"""modgrok: a compiler and a laboratory for modular arithmetic in neural networks.

    import modgrok as mg
    network = mg.compile("2n1^4 n2 + n1^2 n2^2 + 3n1 n2^3", mod=97)
    mg.verify(network).accuracy

Names are imported when they are first used, so that the command line starts at once.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from modgrok.circuit import Circuit, Expert
    from modgrok.compiler import ExactSettings, PaperSettings, compile
    from modgrok.errors import ExpressionError, InputError
    from modgrok.inspection import inspect_network
    from modgrok.interop import export
    from modgrok.mixture import MixSettings, mix
    from modgrok.network import Network, load
    from modgrok.runs import train_run
    from modgrok.separable import classify_table
    from modgrok.training import TrainConfig
    from modgrok.verification import Prediction, Verification, predict, verify

__version__ = "0.1.0"

HOMES = {
    "circuit": ("Circuit", "Expert"),
    "compiler": ("ExactSettings", "PaperSettings", "compile"),
    "errors": ("ExpressionError", "InputError"),
    "inspection": ("inspect_network",),
    "interop": ("export",),
    "mixture": ("MixSettings", "mix"),
    "network": ("Network", "load"),
    "runs": ("train_run",),
    "separable": ("classify_table",),
    "training": ("TrainConfig",),
    "verification": ("Prediction", "Verification", "predict", "verify"),
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
