"""A transformer for TransformerLens: HookedTransformer's tensors and configuration, and a module with its hook names.

TransformerLens 4 has no HookedTransformer any more; its HookedRootModule is what it keeps for models of one's own, and
the module that is written stands on that. People with versions 2 and 3 load the tensors into HookedTransformer.

Ours has no embedding of "=": that token, which is p, gets zeros, and its position what ours adds there.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, Shaped

from modgrok.base.errors import InputError
from modgrok.base.files import whole_file, write_json, write_text
from modgrok.base.stores import in_file_order
from modgrok.networks.circuit import Weights
from modgrok.networks.models import Transformer
from modgrok.networks.models.base import EPSILON, Norm
from modgrok.networks.models.transformer import Layer, TransformerWeights, with_zeros
from modgrok.networks.network import Network
from modgrok.networks.storage import is_own_file

ACTIVATIONS = {"gelu": "gelu_new", "gelu-exact": "gelu"}
"""What TransformerLens calls them, where it is another name."""
PLACES = ("Q", "K", "V", "O")


def write_lens(network: Network, path: Path) -> list[Path]:
    """Write the module, and beside it the tensors and the configuration; the module's path comes first."""
    model, params = network.model, network.params
    if not isinstance(model, Transformer):
        raise InputError(
            f"TransformerLens is for transformers, got the model {model.name}; "
            "the module of `export --to torch` has hooks for every model"
        )
    weights, settings = path.with_suffix(".safetensors"), path.with_suffix(".json")
    if weights.exists() and is_own_file(weights):
        raise InputError(f"{weights} is a network of modgrok's, which would be replaced; give another --out")
    write_state(weights, lens_state(model, params))
    write_json(settings, lens_config(model))
    source = SOURCE.replace("@STEM@", path.stem).replace("@TITLE@", repr(network.title))
    write_text(path, source)
    return [path, weights, settings]


def write_state(path: Path, tensors: dict[str, Shaped[np.ndarray, "..."]]) -> None:
    from safetensors.numpy import save_file

    with whole_file(path) as temporary:
        save_file({name: in_file_order(tensor) for name, tensor in tensors.items()}, temporary)


def lens_config(model: Transformer) -> dict[str, Any]:
    """What HookedTransformerConfig takes, by its names."""
    return {
        "n_layers": model.depth,
        "d_model": model.width,
        "n_ctx": model.tokens,
        "d_head": model.part,
        "n_heads": model.heads,
        "d_mlp": model.neurons,
        "d_vocab": model.largest + model.equals,
        "d_vocab_out": model.classes,
        "act_fn": ACTIVATIONS.get(model.activation, model.activation),
        "normalization_type": "LN" if model.norm == "layer" else None,
        "eps": EPSILON,
        "attention_dir": "causal",
        "init_weights": False,
    }


def lens_state(model: Transformer, params: TransformerWeights) -> dict[str, Shaped[np.ndarray, "..."]]:
    """The weights by HookedTransformer's names, in its axes; biases that ours has not are 0."""
    weights = with_zeros(params)
    found = {
        "embed.W_E": np.pad(np.asarray(weights.embed), ((0, int(model.equals)), (0, 0))),
        "pos_embed.W_pos": np.asarray(weights.positions),
        "unembed.W_U": np.asarray(weights.readout),
        "unembed.b_U": np.asarray(weights.bias),
    }
    for k, layer in enumerate(weights.layers):
        found |= {f"blocks.{k}.{name}": tensor for name, tensor in layer_state(model, layer).items()}
    return found | named_norms(params.norms, ("ln_final",))


