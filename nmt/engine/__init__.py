"""What differs by backend: compiling, training steps, determinism, precision. With pipeline.py and operations.py
the only room that imports TensorFlow."""

from nmt.engine.adam import AVERAGED_EVERY, Adam
from nmt.engine.arrays import assign_arrays, averaged_arrays, variables_to_arrays
from nmt.engine.backend import (
    EngineError,
    batch_shapes,
    compile_function,
    dynamic_shapes,
    read_once,
    rounds_products,
    set_determinism,
)
from nmt.engine.events import EventWriter
from nmt.engine.machine import AT_ONCE, batches_at_once, configure_runtime, peak_memory, processors
from nmt.engine.precision import decide_precision
from nmt.engine.step import TrainStep

__all__ = [
    "AT_ONCE",
    "AVERAGED_EVERY",
    "Adam",
    "EngineError",
    "EventWriter",
    "TrainStep",
    "assign_arrays",
    "averaged_arrays",
    "batch_shapes",
    "batches_at_once",
    "compile_function",
    "configure_runtime",
    "decide_precision",
    "dynamic_shapes",
    "peak_memory",
    "processors",
    "read_once",
    "rounds_products",
    "set_determinism",
    "variables_to_arrays",
]
