"""Networks of other people: whatever can be called, arrays of logits, and what is refused in one line."""

from __future__ import annotations

import numpy as np
import pytest

import modgrok as mg
from modgrok.base.errors import InputError

P = 7
ROWS = np.array([(a, b) for a in range(P) for b in range(P)])
SUMS = np.array([(a + b) % P for a, b in ROWS.tolist()])
RIGHT = np.eye(P)[SUMS]


def waves(rows):
    """Logits of n1 + n2 mod 7 by two waves, written out here."""
    differences = (rows[:, :1] + rows[:, 1:] - np.arange(P)) % P
    return sum(np.cos(2 * np.pi * f * differences / P) for f in (1, 3))


def test_a_function_of_rows_is_a_network_for_every_verb(tmp_path):
    network = mg.wrap(waves, "n1 + n2", mod=P)
    np.testing.assert_allclose(network(ROWS), waves(ROWS), rtol=1e-12)
    found = mg.verify(network)
    assert found.errors == 0 and found.rows_checked == P * P
    assert found.proof is None and "computed elsewhere" in found.unproved
    assert mg.predict(network, 5, 4).value == 2
    looked = mg.inspect(network)
    assert looked.logits.key_frequencies == (1, 3) and looked.logits.analytical_share == pytest.approx(1)
    again = mg.load(network.save(tmp_path / "net.safetensors"))
    assert again.method == "wrapped"
    np.testing.assert_array_equal(again(ROWS), network(ROWS))


def test_functions_of_jax_give_the_same_logits():
    import jax
    import jax.numpy as jnp

    found = mg.wrap(
        jax.jit(lambda rows: jnp.asarray(RIGHT, jnp.float32)[rows[:, 0] * P + rows[:, 1]]), "n1 + n2", mod=P
    )
    np.testing.assert_array_equal(found(ROWS), RIGHT)


@pytest.mark.parametrize("shape", [(P, P, P), (P * P, P)])
def test_an_array_of_logits_has_its_own_modulus(shape):
    network = mg.wrap(waves(ROWS).reshape(shape))
    assert network.modulus == P
    np.testing.assert_array_equal(network.table().reshape(-1), SUMS)


def test_a_network_whose_answers_are_no_formula_is_never_called_right():
    answers = np.random.default_rng(0).integers(P, size=P * P)
    network = mg.wrap(np.eye(P)[answers])
    found = mg.predict(network, 3, 4)
    assert found.value == answers[3 * P + 4] and found.expected is None and found.correct is None
    with pytest.raises(InputError, match="nobody says what this network is to compute"):
        mg.verify(network)


def test_a_class_for_the_token_behind_the_variables_is_left_out():
    network = mg.wrap(np.pad(RIGHT, ((0, 0), (0, 1)), constant_values=9.0), "n1 + n2", mod=P)
    np.testing.assert_array_equal(network(ROWS), RIGHT)
    assert any('"="' in note for note in network.notes)


def test_a_network_that_errs_is_told_where():
    wrong = RIGHT.copy()
    wrong[[3, 8]] = np.roll(wrong[[3, 8]], 1, axis=1)
    found = mg.verify(mg.wrap(wrong, "n1 + n2", mod=P))
    assert (found.errors, found.first_error) == (2, (0, 3))


@pytest.mark.parametrize("said", ["mask", "table", "numbers", "rows", "tokens"])
def test_training_rows_give_train_and_test_apart(said, tmp_path):
    trained = np.flatnonzero(np.arange(P * P) % 3 == 0)
    mask = np.isin(np.arange(P * P), trained)
    tokens = np.pad(ROWS[trained], ((0, 0), (0, 1)), constant_values=P)
    given = {"mask": mask, "table": mask.reshape(P, P), "numbers": trained, "rows": ROWS[trained], "tokens": tokens}
    logits = np.where(mask[:, None], RIGHT, np.roll(RIGHT, 1, axis=1))
    network = mg.wrap(logits, "n1 + n2", mod=P, training=given[said])
    for found in (network, mg.load(network.save(tmp_path / "net.safetensors"))):
        accuracies = mg.inspect(found).logits.accuracies["full"]
        assert (accuracies["train"], accuracies["test"]) == (1.0, 0.0)