def layer_state(model: Transformer, layer: Layer) -> dict[str, Shaped[np.ndarray, "..."]]:
    """A layer: the parts of each head on an axis of their own."""
    heads, part, biases = model.heads, model.part, layer.biases

    def split(weights: Weights) -> Float[np.ndarray, "head width part"]:
        return np.moveaxis(np.asarray(weights).reshape(model.width, heads, part), 1, 0)

    matrices = (split(layer.query), split(layer.key), split(layer.value), np.asarray(layer.output))
    shapes = ((heads, model.width, part),) * 3 + ((heads, part, model.width),)
    return (
        {f"attn.W_{name}": matrix.reshape(shape) for name, matrix, shape in zip(PLACES, matrices, shapes, strict=True)}
        | {
            "attn.b_Q": np.asarray(biases.query).reshape(heads, part),
            "attn.b_K": np.asarray(biases.key).reshape(heads, part),
            "attn.b_V": np.asarray(biases.value).reshape(heads, part),
            "attn.b_O": np.asarray(biases.output),
            "mlp.W_in": np.asarray(layer.expand),
            "mlp.b_in": np.asarray(biases.expand),
            "mlp.W_out": np.asarray(layer.contract),
            "mlp.b_out": np.asarray(biases.contract),
            "attn.mask": np.tri(model.tokens, dtype=bool),
            "attn.IGNORE": np.array(-np.inf, np.float32),
        }
        | named_norms(layer.norms, ("ln1", "ln2"))
    )


def named_norms(norms: tuple[Norm, ...], names: tuple[str, ...]) -> dict[str, Shaped[np.ndarray, "..."]]:
    """Scale and shift of each normalisation, where there are any."""
    pairs = zip(names, norms, strict=False)
    return {f"{name}.{end}": np.asarray(part) for name, norm in pairs for end, part in zip("wb", norm, strict=True)}


