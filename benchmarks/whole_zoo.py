"""The whole zoo: its size, what its networks came to, what is proved of them again, and who knows their functions.

    modgrok zoo build --out ZOO
    python benchmarks/whole_zoo.py ZOO [--out benchmarks/results/zoo.json]

Every network is verified again from its weights: proved where the kernel can, counted row by row elsewhere. Three
contestants are asked which function each network computes: our decompiler, one that believes whatever the network
answers, and one that never names a function.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from pathlib import Path

from writing import write_found

import modgrok as mg

CONTESTANTS = {
    "decompile": None,
    "whatever it answers": lambda network: network.table(),
    "never a function": lambda network: None,
}


def counted(zoo: mg.Zoo) -> dict:
    files = [path for path in zoo.folder.rglob("*") if path.is_file()]
    truths = [each.truth for each in zoo]
    kinds = Counter((truth["model"], truth["kind"], truth["outcome"]) for truth in truths)
    return {
        "networks": len(zoo),
        "megabytes": round(sum(path.stat().st_size for path in files) / 1e6, 1),
        "snapshots_of_each": sorted({len(truth["snapshots"]) for truth in truths}),
        "seconds_of_training": round(sum(each.run.to_json()["seconds"] for each in zoo), 1),
        "outcomes": dict(Counter(truth["outcome"] for truth in truths)),
        "by_kind": [
            dict(zip(("model", "kind", "outcome", "networks"), (*kind, n), strict=True)) for kind, n in kinds.items()
        ],
        "with_a_state_dict_for_transformer_lens": sum((each.folder / "lens.safetensors").is_file() for each in zoo),
    }


def proved_again(zoo: mg.Zoo) -> dict:
    """What files say beside what the kernel says now."""
    said = {each.name: (each.truth["proved_accuracy"], each.truth["accuracy"]) for each in zoo}
    checked = {each.name: mg.verify(each.network) for each in zoo}
    now = {
        name: (None if one.proof is None else one.proof.right / one.rows_total, one.accuracy)
        for name, one in checked.items()
    }
    known = [each for each in zoo if now[each.name][0] is not None]
    learned = [now[each.name][0] for each in known if each.truth["outcome"] == "learned"]
    return {
        "with_a_proof": len(known),
        "of_models": dict(Counter(each.truth["model"] for each in known)),
        "differ_from_their_files": sorted(name for name in said if said[name] != now[name]),
        "learned_with_a_proof": len(learned),
        "learned_and_proved_right_on_every_row": sum(share == 1.0 for share in learned),
        "least_proved_accuracy_of_those_that_learned": min(learned, default=None),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("zoo", type=Path)
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    zoo = mg.zoo(args.zoo)
    found = counted(zoo) | {"verified": proved_again(zoo)}
    for name, contestant in CONTESTANTS.items():
        score = mg.zoo_score(zoo, contestant).to_json()
        wrong = [row["name"] for row in score["rows"] if not row["right"]]
        kept = ("networks", "right", "score", "networks_left_out", "by_kind", "seconds")
        found.setdefault("scores", {})[name] = {key: score[key] for key in kept} | (
            {"wrong": wrong} if contestant is None else {}
        )
    print(json.dumps(found, indent=1))
    if args.out:
        write_found(__file__, args.out, found, args, read=tuple(each.folder / "weights.safetensors" for each in zoo))


if __name__ == "__main__":
    main()
