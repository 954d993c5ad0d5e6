import json
from argparse import ArgumentParser
from dataclasses import replace
from io import StringIO

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pyarrow.parquet as pq
import pytest
from analytic import network_of, product_expert, sum_expert
from json_keys import KEYS
from rich.console import Console

from modgrok.algebra.function import read_function
from modgrok.base.errors import InputError
from modgrok.commands import inspect as command
from modgrok.compiler.compiling import compile as modgrok_compile
from modgrok.figures.inspection import inspection_figures
from modgrok.inspection import experts as module
from modgrok.inspection.experts import accuracies, inspect_expert, snap
from modgrok.inspection.inspecting import inspect_network, neuron_columns
from modgrok.inspection.order import natural_order
from modgrok.inspection.waves import fit_waves
from modgrok.networks.circuit import Circuit, Expert
from modgrok.networks.network import Network
from modgrok.networks.storage import load
from modgrok.networks.verification import verify
from modgrok.training.inspecting import inspect
from modgrok.training.train import train


def table_of(function, p, variables=2):
    return function(*np.indices((p,) * variables)) % p


def plain(result):
    """The result as JSON text would hold it; NaN and infinity are not JSON."""
    return json.loads(json.dumps(result, allow_nan=False))


def trained(function, p, *, width, steps, weight_decay, seeds=1):
    """Two-layer x² networks after full-batch AdamW on the whole table, one for each seed."""
    target = jnp.eye(p)[function(*np.indices((p, p))) % p]
    rng, scale = np.random.default_rng(0), 0.5 / (2 * width) ** (1 / 3)
    shapes = [(seeds, 2, p, width), (seeds, width, p)]
    start = tuple(jnp.asarray(rng.normal(0, scale, shape), jnp.float32) for shape in shapes)
    optimiser = optax.adamw(0.005, b1=0.9, b2=0.98, weight_decay=weight_decay)

    def loss(weights):
        embed, readout = weights
        return jnp.mean((jnp.square(embed[0][:, None] + embed[1][None]) @ readout - target) ** 2)

    def step(carry, _):
        weights, state = carry
        updates, state = optimiser.update(jax.grad(loss)(weights), state, weights)
        return (optax.apply_updates(weights, updates), state), None

    def end(weights):
        return jax.lax.scan(step, (weights, optimiser.init(weights)), length=steps)[0][0]

    # Thousands of steps pay for what conftest.py turns off.
    polished = {"xla_backend_optimization_level": 3, "xla_llvm_disable_expensive_passes": False}
    embeds, readouts = map(np.asarray, jax.jit(jax.vmap(end), compiler_options=polished)(start))
    return [Expert(embed, readout, 2) for embed, readout in zip(embeds, readouts, strict=True)]


@pytest.fixture(scope="module")
def trained_products():
    return trained(lambda a, b: a * b, 29, width=150, steps=1500, weight_decay=5.0, seeds=3)


