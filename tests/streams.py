"""What a command says on its standard error, whatever the machine does beside it."""

from __future__ import annotations

import re

SIGN_OF_LIFE = re.compile(r"^.+ \(\d+ s\)\n", re.MULTILINE)


def said(stderr: str) -> str:
    """What stands in a standard error, without the lines that come where work takes seconds (`base.progress`)."""
    return SIGN_OF_LIFE.sub("", stderr)
