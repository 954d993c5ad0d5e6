"""The image of the Dockerfile: built, run as docs/container.md says, and used by one visitor.

    python benchmarks/container.py [--base IMAGE] [--podman "podman …"] [--mount FILE:PLACE]… [--out OUT.json]

needs root, podman and, without --base, debootstrap, by which it makes the base that cannot be pulled where there is no
registry: Debian's minimal system, which is what the Dockerfile's own base is. `--mount` puts files into the build, such
as the settings by which pip finds its packages. Everything else is what the Dockerfile and the docs say.
"""

from __future__ import annotations

import argparse
import json
import re
import shlex
import subprocess
import time
from http.client import HTTPConnection
from pathlib import Path
from tempfile import TemporaryDirectory

from explorer_client import Explorer
from writing import write_found

ROOT = Path(__file__).resolve().parents[1]
IMAGE, BASE = "localhost/modgrok", "localhost/modgrok-base"
SUITE = re.search(r"^ARG BASE=debian:(\w+)-slim$", (ROOT / "Dockerfile").read_text(), re.MULTILINE)[1]
DOCS = (ROOT / "docs" / "container.md").read_text()
OPTIONS = shlex.split(re.search(r"docker run (.*?) modgrok$", DOCS, re.MULTILINE)[1])
"""Those of the first line in the docs that runs it."""
SECONDS_TO_START = 120
SETTINGS = {"width": 32, "steps": 300, "snapshots": 2}


class Podman:
    """The commands, with what this machine needs before them."""

    def __init__(self, command: str) -> None:
        self.command = shlex.split(command)

    def __call__(self, *words: str, check: bool = True) -> str:
        done = subprocess.run([*self.command, *words], capture_output=True, text=True, check=False)
        if check and done.returncode:
            raise SystemExit(f"podman {' '.join(words)[:200]}: {done.stderr.strip()[-1000:]}")
        return done.stdout.strip()


def made_base(podman: Podman) -> str:
    """Debian's minimal system as an image."""
    with TemporaryDirectory() as folder:
        root, tar = Path(folder) / "root", Path(folder) / "root.tar"
        subprocess.run(["debootstrap", "--variant=minbase", SUITE, str(root)], check=True, stdout=subprocess.DEVNULL)
        subprocess.run(["chroot", str(root), "apt-get", "clean"], check=True)
        subprocess.run(["tar", "-C", str(root), "-cf", str(tar), "."], check=True)
        podman("import", str(tar), BASE)
    return BASE


def build(podman: Podman, base: str, mounts: list[str]) -> dict:
    began = time.perf_counter()
    volumes = [word for mount in mounts for word in ("--volume", f"{mount}:ro")]
    settings = ("--format", "docker", "--isolation", "chroot", "--network", "host", "--build-arg", f"BASE={base}")
    podman("build", *settings, *volumes, "--tag", IMAGE, str(ROOT))
    about = json.loads(podman("image", "inspect", IMAGE))[0]
    return {
        "seconds_to_build": round(time.perf_counter() - began),
        "megabytes": round(about["Size"] / 1e6),
        "megabytes_of_the_base": round(json.loads(podman("image", "inspect", base))[0]["Size"] / 1e6),
        "user": about["Config"]["User"],
        "health_check": health_command(podman),
    }


class Served(Explorer):
    """A visitor of the container, which is an explorer that somebody else has started."""

    def __init__(self, port: int) -> None:
        self.port, self.token, self.cookie, self.address_here = port, "", "", "127.0.0.1"


def healthy(port: int) -> bool:
    try:
        connection = HTTPConnection("127.0.0.1", port, timeout=5)
        connection.request("GET", "/healthz")
        return connection.getresponse().status == 200
    except OSError:
        return False


