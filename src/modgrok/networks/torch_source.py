"""A network as a Python module for PyTorch, which reads the network's own file; written without torch.

The text has three parts: what it is, the sizes as constants (numbers, strings and lists, each by its `repr`, so that
nothing a user typed becomes code), and the class of its model.
"""

from __future__ import annotations

from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

from modgrok.base.errors import InputError
from modgrok.networks.circuit import Circuit, Expert
from modgrok.networks.models import Mlp, Model, Transformer
from modgrok.networks.models.base import EPSILON
from modgrok.networks.models.transformer import HEADS

HEAD = '''"""A network for modular arithmetic as a PyTorch module, written by modgrok; FUNCTION says what it computes.

    from @STEM@ import load
    network = load()
    network(torch.tensor([EXAMPLE])).argmax(-1)      # rows of residues of VARIABLES -> values
"""

from pathlib import Path

import torch
from safetensors.torch import load_file

'''

CIRCUIT = '''

class Network(torch.nn.Module):
    """Two-layer experts joined by softmax: a wire is a variable, or what an earlier expert computes."""

    def __init__(self, tensors):
        super().__init__()
        self.embeds = torch.nn.ParameterList(tensors[name + "embed"] for name in EXPERTS)
        self.readouts = torch.nn.ParameterList(tensors[name + "readout"] for name in EXPERTS)
        self.register_buffer("betas", tensors.get("betas", torch.ones(1)))

    def forward(self, rows):
        signals = [rows[:, v] for v in range(len(VARIABLES))]
        for k, (wires, power) in enumerate(zip(WIRES, POWERS)):
            columns = [
                embed[signals[w]] if w < len(VARIABLES) else signals[w] @ embed[: signals[w].shape[1]]
                for embed, w in zip(self.embeds[k], wires)
            ]
            logits = sum(columns) ** power @ self.readouts[k]
            signals.append(torch.softmax(self.betas[k] * logits, dim=-1))
        return logits
'''

WEIGHTS = '''

class Weights(torch.nn.Module):
    """The tensors of the file by their names, with _ for a dot; statistics of batch normalisation are buffers."""

    def __init__(self, tensors):
        super().__init__()
        named = {name.replace(".", "_"): tensor for name, tensor in tensors.items()}
        self.weights = torch.nn.ParameterDict({k: v for k, v in named.items() if not k.startswith("statistics")})
        for name, tensor in named.items():
            if name.startswith("statistics"):
                self.register_buffer(name, tensor)

    def layer_norm(self, x, name):
        if name + "scale" not in self.weights:
            return x
        mean = x.mean(-1)[..., None]
        return self.standardised(x, mean, ((x - mean) ** 2).mean(-1)[..., None], name)

    def standardised(self, x, mean, variance, name):
        return (x - mean) / (variance + EPSILON) ** 0.5 * self.weights[name + "scale"] + self.weights[name + "shift"]
'''

MLP = '''

class Network(Weights):
    """An embedding of each variable, hidden layers, a readout; no biases."""

    def forward(self, rows):
        w = self.weights
        hidden = sum(w["embed"][v][rows[:, v]] for v in range(len(VARIABLES)))
        for k in range(DEPTH - 1):
            if k > 0:
                hidden = hidden @ w[f"hidden_{k - 1}"]
            if NORM == "layer":
                hidden = self.layer_norm(hidden, f"norms_{k}_")
            elif NORM == "batch":
                mean, variance = (getattr(self, f"statistics_{k}_{part}") for part in ("mean", "variance"))
                hidden = self.standardised(hidden, mean, variance, f"norms_{k}_")
            hidden = self.activation(hidden)
        return hidden @ w["readout"]

    def activation(self, x):
        if ACTIVATION == "relu":
            return torch.relu(x)
        if ACTIVATION == "square":
            return x**2
        return torch.nn.functional.gelu(x, approximate="tanh")
'''

TRANSFORMER = '''

class Network(Weights):
    """A causal transformer on the variables and "=", whose embedding is its position, read out at "="."""

    def __init__(self, tensors):
        super().__init__(tensors)
        tokens = len(VARIABLES) + 1
        self.register_buffer("later", torch.triu(torch.full((tokens, tokens), float("-inf")), 1))

    def forward(self, rows):
        w = self.weights
        inputs = w["embed"][rows] + w["positions"][:-1]
        stream = torch.cat([inputs, torch.zeros_like(inputs[:, :1]) + w["positions"][-1]], 1)
        for layer in (f"layers_{k}_" for k in range(DEPTH)):
            stream = stream + self.attend(self.layer_norm(stream, layer + "norms_0_"), layer)
            neurons = torch.relu(self.layer_norm(stream, layer + "norms_1_") @ w[layer + "expand"])
            stream = stream + neurons @ w[layer + "contract"]
        return self.layer_norm(stream[:, -1], "norms_0_") @ w["readout"]

    def attend(self, stream, layer):
        rows, tokens, width = stream.shape
        queries, keys, values = (
            (stream @ self.weights[layer + name]).reshape(rows, tokens, HEADS, width // HEADS)
            for name in ("query", "key", "value")
        )
        scores = torch.einsum("rqhc,rkhc->rhqk", queries, keys) / (width // HEADS) ** 0.5
        shares = torch.softmax(scores + self.later, dim=-1)
        mixed = torch.einsum("rhqk,rkhc->rqhc", shares, values)
        return mixed.reshape(rows, tokens, width) @ self.weights[layer + "output"]
'''

TAIL = """

def load(path=Path(__file__).with_suffix(".safetensors")):
    return Network(load_file(path))
"""


def torch_source(model: Model, params: Any, *, title: str, variables: list[str], stem: str) -> str:
    """The module's text; `title` says what it computes, and `stem` is the name that it will be imported by."""
    constants: dict[str, Any] = {
        "FUNCTION": title,
        "VARIABLES": variables,
        "EXAMPLE": [min(12 + 22 * v, count - 1) for v, count in enumerate(model.residues)],
    }
    if isinstance(params, (Circuit, Expert)):
        own, body = circuit_constants(params), CIRCUIT
    elif isinstance(model, Mlp):
        own = {"DEPTH": model.depth, "ACTIVATION": model.activation, "NORM": model.norm, "EPSILON": EPSILON}
        body = WEIGHTS + MLP
    elif isinstance(model, Transformer):
        own = {"DEPTH": model.depth, "HEADS": HEADS, "EPSILON": EPSILON}
        body = WEIGHTS + TRANSFORMER
    else:
        raise InputError(f"the model {model.name} has no export to torch; circuit, power, mlp and transformer have one")
    lines = "".join(f"{name} = {value!r}\n" for name, value in (constants | own).items())
    return HEAD.replace("@STEM@", stem) + lines + body + TAIL


def circuit_constants(params: Circuit | Expert) -> dict[str, Any]:
    """Names of the experts' tensors in the file, their wires and powers; a power network is a circuit of one."""
    if isinstance(params, Expert):
        return {"EXPERTS": [""], "WIRES": [list(range(params.terms))], "POWERS": [params.power]}
    return {
        "EXPERTS": [f"experts.{k}." for k in range(len(params.experts))],
        "WIRES": [list(group) for group in params.wires],
        "POWERS": [expert.power for expert in params.experts],
    }


def import_module_file(path: Path) -> Any:
    """The module that was written to a file; it needs torch."""
    if find_spec("torch") is None:
        raise InputError("a PyTorch module needs the package torch; install it with: pip install torch")
    spec = spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise InputError(f"{path} cannot be imported")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
