"""How long wrapping and inspecting take at p = 113: python benchmarks/wrap.py [--out FILE]

Foreign files of the usual sizes: an array of logits, a state dict of HookedTransformer (one layer, width 128, 512
neurons), one of an MLP on embeddings (width 512) and an ONNX file. Each is wrapped and inspected in a process of its
own, with its function said and without; seconds are those of `mg.wrap` and `mg.inspect(…).to_json()`, on the wall and
of the processor, after `import modgrok`, compilation included.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file
from writing import write_found

import modgrok as mg

P, WIDTH, NEURONS, HEADS = 113, 128, 512, 4
RESULTS = Path(__file__).parent / "results" / "wrap.json"
TIMED = """
import json, sys, time
import modgrok as mg
mg.wrap, mg.inspect
path, said = sys.argv[1], json.loads(sys.argv[2])
wall, cpu = time.perf_counter(), time.process_time()
network = mg.wrap(path, *said)
middle = time.perf_counter()
mg.inspect(network).to_json()
wrapped, seconds = middle - wall, time.perf_counter() - wall
cpu = time.process_time() - cpu
print(json.dumps({"wrap": wrapped, "both": seconds, "processor": cpu, "network": network.summary()}))
"""


def waves(rows: np.ndarray) -> np.ndarray:
    """Logits of n1 + n2 by five frequencies."""
    away = rows.sum(axis=1)[:, None] - np.arange(P)
    return np.sum([np.cos(2 * np.pi * f * away / P) for f in (3, 9, 17, 44, 50)], axis=0).astype(np.float32)


def hooked(rng: np.random.Generator) -> dict[str, np.ndarray]:
    part = WIDTH // HEADS
    shapes = {"embed.W_E": (P + 1, WIDTH), "pos_embed.W_pos": (3, WIDTH), "unembed.W_U": (WIDTH, P)}
    shapes |= {f"blocks.0.attn.W_{name}": (HEADS, WIDTH, part) for name in "QKV"}
    shapes |= {"blocks.0.attn.W_O": (HEADS, part, WIDTH)}
    shapes |= {"blocks.0.mlp.W_in": (WIDTH, NEURONS), "blocks.0.mlp.W_out": (NEURONS, WIDTH)}
    return {name: (rng.normal(size=shape) / np.sqrt(shape[-2])).astype(np.float32) for name, shape in shapes.items()}


def mlp(rng: np.random.Generator) -> dict[str, np.ndarray]:
    shapes = {"embedding.weight": (P, WIDTH), "fc1.weight": (NEURONS, 2 * WIDTH), "fc2.weight": (P, NEURONS)}
    shapes |= {"fc1.bias": (NEURONS,), "fc2.bias": (P,)}
    return {name: rng.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}


def files(folder: Path) -> dict[str, Path]:
    rng, rows = np.random.default_rng(0), np.indices((P, P)).reshape(2, -1).T
    np.save(folder / "logits.npy", waves(rows).reshape(P, P, P))
    save_file(hooked(rng), folder / "hooked.safetensors")
    save_file(mlp(rng), folder / "mlp.safetensors")
    mg.export(mg.wrap(folder / "hooked.safetensors", "n1 + n2", P), "onnx", folder / "graph.onnx")
    names = ("logits.npy", "hooked.safetensors", "mlp.safetensors", "graph.onnx")
    return {name: folder / name for name in names}


def timed(path: Path, said: list[object]) -> dict[str, object]:
    command = [sys.executable, "-c", TIMED, str(path), json.dumps(said)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found: dict[str, object] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=RESULTS)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        rows = [
            {"file": name, "function": bool(said), **timed(path, said)}
            for name, path in files(Path(folder)).items()
            for said in (["n1 + n2", P], [])
        ]
    for row in rows:
        print(row)
    write_found(__file__, args.out, {"rows": rows, "slowest": max(float(str(row["both"])) for row in rows)}, args)


if __name__ == "__main__":
    main()
