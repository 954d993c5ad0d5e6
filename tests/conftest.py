"""Settings of all tests: shapes checked, strict numerics, reproducible property tests, compilations kept on disk.

`MODGROK_SHAPES=off pytest …` runs without the checks of shapes, for a debugger that should not step through them.
"""

from __future__ import annotations

import gc
import os
import re
import signal
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

# What is run where modgrok is not installed imports what is not installed here (`make dataset-check`).
collect_ignore = ["outside"]

TORN = "Error {} persistent compilation cache entry"
"""How JAX warns of an entry that another process is writing or was killed at; it compiles as if there were none."""

# Read when JAX is imported: here, in every worker, and in every command line that a test starts. Most of the suite's
# time is compilation, of many small functions; a second run takes them all from this folder (`make clean` empties it).
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(Path(__file__).parents[1] / ".pytest_cache" / "jax"))
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1")
# Tiny shapes train a few steps: code that XLA took long to polish would never pay for itself.
os.environ.setdefault("JAX_DISABLE_MOST_OPTIMIZATIONS", "1")
# Kernels by LLVM alone and in one piece take half as long to compile. Later versions of XLA stop at flags they lack.
if version("jaxlib").startswith("0.10."):
    os.environ.setdefault("XLA_FLAGS", "--xla_cpu_use_fusion_emitters=false --xla_cpu_parallel_codegen_split_count=1")
# XLA complains where a busy machine takes long over a compilation; some tests look at all that a command says.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("PYTHONWARNINGS", ",".join(f"ignore:{TORN.format(what)}" for what in ("reading", "writing")))

# A shell that starts the tests in the background lets them, and all that they start, ignore Ctrl-C; some press it.
signal.signal(signal.SIGINT, signal.default_int_handler)

import jax  # noqa: E402
import jaxtyping  # noqa: E402
import pytest  # noqa: E402
from hypothesis import HealthCheck, settings  # noqa: E402
from matplotlib.figure import Figure  # noqa: E402
from PIL import Image  # noqa: E402


def speaks_of_arrays(annotation: str, names: Mapping[str, Any]) -> bool:
    """Whether a type of jaxtyping stands in an annotation, by its own name or by one that a module gave it."""
    meant = [names.get(word) for word in re.findall(r"[A-Za-z_]\w*", annotation)]
    return any("jaxtyping" in f"{getattr(value, '__module__', '')} {value!r}" for value in meant)


def checked(**how: Any) -> Callable[[Any], Any]:
    """What the import hook puts on every function and class: jaxtyping's check, where there is an array to check.

    The others are left to mypy, which costs no time. A function inside another is made anew at every call of that one,
    and a check of it takes longer to make than most of them run: the first ones of each are checked.
    """

    def on(what: Any) -> Any:
        if "<locals>" in what.__qualname__:
            MADE[what.__module__, what.__qualname__] += 1
            if MADE[what.__module__, what.__qualname__] > MADE_WITH_CHECKS:
                return what
        written, names = getattr(what, "__annotations__", {}), vars(sys.modules[what.__module__])
        return jaxtyped(**how)(what) if speaks_of_arrays(" ".join(map(str, written.values())), names) else what

    return on


MADE: Counter[tuple[str, str]] = Counter()
"""How often each function inside another was made."""
MADE_WITH_CHECKS = 20


# Before anything imports modgrok. An int is a float here, as it is to mypy.
if os.environ.get("MODGROK_SHAPES") != "off":
    jaxtyped, jaxtyping.jaxtyped = jaxtyping.jaxtyped, checked
    jaxtyping.install_import_hook("modgrok", "beartype.beartype(conf=beartype.BeartypeConf(is_pep484_tower=True))")

from modgrok.base import progress  # noqa: E402

# Signs of life come after seconds of work, so they would come or not as the machine is busy or not.
progress.QUIET_SECONDS = 3600.0

# Machines with few, busy cores: no deadline for a single example, and the same examples on every run.
settings.register_profile(
    "modgrok", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow], max_examples=60
)
settings.load_profile("modgrok")


def pytest_configure(config: pytest.Config) -> None:
    # beartype looks at a random item of a list, and Hypothesis at whether building an example draws random numbers.
    config.addinivalue_line("filterwarnings", "ignore:Do not use the `random` module inside strategies")
    config.addinivalue_line("filterwarnings", f"ignore:{TORN.format('(reading|writing)')}")


draw_and_save = Figure.savefig


def save_undrawn(figure: Figure, file: Any, *, dpi: float = 100, **how: Any) -> None:
    """A blank picture of the figure's size where a file is asked for; notebooks get theirs."""
    kind = file.suffix if isinstance(file, Path) else None
    if kind == ".png":
        width, height = (round(dpi * inches) for inches in figure.get_size_inches())
        Image.new("1", (width, height)).save(file)
    elif kind == ".svg":
        file.write_text("<svg xmlns='http://www.w3.org/2000/svg'/>")
    else:
        draw_and_save(figure, file, dpi=dpi, **how)


def pytest_collection_finish() -> None:
    """What is imported by now stays, and programs make few cycles: looking for garbage took a tenth of the time."""
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Every run and every inspection saves figures, each in most of a second: only tests marked `draws` draw them."""
    Figure.savefig = draw_and_save if item.get_closest_marker("draws") else save_undrawn


@pytest.fixture(autouse=True)
def strict_numerics() -> Iterator[None]:
    """No array may change its number of axes unnoticed."""
    with jax.numpy_rank_promotion("raise"):
        yield


@pytest.fixture(autouse=True)
def own_words() -> Iterator[None]:
    """Words that a test gives to objects of its own mean nothing to others."""
    yield
    if (settings := sys.modules.get("modgrok.training.settings")) is not None:
        for registry in settings.REGISTRIES.values():
            for word in set(registry) - registry.shipped:
                del registry[word]
            registry.absent.clear()
            registry.unnamed.clear()


@pytest.fixture
def unchecked() -> Iterator[None]:
    """As users run it: for tests that call a function with what its annotations forbid, or that take its time."""
    yield from without_checks()


@pytest.fixture(scope="module")
def unchecked_module() -> Iterator[None]:
    """The same for all tests of a module."""
    yield from without_checks()


def without_checks() -> Iterator[None]:
    before = jaxtyping.config.jaxtyping_disable
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", before)


@pytest.fixture
def strict_types() -> Iterator[None]:
    """No array may change its dtype unnoticed."""
    with jax.numpy_dtype_promotion("strict"):
        yield
