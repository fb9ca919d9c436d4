"""Event files for TensorBoard."""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np


class EventWriter:
    """Event files for TensorBoard: scalars and images. Writes nothing where TensorFlow is not installed.

    TensorBoard itself is needed to look at them, not to write them: tf.summary.scalar and tf.summary.image live in
    that package, the plain tf.summary.write and the two plugins' formats do not.
    """

    def __init__(self, directory: Path) -> None:
        try:
            import tensorflow as tf
        except ImportError:
            tf = None
        self._tensorflow, self._directory = tf, directory
        self._writer: Any = None

    def scalars(self, step: int, values: Mapping[str, float]) -> None:
        """A point at `step` for each named curve."""
        for name, value in values.items():
            self._write(step, "scalars", name, np.float32(value))

    def image(self, step: int, name: str, pixels: np.ndarray) -> None:
        """A picture, uint8 [height, width, 3 or 4]."""
        if self._tensorflow:
            png = self._tensorflow.io.encode_png(pixels).numpy()
            self._write(step, "images", name, [str(pixels.shape[1]).encode(), str(pixels.shape[0]).encode(), png])

    def _write(self, step: int, plugin: str, name: str, value: Any) -> None:
        if self._tensorflow:
            from tensorflow.core.framework.summary_pb2 import SummaryMetadata

            metadata = SummaryMetadata(plugin_data=SummaryMetadata.PluginData(plugin_name=plugin))
            try:
                # The file begins with the first point: a run that has ended already gets no empty one.
                self._writer = self._writer or self._tensorflow.summary.create_file_writer(str(self._directory))
                with self._writer.as_default(step):
                    self._tensorflow.summary.write(name, value, metadata=metadata)
                self._writer.flush()
            except self._tensorflow.errors.OpError as error:
                full = isinstance(error, self._tensorflow.errors.ResourceExhaustedError)
                number = errno.ENOSPC if full else errno.EIO
                raise OSError(number, os.strerror(number), str(self._directory)) from None
