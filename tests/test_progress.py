"""Progress in logs and on terminals, with a clock that the tests move."""

from __future__ import annotations

import io
import os
from threading import Thread

import pytest

from nmt.progress import LineProgress, StatusLine, duration, remove_status_lines, report


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True

    def fileno(self) -> int:
        return 2


@pytest.fixture(autouse=True)
def wide_terminal(monkeypatch):
    """A terminal of 100 columns, without lines of earlier tests."""
    monkeypatch.setattr("os.get_terminal_size", lambda _: os.terminal_size((101, 40)))
    remove_status_lines()


def drawn(stream: io.StringIO) -> list[str]:
    """The lines that a terminal showed one after the other, without trailing spaces; "" stands for a removed line."""
    return [line.rstrip(" ") for line in stream.getvalue().split("\r")]


class Clock:
    """A clock that stands still until the test moves it."""

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


def test_a_log_has_a_line_every_ten_seconds():
    log = reports(io.StringIO(), total=30, seconds_a_line=1, lines=25)
    assert log == "nmt: 10 of 30 lines, 1.0 lines/s, 0:20 left\nnmt: 20 of 30 lines, 1.0 lines/s, 0:10 left\n"


def test_a_terminal_has_a_line_after_two_seconds_that_is_removed_at_the_end():
    stream = Terminal()
    reports(stream, total=None, seconds_a_line=1, lines=3)
    assert [line for line in drawn(stream) if line] == ["nmt: 2 lines, 1.0 lines/s", "nmt: 3 lines, 1.0 lines/s"]
    assert drawn(stream)[-2:] == ["", ""]


def test_a_terminal_has_a_bar_if_the_total_is_known():
    stream = Terminal()
    reports(stream, total=10, seconds_a_line=1, lines=5)
    assert [line for line in drawn(stream) if line] == [
        "nmt:  20% ████                 2 of 10 lines, 1.0 lines/s, 0:08 left",
        "nmt:  30% ██████               3 of 10 lines, 1.0 lines/s, 0:07 left",
        "nmt:  40% ████████             4 of 10 lines, 1.0 lines/s, 0:06 left",
        "nmt:  50% ██████████           5 of 10 lines, 1.0 lines/s, 0:05 left",
    ]


def test_items_may_have_another_unit():
    clock, stream = Clock(), io.StringIO()
    progress = LineProgress(4, stream, clock, unit="pictures")
    for _ in progress.over(range(2)):
        clock.now += 5
    assert stream.getvalue() == "nmt: 2 of 4 pictures, 0.2 pictures/s, 0:10 left\n"
    assert progress.speed == "0.2 pictures/s"


@pytest.mark.parametrize(("total", "line"), [(None, "2 lines"), (4, "2 of 4 lines")])
def test_a_line_begins_with_its_task(total, line):
    """Braces in the name of a file are ordinary characters, though tqdm's formats have them."""
    for stream in (Terminal(), io.StringIO()):
        clock = Clock()
        progress = LineProgress(total, stream, clock, task="reading {0}")
        for _ in progress.over(range(2)):
            clock.now += 5
        assert f"reading {{0}}: {line}, 0.2 lines/s" in stream.getvalue()


def test_a_terminal_without_unicode_has_a_plain_bar():
    class AsciiTerminal(Terminal):
        encoding = "ascii"

    stream = AsciiTerminal()
    reports(stream, total=10, seconds_a_line=1, lines=5)
    assert "nmt:  50% ##########           5 of 10" in stream.getvalue()
    assert stream.getvalue().isascii()


@pytest.mark.parametrize("total", [None, 1000])
def test_a_line_fits_a_narrow_terminal(monkeypatch, total):
    """A longer line would wrap, and its first part would stay on the screen."""
    monkeypatch.setattr("os.get_terminal_size", lambda _: os.terminal_size((21, 40)))
    stream = Terminal()
    reports(stream, total, seconds_a_line=1, lines=5)
    assert max(map(len, drawn(stream))) <= 20
    assert any(line.startswith("nmt: ") for line in drawn(stream))


@pytest.mark.parametrize("variable", ["NO_COLOR", "TQDM_DISABLE", "TERM"])
def test_there_are_no_colours_whatever_the_environment_has(monkeypatch, variable):
    monkeypatch.setenv(variable, "1")
    stream = Terminal()
    reports(stream, total=10, seconds_a_line=1, lines=5)
    assert "\x1b" not in stream.getvalue()


