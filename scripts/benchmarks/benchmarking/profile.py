"""The time of TensorFlow's operations in an update, summed over all threads."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple


class Operation(NamedTuple):
    """All calls of one kind of operation."""

    kind: str
    milliseconds: float
    """Per update, without the operations that it calls."""
    calls: float
    """Per update."""


def operations(run: Callable[[], Any], updates: int) -> list[Operation]:
    """The operations of `run`, which makes so many updates; the most costly operation first."""
    import tensorflow as tf
    from tensorflow.tsl.profiler.protobuf import xplane_pb2

    with tempfile.TemporaryDirectory() as directory:
        tf.profiler.experimental.start(directory)
        run()
        tf.profiler.experimental.stop()
        (written,) = Path(directory).rglob("*.xplane.pb")
        space = xplane_pb2.XSpace.FromString(written.read_bytes())
    spent: Counter[str] = Counter()
    calls: Counter[str] = Counter()
    for plane in space.planes:
        for line in plane.lines if "CPU" in plane.name else ():
            events = [(e.offset_ps, e.duration_ps, plane.event_metadata[e.metadata_id].name) for e in line.events]
            for name, own in own_times(events):
                node, colon, kind = name.rpartition(":")
                if (
                    colon and node and not node.endswith(":")
                ):  # an operation of the graph, not the executor's Class::Run
                    spent[kind] += own
                    calls[kind] += 1
    return [Operation(kind, own / 1e9 / updates, calls[kind] / updates) for kind, own in spent.most_common()]


def own_times(events: list[tuple[int, int, str]]) -> list[tuple[str, int]]:
    """Names and own durations of one thread's (begin, duration, name) events, without the events inside them."""
    found: list[list[Any]] = []
    open_until: list[tuple[int, int]] = []  # end of an event that may contain others, and its index in `found`
    for begin, duration, name in sorted(events, key=lambda event: (event[0], -event[1])):
        while open_until and open_until[-1][0] <= begin:
            open_until.pop()
        if open_until:
            found[open_until[-1][1]][1] -= duration
        open_until.append((begin + duration, len(found)))
        found.append([name, duration])
    return [(name, own) for name, own in found]
