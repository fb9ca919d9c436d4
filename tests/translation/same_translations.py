"""Whether two translations are equal, but for rounding."""

from __future__ import annotations

import numpy as np

from nmt.translation.result import Translation


def same(first: Translation, second: Translation) -> bool:
    return (first.source, first.text, first.truncated) == (second.source, second.text, second.truncated) and bool(
        np.isclose(first.log_probability, second.log_probability, atol=1e-4)
        and np.allclose(first.alignment.weights, second.alignment.weights, atol=1e-4)
    )
