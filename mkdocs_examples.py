"""For mkdocs.yml: examples of docstrings are code on the site, without a heading `Examples:` in the source.

The source writes an example as `>>> call(…)` after an empty line, and the tests run it. In Markdown `>>>` would be a
quotation in a quotation in a quotation, so what stands from there to the next empty line goes into a fence.
"""

from __future__ import annotations

import re
from typing import Any

import griffe

EXAMPLE = re.compile(r"^>>> .*(?:\n.+)*", re.MULTILINE)


class Fenced(griffe.Extension):
    """A griffe extension, called for every function, class and property that is read."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring:
            obj.docstring.value = EXAMPLE.sub(r"```python\n\g<0>\n```", obj.docstring.value)
