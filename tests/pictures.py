"""Whether there is something to see in a figure."""

from __future__ import annotations

from io import BytesIO

import numpy as np
from matplotlib.image import imread

from modgrok.figures.style import Figure


def is_drawn(figure: Figure) -> bool:
    """Whether a notebook can show a figure, and more is in it than in an empty one."""
    picture = imread(BytesIO(figure._repr_png_()))
    return len(np.unique(picture.reshape(-1, picture.shape[-1]), axis=0)) > 100