SOURCE = '''"""A transformer for modular arithmetic with TransformerLens's hooks, by modgrok; FUNCTION tells its task.

    from @STEM@ import load, tokens
    model = load()
    logits, cache = model.run_with_cache(tokens([[1, 2]]))      # at every token; the answer is read at the last one
    cache["blocks.0.attn.hook_pattern"]                          # (row, head, from, to)

@STEM@.safetensors has HookedTransformer's names, @STEM@.json its configuration. With TransformerLens 2 or 3:
    HookedTransformer(HookedTransformerConfig(**CONFIG)).load_state_dict(load_file(...))
"""

import json
from pathlib import Path

import torch
from safetensors.torch import load_file
from transformer_lens.hook_points import HookPoint

try:
    from transformer_lens import HookedRootModule
except ImportError:  # before version 4
    from transformer_lens.hook_points import HookedRootModule

FUNCTION = @TITLE@
CONFIG = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
ACTIVATIONS = {
    "relu": torch.relu,
    "gelu": torch.nn.functional.gelu,
    "gelu_new": lambda x: torch.nn.functional.gelu(x, approximate="tanh"),
    "square": torch.square,
    "tanh": torch.tanh,
}


def tokens(rows):
    """Rows of residues as tokens: with "=", the last token there is, behind them if the model reads it."""
    rows = torch.as_tensor(rows)
    behind = CONFIG["n_ctx"] - rows.shape[1]
    return torch.cat([rows, torch.full((len(rows), behind), CONFIG["d_vocab"] - 1)], 1)


def parameter(*shape):
    return torch.nn.Parameter(torch.zeros(shape))


class Embed(torch.nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.W_E = parameter(cfg["d_vocab"], cfg["d_model"])

    def forward(self, tokens):
        return self.W_E[tokens]


class PosEmbed(torch.nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.W_pos = parameter(cfg["n_ctx"], cfg["d_model"])

    def forward(self, tokens):
        return self.W_pos[: tokens.shape[1]].expand(len(tokens), -1, -1)


class LayerNorm(torch.nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.eps, self.w, self.b = cfg["eps"], parameter(cfg["d_model"]), parameter(cfg["d_model"])
        self.hook_scale, self.hook_normalized = HookPoint(), HookPoint()

    def forward(self, x):
        x = x - x.mean(-1, keepdim=True)
        scale = self.hook_scale((x.pow(2).mean(-1, keepdim=True) + self.eps).sqrt())
        return self.hook_normalized(x / scale) * self.w + self.b


class Attention(torch.nn.Module):
    def __init__(self, cfg):
        super().__init__()
        heads, width, part = cfg["n_heads"], cfg["d_model"], cfg["d_head"]
        self.W_Q, self.W_K, self.W_V = (parameter(heads, width, part) for _ in range(3))
        self.b_Q, self.b_K, self.b_V = (parameter(heads, part) for _ in range(3))
        self.W_O, self.b_O = parameter(heads, part, width), parameter(width)
        self.register_buffer("mask", torch.tril(torch.ones(cfg["n_ctx"], cfg["n_ctx"], dtype=torch.bool)))
        self.register_buffer("IGNORE", torch.tensor(float("-inf")))
        for name in ("q", "k", "v", "attn_scores", "pattern", "z"):
            setattr(self, "hook_" + name, HookPoint())

    def forward(self, x):
        q, k, v = (
            hook(torch.einsum("bpd,hdc->bphc", x, weights) + bias)
            for hook, weights, bias in (
                (self.hook_q, self.W_Q, self.b_Q),
                (self.hook_k, self.W_K, self.b_K),
                (self.hook_v, self.W_V, self.b_V),
            )
        )
        scores = torch.einsum("bqhc,bkhc->bhqk", q, k) / q.shape[-1] ** 0.5
        mask = self.mask[: x.shape[1], : x.shape[1]]
        scores = self.hook_attn_scores(torch.where(mask, scores, self.IGNORE))
        pattern = self.hook_pattern(torch.softmax(scores, dim=-1))
        z = self.hook_z(torch.einsum("bhqk,bkhc->bqhc", pattern, v))
        return torch.einsum("bqhc,hcd->bqd", z, self.W_O) + self.b_O


class Neurons(torch.nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.activation = ACTIVATIONS[cfg["act_fn"]]
        self.W_in, self.b_in = parameter(cfg["d_model"], cfg["d_mlp"]), parameter(cfg["d_mlp"])
        self.W_out, self.b_out = parameter(cfg["d_mlp"], cfg["d_model"]), parameter(cfg["d_model"])
        self.hook_pre, self.hook_post = HookPoint(), HookPoint()

    def forward(self, x):
        return self.hook_post(self.activation(self.hook_pre(x @ self.W_in + self.b_in))) @ self.W_out + self.b_out


def normalisation(cfg):
    return LayerNorm(cfg) if cfg["normalization_type"] == "LN" else torch.nn.Identity()


class Block(torch.nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.ln1, self.ln2 = normalisation(cfg), normalisation(cfg)
        self.attn, self.mlp = Attention(cfg), Neurons(cfg)
        for name in ("resid_pre", "attn_out", "resid_mid", "mlp_out", "resid_post"):
            setattr(self, "hook_" + name, HookPoint())

    def forward(self, x):
        x = self.hook_resid_pre(x)
        x = self.hook_resid_mid(x + self.hook_attn_out(self.attn(self.ln1(x))))
        return self.hook_resid_post(x + self.hook_mlp_out(self.mlp(self.ln2(x))))


class Unembed(torch.nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.W_U, self.b_U = parameter(cfg["d_model"], cfg["d_vocab_out"]), parameter(cfg["d_vocab_out"])

    def forward(self, x):
        return x @ self.W_U + self.b_U


class Model(HookedRootModule):
    """Tokens (row, token) to logits at every token (row, token, class)."""

    def __init__(self, cfg=CONFIG):
        super().__init__()
        self.embed, self.pos_embed = Embed(cfg), PosEmbed(cfg)
        self.hook_embed, self.hook_pos_embed = HookPoint(), HookPoint()
        self.blocks = torch.nn.ModuleList(Block(cfg) for _ in range(cfg["n_layers"]))
        self.ln_final, self.unembed = normalisation(cfg), Unembed(cfg)
        self.setup()

    def forward(self, tokens):
        x = self.hook_embed(self.embed(tokens)) + self.hook_pos_embed(self.pos_embed(tokens))
        for block in self.blocks:
            x = block(x)
        return self.unembed(self.ln_final(x))


def load(path=Path(__file__).with_suffix(".safetensors")):
    model = Model()
    model.load_state_dict(load_file(path))
    return model.eval()
'''
"""The module that is written."""
