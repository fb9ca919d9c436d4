"""Event files for TensorBoard: curves and images."""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np


class EventWriter:
    """Writes event files with TensorFlow alone, and writes nothing where TensorFlow is not installed.

    `tf.summary.scalar` and `tf.summary.image` need the package TensorBoard. `tf.summary.write` does not, so this class
    writes the formats of the two plugins with it.

    Args:
        directory: created with the first event, so that a run that has ended gets no empty file.
    """

    def __init__(self, directory: Path) -> None:
        try:
            import tensorflow as tf
        except ImportError:
            tf = None
        self._tensorflow, self._directory = tf, directory
        self._writer: Any = None

    def scalars(self, step: int, values: Mapping[str, float]) -> None:
        """Adds a point at `step` to each named curve."""
        for name, value in values.items():
            self._write(step, "scalars", name, np.float32(value))

    def image(self, step: int, name: str, pixels: np.ndarray) -> None:
        """Adds an image, uint8 [height, width, 3 or 4]."""
        if self._tensorflow:
            png = self._tensorflow.io.encode_png(pixels).numpy()
            self._write(step, "images", name, [str(pixels.shape[1]).encode(), str(pixels.shape[0]).encode(), png])

    def _write(self, step: int, plugin: str, name: str, value: Any) -> None:
        """Writes a value in the format of a plugin of TensorBoard.

        Raises:
            OSError: the disk is full, or the directory cannot be written.
        """
        tf = self._tensorflow
        if tf is None:
            return
        from tensorflow.core.framework.summary_pb2 import SummaryMetadata

        metadata = SummaryMetadata(plugin_data=SummaryMetadata.PluginData(plugin_name=plugin))
        try:
            self._writer = self._writer or tf.summary.create_file_writer(str(self._directory))
            with self._writer.as_default(step):
                tf.summary.write(name, value, metadata=metadata)
            self._writer.flush()
        except tf.errors.OpError as error:
            number = errno.ENOSPC if isinstance(error, tf.errors.ResourceExhaustedError) else errno.EIO
            raise OSError(number, os.strerror(number), str(self._directory)) from None