@pytest.mark.parametrize(
    "p, coefficients, width, dtype",
    [
        (3, (1, 1), 40, np.float32),
        (23, (2, -3), 400, np.float32),
        (11, (1, 1, 1), 2000, np.float32),
        (97, (1, 1), 700, np.float64),
    ],
)
def test_an_analytical_sum_has_ipr_1_and_obeys_the_law(p, coefficients, width, dtype):
    expert, frequencies, _ = sum_expert(p, width, coefficients, rng=np.random.default_rng(0), dtype=dtype)
    table = table_of(lambda *n: sum(c * x for c, x in zip(coefficients, n, strict=True)), p, len(coefficients))
    text = " + ".join(f"{c} n{s}" for s, c in enumerate(coefficients, start=1)).replace("+ -", "- ")
    result = plain(inspect_network(network_of(expert, text, p)).to_json())
    assert result["order"] == "additive"
    assert result["width"] == result["alive"] == result["neurons_with_phases"] == width
    assert result["ipr"] == pytest.approx(1, abs=1e-6) and result["ipr_alive"] == result["ipr"]
    assert result["common_frequency_share"] == 1
    assert result["phase_residual_quantiles"]["0.9"] < 1e-6
    assert result["power_explained"] == pytest.approx(1, abs=1e-6)
    assert result["frequencies_used"] == (p - 1) // 2
    assert result["ipr_histogram"]["counts"][-1] == width == sum(result["ipr_histogram"]["counts"])
    assert result["experts"][0]["neurons_per_frequency"] == {
        str(f): int(np.sum(frequencies == f)) for f in range(1, (p - 1) // 2 + 1)
    }
    assert result["snapped"] == {"accuracy": 1, "accuracy_nonzero": 1, "rows_checked": table.size}


def test_an_analytical_product_is_periodic_in_logarithms():
    expert, _, _ = product_expert(23, 401, (1, 1), rng=np.random.default_rng(0), root=5, dtype=np.float32)
    table = table_of(lambda a, b: a * b, 23)
    result = plain(inspect_network(network_of(expert, "n1 n2", 23)).to_json())
    assert result["order"] == "multiplicative"
    assert result["alive"] == 401 and result["constant"] == 1 and result["answer_zero"] == 0
    assert result["ipr_alive"] == pytest.approx(1, abs=1e-6)
    assert result["common_frequency_share"] == 1 and result["phase_residual_median"] < 1e-6
    assert result["snapped"] == {"accuracy": 1, "accuracy_nonzero": 1, "rows_checked": table.size}
    other = inspect_network(network_of(expert, "n1 n2", 23), order="additive").to_json()
    assert other["order"] == "additive" and other["ipr"] < 0.3 and other["common_frequency_share"] < 0.3
    assert other["nearest_design"]["name"] is None and "do not have the form" in other["nearest_design"]["words"]


def test_dead_neurons_are_counted_left_out_and_snapped_to_zero():
    rng = np.random.default_rng(1)
    expert, _, _ = sum_expert(11, 400, (1, 1), rng=rng, dtype=np.float32)
    noise = rng.normal(size=(3, 11, 600)).astype(np.float32)
    noise *= np.where(np.arange(600) < 300, 1e-20, 0).astype(np.float32)
    mostly_dead = Expert(
        np.concatenate([expert.embed, noise[:2]], axis=2), np.concatenate([expert.readout, noise[2].T]), 2
    )
    inspected = inspect_network(network_of(mostly_dead, "n1 + n2", 11))
    result = plain(inspected.to_json())
    assert (result["alive"], result["width"]) == (400, 1000)
    assert result["ipr_alive"] == pytest.approx(1, abs=1e-6) and result["common_frequency_share"] == 1
    assert 0.4 < result["ipr"] < 0.6
    assert result["snapped"]["accuracy"] == 1
    (snapped,) = inspected.snapped.circuit.experts
    assert not snapped.embed[:, :, 400:].any() and not snapped.readout[400:].any()


def test_a_network_of_zeros_gives_zeros_and_no_nan(tmp_path):
    inspected = inspect_network(network_of(Expert(np.zeros((2, 5, 7)), np.zeros((7, 5)), 2), "n1 + n2", 5))
    result = plain(inspected.to_json())
    assert result["alive"] == result["ipr"] == result["ipr_alive"] == result["common_frequency_share"] == 0
    assert result["phase_residual_median"] is None and result["nearest_design"]["name"] is None
    assert list(inspection_figures(inspected)) == ["logits"]


def test_decay_that_kills_most_neurons_leaves_numbers_finite(tmp_path):
    (expert,) = trained(lambda a, b: a * b, 11, width=200, steps=500, weight_decay=25.0)
    inspected = inspect_network(network_of(expert, "n1 n2", 11))
    result = plain(inspected.to_json())
    assert 0 < result["alive"] < 100
    assert result["ipr_alive"] > 0
    assert list(inspection_figures(inspected)) == FIGURES


@pytest.mark.parametrize("p", [2, 3])
def test_the_smallest_moduli(p, tmp_path):
    rng = np.random.default_rng(2)
    expert = Expert(rng.normal(size=(2, p, 6)), rng.normal(size=(6, p)), 2)
    inspected = inspect_network(network_of(expert, "n1 + n2", p))
    result = plain(inspected.to_json())
    assert 0 <= result["common_frequency_share"] <= 1 and 0 < result["ipr"] <= 1
    assert list(inspection_figures(inspected)) == FIGURES
    if p == 2:
        assert result["order"] == "additive" and result["phase_residual_median"] is None


def test_snapping_leaves_one_cosine_per_block_under_the_law_and_keeps_zero():
    rng = np.random.default_rng(3)
    expert, _, _ = product_expert(23, 401, (1, 1), rng=rng, root=5)
    bent = Expert(
        expert.embed + rng.normal(0, 0.2, expert.embed.shape),
        expert.readout + rng.normal(0, 0.2, (401, 23)),
        2,
    )
    inspected = inspect_expert(bent, [natural_order("multiplicative", 23, 2)])
    waves = inspected.waves
    assert np.flatnonzero(inspected.answers_zero).tolist() == [400]
    assert np.median(np.abs(waves.residual[waves.has_phases])) > 0.01
    snapped = snap(bent, waves)
    again = fit_waves(snapped, inspected.residue_order.labels.outputs)
    assert np.abs(again.residual[again.has_phases]).max() < 1e-12
    np.testing.assert_allclose(again.explained[:, waves.active], 1, atol=1e-12)
    np.testing.assert_allclose(again.amplitude, waves.amplitude, atol=1e-12)
    np.testing.assert_array_equal(snapped.embed[:, 0], bent.embed[:, 0])
    np.testing.assert_array_equal(snapped.readout[:, 0], bent.readout[:, 0])
    error = np.linalg.norm(snapped.embed - expert.embed) / np.linalg.norm(bent.embed - expert.embed)
    assert error < 0.5, "the fit must undo most of the noise"


def test_trained_products_are_the_analytical_solution(trained_products):
    """Three seeds: shares are medians over networks; exceptions are pooled, since one network has a dozen."""
    inspected = [inspect_network(network_of(expert, "n1 n2", 29)) for expert in trained_products]
    results = [plain(found.to_json()) for found in inspected]
    median = {
        name: np.median([result[name] for result in results])
        for name in ("ipr_alive", "power_explained", "common_frequency_share", "phase_residual_median")
    }
    assert median["ipr_alive"] > 0.8 and median["power_explained"] > 0.85
    assert median["common_frequency_share"] >= 0.9
    assert median["phase_residual_median"] <= 0.05
    for result in results:
        assert result["order"] == "multiplicative"
        assert result["snapped"]["accuracy_nonzero"] >= 0.999
        assert result["experts"][0]["multipliers"] == [1, 1] and result["experts"][0]["offset"] == 0
    waves = [found.experts[0].waves for found in inspected]
    exceptions = np.concatenate([wave.frequency[wave.active & ~wave.common] for wave in waves])
    assert np.mean(exceptions == 0) > 0.8, "they tell zero from the rest, which are alike to them"


@pytest.mark.parametrize(
    "text, modulus, orders",
    [
        ("2n1^4 n2 + 3 n1 n2^3 + n2 + 5", 23, {"multiplicative", "additive"}),
        ("n1 n2 + 3", 23, {"witness"}),
        ("n1^2 + n2", 23, {"witness"}),
        ("n1^3 + 2 n2", 23, {"witness"}),
        ("n1 + 7 n2", 15, {"additive"}),
    ],
)
@pytest.mark.parametrize("method", ["paper", "exact"])
def test_compiled_networks_have_ipr_1_and_obey_the_law(text, modulus, orders, method):
    """Whatever the plan folds into tables: exponents, coefficients, constants, whole one-variable functions."""
    inspected = inspect_network(modgrok_compile(text, modulus, method=method))
    result = plain(inspected.to_json())
    assert {expert["order"] for expert in result["experts"]} == orders
    assert result["ipr"] == pytest.approx(1, abs=1e-6) and result["ipr_alive"] == pytest.approx(1, abs=1e-6)
    assert result["common_frequency_share"] == 1
    assert result["power_explained"] == pytest.approx(1, abs=1e-6)
    assert result["phase_residual_quantiles"]["0.9"] < 1e-6
    assert result["snapped"]["accuracy"] == 1


def test_a_network_trained_on_a_composed_function_obeys_the_law_in_the_places_of_its_plan(tmp_path):
    """(n1 + n2²)³ mod 31: n2² has 16 values and the cube 11, so neither block is a cosine over residues."""
    (expert,) = trained(lambda a, b: (a + b * b) ** 3, 31, width=200, steps=600, weight_decay=5.0)
    network, i = network_of(expert, "(n1 + n2^2)^3", 31), np.arange(31)
    natural = plain(inspect_network(network, order="additive").to_json())
    assert natural["common_frequency_share"] < 0.5 and natural["snapped"]["accuracy"] < 0.5
    inspected = inspect_network(network)
    result = plain(inspected.to_json())
    assert result["order"] == "witness" and result["experts"][0]["ipr_by_block"][1:] == [None, None]
    assert result["common_frequency_share"] > 0.85 and result["phase_residual_median"] < 0.1
    assert result["snapped"]["accuracy"] == 1
    assert list(inspection_figures(inspected)) == FIGURES
    (expert_waves,) = (part.waves for part in inspected.experts)
    assert np.array_equal(expert_waves.labels.tables, np.stack([i, i**2 % 31]))
    assert np.array_equal(expert_waves.labels.outputs, i**3 % 31)


def test_experts_of_a_circuit_are_inspected_each_in_its_order():
    """n1 n2 + 3 n1 mod 11 as a product that a sum reads through softmax."""
    rng = np.random.default_rng(4)
    multiply, _, _ = product_expert(11, 801, (1, 1), rng=rng, root=2)
    add, _, _ = sum_expert(11, 800, (1, 3), rng=rng)
    circuit = Circuit((multiply, add), np.ones(2), ((0, 1), (2, 0)), 2)
    network = Network.of_circuit(circuit, read_function("n1 n2 + 3 n1", 11), "exact")
    result = plain(inspect_network(network).to_json())
    assert result["order"] == "mixed"
    assert [expert["order"] for expert in result["experts"]] == ["multiplicative", "additive"]
    assert [expert["multipliers"] for expert in result["experts"]] == [[1, 1], [1, 3]]
    assert result["width"] == 1601 and result["ipr"] == pytest.approx(1, abs=1e-6)
    assert result["phase_residual_median"] < 1e-6
    assert result["snapped"]["accuracy"] == 1


def test_bad_orders_are_explained():
    expert, _, _ = sum_expert(5, 4, (1, 1), rng=np.random.default_rng(6))
    network = network_of(expert, "n1 + n2", 5)
    with pytest.raises(InputError, match="order must be auto or additive or multiplicative or witness, got 'natural'"):
        inspect_network(network, order="natural")
    with pytest.raises(InputError, match="the order called witness is for functions that need it; this one has the"):
        inspect_network(network, order="witness")
    two = Network.of_circuit(
        Circuit((expert, expert), np.ones(2), ((0, 1), (2, 0)), 2), read_function("n1^2 n2^2 + n1", 5), "exact"
    )
    with pytest.raises(
        InputError, match="order witness needs a network whose experts are those of a plan of its polynomial"
    ):
        inspect_network(two, order="witness")
    composite = Expert(np.ones((2, 4, 3)), np.ones((3, 4)), 2)
    additive = natural_order("additive", 4, 2)
    assert inspect_expert(composite, [additive]).order == "additive"
    with pytest.raises(InputError, match="modulus must be a prime for the multiplicative order, got 4"):
        inspect_network(network_of(composite, "n1 + n2", 4), order="multiplicative")
    with pytest.raises(InputError, match="inputs and output need the same modulus, got 4 and 5"):
        inspect_expert(replace(composite, readout=np.ones((3, 5))), [additive])


def test_runs_and_paths_are_inspected_and_nothing_is_written_unless_asked(tmp_path):
    run = train("n1 + n2", 7, width=20, steps=5, out=tmp_path / "run")
    before = sorted(tmp_path.rglob("*"))
    found = inspect(run)
    assert found.network is run.network and found.files == () and found.to_json()["files"] == []
    assert plain(inspect(tmp_path / "run").to_json()) == plain(found.to_json())
    assert sorted(tmp_path.rglob("*")) == before
    written = inspect(run.network, out=tmp_path / "out")
    figures = [f"{name}.{kind}" for name in FIGURES for kind in ("png", "svg")]
    assert [path.name for path in written.files] == ["neurons.parquet", "snapped.safetensors", *figures]
    assert sorted(written.files) == sorted((tmp_path / "out").iterdir())


def test_accuracies_are_over_the_table_or_a_sample_of_it(monkeypatch):
    expert, _, _ = sum_expert(11, 400, (1, 1), rng=np.random.default_rng(0))
    network = network_of(expert, "n1 + n2", 11)
    table = table_of(np.add, 11)
    table[3, 4] = 0
    assert accuracies(network) == (1, 1, 121)
    other = replace(network, function=read_function(table, 11))
    assert accuracies(other) == (120 / 121, 99 / 100, 121)
    monkeypatch.setattr(module, "MOST_WORK", 60 * network.circuit.parameters)
    assert accuracies(network) == (1, 1, 60)
    assert accuracies(replace(network, function=read_function("n1 + n2 + 1", 11))) == (0, 0, 60)


def test_neuron_columns_hold_one_row_per_neuron_and_block():
    expert, frequencies, phases = product_expert(7, 21, (1, 1), rng=np.random.default_rng(7), root=3)
    inspected = inspect_network(network_of(expert, "n1 n2", 7))
    columns = neuron_columns(inspected)
    assert {len(values) for values in columns.values()} == {21 * 3}
    assert columns["block"][:3].tolist() == ["n1", "n2", "readout"]
    assert columns["frequency"][:-3:3].tolist() == frequencies.tolist()
    np.testing.assert_allclose(columns["phase"][:-3:3], phases[0], atol=1e-12)
    assert np.isnan(columns["phase_residual"][-3:]).all() and columns["constant"][-3:].all()


@pytest.mark.draws
def test_the_command_writes_figures_neurons_and_the_snapped_network(tmp_path):
    expert, _, _ = product_expert(7, 21, (1, 1), rng=np.random.default_rng(7), root=3)
    network_of(expert, "n1 n2", 7).save(tmp_path / "run" / "weights.safetensors")
    parser = ArgumentParser()
    command.add_arguments(parser)
    console = Console(file=StringIO(), width=100)
    found = command.run(parser.parse_args([str(tmp_path / "run")]), console)
    result = plain(found.to_json())
    assert set(result) == set(KEYS["inspect"])
    folder = tmp_path / "run" / "inspection"
    figures = {f"{name}.{kind}" for name in FIGURES for kind in ("png", "svg")}
    assert {path.name for path in folder.iterdir()} == figures | {"neurons.parquet", "snapped.safetensors"}
    assert sorted(result["files"]) == sorted(str(path) for path in folder.iterdir())
    assert pq.read_metadata(folder / "neurons.parquet").num_rows == 21 * 3
    snapped = load(folder / "snapped.safetensors")
    assert snapped.method == "snapped" and verify(snapped).accuracy == result["snapped"]["accuracy"]
    command.show(found, console, parser.parse_args([str(tmp_path / "run")]))
    shown = console.file.getvalue()
    assert "phase law, median error" in shown and "multiplicative" in shown
    assert "replaced by its cosines it gets " in shown
    assert all(path.stat().st_size > 1000 for path in folder.glob("*.png"))


def test_the_command_takes_another_order_and_another_folder(tmp_path):
    expert, _, _ = product_expert(7, 21, (1, 1), rng=np.random.default_rng(7), root=3)
    file = network_of(expert, "n1 n2", 7).save(tmp_path / "net.safetensors")
    parser = ArgumentParser()
    command.add_arguments(parser)
    words = [str(file), "--order", "additive", "--out", str(tmp_path / "o")]
    assert command.run(parser.parse_args(words), Console(file=StringIO())).order == "additive"
    assert (tmp_path / "o" / "ipr.png").exists()
    assert command.folder_beside(tmp_path / "net.safetensors", "inspection") == tmp_path / "net-inspection"


FIGURES = ["ipr", "spectrum", "neurons", "phases", "frequencies", "logits"]


def test_many_experts_have_a_line_each_at_eighty_columns():
    network = modgrok_compile("2n1^4 n2 + n1^2 n2^2 + 3n1 n2^3", mod=23, frequencies="minimal")
    found = inspect_network(network)
    assert len(found.experts) > 2
    console = Console(file=StringIO(), width=80)
    command.show_experts(found, console)
    lines = console.file.getvalue().splitlines()
    assert [line.split()[:2] for line in lines[2:7]] == [["expert", str(k)] for k in range(1, 6)]
    assert "…" not in "".join(lines) and max(map(len, lines)) <= 80
    assert lines[7].startswith("all experts: the narrow design") and len(lines) == 9
