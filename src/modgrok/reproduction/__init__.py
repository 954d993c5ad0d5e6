"""The tables and figures of the paper, its errata, and studies beyond it: one module each, all listed in `registry`.

A module of an item has `compute(effort)`, which gives an `ItemResult`, `summarise(result)`, which says it in a few
words, and `figures(result)` where there is something to see. `item` has the types, `registry` everything else that is
to be said about an item; a new one is a module and an entry there.
"""
