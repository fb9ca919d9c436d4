"""What the processor of the tests can do."""

from pathlib import Path

FLAGS = {"avx512_vnni", "avx_vnni", "amx_int8"}

SUMS_OF_8_BITS_ARE_EXACT = bool(FLAGS & {*Path("/proc/cpuinfo").read_text(encoding="utf-8").split()})
"""Without these instructions ONNX Runtime and CTranslate2 add pairs of 8-bit products in 16 bits, which overflow where
weights are as large as random ones. In ONNX Runtime this holds for old exports alone."""
