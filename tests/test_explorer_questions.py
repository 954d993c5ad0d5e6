"""The questions of the explorer, without a server: what the page is told, against integers."""

from __future__ import annotations

import base64
import re
import struct
from dataclasses import replace

import numpy as np
import pytest

from modgrok.algebra.function import read_function
from modgrok.base.errors import InputError
from modgrok.compiler.compiling import compile
from modgrok.explorer import censuses, dropped, functions, network_answers, papers, settings, views
from modgrok.training.train import train

PLACES = {"runs": "runs", "tables": "tables", "report": "report", "census": ""}


def asked(question, **params):
    return question(PLACES | params)


def floats(text):
    return np.frombuffer(base64.b64decode(text), "<f4")


def test_the_order_by_the_witness_puts_equal_values_on_diagonals():
    found = asked(functions.verdict, expression="(2n1 + 3n2)^4", mod="31")
    rows, columns = found["order"]["rows"], found["order"]["columns"]
    assert sorted(rows) == sorted(columns) == list(range(31))
    picture = [[(2 * a + 3 * b) ** 4 % 31 for b in columns] for a in rows]
    for i in range(31):
        for j in range(31):
            assert picture[i][j] == picture[(i + 1) % 31][(j - 1) % 31]


def test_the_lines_of_a_proof_hold_so_many_equal_cells_that_the_group_is_too_small():
    first = asked(functions.verdict, expression="8x^5 y + 34x^9 y^5", mod="97", only="verdict")
    found = asked(functions.verdict, expression="8x^5 y + 34x^9 y^5", mod="97")
    assert not first["expects"] and first["expected_accuracy"]["value"] is None, "the verdict is there sooner"
    assert found["expects"] and found["expected_accuracy"]["value"] > 0.9 and found["answer"][0] == first["answer"][0]
    assert found["verdict"] == "not-in-class"
    proof = {part["family"]: part for part in found["proof"]}["multiplicative"]
    table = [[(8 * a**5 * b + 34 * a**9 * b**5) % 97 for b in range(97)] for a in range(97)]
    columns = list(zip(*table, strict=True))
    lines = [set_of(table, a, columns) for a in proof["rows"]] + [set_of(columns, b, table) for b in proof["columns"]]
    most = {}
    for line in lines:
        for value, count in line.items():
            most[value] = max(most.get(value, 1), count)
    others = {value for row in table[1:] for value in row[1:]} - set(most)
    assert sum(most.values()) + len(others) > 96
    shown, of_all = re.search(r"makes (\d+) of the (\d+)", proof["note"]).groups()
    assert (
        proof["rows"] == [19] and f"{of_all} in all" in proof["text"]
    )  # one total, in the sentence and below the table
    assert int(shown) == max(most.values()) + len({value for row in table[1:] for value in row[1:]}) - 1
    assert found["expected_accuracy"]["value"] is not None and "%" in found["expected_text"]


def set_of(lines, k, across):
    """How often each value stands in a line, equal lines across it counted once; constant lines are absorbed."""
    counted, seen = {}, set()
    for other, value in zip(across, lines[k], strict=True):
        if len(set(other)) > 1 and other not in seen:
            seen.add(tuple(other))
            counted[value] = counted.get(value, 0) + 1
    return counted


def test_the_flow_of_an_input_ends_in_the_value_that_integers_give_and_frequencies_add_up():
    for method, n in (("exact", (4, 6)), ("exact", (0, 5))):
        found = asked(network_answers.flow, expression="2n1^2 n2 + n1", mod="7", method=method, n=f"{n[0]},{n[1]}")
        value = (2 * n[0] ** 2 * n[1] + n[0]) % 7
        assert found["value"] == found["expected"] == value and found["correct"] and found["row"] == list(n)
        logits = floats(found["logits"])
        parts = [floats(part["logits"]) for part in found["by_frequency"]]
        parts += [floats(found["rest"])] if found["rest"] else []
        assert logits.argmax() == value and np.allclose(np.sum(parts, axis=0), logits, atol=1e-5)
        wires = {wire["id"]: wire for wire in found["wires"]}
        product = wires["e1"]
        assert product["value"] == floats(product["distribution"]).argmax()
        assert np.isclose(floats(product["distribution"]).sum(), 1)


