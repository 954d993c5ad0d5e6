"""Networks of real torch in, ours out to torch, TransformerLens and nnsight. `make interop` runs these."""

from __future__ import annotations

import copy
import importlib.util
import warnings
from pathlib import Path

import numpy as np
import pytest

pytestmark = pytest.mark.interop
torch = pytest.importorskip("torch", reason="make interop installs it")

import torch_networks as theirs  # noqa: E402
from safetensors.torch import save_file  # noqa: E402

import modgrok as mg  # noqa: E402
from modgrok.base.errors import InputError  # noqa: E402
from modgrok.inspection.inside import whole_inside  # noqa: E402
from modgrok.networks.models import Mlp, Rows, Transformer  # noqa: E402

P, ROWS = theirs.P, theirs.ROWS.numpy()
SUMS = np.array([(a + b) % P for a, b in ROWS.tolist()])
TOKENS = {"mlp": theirs.ROWS, "transformer": theirs.with_equals(theirs.ROWS)}
STEPS = {"mlp": 2500, "transformer": 1200}


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    """Small matrices: threads wait for each other longer than they compute."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module", params=TOKENS)
def trained(request):
    make = {"mlp": theirs.Mlp, "transformer": theirs.Transformer}[request.param]
    module = theirs.trained(make, TOKENS[request.param], steps=STEPS[request.param])
    with torch.no_grad():
        logits = module(TOKENS[request.param])
    return request.param, module, (logits[:, -1] if logits.ndim == 3 else logits).numpy()


def exported(kind, module, path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            module,
            (TOKENS[kind][:3],),
            str(path),
            input_names=["tokens"],
            output_names=["logits"],
            dynamic_axes={"tokens": {0: "row"}},
            dynamo=False,
        )
    return path


def sources(kind, module, folder):
    torch.save(module.state_dict(), folder / "theirs.pt")
    save_file(module.state_dict(), folder / "theirs.safetensors")
    return {
        "module": module,
        "state dict": module.state_dict(),
        "pt": folder / "theirs.pt",
        "safetensors": folder / "theirs.safetensors",
        "onnx": exported(kind, module, folder / "theirs.onnx"),
    }


def test_in_double_precision_the_logits_are_the_same_to_the_last_digits(trained):
    """Rounding of float32 is a few millionths of logits up to 40; without it nothing differs."""
    kind, module, _ = trained
    module = copy.deepcopy(module).double()
    with torch.no_grad():
        logits = module(TOKENS[kind]).numpy()
    logits = logits[:, -1] if logits.ndim == 3 else logits
    for source in (module, module.state_dict()):
        network = mg.wrap(source, "n1 + n2", mod=P)
        assert network.model.name == kind
        np.testing.assert_allclose(network(ROWS), logits, rtol=0, atol=1e-9)


def test_a_trained_network_has_the_same_logits_as_module_state_dict_and_onnx(trained, tmp_path):
    kind, module, logits = trained
    assert (logits.argmax(1) == SUMS).mean() > 0.99, "the loop of this test must make a network that has learned"
    rows = theirs.training_rows().numpy()
    for name, source in sources(kind, module, tmp_path).items():
        network = mg.wrap(source, "n1 + n2", mod=P, training=rows)
        np.testing.assert_allclose(network(ROWS), logits, atol=1e-5 * np.abs(logits).max(), err_msg=name)
        found = mg.verify(network)
        assert found.errors == (logits.argmax(1) != SUMS).sum() and found.proof is None
        looked = mg.inspect(network)
        assert looked.logits.analytical_share > 0.6 and looked.logits.key_frequencies
        assert set(looked.logits.accuracies["full"]) == {"all", "train", "test"}
        assert network.model.name == kind and looked.inside.layers, f"{name} shows its neurons"
        assert bool(looked.inside.attention) == (kind == "transformer")


def test_without_a_word_about_its_function_that_is_found_and_the_network_is_decompiled(trained, tmp_path):
    kind, module, logits = trained
    torch.save({"model_state_dict": module.state_dict(), "epoch": 3}, tmp_path / "checkpoint.pt")
    network = mg.wrap(tmp_path / "checkpoint.pt")
    np.testing.assert_array_equal(network.table().reshape(-1), logits.argmax(1))
    assert network.expression == "n1 + n2" and network.modulus == P
    found = mg.decompile(network)
    assert found.formula == f"n1 + n2 mod {P}" and found.twin.agreement >= 0.99


def test_a_module_of_its_own_layout_is_known_by_its_logits(trained):
    _, module, logits = trained

    class Other(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner, self.scale = module, torch.nn.Parameter(torch.tensor(2.0))

        def forward(self, tokens):
            return (self.scale * self.inner(tokens),)

        def state_dict(self, *_, **__):
            raise RuntimeError("its weights are elsewhere")

    network = mg.wrap(Other(), "n1 + n2", mod=P)
    assert network.model.name == "logits"
    np.testing.assert_allclose(network(ROWS), 2 * logits, rtol=1e-5, atol=1e-4)


def test_checkpoints_make_a_film(trained, tmp_path):
    kind, module, _ = trained
    fresh = {"mlp": theirs.Mlp, "transformer": theirs.Transformer}[kind]()
    for step, each in ((0, fresh), (STEPS[kind], module)):
        torch.save(each.state_dict(), tmp_path / f"step_{step}.pt")
    torch.save({"state_dicts": [fresh.state_dict(), module.state_dict()], "epochs": [0, 70]}, tmp_path / "run.pth")
    for source, last in ((sorted(tmp_path.glob("step*")), STEPS[kind]), (tmp_path / "run.pth", 70)):
        film = mg.inspect(mg.wrap(source, "n1 + n2", mod=P)).film
        assert film.steps.tolist() == [0, last]
        assert film.measures["full_accuracy_all"][0] < 0.2 and film.measures["full_accuracy_all"][1] > 0.99


# --------------------------------------------------------------------------------------------- bad input


class Evil:
    """What a pickle does when it is opened by anything that makes objects."""

    def __reduce__(self):
        return (print, ("a file has run code",))


def pickled(path):
    torch.save(Evil(), path)


def bare_pickle(path):
    import pickle

    path.write_bytes(pickle.dumps(Evil()))


def packed(path):
    import zipfile

    torch.save(torch.nn.Linear(3, 3).state_dict(), path.with_suffix(".zip"))
    with zipfile.ZipFile(path.with_suffix(".zip")) as old, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            new.writestr(name, old.read(name))


def repeated(path):
    torch.save({"embedding.weight": torch.zeros(1).expand(10**6, 10**6)}, path)


BAD = {
    "no code of a file is run": pickled,
    "a bare pickle": bare_pickle,
    "is packed": packed,
    "too large": repeated,
    "no plain tensor": lambda path: torch.save({"embedding.weight": torch.zeros(7, 3, device="meta")}, path),
    "holds no state dict": lambda path: torch.save({"epoch": 3}, path),
    "no layout is known": lambda path: torch.save(torch.nn.LSTM(3, 4).state_dict(), path),
}


@pytest.mark.parametrize("message", BAD)
def test_an_enemys_file_is_refused_in_one_line_and_nothing_of_it_is_run(message, tmp_path, capsys):
    path = tmp_path / "theirs.pt"
    BAD[message](path)
    with pytest.raises(InputError) as error:
        mg.wrap(path, "n1 + n2", mod=P)
    assert message in str(error.value) and "\n" not in str(error.value)
    assert "run code" not in capsys.readouterr().out


def test_a_module_that_raises_and_one_of_another_modulus_are_refused_in_one_line(trained):
    _, module, _ = trained

    class Raises(torch.nn.Module):
        def forward(self, tokens):
            raise RuntimeError("no such\nlayer")

    for other, mod, message in ((Raises(), P, "no such layer"), (module, 29, "31 classes where 29 values")):
        with pytest.raises(InputError, match=message) as error:
            mg.wrap(other, "n1 + n2", mod=mod)
        assert "\n" not in str(error.value)


# --------------------------------------------------------------------------------------------- out


def untrained(model):
    import jax
    import jax.numpy as jnp

    params = jax.tree.map(np.asarray, model.init(jnp.float32(1), key=jax.random.key(1)))
    noise = np.random.default_rng(0)
    params = jax.tree.map(lambda leaf: leaf + noise.normal(0, 0.3, leaf.shape).astype(leaf.dtype), params)
    return mg.Network(model, params, mg.read_function("n1 + n2", model.classes), "trained")


OURS = {
    "plain": Transformer((7, 7), 7, width=16),
    "layers, biases and norms": Transformer((7, 7), 7, width=12, depth=2, heads=3, norm="layer", bias=True),
    "gelu without =": Transformer((7, 7), 7, width=8, activation="gelu", equals=False, head_width=5),
}
SMALL = np.array([(a, b) for a in range(7) for b in range(7)])


def imported(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", OURS)
def test_our_transformer_runs_in_transformer_lens_with_its_hooks(name, tmp_path):
    pytest.importorskip("transformer_lens")
    network = untrained(OURS[name])
    path, weights, _ = mg.export(network, "transformer-lens", tmp_path / "net.py").files
    module = imported(path)
    with torch.no_grad():
        logits, cache = module.load().run_with_cache(module.tokens(SMALL))
    np.testing.assert_allclose(logits[:, -1].numpy(), network(SMALL), atol=1e-5)
    for k, attention in enumerate(whole_inside(network).attention):
        pattern = cache[f"blocks.{k}.attn.hook_pattern"].numpy()
        np.testing.assert_allclose(pattern[:, :, -1], attention, atol=1e-5)
    neurons = whole_inside(network).neurons[-1]
    last = cache[f"blocks.{network.model.depth - 1}.mlp.hook_post"][:, -1].numpy()
    np.testing.assert_allclose(last, neurons, atol=1e-4)
    halved = module.load().run_with_hooks(
        module.tokens(SMALL), fwd_hooks=[("blocks.0.attn.hook_pattern", lambda pattern, hook: pattern * 0)]
    )
    assert (halved[:, -1] - logits[:, -1]).abs().max().item() > 1e-3, "a hook changes what is computed"
    back = mg.wrap(weights, "n1 + n2", mod=7, activation=network.model.activation)
    np.testing.assert_allclose(back(SMALL), network(SMALL), atol=1e-5)


def test_a_transformer_of_the_zoo_opens_in_transformer_lens_and_knows_its_function():
    pytest.importorskip("transformer_lens")
    specimen = mg.zoo(Path(__file__).parents[2] / "benchmarks" / "zoo")["transformer-product-19-0"]
    module, rows = imported(specimen.folder / "lens.py"), [[a, b] for a in range(19) for b in range(19)]
    with torch.no_grad():
        logits, cache = module.load().run_with_cache(module.tokens(rows))
    np.testing.assert_allclose(logits[:, -1].numpy(), specimen.network(np.array(rows)), atol=1e-4)
    right = np.mean([found == a * b % 19 for found, (a, b) in zip(logits[:, -1].argmax(1).tolist(), rows, strict=True)])
    assert right == pytest.approx(specimen.truth["accuracy"]) and right > 0.99
    assert cache["blocks.0.attn.hook_pattern"].shape == (361, 4, 3, 3)


@pytest.mark.parametrize("model", [*OURS.values(), Mlp((7, 7), 7, width=8, depth=3, bias=True)], ids=[*OURS, "mlp"])
def test_nnsight_traces_our_module_and_plain_hooks_work(model):
    nnsight = pytest.importorskip("nnsight")
    network = untrained(model)
    module = network.to_torch()
    rows = torch.tensor(SMALL)
    seen = {}
    deep = model.name == "transformer"
    inner = module.layers[0].pattern if deep else module.neurons[0]
    handle = inner.register_forward_hook(lambda part, given, found: seen.update(found=found.detach().numpy()))
    with torch.no_grad():
        logits = module(rows).numpy()
    handle.remove()
    np.testing.assert_allclose(logits, network(SMALL), atol=1e-5)
    inside = network.model.inside(network.params, Rows(SMALL))
    if deep and model.depth == 1:
        np.testing.assert_allclose(seen["found"][:, :, -1], inside.attention[0], atol=1e-5)
    traced = nnsight.NNsight(module)
    with traced.trace(rows):
        saved = (traced.layers[0].neurons if deep else traced.neurons[0]).output.save()
    found = saved.detach().numpy()
    np.testing.assert_allclose(found[:, -1] if deep else found, inside.neurons[0], atol=1e-4)


def test_the_state_dict_of_our_module_is_read_again():
    for model in (*OURS.values(), Mlp((7, 7), 7, width=8, depth=3, bias=True), Mlp((7, 7), 7, width=8, depth=2)):
        network = untrained(model)
        heads = getattr(model, "heads", None)
        back = mg.wrap(network.to_torch().state_dict(), "n1 + n2", mod=7, heads=heads, activation=model.activation)
        np.testing.assert_allclose(back(SMALL), network(SMALL), atol=1e-5)
    power = mg.train("n1 n2", 7, width=16, steps=2).network
    back = mg.wrap(power.to_torch().state_dict(), "n1 n2", mod=7, activation="square")
    np.testing.assert_array_equal(back(SMALL), power(SMALL))