def test_a_short_task_is_silent():
    assert reports(io.StringIO(), total=5, seconds_a_line=1, lines=5) == ""


def test_lines_count_when_they_are_done_before_they_are_handed_on():
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


def test_the_first_line_of_a_window_counts_for_the_whole_window():
    """A window of 10 lines takes 20 seconds and comes at once: 2 s per line, not 20."""
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


def test_the_final_speed_counts_the_actual_lines():
    clock = Clock()
    progress = LineProgress(None, io.StringIO(), clock, window=500)
    for _ in progress.over(range(3)):
        clock.now += 1
    assert progress.speed == "1.0 lines/s"


def test_items_come_through_unchanged_and_one_at_a_time():
    progress = LineProgress(None, io.StringIO(), Clock())
    taken = []
    for item in progress.over(iter("abc")):
        taken.append((item, progress.count))
    assert taken == [("a", 1), ("b", 2), ("c", 3)]


def test_a_terminal_has_a_status_twice_a_second_whatever_now_is():
    clock, stream = Clock(), Terminal()
    status = StatusLine(stream, clock)
    shown = []
    for tenth in range(40):
        clock.now = 100 + tenth / 10
        status.show(lambda tenth=tenth: shown.append(tenth) or str(tenth), now=True)
    assert shown == [20, 25, 30, 35]
    assert [line for line in drawn(stream) if line] == [f"nmt: {tenth}" for tenth in shown]


def test_a_log_has_a_status_only_when_now_is_true():
    clock, stream = Clock(), io.StringIO()
    status = StatusLine(stream, clock)
    for second in range(50):
        clock.now += 1
        status.show(lambda second=second: str(second), now=second % 20 == 0)
    assert stream.getvalue() == "nmt: 0\nnmt: 20\nnmt: 40\n"


def test_a_line_is_computed_only_when_it_is_shown():
    StatusLine(io.StringIO(), Clock()).show(lambda: pytest.fail("not due"))


def test_a_printed_line_stays_and_replaces_the_renewed_line():
    clock = Clock()
    for stream in (Terminal(), io.StringIO()):
        status = StatusLine(stream, clock)
        clock.now += 20
        status.show(lambda: "at work")
        status.print("done")
        assert drawn(stream)[-1] == "nmt: done\n" if stream.isatty() else "nmt: at work\nnmt: done\n"
    assert len(drawn(stream)) == 1


def test_a_message_from_elsewhere_stands_above_the_renewed_line():
    clock, stream = Clock(), Terminal()
    status = StatusLine(stream, clock)
    clock.now += 20
    status.show(lambda: "at work")
    report("a message", stream)
    assert [line for line in drawn(stream) if line] == ["nmt: at work", "nmt: a message\n", "nmt: at work"]


def test_an_error_removes_the_renewed_line(capsys):
    """The error is then printed on a line of its own."""
    clock, stream = Clock(), Terminal()
    with pytest.raises(KeyboardInterrupt):
        for _ in LineProgress(9, stream, clock).over(range(9)):
            clock.now += 1
            if clock.now > 104:
                raise KeyboardInterrupt
    assert "4 of 9" in drawn(stream)[-1]
    remove_status_lines()
    assert drawn(stream)[-2:] == ["", ""]
    report("interrupted", stream)
    assert stream.getvalue().endswith("\rnmt: interrupted\n")


def test_threads_may_advance_one_progress():
    stream, clock = io.StringIO(), Clock()
    progress = LineProgress(4000, stream, clock, window=4000)
    threads = [Thread(target=lambda: [progress.advance(1) for _ in range(1000)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    clock.now += 10
    progress.advance(0)
    assert stream.getvalue() == "nmt: 4,000 of 4,000 lines, 400.0 lines/s, 0:00 left\n"


def test_seconds_since_the_beginning():
    clock = Clock()
    status = StatusLine(io.StringIO(), clock)
    clock.now += 2.5
    assert status.seconds == 2.5


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0:00"), (59.4, "0:59"), (59.6, "1:00"), (61, "1:01"), (3600, "1:00:00"), (86400, "24:00:00")],
)  # fmt: skip
def test_duration(seconds, text):
    assert duration(seconds) == text