def test_a_network_s_graph_has_every_wire_and_its_expert_s_waves_are_its_weights():
    found = asked(network_answers.network, expression="n1 n2 + n1", mod="7", frequencies="minimal")
    ids = [node["id"] for node in found["graph"]["nodes"]]
    assert ids[:2] == ["n1", "n2"] and found["graph"]["output"] == ids[-1]
    assert all(source in ids and target in ids for source, target in found["graph"]["edges"])
    one = asked(network_answers.expert, expression="3n1 + n2", mod="7")
    waves = floats(one["waves"]).reshape(len(one["shown"]), len(one["blocks"]), one["period"])
    neurons, place = one["neurons"], np.arange(7)
    for row, k in ((row, k) for row, k in zip(waves, one["shown"], strict=True) if neurons["frequency"][k]):
        for block, weights in enumerate(row):
            angle = 2 * np.pi * neurons["frequency"][k] * place / 7 + neurons["phase"][k][block]
            assert np.allclose(neurons["amplitude"][k][block] * np.cos(angle), weights, atol=1e-5)


def test_settings_are_read_as_the_command_line_reads_them():
    config = settings.asked_config(PLACES | {"expression": " n1 n2 ", "mod": 7, "settings": {"weight_decay": 5}})
    assert config.expression == "n1 n2" and isinstance(config.weight_decay, float) and config.changed() == {}
    with pytest.raises(InputError, match="must be a word"):
        settings.asked_config(PLACES | {"expression": "n1", "mod": 7, "settings": {"loss": 3}})
    offered = asked(settings.settings)
    assert set(offered["help"]) <= set(offered["presets"]["mlp"]["sgd"]) and "depth" in offered["own"]["mlp"]


def test_the_census_comes_filtered_and_thinned():
    found = asked(censuses.census, most="500")
    assert found["shown"] == 500 == len(found["expression"]) == len(floats(found["accuracy"]))
    family = found["families"][3]
    one = asked(censuses.census, family=family, modulus="97")
    shown = struct.unpack(f"<{one['shown']}H", base64.b64decode(one["modulus"]))
    assert set(shown) == {97} and set(base64.b64decode(one["family"])) == {3}
    assert floats(one["accuracy"]).min() >= 0 and floats(one["accuracy"]).max() <= 1
    for wrong in ({"family": "none"}, {"modulus": "98"}, {"share": "0.55"}, {"across": "none"}):
        with pytest.raises(InputError, match=f"{next(iter(wrong))} must be one of"):
            asked(censuses.census, **wrong)


def test_losses_of_the_census_are_measured_against_those_of_random_tables():
    noise = asked(censuses.census, family="random", modulus="97", share="0.5")
    assert set(floats(noise["fraction"]).round(3)) == {np.float32(0.5)}
    assert floats(noise["x"]).mean() == pytest.approx(1, abs=0.01)
    sums = asked(censuses.census, family="{a}x + {b}y", modulus="97", share="0.5")
    assert floats(sums["x"]).max() < 0.1 and floats(sums["accuracy"]).min() > 0.99
    law = noise["law"]["accuracy"]
    assert law == sorted(law, reverse=True) and law[0] == 1 and law[-1] < 0.05
    loss = asked(censuses.census, family="random", modulus="97", share="0.5", across="loss")
    assert loss["x"] == loss["loss"] and loss["law"] is None and loss["shown"] == noise["shown"]
    small = asked(censuses.census, modulus="5")
    assert small["shown"] == 0 and "memorised almost for free" in small["text"]
    assert asked(censuses.census, modulus="5", across="loss")["shown"] > 400


def test_a_table_of_the_census_that_is_no_expression_can_be_opened(tmp_path):
    found = asked(censuses.census, family="relabelled-sum", modulus="23", across="loss")
    params = PLACES | {"tables": str(tmp_path), "family": "relabelled-sum", "modulus": "23"}
    opened = censuses.census_table(params | {"seed": str(found["seed"][0])})
    shown = functions.verdict(PLACES | {"tables": str(tmp_path), "table": opened["table"]})
    assert shown["verdict"] == "in-class" and shown["family"] == "additive" and shown["modulus"] == 23
    for wrong in ({"family": "/etc/*.csv"}, {"seed": "-1"}, {"modulus": "24"}):
        with pytest.raises(InputError, match="must be one of"):
            censuses.census_table(params | {"seed": str(found["seed"][0])} | wrong)


