"""One module per command: `add_arguments`, `run` (calls a verb and returns its result), `show` (prints it), and KEYS.

KEYS maps each key of the JSON object to its meaning; where a command has several actions, each of them to such a map.
"""

COMMANDS = {
    "compile": "compile a polynomial to a network with closed-form weights, and check it",
    "verify": "check a network against integer arithmetic on every row",
    "predict": "ask a network for one value",
    "export": "write a network for ONNX runtimes or PyTorch",
    "classify": "decide whether a function is h(g1(n1) + g2(n2)), with a witness or a proof",
    "check": "check the witness or the proof of a verdict against the table, independently",
    "train": "train networks on a function and watch them grok",
    "sweep": "train every combination of settings with many seeds, many networks at once",
    "runs": "list the runs in a folder: what, which settings, how far, how good",
    "compare": "show runs side by side: curves on one figure, settings that differ, numbers",
    "watch": "show how far a run is that another process trains",
    "inspect": "what the logits of a network compute, its spectra and phases, with figures",
    "census": "train thousands of networks by a plan, and draw, fit and query what they show",
    "bench": "measure training speed beside the loops that people write, or that of a census",
    "mix": "train experts on sums and products, and join them into a network for a polynomial",
    "paper": "reproduce a table or figure of the paper",
    "explore": "open the laboratory in a browser: functions, networks, trainings, census, paper",
}
"""Every command and what it does; reference.py makes docs/commands.md of them."""
