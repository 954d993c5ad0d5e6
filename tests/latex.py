"""Expressions as people who write LaTeX spell them."""

from __future__ import annotations

import re

from modgrok.algebra.trees import Tree, to_text


def to_latex(tree: Tree) -> str:
    r"""An expression as LaTeX: n_{1}^{2}, \left(, \cdot."""
    text = re.sub(r"\bn(\d+)", r"n_{\1}", to_text(tree))
    text = re.sub(r"\^(-?\d+)", r"^{\1}", text).replace("*", r" \cdot ")
    return text.replace("(", r"\left(").replace(")", r"\right)")
