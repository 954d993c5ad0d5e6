"""What the repository has beside the package: long studies, fits of the laws that ship, other people's loops, censuses.

They lie in its folders `studies` and `benchmarks`, which an installed package does not bring; from a clone (`make
install` installs one) the commands find them.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

from modgrok.base.errors import InputError

ROOT = Path(__file__).parents[3]
STUDIES = ROOT / "studies"


def has_studies() -> bool:
    """Whether this package is run from a clone of the repository."""
    return (STUDIES / "__init__.py").is_file()


def study(name: str) -> ModuleType:
    """The module studies/NAME.py of the repository; no other folder of that name is looked at."""
    if not has_studies():
        raise InputError(needed(f"studies/{name}.py"))
    if "studies" not in sys.modules:
        spec = spec_from_file_location("studies", STUDIES / "__init__.py", submodule_search_locations=[str(STUDIES)])
        assert spec is not None and spec.loader is not None
        sys.modules["studies"] = module_from_spec(spec)
        spec.loader.exec_module(sys.modules["studies"])
    return import_module(f"studies.{name}")


def folder_of(name: str) -> Path:
    """A folder of the repository; an `InputError` where there is no clone."""
    if not has_studies() or not (ROOT / name).is_dir():
        raise InputError(needed(name))
    return ROOT / name


def needed(name: str) -> str:
    return f"this needs {name} of the repository, got the package alone; call it from a clone"
