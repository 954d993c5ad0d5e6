"""The wheel as a stranger gets it: installed into an empty environment, called from an empty folder.

    python release/wheels.py dist/modgrok-0.3.0-py3-none-any.whl
    python release/wheels.py dist/*.whl --python python3.11 --python python3.13 --resolution lowest-direct highest

For every Python and every resolution of the dependencies (the lowest versions that pyproject.toml allows, or the newest
that there are; a lock file does as well) it makes an environment, installs the wheel without extras, and then

* runs the first example of every command, in the order of `modgrok --help`, each with what those before it wrote;
* opens the explorer's page while it is served;
* calls what needs an extra, which must end with exit code 2 and one line that says what to install;
* installs the extra `notebooks` and runs a notebook.

It needs uv, and no part of a clone but the notebook that it is told. It runs on Windows too.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from email.parser import HeaderParser
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PROGRAMS = "Scripts" if os.name == "nt" else "bin"
PLAN = """\
steps = [100, 200]
[tables]
two-monomials = 4
random = 4
[[settings]]
moduli = [23]
widths = [100]
fractions = [0.5]
"""
BEFORE = {"compare": 'modgrok train "n1 + n2" --mod 23 --steps 200 --out runs/sum'}
"""What an example needs beside the examples before it, and beside the plan of a census."""
WITHOUT_EXTRAS = {
    "modgrok export net.safetensors --to onnx": "modgrok[onnx]",
    "modgrok inspect net.onnx": "modgrok[onnx]",
    'modgrok census query census "select count(*) from census"': "modgrok[census]",
    'modgrok train "n1 n2" --mod 5 --steps 2 --log tensorboard --out runs/logged': "modgrok[tensorboard]",
    'modgrok train "n1 n2" --mod 5 --steps 2 --log wandb --out runs/logged': "modgrok[wandb]",
    'modgrok sweep "n1 n2" --mod 5 --steps 2 --ray local': "modgrok[ray]",
}
"""Calls that need an extra, and what the line that they end with must name."""
IN_A_CLONE = ("dataset",)
"""Commands about what only a clone has: from the wheel they must say so."""
SECONDS_TO_SERVE = 600
"""After which the explorer ends by itself; it is ended as soon as it has answered."""
LIMIT = 900
"""Seconds that one command may take, on a busy machine."""
TRIES = 3
"""For what comes over the network."""


@dataclass(frozen=True)
class Environment:
    """A virtual environment with the wheel in it, and the folder that it is called from."""

    folder: Path
    work: Path

    def program(self, name: str) -> str:
        return str(self.folder / PROGRAMS / name)

    def call(self, words: Sequence[str], *, wanted: int = 0) -> subprocess.CompletedProcess[str]:
        """A program of the environment that ends as wanted; else the check ends, with what it printed."""
        command = [self.program(words[0]), *words[1:]]
        done = subprocess.run(
            command, cwd=self.work, env=outside(), capture_output=True, text=True, encoding="utf-8", timeout=LIMIT
        )
        if done.returncode != wanted:
            said = "\n".join([done.stdout[-2000:], done.stderr[-4000:]])
            raise SystemExit(f"{shlex.join(words)} ended with {done.returncode}, and not {wanted}:\n{said}")
        return done


def outside() -> dict[str, str]:
    """The variables of this process without those that would help the installed package to find this clone."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
    return kept | {"PYTHONUTF8": "1", "COLUMNS": "100"}


def uv(*words: str) -> None:
    beside = Path(sys.executable).with_name("uv")
    command = [str(beside) if beside.exists() else "uv", *words]
    for left in reversed(range(TRIES)):
        done = subprocess.run(command, env={"UV_HTTP_TIMEOUT": "180"} | outside())
        if done.returncode == 0:
            return
        print(f"uv {words[0]} ended with {done.returncode}; tries left: {left}", flush=True)
    raise SystemExit(f"{shlex.join(command)} failed {TRIES} times; is the package index there?")


def examples(found: Environment) -> dict[str, str]:
    """Those of the installed package, by command."""
    code = "import json; from modgrok.commands import COMMANDS, EXAMPLES; print(json.dumps([[*COMMANDS], EXAMPLES]))"
    commands, given = json.loads(found.call(["python", "-c", code]).stdout)
    if list(given) != commands:
        raise SystemExit(f"not every command has an example, in the order of --help: {set(commands) ^ set(given)}")
    return dict(given)