def test_items_of_the_paper_are_listed_with_what_was_recorded(tmp_path):
    params = PLACES | {"report": str(tmp_path)}
    listed = {item["item"]: item for item in papers.paper(params)["items"]}
    assert listed["table2"]["recorded"]["published"] and listed["table2"]["result"] is None
    found = papers.paper_item(params | {"item": "table2", "from": "recorded"})
    assert all(len(row) == len(table["headings"]) for table in found["tables"] for row in table["rows"])
    with pytest.raises(InputError, match="has not been computed here"):
        papers.paper_item(params | {"item": "table1"})
    with pytest.raises(InputError, match="item must be one of"):
        papers.paper_item(params | {"item": "<script>"})


def test_neurons_that_die_give_their_places_to_the_largest_of_the_others():
    network = train("n1 + n2", 7, width=30, steps=2).network
    shown = views.still_shown(network, None)
    dead = shown[2]
    embed, readout = (np.array(weights) for weights in (network.params.embed, network.params.readout))
    embed[..., dead], readout[dead] = 0, 0
    dying = replace(network, params=replace(network.params, embed=embed, readout=readout))
    later = views.still_shown(dying, shown)
    assert dead not in later and len(set(later)) == len(shown) == views.MOST_NEURONS
    assert [k for k in later if k in shown] == [k for k in shown if k != dead]


# ----------------------------------------------------------------------------------------- groups and fields


def test_a_group_in_the_field_of_the_function_has_names_and_an_order_by_cosets():
    found = asked(functions.function, expression="a b in S4", mod="97")  # what was typed before
    assert found["title"] == "a b in S4" and found["modulus"] == 24 and found["typeset"] is None
    assert found["elements"][:3] == ["()", "(3 4)", "(2 3)"]
    order = found["orders"]["cosets"]["rows"]
    assert sorted(order) == list(range(24)) == sorted(found["orders"]["cosets"]["columns"])
    values = np.frombuffer(base64.b64decode(found["table"]), "<u2").reshape(24, 24)[np.ix_(order, order)]

    def is_even(name):
        return sum(max(0, len(cycle.split()) - 1) for cycle in name.strip("()").split(")(")) % 2 == 0

    even = np.array([[is_even(found["elements"][value]) for value in row] for row in values])
    assert even[:12, :12].all() and even[12:, 12:].all() and not even[:12, 12:].any() and not even[12:, :12].any()
    verdict = asked(functions.verdict, expression="a b in S4", mod="24")
    assert "note" not in verdict["facts"], "which tells of residues"
    for coloured in (found["orders"]["cosets"], verdict["order"]):
        assert sorted(coloured["values"]) == list(range(24))
        assert all(is_even(found["elements"][value]) == (place < 12) for place, value in enumerate(coloured["values"]))


def test_the_neurons_of_a_network_of_a_group_are_told_apart_by_representations():
    """Their weights are no waves on a circle, and stand over the elements."""
    one = asked(network_answers.expert, expression="a b in S4", mod="24", frequencies="all")
    assert one["split"] == "representation" and one["order"] == "cosets" and one["period"] == 24
    degrees = [int(kind.split()[-1]) for kind in one["kinds"]]
    assert sum(degree**2 for degree in degrees) == 24
    assert one["frequencies"] == {str(number): degrees[number] ** 3 for number in range(1, 5)}
    assert one["width"] == 1 + sum(one["frequencies"].values()), "and a constant neuron"
    waves = floats(one["waves"]).reshape(len(one["shown"]), 3, 24)
    sign = waves[[one["neurons"]["frequency"][k] for k in one["shown"]].index(1)]
    assert np.ptp(sign[:, :12], axis=1).max() < 1e-6 < np.abs(sign[:, 0] - sign[:, 12]).min(), "even beside odd"
    found = asked(network_answers.flow, expression="a b in S4", mod="24", n="5,7", frequencies="all")
    parts = {part["frequency"]: floats(part["logits"]) for part in found["by_frequency"]}
    assert found["split"] == "representation" and set(parts) == {0, 1, 2, 3, 4}
    assert np.allclose(np.sum(list(parts.values()), axis=0), floats(found["logits"]), atol=1e-4)


