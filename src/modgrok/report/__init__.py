"""One report that reproduces the paper: stored results, the page built from them, and its two renderings.

`reproducing.paper` computes an item, or whatever is missing of all of them, reuses what is stored (`store`), and writes
an HTML page and the same as Markdown. Items are those of `reproduction.registry`; what needs hours without a GPU comes
from results that were recorded once and are part of the package.
"""
