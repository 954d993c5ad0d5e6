"""One report that reproduces the paper: stored results, the page built from them, and its two renderings.

`build.build` runs what is missing, reuses what is stored (`store`), and writes an HTML page and the same as Markdown.
Items are those of `modgrok.paper` and four more with the same shape: `networks`, `classes`, `mixture`, `errata`.
Trainings that need hours without a GPU come from results that were recorded once and are part of the package.
"""
