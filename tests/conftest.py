"""Settings of all tests: strict numerics, reproducible property tests."""

from __future__ import annotations

import os
from collections.abc import Iterator

import jax
import pytest
from hypothesis import HealthCheck, settings

# Nothing of the user's is read or written, and tests that run side by side share no folder.
os.environ["MODGROK_CACHE"] = "off"

# Machines with few, busy cores: no deadline for a single example, and the same examples on every run.
settings.register_profile(
    "modgrok", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow], max_examples=60
)
settings.load_profile("modgrok")


@pytest.fixture(autouse=True)
def strict_numerics() -> Iterator[None]:
    """No array may change its number of axes unnoticed."""
    with jax.numpy_rank_promotion("raise"):
        yield


@pytest.fixture
def strict_types() -> Iterator[None]:
    """No array may change its dtype unnoticed."""
    with jax.numpy_dtype_promotion("strict"):
        yield
