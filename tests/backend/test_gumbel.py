"""Gumbel noise: finite values, mean and variance."""

from __future__ import annotations

import numpy as np
import pytest
from keras import ops

from nmt.backend.gumbel import _uniform, gumbel


def test_noise_is_finite_for_all_bits():
    """With 24 random bits, the greatest uniform number would be rounded to 1, whose noise is infinite."""
    bits = np.array([0, 511, 512, 2**31, 2**32 - 513, 2**32 - 1], np.uint32)
    found = ops.convert_to_numpy(_uniform(bits)).astype(float)
    np.testing.assert_array_equal(found, (np.array([0, 0, 1, 2**22, 2**23 - 2, 2**23 - 1]) + 0.5) / 2**23)
    assert np.isfinite(-np.log(-np.log(found))).all()


def test_noise_has_the_mean_and_the_variance_of_the_gumbel_distribution():
    found = ops.convert_to_numpy(gumbel(np.arange(2000, dtype=np.uint32), 3, 5, 7))
    assert found.shape == (2000, 5, 7)
    assert found.mean() == pytest.approx(np.euler_gamma, abs=0.02)
    assert found.var() == pytest.approx(np.pi**2 / 6, abs=0.04)