def test_networks_at_several_steps_make_a_film():
    frames = [(step, mg.wrap(share * waves(ROWS), "n1 + n2", mod=P)) for step, share in ((0, 0.01), (10, 1.0))]
    film = mg.inspect(frames[-1][1], film=frames).film
    assert film.steps.tolist() == [0, 10]
    assert film.measures["full_loss_all"][0] > film.measures["full_loss_all"][1]


def test_a_list_of_networks_makes_a_film_and_one_of_numbers_is_an_array():
    weights = mg.compile("n1 + n2", P).weights()
    early = {name: tensor / 2 for name, tensor in weights.items()}
    for several in ([early, weights], [0.01 * RIGHT.reshape(P, P, P), RIGHT.reshape(P, P, P)]):
        assert list(mg.wrap(several, "n1 + n2", mod=P).snapshots) == [0, 1]
    np.testing.assert_array_equal(mg.wrap(RIGHT.tolist())(ROWS), RIGHT)


def test_logits_may_stand_in_a_dict():
    assert mg.verify(mg.wrap(lambda rows: {"loss": None, "logits": waves(rows)}, "n1 + n2", mod=P)).errors == 0


def raises(rows):
    raise RuntimeError("no such\nembedding")


BAD = {
    "needs the modulus": lambda: mg.wrap(waves),
    "RuntimeError: no such embedding": lambda: mg.wrap(raises, "n1 + n2", mod=P),
    "gives 7 classes where 11 values": lambda: mg.wrap(waves, "n1 + n2", mod=11),
    "gives 7 classes where 5 values": lambda: mg.wrap(RIGHT, "n1 + n2", mod=5),
    "of no whole table": lambda: mg.wrap(RIGHT[:-1]),
    "a table of 7 × 7 rows and 7 classes is expected": lambda: mg.wrap(RIGHT[:-1], "n1 + n2", mod=P),
    "must be real numbers": lambda: mg.wrap(lambda rows: RIGHT.astype(complex)[: len(rows)], "n1 + n2", mod=P),
    "must hold real numbers": lambda: mg.wrap(RIGHT.astype(str)),
    "no finite numbers in 1 of 49 rows, first at (0, 3)": lambda: mg.wrap(
        np.where(ROWS @ [P, 1] == 3, np.nan, RIGHT.T).T
    ),
    r"need the shape (5, 7), got (5,)": lambda: mg.wrap(lambda rows: rows[:, 0], "n1 + n2", mod=P),
    "above the limit": lambda: mg.wrap(waves, "n1 + n2", mod=1009),
    "got object": lambda: mg.wrap(object(), "n1 + n2", mod=P),
    "training must be a mask": lambda: mg.wrap(RIGHT, training=[0.5]),
    "no rows trained it": lambda: mg.wrap(RIGHT, training=np.zeros(P * P, bool)),
    "rows of one length": lambda: mg.wrap([[1.0, 2.0], [3.0]]),
    "numbers from 0 to 48": lambda: mg.wrap(RIGHT, training=[49]),
    "training inputs must hold residues": lambda: mg.wrap(RIGHT, training=[[7, 0]]),
}


@pytest.mark.parametrize("message", BAD)
def test_what_cannot_be_wrapped_is_refused_in_one_line(message):
    with pytest.raises(InputError) as error:
        BAD[message]()
    assert message in str(error.value) and "\n" not in str(error.value)


def test_a_class_that_is_left_out_of_a_state_dict_is_said():
    """29 tokens and 29 classes are those of modulus 29, and of 28 with a token and a class for "="."""
    rng = np.random.default_rng(0)
    shapes = {"embed.weight": (29, 8), "fc.weight": (16, 16), "out.weight": (29, 16)}
    tensors = {name: rng.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}
    left_out = 'class 28, that of "=", is left out'
    assert any(note.startswith(left_out) for note in mg.wrap(tensors, "n1 + n2", mod=28).notes)
    assert not any(note.startswith(left_out) for note in mg.wrap(tensors, "n1 + n2", mod=29).notes)


