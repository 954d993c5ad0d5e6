"""Drawing: every function returns a Figure that notebooks show, and only `save_figure` writes files."""

from __future__ import annotations

import matplotlib
import numpy as np
import pytest
from strong_rows import strong_rows

from modgrok.base.errors import InputError
from modgrok.compiler.compiling import compile
from modgrok.figures import inspection, paper, training
from modgrok.figures.style import Figure, drawing, save_figure
from modgrok.inspection.inspecting import inspect_network
from studies import strong_result

pytestmark = pytest.mark.draws

PNG = b"\x89PNG\r\n\x1a\n"

CURVES = [
    {"terms": s, "widths": [8, 16, 32, 64], "best_accuracy": [0.2, 0.7, 1.0, 1.0], "width_100": 2 * 4**s}
    for s in (2, 3)
]
WIDTHS = [{"terms": terms} | dict.fromkeys(paper.LABELS_OF_WIDTHS, 40 * terms) for terms in (2, 3)]
METRICS = {
    "step": [0, 10, 20],
    "train_loss": [0.1, 0.01, 0.001],
    "test_loss": [np.nan, 0.05, 0.002],
    "train_accuracy": [0.1, 1.0, 1.0],
    "test_accuracy": [0.1, 0.5, 1.0],
    "ipr": [0.2, 0.1, 0.9],
    "ipr_alive": [0.2, 0.1, 0.95],
    "alive": [3, 3, 2],
}
NEURONS = {"ipr_initial": [0.1, 0.2, 0.3], "ipr_final": [0.8, 0.9, 0.9], "alive": [True, True, False]}
LOSSES = np.linspace(0.0001, 0.004, 40)
POINTS = {
    "modulus": [43, 97] * 20,
    "train_loss": LOSSES.tolist(),
    "ratio": (LOSSES / 0.004).tolist(),
    "test_accuracy": (1 - LOSSES / 0.004).tolist(),
    "family": ["composed-sum"] * 20 + ["random"] * 20,
}
CURVE = {"ratio": [0.0, 1.0], "accuracy": [1.0, 0.0], "low": [0.9, 0.0], "high": [1.0, 0.1]}


def drawn_axes() -> dict[str, tuple[Figure, int]]:
    """Every figure of plain columns, with the number of axes that it must have."""
    settings = strong_result.result_of(strong_rows("A") + strong_rows("B", {"(2n1 + 3n2)^4": 0.5}), []).rows
    long_sums = [{"terms": 2, "width": 13}, {"terms": 3, "width": 26}]
    return {
        "figure1": (paper.figure1(CURVES, 1.4, 23), 2),
        "widths": (paper.widths_figure(WIDTHS, 23, long_sums, 7), 2),
        "training": (training.training_figure(METRICS, NEURONS, "n1 n2 mod 97"), 3),
        "strong": (paper.strong_figure(settings), 1),
        "law": (paper.law_figure(POINTS, CURVE), 3),
    }


def test_every_function_returns_a_figure_that_notebooks_show():
    before = dict(matplotlib.rcParams)
    for name, (figure, axes) in drawn_axes().items():
        assert type(figure) is Figure and len(figure.axes) == axes, name
        assert figure._repr_png_().startswith(PNG), name
    assert dict(matplotlib.rcParams) == before, "no global state is left behind"


def test_the_heat_map_names_twins_and_guesses_and_marks_what_is_outside(tmp_path):
    _, svg = save_figure(drawn_axes()["strong"][0], tmp_path / "strong")
    text = svg.read_text()
    assert "twins and guesses" in text and "(2n1 + 3n2)^4 - n1^2 †" in text


def test_the_same_data_give_the_same_bytes(tmp_path):
    found = []
    for folder in (tmp_path / "one", tmp_path / "two"):
        paths = save_figure(paper.figure1(CURVES, 1.4, 23), folder / "figure1.5")
        assert paths == [folder / "figure1.5.png", folder / "figure1.5.svg"]
        assert sorted(folder.iterdir()) == sorted(paths)
        found.append([path.read_bytes() for path in paths])
    (png, svg), again = found
    assert png.startswith(PNG) and len(png) > 10_000
    assert b"<svg" in svg and b"S = 2" in svg
    assert [png, svg] == again


def test_a_figure_carries_its_style_wherever_it_is_drawn():
    first, second = paper.law_figure(POINTS, CURVE), paper.law_figure(POINTS, CURVE)
    with matplotlib.rc_context({"font.size": 30, "axes.grid": False, "savefig.facecolor": "white"}):
        elsewhere = second._repr_png_()
    assert elsewhere == first._repr_png_()


def test_a_file_is_whole_or_absent(tmp_path, monkeypatch):
    with drawing(1, 1) as figure:
        figure.add_subplot()
    monkeypatch.setattr(Figure, "draw", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        save_figure(figure, tmp_path / "a")
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot write"):
        save_figure(figure, tmp_path / "file" / "a")


def test_an_inspected_network_has_its_figures():
    figures = inspection.inspection_figures(inspect_network(compile("n1 + n2", 7)))
    assert list(figures) == ["ipr", "spectrum", "neurons", "phases", "frequencies", "logits"]
    assert all(type(figure) is Figure for figure in figures.values())
