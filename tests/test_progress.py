"""Progress on a clock and a terminal of the tests' own."""

from __future__ import annotations

import io

import pytest

from nmt.progress import LineProgress, StatusLine, duration


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Clock:
    """Stands still until it is moved."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def reports(stream: io.StringIO, total: int | None, seconds_a_line: float, lines: int) -> str:
    clock = Clock()
    progress = LineProgress(total, stream, clock)
    for _ in progress.over(range(lines)):
        clock.now += seconds_a_line
    return stream.getvalue()


def test_in_a_log_a_line_every_ten_seconds():
    said = reports(io.StringIO(), total=30, seconds_a_line=1, lines=25)
    assert said == "nmt: 10 of 30 lines, 1.0 lines/s, 0:20 left\nnmt: 20 of 30 lines, 1.0 lines/s, 0:10 left\n"


def test_on_a_terminal_it_begins_after_two_seconds_and_goes_away():
    said = reports(Terminal(), total=None, seconds_a_line=1, lines=3)
    assert said == "\rnmt: 2 lines, 1.0 lines/s\x1b[K\rnmt: 3 lines, 1.0 lines/s\x1b[K\r\x1b[K"


def test_short_task_is_silent():
    assert reports(io.StringIO(), total=5, seconds_a_line=1, lines=5) == ""


def test_lines_that_are_done_before_they_are_handed_on():
    clock, stream = Clock(), io.StringIO()
    progress = LineProgress(30, stream, clock, window=30)
    for lines in (8, 12):
        clock.now += 10
        progress.advance(lines)
    assert stream.getvalue().splitlines() == [
        "nmt: 8 of 30 lines, 0.8 lines/s, 0:28 left",
        "nmt: 20 of 30 lines, 1.0 lines/s, 0:10 left",
    ]


def test_time_left_in_hours():
    assert "3:00:00 left" in reports(io.StringIO(), total=1081, seconds_a_line=10, lines=1)


def test_the_first_line_of_a_window_stands_for_all_of_it():
    """A window of 10 lines takes 20 seconds and comes at once: 2 s a line, not 20."""
    clock, stream = Clock(), io.StringIO()
    progress = LineProgress(30, stream, clock, window=10)

    def windows():
        for line in range(30):
            if line % 10 == 0:
                clock.now += 20
            yield line

    for _ in progress.over(windows()):
        pass
    assert stream.getvalue().splitlines() == [
        "nmt: 10 of 30 lines, 0.5 lines/s, 0:40 left",
        "nmt: 20 of 30 lines, 0.5 lines/s, 0:20 left",
        "nmt: 30 of 30 lines, 0.5 lines/s, 0:00 left",
    ]


def test_at_the_end_the_speed_is_that_of_the_lines_there_were():
    clock = Clock()
    progress = LineProgress(None, io.StringIO(), clock, window=500)
    for _ in progress.over(range(3)):
        clock.now += 1
    assert progress.speed == "1.0 lines/s"


def test_items_come_through_as_they_are_and_one_at_a_time():
    progress = LineProgress(None, io.StringIO(), Clock())
    taken = []
    for item in progress.over(iter("abc")):
        taken.append((item, progress.count))
    assert taken == [("a", 1), ("b", 2), ("c", 3)]


def test_ticker_on_a_terminal_twice_a_second_whatever_is_now():
    clock, stream = Clock(), Terminal()
    ticker = StatusLine(stream, clock)
    shown = []
    for tenth in range(40):
        clock.now = 100 + tenth / 10
        ticker.show(lambda tenth=tenth: shown.append(tenth) or str(tenth), now=True)
    assert shown == [20, 25, 30, 35]
    assert stream.getvalue() == "".join(f"\rnmt: {tenth}\x1b[K" for tenth in shown)


def test_ticker_in_a_log_only_when_now():
    clock, stream = Clock(), io.StringIO()
    ticker = StatusLine(stream, clock)
    for second in range(50):
        clock.now += 1
        ticker.show(lambda second=second: str(second), now=second % 20 == 0)
    assert stream.getvalue() == "nmt: 0\nnmt: 20\nnmt: 40\n"


def test_line_is_made_only_when_it_is_shown():
    StatusLine(io.StringIO(), Clock()).show(lambda: pytest.fail("not due"))


def test_what_is_said_stays_and_takes_the_renewed_line_away():
    for stream, before in ((Terminal(), "\r\x1b[K"), (io.StringIO(), "")):
        StatusLine(stream, Clock()).print("done")
        assert stream.getvalue() == f"{before}nmt: done\n"


def test_seconds_since_the_beginning():
    clock = Clock()
    ticker = StatusLine(io.StringIO(), clock)
    clock.now += 2.5
    assert ticker.seconds == 2.5


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0:00"), (59.4, "0:59"), (59.6, "1:00"), (61, "1:01"), (3600, "1:00:00"), (86400, "24:00:00")],
)  # fmt: skip
def test_duration(seconds, text):
    assert duration(seconds) == text
