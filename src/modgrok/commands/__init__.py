"""One module per command: `add_arguments`, `run` (calls a verb and returns its result), and `show` (prints it)."""

COMMANDS = {
    "compile": "write down the weights of a network for a polynomial, and check it on every input",
    "verify": "check a network against integer arithmetic on every input",
    "predict": "ask a network for one value",
    "export": "write a network for ONNX runtimes, PyTorch or TransformerLens",
    "classify": "decide whether a function is h(g1(n1) + g2(n2)), with a witness or a proof",
    "check": "check a certificate of classify again, independently of what found it",
    "tasks": "list the tasks of the grokking literature by name",
    "train": "train networks on a function and watch them grok",
    "sweep": "train every combination of settings, with many seeds, at once",
    "runs": "list the runs in a folder, with settings, progress and accuracy",
    "compare": "show runs side by side: settings that differ, numbers, curves on one figure",
    "watch": "follow a run that another process trains",
    "inspect": "look inside a network: its frequencies, phases, neurons and logits, with figures",
    "decompile": "find the formula that a network computes, its waves, and a closed-form twin",
    "census": "train thousands of networks from a plan; draw, fit and query the results",
    "dataset": "write the censuses of the repository as a data set that others can load",
    "zoo": "train 200 networks whose mathematics is known, and ask which functions they compute",
    "bench": "measure training speed against usual JAX and PyTorch loops, or that of a census",
    "mix": "train networks on sums and products, and join them into one for a polynomial",
    "paper": "reproduce a table or figure of the paper",
    "share": "write one page about a run, a network or a function, with its film, to send to anybody",
    "explore": "open the laboratory in a browser: functions, networks, training, census, paper",
}
"""Every command and what it does; release/reference.py makes docs/commands.md of them."""

EXAMPLES = {
    "compile": 'modgrok compile "n1 n2 + 3" --mod 97 --out net.safetensors',
    "verify": "modgrok verify net.safetensors",
    "predict": "modgrok predict net.safetensors 12 34",
    "export": "modgrok export net.safetensors --to torch",
    "classify": 'modgrok classify "x^2 + x y + y^2" --mod 97 --certificate proof.json',
    "check": "modgrok check proof.json",
    "tasks": "modgrok tasks",
    "train": 'modgrok train "n1 n2" --mod 23 --out runs/product',
    "sweep": 'modgrok sweep "n1 n2" --mod 23 --weight-decay 1,2,5 --seeds 3',
    "runs": "modgrok runs",
    "compare": "modgrok compare runs/product runs/sum",
    "watch": "modgrok watch runs/product",
    "inspect": "modgrok inspect runs/product",
    "decompile": "modgrok decompile runs/product",
    "census": "modgrok census plan.toml --out census",
    "dataset": "modgrok dataset build --out dataset",
    "zoo": "modgrok zoo build --out zoo --only power-sum-19-0",
    "bench": "modgrok bench train --case 23,500,8 --rounds 1",
    "mix": 'modgrok mix "n1 n2 + n1^2" --mod 23',
    "paper": "modgrok paper table1 --quick",
    "share": "modgrok share runs/product --out page.html",
    "explore": "modgrok explore --runs runs",
}
"""A first call of every command, which ends its --help. Each finds what those before it wrote; `make release-check`
runs all of them from the wheel (release/wheels.py)."""
