"""What all other tests run under: shapes are checked, and kept compilations cannot make a test fail."""

from __future__ import annotations

import os
import subprocess
import sys

import jax
import jax.numpy as jnp
import jaxtyping
import numpy as np
import pytest

from modgrok.algebra.field import exp_table, log_table
from modgrok.networks.circuit import Circuit, Expert, batch_logits, single
from modgrok.separable.measures.complexity import effective_rank

EXPERT = Expert(np.ones((2, 5, 3), np.float32), np.ones((3, 5), np.float32), 2)

checked = pytest.mark.skipif(os.environ.get("MODGROK_SHAPES") == "off", reason="shapes are not checked in this run")


@checked
@pytest.mark.parametrize(
    "embed, readout, problem",
    [
        (np.ones((5, 3)), np.ones((3, 5)), r"parameter 'embed'[\s\S]*f64\[5,3\]"),
        (np.ones((2, 5, 3)), np.ones((4, 5)), r"parameter 'readout'[\s\S]*width=3"),
        (np.ones((2, 5, 3), int), np.ones((3, 5)), r"parameter 'embed'[\s\S]*i64\[2,5,3\]"),
    ],
)
def test_an_array_of_the_wrong_shape_or_kind_is_refused_with_its_name(embed, readout, problem):
    with pytest.raises(jaxtyping.TypeCheckError, match=problem):
        Expert(embed, readout, 2)


@checked
def test_shapes_are_checked_inside_compiled_functions():
    with pytest.raises(jaxtyping.TypeCheckError, match=r"batch_logits[\s\S]*parameter 'rows'[\s\S]*i32\[2\]"):
        batch_logits(single(EXPERT), jnp.array([1, 2], jnp.int32))


@checked
def test_an_array_type_that_a_module_gave_a_name_is_checked():
    with pytest.raises(jaxtyping.TypeCheckError, match=r"effective_rank[\s\S]*parameter 'table'"):
        effective_rank(np.arange(5))


@checked
def test_a_shape_may_depend_on_an_argument():
    assert (exp_table(7).shape, log_table(7).shape) == ((6,), (7,))
    with pytest.raises(jaxtyping.TypeCheckError, match="parameter 'p'"):
        exp_table(7.5)


@pytest.mark.usefixtures("unchecked")
def test_without_checks_anything_passes():
    assert Expert(np.ones(3), np.ones(4), 2).power == 2


def test_jax_may_rebuild_a_network_around_anything():
    """Shapes instead of arrays, one setting for each weight, an axis of networks: what transformations do."""
    circuit = single(EXPERT)
    shapes = jax.eval_shape(lambda tree: tree, circuit)
    assert shapes.experts[0].embed.shape == (2, 5, 3)
    flags = jax.tree.map(lambda leaf: leaf.ndim == 3, circuit)
    assert (flags.experts[0].embed, flags.experts[0].readout, flags.betas) == (True, False, False)
    assert jax.tree.leaves(jax.tree.map(lambda leaf: None, circuit)) == []
    many = jax.tree.map(lambda leaf: jnp.stack([leaf] * 4), circuit)
    assert isinstance(many, Circuit) and many.experts[0].embed.shape == (4, 2, 5, 3)
    rows = jnp.array([[1, 2]])
    assert jax.vmap(batch_logits, in_axes=(0, None))(many, rows).shape == (4, 1, 5)
    (path, _), *_ = jax.tree_util.tree_leaves_with_path(circuit)
    assert jax.tree_util.keystr(path) == ".experts[0].embed"
    assert jax.tree.structure(circuit) == jax.tree.structure(many)


COMPILES = (
    "from modgrok.base.compilation_cache import use_compilation_cache; use_compilation_cache(); "
    "import jax, numpy; print(jax.jit(lambda x: (x @ x.T).sum())(numpy.ones((3, 3), 'f4')))"
)


def test_a_kept_compilation_that_was_torn_is_made_again(tmp_path):
    """A process may be killed while it writes one, and another may read it meanwhile: not a word of it."""
    environment = os.environ | {"JAX_COMPILATION_CACHE_DIR": str(tmp_path), "PYTHONWARNINGS": "default"}
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", COMPILES], env=environment, capture_output=True, text=True, check=True
        )
        assert (done.stdout, done.stderr) == ("27.0\n", "")
        entries = list(tmp_path.glob("*-cache"))
        assert entries
        for entry in entries:
            entry.write_bytes(entry.read_bytes()[:100])