def trained(visitor: Served) -> dict:
    """One training from its first event to its last."""
    for name, data, _ in visitor.events():
        if name == "hello":
            body = {"expression": "n1 n2", "mod": 23, "settings": SETTINGS}
            status, begun = visitor.post("/api/trainings", body)
            assert status == 202, begun
        elif name == "end":
            _, run = visitor.get("/api/run", run=begun["run"])
            return {"state": data["state"], "error": data["error"], "step": run["step"], "files": run["files"]}
    raise SystemExit("the stream ended before the training did")


def inside(podman: Podman, name: str) -> dict:
    """What a process in the container may do."""
    status = podman("exec", name, "cat", "/proc/1/status")
    field = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    written = {
        place: podman("exec", name, "sh", "-c", f"touch {place}/x && rm {place}/x && echo yes", check=False) == "yes"
        for place in ("", "/opt/modgrok", "/etc", "/var/tmp", "/tmp")
    }
    return {
        "uids": field["Uid"].split(),
        "capabilities": {kind: field[kind] for kind in ("CapEff", "CapPrm", "CapBnd")},
        "no_new_privileges": field["NoNewPrivs"] == "1",
        "can_write_to": [place or "/" for place, can in written.items() if can],
        "health_check_exit_code": subprocess.run(
            [*podman.command, "exec", name, *health_command(podman)], capture_output=True, check=False
        ).returncode,
        "files_of_visitors": podman("exec", name, "sh", "-c", "find /tmp -type f | wc -l"),
    }


def health_command(podman: Podman) -> list[str]:
    """What HEALTHCHECK runs."""
    return json.loads(podman("image", "inspect", IMAGE))[0]["Healthcheck"]["Test"][1:]


def served(podman: Podman, extra: list[str], port: int) -> dict:
    """Run it with the options of the docs, use it, end it."""
    name = f"modgrok-{port}"
    options = [word.replace("8765:8765", f"{port}:8765") for word in OPTIONS]
    began = time.perf_counter()
    try:
        podman("run", "--name", name, *extra, *options, IMAGE)
        while not healthy(port):
            if time.perf_counter() - began > SECONDS_TO_START:
                raise SystemExit(podman("logs", name))
            time.sleep(0.2)
        ready = time.perf_counter() - began
        visitor = Served(port)
        visitor.page()
        status, verdict = visitor.get("/api/verdict", expression="(2n1 + 3n2)^4", mod=97)
        training = trained(visitor)
        downloaded = [
            visitor.request("GET", f"/api/download?expression=n1+n2&mod=23&format={form}")[0].status
            for form in ("safetensors", "onnx")
        ]
        found = {
            "options": [*OPTIONS],
            "seconds_until_healthy": round(ready, 1),
            "verdict": [status, verdict["verdict"]],
            "training": training,
            "downloads": downloaded,
            "other_visitor_sees_runs": len(other_runs(port)),
            **inside(podman, name),
        }
        began = time.perf_counter()
        podman("stop", "--time", "60", name)
        state = json.loads(podman("container", "inspect", name))[0]["State"]
        return found | {"seconds_to_end": round(time.perf_counter() - began, 1), "exit_code": state["ExitCode"]}
    finally:
        podman("rm", "--force", name, check=False)


def other_runs(port: int) -> list:
    other = Served(port)
    other.page()
    return other.get("/api/runs")[1]["runs"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--base", help="an image to build on; without it debootstrap makes one")
    parser.add_argument("--podman", default="podman", help="the command, with the options that this machine needs")
    parser.add_argument("--run", default="", help="more options for `podman run`")
    parser.add_argument("--mount", action="append", default=[], metavar="FILE:PLACE", help="for the build, read-only")
    parser.add_argument("--port", type=int, default=18765)
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    podman = Podman(args.podman)
    found = build(podman, args.base or made_base(podman), args.mount)
    found |= served(podman, shlex.split(args.run), args.port)
    print(json.dumps(found, indent=2))
    if args.out:
        write_found(__file__, args.out, found, args)


if __name__ == "__main__":
    main()
