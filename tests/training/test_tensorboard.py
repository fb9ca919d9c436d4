"""Event files for TensorBoard: scalars and images."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from nmt.training.tensorboard import EventWriter


def read_events(directory: Path) -> list[tuple[int, Any]]:
    from tensorflow.core.util.event_pb2 import Event

    (file,) = directory.glob("events.out.tfevents.*")
    events = [Event.FromString(record.numpy()) for record in tf.data.TFRecordDataset([str(file)])]
    return [(event.step, value) for event in events for value in event.summary.value]


def test_event_files_hold_scalars_and_images(tmp_path: Path) -> None:
    writer = EventWriter(tmp_path)
    pixels = np.random.default_rng(0).integers(0, 255, (3, 5, 3), np.uint8)
    writer.scalars(10, {"loss": 1.5, "bleu": 20.25})
    writer.scalars(20, {"loss": 0.5})
    writer.image(20, "alignment", pixels)
    events = read_events(tmp_path)
    scalars = [(step, v.tag, float(tf.make_ndarray(v.tensor))) for step, v in events[:3]]
    assert scalars == [(10, "loss", 1.5), (10, "bleu", 20.25), (20, "loss", 0.5)]
    assert {v.metadata.plugin_data.plugin_name for _, v in events[:3]} == {"scalars"}
    ((step, image),) = events[3:]
    assert (step, image.tag, image.metadata.plugin_data.plugin_name) == (20, "alignment", "images")
    width, height, png = tf.make_ndarray(image.tensor).tolist()
    assert (width, height) == (b"5", b"3")
    np.testing.assert_array_equal(tf.io.decode_png(png), pixels)


def test_an_event_file_that_cannot_be_written_is_an_error_of_writing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="Input/output error") as caught:
        EventWriter(tmp_path / "file" / "tensorboard").scalars(1, {"loss": 1.0})
    assert caught.value.filename == str(tmp_path / "file" / "tensorboard")
