"""The learning rate at single steps, against values of the formulas."""

from __future__ import annotations

import math
from typing import Any

import pytest

from nmt.config import ScheduleConfig
from nmt.training.schedule import ScheduleSpan, WarmUp, learning_rate, plateau_rate, rate_at


def rates(total: int, *steps: int, **fields: Any) -> list[float]:
    schedule = learning_rate(ScheduleConfig(learning_rate=2.0, **fields), total)
    return [float(schedule(step)) for step in steps]


def test_constant_after_a_linear_warm_up():
    assert rates(100, 0, 1, 3, 4, 99, warmup_steps=4, decay="constant") == [0.5, 1.0, 2.0, 2.0, 2.0]
    assert rates(100, 0, 99, warmup_steps=0, decay="constant") == [2.0, 2.0]


def test_the_warm_up_is_a_fifth_of_a_short_run():
    assert rates(20, 0, 1, 3, 4, 19, warmup_steps=400, decay="constant") == [0.5, 1.0, 2.0, 2.0, 2.0]
    assert rates(4, 0, 3, warmup_steps=400, decay="constant") == [2.0, 2.0]


def test_inverse_square_root_after_a_linear_warm_up():
    # The 16th step, at 4 of warm-up: 2 sqrt(4 / 16).
    assert rates(100, 0, 3, 15, 63, warmup_steps=4, decay="inverse_sqrt") == pytest.approx([0.5, 2.0, 1.0, 0.5])


def test_cosine_ends_at_its_final_share():
    # Half way between the warm-up's end at 10 and the last step 110 the cosine is 0: the mean of 2.0 and 0.2.
    fields = {"decay": "cosine", "final_share": 0.1}
    expected = [0.0, 1.0, 2.0, 1.1, 0.2, 0.2]
    assert rates(110, 0, 5, 10, 60, 110, 200, warmup_steps=10, **fields) == pytest.approx(expected)
    quarter = 0.2 + 1.8 * (1 + math.cos(math.pi / 4)) / 2
    assert rates(100, 0, 25, warmup_steps=0, **fields) == pytest.approx([2.0, quarter])


def test_schedule_is_the_same_from_its_own_configuration():
    schedule = WarmUp(2.0, 4, inverse_sqrt=True)
    assert float(WarmUp.from_config(schedule.get_config())(63)) == float(schedule(63))


def test_the_rate_of_a_plateau_warms_up_and_halves():
    config = ScheduleConfig(learning_rate=0.8, warmup_steps=4, decay="plateau")
    assert [plateau_rate(config, 30, step, 0) for step in range(6)] == pytest.approx([0.2, 0.4, 0.6, 0.8, 0.8, 0.8])
    assert plateau_rate(config, 30, 5, 2) == pytest.approx(0.2)


@pytest.mark.parametrize(
    ("more_passes", "planned", "expected"),
    [("stretch", 18, 36), ("final_rate", 18, 18), ("final_rate", 40, 36), ("final_rate", 0, 36)],
)
def test_a_schedule_spans_all_passes_unless_the_run_keeps_its_plan(more_passes, planned, expected):
    span = ScheduleSpan(ScheduleConfig(more_passes=more_passes), 36, planned, steps_per_epoch=10)
    assert (span.passes, span.steps) == (expected, 10 * expected)


def test_a_longer_schedule_raises_the_rate_of_a_cosine_and_not_of_a_constant():
    def raised(decay: Any, planned: int, step: int) -> Any:
        config = ScheduleConfig(learning_rate=2.0, warmup_steps=0, decay=decay, final_share=0.1)
        return ScheduleSpan(config, 10, planned, steps_per_epoch=10).raised_rate(step, 0)

    assert raised("cosine", 5, 50) == pytest.approx((0.2, 1.1))
    assert raised("cosine", 10, 50) is None  # as planned
    assert raised("cosine", 0, 50) is None  # a new run
    assert raised("cosine", 20, 50) is None  # fewer epochs than planned
    assert raised("cosine", 5, 0) is None  # both schedules begin at the highest rate
    assert raised("constant", 5, 50) is None


def test_the_rate_of_each_decay_after_some_steps():
    def rate(decay: Any, step: int) -> float:
        return rate_at(ScheduleConfig(learning_rate=2.0, warmup_steps=4, decay=decay), 100, step, halvings=1)

    assert rate("cosine", 100) == rate("cosine", 130) == pytest.approx(0.1)
    assert rate("plateau", 50) == 1.0
    assert rate("constant", 50) == 2.0
    assert rate("inverse_sqrt", 15) == pytest.approx(1.0)
