"""The precision that `auto` means, for each kind of hardware."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf

from nmt.backend import precision
from nmt.backend.precision import decide_precision


@pytest.mark.parametrize(
    ("capability", "native_cpu", "seconds", "policy"),
    [
        (None, False, 0.1, "float32"),
        (None, True, 0.5, "mixed_bfloat16"),
        (None, True, 0.9, "float32"),  # the gain is too small
        (None, True, 2.0, "float32"),
        ((9, 0), False, 2.0, "mixed_bfloat16"),
        ((8, 0), False, 2.0, "mixed_bfloat16"),
        ((7, 5), True, 0.5, "mixed_float16"),
    ],
)
def test_precision_follows_the_hardware(
    monkeypatch: pytest.MonkeyPatch, capability: tuple[int, int] | None, native_cpu: bool, seconds: float, policy: str
) -> None:
    """A product takes `seconds` in bfloat16 and one second in float32."""
    monkeypatch.setattr(tf.config, "list_physical_devices", lambda kind: ["gpu"] if capability else [])
    monkeypatch.setattr(tf.config.experimental, "get_device_details", lambda device: {"compute_capability": capability})
    flags = "flags : fpu avx512_bf16" if native_cpu else "flags : fpu avx2"
    monkeypatch.setattr(Path, "read_text", lambda *_, **__: flags)
    monkeypatch.setattr(
        precision, "_product_seconds", lambda *dtypes: [{"bfloat16": seconds}.get(d, 1.0) for d in dtypes]
    )
    assert decide_precision("auto") == policy
    assert decide_precision("float32") == "float32"
    assert decide_precision("mixed_float16") == "mixed_float16"


def test_products_are_timed_in_each_type() -> None:
    assert all(0 < seconds < 30 for seconds in precision._product_seconds("float32", "bfloat16"))


def test_without_processor_flags_the_precision_is_float32(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: Any, **__: Any) -> str:
        raise FileNotFoundError

    monkeypatch.setattr(tf.config, "list_physical_devices", lambda kind: [])
    monkeypatch.setattr(Path, "read_text", missing)
    assert decide_precision("auto") == "float32"