@contextmanager
def environment(python: str, wheel: Path, resolution: str) -> Iterator[Environment]:
    """An empty environment of this Python with the wheel, without extras; it is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="modgrok-wheel-") as name:
        place = Path(name)
        found = Environment(place / "environment", place / "work")
        found.work.mkdir()
        (found.work / "plan.toml").write_text(PLAN, encoding="utf-8")
        uv("venv", "--quiet", "--no-project", "--python", python, str(found.folder))
        install(found, wheel, resolution)
        yield found


def install(found: Environment, wheel: Path, resolution: str, extra: str = "") -> None:
    """`resolution` is one of uv's, or the path of a lock file, whose versions are taken then.

    What the wheel asks for is named beside it: lowest-direct is about what is named, and takes the newest of the rest.
    """
    by_lock = Path(resolution).exists()
    how = ["--constraint", resolution] if by_lock else ["--resolution", resolution]
    target = ["--python", found.program("python")]
    what = [f"{wheel}[{extra}]" if extra else str(wheel), *asked(wheel, extra)]
    uv("pip", "install", "--quiet", "--only-binary", ":all:", "--no-config", *target, *how, *what)


def asked(wheel: Path, extra: str) -> list[str]:
    """The requirements of a wheel, and of an extra of it."""
    archive = zipfile.ZipFile(wheel)
    (metadata,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
    lines = HeaderParser().parsestr(archive.read(metadata).decode("utf-8")).get_all("Requires-Dist", [])
    wanted = ("", f"extra == '{extra}'")
    return [line.partition(";")[0].strip() for line in lines if line.partition(";")[2].strip() in wanted]


def check_commands(found: Environment) -> int:
    """How many commands ran their first example."""
    all_of_them = examples(found)
    for name, line in all_of_them.items():
        started = time.perf_counter()
        if name in BEFORE:
            found.call(shlex.split(BEFORE[name]))
        if name == "explore":
            served(found, line)
        elif name in IN_A_CLONE:
            refused(found, line, "clone")
        else:
            found.call(shlex.split(line))
        print(f"  {time.perf_counter() - started:6.1f} s  {line}", flush=True)
    return len(all_of_them)


def served(found: Environment, line: str) -> None:
    """The explorer's page opens, and so does what it asks first."""
    program, *words = shlex.split(f"{line} --port 0 --seconds {SECONDS_TO_SERVE}")
    process = subprocess.Popen(
        [found.program(program), *words],
        cwd=found.work,
        env=outside(),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout is not None
    try:
        lines = []
        while not (address := re.search(r"http://\S+", (lines or [""])[-1])):
            lines.append(process.stdout.readline())
            if not lines[-1]:
                raise SystemExit(f"{line} told no address: {''.join(lines)}")
        for path, wanted in (("", b"<title>"), ("api/runs", b"product")):
            with urllib.request.urlopen(address[0].rstrip("/") + "/" + path, timeout=LIMIT) as answer:
                text = answer.read()
            if wanted not in text:
                raise SystemExit(f"{line}: /{path} has no {wanted.decode()}: {text[:300]!r}")
    finally:
        process.terminate()
        process.communicate()


def check_extras(found: Environment) -> None:
    """What is missing is said in one line."""
    (found.work / "net.onnx").write_bytes(b"no network, but nothing is there to find that out")
    for line, wanted in WITHOUT_EXTRAS.items():
        refused(found, line, wanted, "pip install")
        print(f"  exit 2    {line}", flush=True)


def refused(found: Environment, line: str, *wanted: str) -> None:
    """The command ends with exit code 2 and one line that has these words."""
    told = found.call(shlex.split(line), wanted=2).stderr.strip()
    if "\n" in told or not all(word in told for word in wanted):
        raise SystemExit(f"{line} must name {' and '.join(wanted)} in one line, and told: {told}")


def check_notebook(found: Environment, wheel: Path, notebook: Path, resolution: str) -> None:
    started = time.perf_counter()
    install(found, wheel, resolution, "notebooks")
    shutil.copy(notebook, found.work / notebook.name)
    found.call(["jupytext", "--quiet", "--to", "ipynb", "--set-kernel", "python3", "--execute", notebook.name])
    cells = json.loads((found.work / notebook.with_suffix(".ipynb").name).read_text(encoding="utf-8"))["cells"]
    pictures = [out for cell in cells for out in cell.get("outputs", []) if "image/png" in out.get("data", {})]
    if not pictures:
        raise SystemExit(f"{notebook.name} ran, and drew nothing")
    print(f"  {time.perf_counter() - started:6.1f} s  {notebook.name}, {len(pictures)} pictures", flush=True)


def versions(found: Environment) -> str:
    code = (
        "import sys, importlib.metadata as m; print('Python', sys.version.split()[0], *(f'{n} {m.version(n)}' for n in "
        "('jax', 'optax', 'numpy', 'scipy', 'pyarrow', 'matplotlib', 'starlette', 'uvicorn')))"
    )
    return found.call(["python", "-c", code]).stdout.strip()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheel", type=Path)
    parser.add_argument(
        "--python", action="append", help="a Python to try; may be given more than once (default: this)"
    )
    parser.add_argument("--resolution", nargs="+", default=["highest"], help="lowest-direct, highest, or a lock file")
    parser.add_argument("--notebook", type=Path, default=ROOT / "notebooks" / "first_grok.py")
    given = parser.parse_args()
    wheel = given.wheel.resolve()
    for python in given.python or [sys.executable]:
        for resolution in given.resolution:
            started = time.perf_counter()
            with environment(python, wheel, resolution) as found:
                print(f"{wheel.name}, {resolution}: {versions(found)}", flush=True)
                count = check_commands(found)
                check_extras(found)
                check_notebook(found, wheel, given.notebook, resolution)
            seconds = time.perf_counter() - started
            print(
                f"{count} commands, {len(WITHOUT_EXTRAS)} missing extras and a notebook in {seconds:.0f} s", flush=True
            )


if __name__ == "__main__":
    main()