def test_neurons_of_a_training_in_a_group_are_drawn_over_its_elements():
    network = compile("a b", group="S3")
    seen = views.neuron_view(network, [0, 1])
    assert seen["order"] == "cosets" and seen["blocks"] == ["a"] and seen["period"] == 6
    embed, order = np.asarray(network.circuit.experts[0].embed), functions.coset_orders(network.function)["rows"]
    assert np.allclose(floats(seen["waves"]).reshape(2, 6), embed[0][order][:, :2].T)


@pytest.mark.parametrize(
    "function", ["n1 n2 mod 15", np.random.default_rng(0).integers(0, 7, (7, 7))], ids=("remainders", "table")
)
def test_an_expert_whose_weights_are_no_waves_is_shown_as_it_is(function):
    """One that joins residues of two moduli, which share no circle, and one that looks cells up."""
    examined = network_answers.Examined(compile(function))
    experts = examined.network.circuit.experts
    one = network_answers.expert_view(examined, len(experts))
    assert one["split"] is None and one["frequencies"] == {} and one["neurons"]["phase"] is None
    waves = floats(one["waves"]).reshape(len(one["shown"]), len(one["blocks"]), one["period"])
    readout = np.asarray(experts[-1].readout)
    assert np.allclose(waves[:, -1, : readout.shape[1]], readout[one["shown"]], atol=1e-5)
    assert examined.split() is None


def test_an_expression_that_says_its_modulus_needs_no_other():
    found = asked(functions.function, expression="x*y mod 5", mod="97")
    assert (
        found["modulus"] == 5
        and found["title"] == "n1 n2 mod 5"
        and found["recipe"].command == 'modgrok classify "x*y mod 5"'
    )


def test_a_field_and_a_task_are_functions_of_the_page_too():
    field = asked(functions.function, expression="x y + t in GF(9)", mod="97")
    assert field["elements"][3] == "t" and field["orders"]["cosets"] is None and field["modulus"] == 9
    task = asked(functions.function, expression="power2022:x/y", mod="23")
    assert task["title"] == "n1/n2 mod 97" and task["known_cells"] == 97 * 96 and task["elements"] is None
    assert asked(functions.function, expression="power2022:ab", mod="97")["title"] == "a b in S5"


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("a b in S7", "5,040 elements"),
        ("a b in Nobody", "unknown group 'Nobody'"),
        ("a b in GF(12)", "got 12 = 2"),
        ("a + b in S3", "no sums in S3"),
        ("a b in /etc/x.csv", "is the name of a file"),
        ("power2022:nothing", "has no task"),
    ],
)
def test_the_page_is_told_what_is_wrong_with_a_structure(expression, message):
    with pytest.raises(InputError, match=message):
        asked(functions.function, expression=expression, mod="")


def cells(picture):
    found = np.frombuffer(base64.b64decode(picture["table"]), "<u2")
    return found.reshape(picture["shown"])


def test_a_function_of_three_variables_is_cut_where_the_page_says():
    whole = asked(functions.function, expression="x y z + z", mod="7")
    assert whole["at"] == [1] and whole["sizes"] == [7, 7, 7] and whole["every"] == 1
    for z, at in ((1, ""), (5, "5")):
        picture = asked(functions.function_slice, expression="x y z + z", mod="7", at=at)
        assert cells(picture).tolist() == [[(x * y * z + z) % 7 for y in range(7)] for x in range(7)]
    for wrong in ("7", "1,2", "x", "-1", "9" * 30):
        with pytest.raises(InputError, match="at must have"):
            asked(functions.function_slice, expression="x y z + z", mod="7", at=wrong)


@pytest.mark.parametrize(("expression", "mod", "f"), [("n1 n2", 1009, lambda a, b: a * b), ("x^3 - y", 65521, None)])
def test_of_a_large_table_every_so_many_rows_and_columns_are_cells_of_it(expression, mod, f):
    f = f or (lambda a, b: a**3 - b)
    found = asked(functions.function, expression=expression, mod=str(mod))
    every = found["every"]
    shown = range(0, mod, every)
    assert found["shown"] == [len(shown)] * 2 and len(shown) ** 2 <= 1 << 17 and "257" in found["too_large"]
    assert cells(found).tolist() == [[f(a, b) % mod for b in shown] for a in shown]
    assert (found["recipe"] is None) == (mod == 65521)


