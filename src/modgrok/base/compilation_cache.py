"""JAX's persistent compilation cache: the second training of a shape on a machine does not compile again.

Compiled programs are kept in modgrok's folder under the user's cache (XDG_CACHE_HOME, else ~/.cache). The variable
MODGROK_CACHE names another folder, or is "off". Whoever has told JAX about a cache of their own keeps it. This is the
only module that sets options of JAX.
"""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path

VARIABLE = "MODGROK_CACHE"
LEAST_SECONDS = 0.1
"""Programs that compile faster are not kept."""
TORN = "Error (reading|writing) persistent compilation cache entry"
"""How JAX warns of a program that was half-written by a killed process, or has no place; it compiles it then."""


def cache_folder() -> Path | None:
    """Where compiled programs are kept; None for nowhere."""
    chosen = os.environ.get(VARIABLE, "")
    if chosen.lower() in ("off", "0", "no"):
        return None
    if chosen:
        return Path(os.path.expanduser(chosen))
    base = user_cache()
    return None if base is None else base / "jax"


def user_cache() -> Path | None:
    """modgrok's folder under the user's cache; None for a user without a home."""
    base = os.environ.get("XDG_CACHE_HOME")
    home = os.path.expanduser("~")
    if not base and home == "~":
        return None
    return (Path(base) if base else Path(home) / ".cache") / "modgrok"


def use_compilation_cache() -> None:
    """Tell JAX, by its environment variables if it is not imported yet, to keep compiled programs."""
    warnings.filterwarnings("ignore", TORN)
    folder = cache_folder()
    if folder is None or "JAX_COMPILATION_CACHE_DIR" in os.environ:
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return
    if not os.access(folder, os.W_OK):
        return
    if "jax" not in sys.modules:
        os.environ.update({name.upper(): str(value) for name, value in options(folder).items()})
        return
    import jax

    if getattr(jax.config, "jax_compilation_cache_dir", None) is None:
        for name, value in options(folder).items():
            jax.config.update(name, value)


def options(folder: Path) -> dict[str, str | float]:
    """What JAX is told: where to keep programs, and that small ones count; portable between processes."""
    return {
        "jax_compilation_cache_dir": str(folder),
        "jax_persistent_cache_min_compile_time_secs": LEAST_SECONDS,
        "jax_persistent_cache_min_entry_size_bytes": -1,
        "jax_persistent_cache_enable_xla_caches": "none",
    }
