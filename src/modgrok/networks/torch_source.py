"""A network as a Python module for PyTorch, which reads the network's own file; written without torch.

The text has three parts: what it is, the sizes as constants (numbers, strings and lists, each by its `repr`, so that
nothing a user typed becomes code), and the class of its model (`Model.torch`).
"""

from __future__ import annotations

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

from jaxtyping import PyTree

from modgrok.base.errors import optional
from modgrok.networks.models import Model

HEAD = '''"""A network for modular arithmetic as a PyTorch module, written by modgrok; FUNCTION says what it computes.

    from @STEM@ import load
    network = load()
    network(torch.tensor([EXAMPLE])).argmax(-1)      # rows of residues of VARIABLES -> values
"""

from pathlib import Path

import torch
from safetensors.torch import load_file

'''

TAIL = """

def load(path=Path(__file__).with_suffix(".safetensors")):
    return Network(load_file(path))
"""


def torch_source(model: Model, params: PyTree, *, title: str, variables: list[str], stem: str) -> str:
    """The module's text; `title` says what it computes, and `stem` is the name that it will be imported by."""
    constants: dict[str, Any] = {
        "FUNCTION": title,
        "VARIABLES": variables,
        "EXAMPLE": [min(12 + 22 * v, count - 1) for v, count in enumerate(model.residues)],
    }
    own, body = model.torch(params)
    lines = "".join(f"{name} = {value!r}\n" for name, value in (constants | own).items())
    return HEAD.replace("@STEM@", stem) + lines + body + TAIL


def import_module_file(path: Path) -> Any:
    """The module that was written to a file; it needs torch."""
    optional("torch", "a PyTorch module")
    spec = spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
