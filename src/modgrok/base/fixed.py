"""Arrays that nobody can change: what is proved of numbers is proved of these.

A flag that an array may not be written to is taken back as easily as it is set. Numbers over `bytes` have no such flag:
NumPy refuses to make them writeable, whoever asks.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Shaped


def fixed(array: object) -> Shaped[np.ndarray, "..."]:
    """These numbers where nobody can change them: the array itself, or a copy."""
    own = np.asarray(array)
    return own if is_fixed(own) else np.ndarray(own.shape, own.dtype, own.tobytes())


def is_fixed(array: object) -> bool:
    """Whether nobody can change these numbers."""
    if type(array) is not np.ndarray:
        return False
    holder: object = array
    while isinstance(holder, np.ndarray):
        holder = holder.base
    return type(holder) is bytes