def test_a_group_has_as_many_representations_as_classes_and_their_squares_add_up():
    for name, rows in (
        ("S5", {1: {"real": 2}, 4: {"real": 2}, 5: {"real": 2}, 6: {"real": 1}}),
        ("Q8", {1: {"real": 4}, 2: {"quaternionic": 1}}),
        ("Z7", {1: {"real": 1, "complex": 6}}),
    ):
        found = asked(functions.representations, expression=f"a b in {name}")
        assert {row["degree"]: row["kinds"] for row in found["rows"]} == rows
        numbers = [(row["degree"], sum(row["kinds"].values())) for row in found["rows"]]
        assert sum(number for _, number in numbers) == found["classes"]
        assert sum(number * degree**2 for degree, number in numbers) == found["order"]
    assert asked(functions.representations, expression="n1 n2", mod="7") == {"group": None, "rows": []}


def sent(tmp_path, array):
    file = tmp_path / "incoming" / "theirs.npy"
    file.parent.mkdir(exist_ok=True)
    np.save(file, array)
    return PLACES | {"tables": str(tmp_path), "file": str(file)}


def test_a_dropped_network_is_kept_and_looked_at(tmp_path):
    wrong = {(1, 2), (4, 4)}
    right = [[(a + b + ((a, b) in wrong)) % 23 for b in range(23)] for a in range(23)]
    found = dropped.dropped(sent(tmp_path, np.eye(23)[right]))
    assert (found["expression"], found["mod"]) == ("n1 + n2", 23)
    looked = dropped.looked(PLACES | {"tables": str(tmp_path), "network": found["network"]})
    cells = np.frombuffer(base64.b64decode(looked["table"]["cells"]), np.uint8).reshape(23, 23)
    assert set(zip(*map(np.ndarray.tolist, np.nonzero(cells % 2 == 0)), strict=True)) == wrong
    assert looked["model"] == "logits" and looked["neurons"] is None and looked["formula"]


def test_a_dropped_network_without_a_formula_is_a_table_and_is_never_called_right(tmp_path):
    answers = np.random.default_rng(0).integers(11, size=(11, 11))
    found = dropped.dropped(sent(tmp_path, np.eye(11)[answers]))
    asked_for = functions.function(PLACES | {"tables": str(tmp_path), "table": found["table"]})
    assert asked_for["sizes"] == [11, 11]
    assert not dropped.looked(PLACES | {"tables": str(tmp_path), "network": found["network"]})["formula"]


def test_only_some_dropped_networks_are_kept_and_names_lead_nowhere_else(tmp_path):
    for k in range(network_answers.KEPT_NETWORKS + 2):
        dropped.dropped(sent(tmp_path, (1 + k) * np.eye(5)[np.add.outer(np.arange(5), np.arange(5)) % 5]))
    assert len(list(tmp_path.glob("network-*"))) == network_answers.KEPT_NETWORKS
    for name in ("../runs", "0" * 32, "", "a" * 31 + "/"):
        with pytest.raises(InputError):
            dropped.looked(PLACES | {"tables": str(tmp_path), "network": name, "mod": "7"})


def test_a_dropped_file_of_too_large_a_modulus_or_of_no_network_gets_a_sentence_with_its_own_name(tmp_path):
    with pytest.raises(InputError, match="moduli up to 257, got 300"):
        dropped.dropped(sent(tmp_path, np.zeros((300, 300, 300), np.float32)))
    with pytest.raises(InputError, match=r"^theirs.npy cannot be read: .*shape") as error:
        dropped.dropped(sent(tmp_path, np.zeros((4, 5), np.float32)))
    assert str(tmp_path) not in str(error.value)


def test_a_function_is_not_called_by_the_name_that_somebody_else_gave_it():
    table = read_function(np.add.outer(np.arange(5), np.arange(5)) % 5)
    theirs = replace(table, name="secret.csv", source="secret.csv", variables=("salary", "age"))
    ours = read_function("n1 + n2", 5)
    assert theirs == ours
    assert network_answers.compiled(theirs, "exact", ()).network.title.startswith("secret.csv")
    found = network_answers.compiled(ours, "exact", ()).network
    assert (found.title, found.variables) == ("n1 + n2 mod 5", ["n1", "n2"])
    assert network_answers.compiled(ours, "exact", ()).network is found
