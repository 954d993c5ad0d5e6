"""The whole zoo: its size, what its networks came to, what is proved of them again, and who knows their functions.

    modgrok zoo build --out ZOO
    python benchmarks/whole_zoo.py ZOO --out benchmarks/results/zoo.json

Every network is verified again from its weights: proved where the kernel can, counted row by row elsewhere. Three
contestants are asked which function it computes: our decompiler, one that believes whatever the network answers, and
one that never names a function. Networks that the file has already are not looked at again.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from pathlib import Path
from typing import Any

from writing import sittings_in, write_found

import modgrok as mg
from modgrok.experiments.zoo import Specimen, Zoo

CONTESTANTS = {"decompile": None, "believes": lambda network: network.table(), "never": lambda network: None}


def looked_at(specimen: Specimen) -> dict[str, Any]:
    """One network: what its file says, what is proved now, and who is right about it."""
    truth, began = specimen.truth, time.perf_counter()
    checked = mg.verify(specimen.network)
    proved = None if checked.proof is None else checked.proof.right / checked.rows_total
    alone = Zoo(specimen.folder.parent, (specimen,))
    scores = {name: mg.zoo_score(alone, contestant).rows for name, contestant in CONTESTANTS.items()}
    return {
        **{key: truth[key] for key in ("name", "model", "kind", "function", "outcome", "test_accuracy")},
        "snapshots": len(specimen.snapshots),
        "seconds_of_training": round(specimen.run.to_json()["seconds"], 1),
        "proved_accuracy": proved,
        "as_its_file_says": (proved, checked.accuracy) == (truth["proved_accuracy"], truth["accuracy"]),
        "for_transformer_lens": (specimen.folder / "lens.safetensors").is_file(),
        **{f"{name}_right": rows[0]["right"] if rows else None for name, rows in scores.items()},
        "seconds": round(time.perf_counter() - began, 1),
    }


def counted(rows: list[dict[str, Any]], folder: Path) -> dict[str, Any]:
    """What the rows come to; networks that learned a part are not asked about."""
    learned = [row for row in rows if row["outcome"] == "learned" and row["proved_accuracy"] is not None]
    asked = [row for row in rows if row["decompile_right"] is not None]
    kinds = sorted({(row["model"], row["kind"], row["outcome"]) for row in rows})
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    return {
        "networks": len(rows),
        "megabytes": round(size / 1e6, 1),
        "snapshots_of_each": sorted({row["snapshots"] for row in rows}),
        "minutes_of_training": round(sum(row["seconds_of_training"] for row in rows) / 60, 1),
        "outcomes": dict(Counter(row["outcome"] for row in rows)),
        "with_a_proof": sum(row["proved_accuracy"] is not None for row in rows),
        "learned_with_a_proof": len(learned),
        "learned_and_proved_on_every_row": sum(row["proved_accuracy"] == 1.0 for row in learned),
        "not_as_their_files_say": [row["name"] for row in rows if not row["as_its_file_says"]],
        "for_transformer_lens": sum(row["for_transformer_lens"] for row in rows),
        "asked": len(asked),
        "right": {name: sum(row[f"{name}_right"] for row in asked) for name in CONTESTANTS},
        "decompiled_wrongly": [row["name"] for row in asked if not row["decompile_right"]],
        "by_kind": [
            {
                **dict(zip(("model", "kind", "outcome"), kind, strict=True)),
                "networks": len(own := [r for r in rows if (r["model"], r["kind"], r["outcome"]) == kind]),
                "decompile_right": sum(bool(row["decompile_right"]) for row in own),
            }
            for kind in kinds
        ],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("zoo", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    rows = json.loads(args.out.read_text(encoding="utf-8"))["rows"] if args.out.exists() else []
    known, earlier = {row["name"] for row in rows}, sittings_in(args.out)
    fresh = [each for each in mg.zoo(args.zoo) if each.name not in known]
    for number, specimen in enumerate(fresh, 1):
        rows.append(looked_at(specimen))
        print(f"{number} of {len(fresh)}: {json.dumps(rows[-1])}", flush=True)
    rows.sort(key=lambda row: row["name"])
    found = counted(rows, args.zoo)
    print(json.dumps({key: value for key, value in found.items() if key != "by_kind"}, indent=1))
    files = tuple(each.folder / "weights.safetensors" for each in fresh)
    write_found(__file__, args.out, found | {"rows": rows}, args, read=files, earlier=earlier)


if __name__ == "__main__":
    main()
