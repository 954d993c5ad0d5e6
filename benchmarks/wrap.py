"""How long wrapping, inspecting and decompiling take at p = 113: python benchmarks/wrap.py [--out FILE]

Foreign files of the usual sizes: an array of logits, a state dict of HookedTransformer (one layer, width 128, 512
neurons), one of an MLP on embeddings (width 512), one of an x² network (width 500), an ONNX file. Each is wrapped and
inspected in a process of its own, with its function said and without; what was wrapped without is decompiled as well.
Seconds are those of `mg.wrap` and `mg.inspect(…).to_json()`, and those of `mg.decompile(…)` with its neurons, its twin
and `.to_json()`, on the wall and of the processor, after `import modgrok`, compilation included.

The weights are of networks that know n1 + n2, written down by hand: ReLU(cos(w n1 + φ) + cos(w n2 + φ)) has a part
cos(w (n1 + n2) + 2φ), which the readout collects over φ; in the transformer attention adds the two tokens up. Noise is
added to each tensor; that the x² network has x² is said, since it knows as much with ReLU. Those called untrained
have random weights alone: what takes longest to find no formula for.
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
network = mg.wrap(path, *said, activation="square" if "squares" in path else None)
middle = time.perf_counter()
mg.inspect(network).to_json()
wrapped, seconds = middle - wall, time.perf_counter() - wall
cpu = time.process_time() - cpu
found = {"wrap": wrapped, "both": seconds, "processor": cpu, "network": network.summary()}
if not said:
    wall, cpu = time.perf_counter(), time.process_time()
    decompiled = mg.decompile(network)
    decompiled.to_json()
    found |= {"formula": decompiled.formula, "agreement": decompiled.twin and decompiled.twin.agreement}
    found |= {"decompile": time.perf_counter() - wall, "decompile_processor": time.process_time() - cpu}
print(json.dumps(found))
"""
FREQUENCIES = (3, 9, 17, 44, 50)


def waves(rows: np.ndarray) -> np.ndarray:
    """Logits of n1 + n2 by five frequencies."""
    away = rows.sum(axis=1)[:, None] - np.arange(P)
    return np.sum([np.cos(2 * np.pi * f * away / P) for f in FREQUENCIES], axis=0).astype(np.float32)


def hooked(rng: np.random.Generator) -> dict[str, np.ndarray]:
    part = WIDTH // HEADS
    shapes = {"embed.W_E": (P + 1, WIDTH), "pos_embed.W_pos": (3, WIDTH), "unembed.W_U": (WIDTH, P)}
    shapes |= {f"blocks.0.attn.W_{name}": (HEADS, WIDTH, part) for name in "QKV"}
    shapes |= {"blocks.0.attn.W_O": (HEADS, part, WIDTH)}
    shapes |= {"blocks.0.mlp.W_in": (WIDTH, NEURONS), "blocks.0.mlp.W_out": (NEURONS, WIDTH)}
    return {name: (rng.normal(size=shape) / np.sqrt(shape[-2])).astype(np.float32) for name, shape in shapes.items()}


def known(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Embedding (p, width), first layer (width, neuron) and readout (neuron, p) of a network that knows n1 + n2."""
    f, phase = np.array([(f, 2 * np.pi * k / 100) for f in FREQUENCIES for k in range(100)]).T
    angles = 2 * np.pi / P * np.outer(np.arange(P), FREQUENCIES)
    embed = np.zeros((P, WIDTH))
    embed[:, :10] = np.concatenate([np.cos(angles), np.sin(angles)], axis=1)
    layer, place = np.zeros((WIDTH, NEURONS)), np.repeat(np.arange(5), 100)
    layer[place, np.arange(500)], layer[5 + place, np.arange(500)] = np.cos(phase), -np.sin(phase)
    readout = np.zeros((NEURONS, P))
    readout[:500] = np.cos(2 * np.pi / P * np.outer(f, np.arange(P)) + 2 * phase[:, None]) / 20
    return noisy(rng, embed), noisy(rng, layer), noisy(rng, readout)


def noisy(rng: np.random.Generator, matrix: np.ndarray) -> np.ndarray:
    return (matrix + rng.normal(0, 0.01 * matrix.std(), matrix.shape)).astype(np.float32)


def hooked_known(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Attention alike on n1 and n2 copies them to "=", in other dimensions of the stream than their own."""
    embed, layer, readout = known(rng)
    found = {name: np.zeros_like(tensor) for name, tensor in hooked(rng).items()}
    part = WIDTH // HEADS
    found["embed.W_E"][:P, :10], found["blocks.0.attn.W_V"][0, :10, :10] = 3 * embed[:, :10], np.eye(10)
    found["blocks.0.attn.W_O"][0, :10, 20:30] = np.eye(part)[:10, :10]
    found["blocks.0.mlp.W_in"][20:30] = layer[:10]
    basis = 2 * np.pi / P * np.outer(FREQUENCIES, np.arange(P))
    waves = np.concatenate([np.cos(basis), np.sin(basis)])
    found["unembed.W_U"][40:50] = waves
    found["blocks.0.mlp.W_out"][:, 40:50] = readout @ np.linalg.pinv(waves)
    return {name: noisy(rng, tensor) for name, tensor in found.items()}


def mlp_known(rng: np.random.Generator) -> dict[str, np.ndarray]:
    embed, layer, readout = known(rng)
    found = {"embedding.weight": embed, "fc1.weight": np.hstack([layer.T, layer.T]), "fc2.weight": readout.T}
    return {name: np.ascontiguousarray(each) for name, each in found.items()} | {
        "fc1.bias": np.zeros(NEURONS, np.float32),
        "fc2.bias": np.zeros(P, np.float32),
    }


def squares(rng: np.random.Generator) -> dict[str, np.ndarray]:
    embed, layer, readout = known(rng)
    both = np.stack([embed @ layer, embed @ layer])
    return {"embedding": both[..., :500].copy(), "readout": readout[:500].copy()}


def mlp(rng: np.random.Generator) -> dict[str, np.ndarray]:
    shapes = {"embedding.weight": (P, WIDTH), "fc1.weight": (NEURONS, 2 * WIDTH), "fc2.weight": (P, NEURONS)}
    shapes |= {"fc1.bias": (NEURONS,), "fc2.bias": (P,)}
    return {name: rng.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}


def files(folder: Path) -> dict[str, Path]:
    rng, rows = np.random.default_rng(0), np.indices((P, P)).reshape(2, -1).T
    np.save(folder / "logits.npy", waves(rows).reshape(P, P, P))
    makers = {"hooked": hooked_known, "mlp": mlp_known, "squares": squares}
    for name, make in (makers | {"hooked-untrained": hooked, "mlp-untrained": mlp}).items():
        save_file(make(rng), folder / f"{name}.safetensors")
    mg.export(mg.wrap(folder / "hooked.safetensors", "n1 + n2", P), "onnx", folder / "graph.onnx")
    return {path.name: path for path in sorted(folder.iterdir())}


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
    slowest = {
        f"slowest_{what}": max(float(str(row[what])) for row in rows if what in row)
        for what in ("both", "processor", "decompile", "decompile_processor")
    }
    write_found(__file__, args.out, {"rows": rows, **slowest}, args)


if __name__ == "__main__":
    main()