@pytest.mark.parametrize("of", ["weights", "logits", "a function", "biases"])
def test_on_how_many_inputs_a_class_that_is_left_out_leads_is_said(of):
    """The embedding has 5 rows, and the readout a sixth class that leads where the answer is below 3."""
    rows = np.indices((5, 5)).reshape(2, -1).T
    right = rows.sum(axis=1) % 5
    embed = np.zeros((2, 5, 25), np.float32)  # a neuron for each input: 1 there, at most 0 elsewhere
    embed[0, rows[:, 0], np.arange(25)] = embed[1, rows[:, 1], np.arange(25)] = 1
    embed[1] -= 1
    readout = np.zeros((25, 6), np.float32)
    readout[np.arange(25), right] = 1
    readout[:, 5] = np.where(right < 3, 2, 0.5)
    logits = np.maximum(embed[0][rows[:, 0]] + embed[1][rows[:, 1]], 0) @ readout
    assert (logits.argmax(axis=1) == np.where(right < 3, 5, right)).all()
    tensors = {"embed": embed, "readout": readout}
    if of == "biases":
        tensors = tensors | {"b1": np.zeros(25, np.float32), "b2": np.zeros(6, np.float32)}
    given = {"logits": logits.reshape(5, 5, 6), "a function": lambda rows: logits[rows @ [5, 1]]}.get(of, tensors)
    network = mg.wrap(given, "n1 + n2", mod=5, activation="relu" if isinstance(given, dict) else None)
    checked = mg.verify(network)
    assert network.model.classes == 5 and checked.errors == 0 and network.led == checked.led == 15
    assert checked.proof is None and "proved" not in checked.verdict and '15 the class of "=" leads' in checked.verdict
    assert checked.among and checked.among in checked.summary()
    assert 'on 15 inputs the class of "="' in mg.decompile(network).paragraph()
    assert 'class 5, that of "=", is left out: the network itself answers it on 15 of 25 inputs' in network.notes


def test_a_class_that_is_left_out_and_never_leads_is_in_the_way_of_no_proof():
    rows, embed = np.indices((5, 5)).reshape(2, -1).T, np.zeros((2, 5, 25), np.float32)
    embed[0, rows[:, 0], np.arange(25)] = embed[1, rows[:, 1], np.arange(25)] = 1
    embed[1] -= 1
    readout = np.zeros((25, 6), np.float32)
    readout[np.arange(25), rows.sum(axis=1) % 5], readout[:, 5] = 1, 0.5
    network = mg.wrap({"embed": embed, "readout": readout}, "n1 + n2", mod=5, activation="relu")
    assert network.led == 0 and mg.verify(network).proof.holds


@pytest.mark.parametrize(
    ("said", "why"),
    [({"mod": 7}, "n1 \\+ n2 mod 5 has 5 values, and mod 7"), ({"group": "S3"}, "is that of a function"),
     ({"field": 5}, "is that of a function"), ({"heads": 2}, "leave out heads"),
     ({"activation": "relu", "equals": 5}, "leave out equals and activation")],
)  # fmt: skip
def test_what_is_said_of_a_network_of_ours_is_not_passed_over(said, why, tmp_path):
    path = mg.compile("n1 + n2", 5).save(tmp_path / "net.safetensors")
    with pytest.raises(InputError, match=why):
        mg.wrap(path, **said)
    assert mg.wrap(path, mod=5).title == "n1 + n2 mod 5"


@pytest.mark.parametrize(
    "function", ["n1 + n2 mod 7", "n1 + n2 mod 4", "n1 mod 5", "n1 + n2 + n3 mod 5", "a b in S3", "n1 + n2 in GF(4)"]
)
def test_a_network_of_ours_is_held_against_functions_of_its_sizes_alone(function, tmp_path):
    path = mg.compile("n1 + n2", 5).save(tmp_path / "net.safetensors")
    with pytest.raises(InputError, match="25 rows|5 × 5 rows and 5 classes.*give a function of its sizes"):
        mg.wrap(path, function)
    assert mg.wrap(path, "n1 n2 mod 5").function.title == "n1 n2 mod 5"


def test_a_run_may_be_held_against_another_function(tmp_path):
    run = mg.train("n1 n2", 5, width=4, steps=3, snapshots=2, out=tmp_path / "run").network
    found = mg.wrap(tmp_path / "run", "n1 + n2", 5)
    assert found.title == "n1 + n2 mod 5" and (found.table() == run.table()).all() and not found.snapshots
    with pytest.raises(InputError, match="has 5 values, and mod 7"):
        mg.wrap(tmp_path / "run", mod=7)
