"""modgrok: a compiler and a laboratory for modular arithmetic in neural networks.

import modgrok as mg
network = mg.compile("2n1^4 n2 + n1^2 n2^2 + 3n1 n2^3", mod=97)
mg.verify(network).accuracy
"""

from modgrok.circuit import Circuit, Expert
from modgrok.compiler import PaperSettings, compile
from modgrok.errors import ExpressionError, InputError
from modgrok.network import Network, load
from modgrok.verification import Prediction, Verification, predict, verify

__version__ = "0.1.0"

__all__ = [
    "Circuit",
    "Expert",
    "ExpressionError",
    "InputError",
    "Network",
    "PaperSettings",
    "Prediction",
    "Verification",
    "compile",
    "load",
    "predict",
    "verify",
]
