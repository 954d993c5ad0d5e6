"""Each figure and table of the paper as one named item: settings, published numbers, ours, and a verdict.

An item is a module with `compute(*, quick, progress) -> dict`, plain JSON with the keys `item`, `title`, `settings`,
`published`, `measured`, `verdict`, `notes`, `rows` (equal-keyed) and `columns` (which keys to print, and under which
heading), and, where there is something to see, `draw(result, folder) -> list[Path]`, which draws from that stored
result alone. `quick` asks for a smaller version where the full one takes long.

An item with `LONG = True` also takes `full` (do every part, however long it takes), `folder` (where it keeps finished
parts, to go on from after an interruption) and `say` (called with a line for the user, such as an estimate of time).
One with `TIME_LIMITED = True` also takes `time_limit`, the seconds after which it begins no new part.
"""

ITEMS = {
    "table1": "networks with the paper's closed-form weights on six polynomials: error and accuracy",
    "table2": "networks trained on polynomials of the form h(g1 + g2) and near it, and the accuracy predicted for each",
    "figure1": "accuracy of the S-term sum against width: the width needed grows exponentially with S",
    "figure2": "training on n1 + n2 + n3 + n4 mod 11: losses, accuracies and the inverse participation ratio",
    "figure3": "training on n1 n2 mod 97: losses, accuracies and the inverse participation ratio",
    "widths": "hidden neurons of the S-term sum by design, beside those of the literature",
    "endtoend": "the joined architecture trained end to end: does depth make polynomials learnable?",
    "strong": "the strong hypothesis: other architectures, losses, optimisers and regularisers",
}
