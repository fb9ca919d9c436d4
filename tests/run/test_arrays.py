"""Named arrays in .npz files: they return to the bit, and damaged files are refused."""

from __future__ import annotations

import io
import tracemalloc
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt.files.atomic_writing import write_atomically
from nmt.run.arrays import load_array, load_arrays, packed_arrays, read_shapes, save_arrays
from nmt.run.errors import RunError


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "deep" / "file"
    write_atomically(path, b"old")

    def no_space(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", no_space)
    with pytest.raises(OSError, match="No space left"):
        write_atomically(path, b"new")
    assert path.read_bytes() == b"old"
    assert list(path.parent.iterdir()) == [path]


@settings(deadline=None)
@given(st.dictionaries(st.text("ab/_0", min_size=1, max_size=9), st.lists(st.floats(width=32), max_size=4), max_size=4))
def test_arrays_return_to_the_bit(tmp_path_factory, values):
    path = tmp_path_factory.mktemp("arrays") / "a.npz"
    arrays = {name: np.array(numbers, np.float32) for name, numbers in values.items()}
    save_arrays(path, arrays)
    back = load_arrays(path)
    assert {name: a.tobytes() for name, a in back.items()} == {name: a.tobytes() for name, a in arrays.items()}


def damaged(kind: str, whole: bytes) -> bytes:
    flipped = bytearray(whole)
    flipped[len(whole) // 2] ^= 0xFF
    return {"empty": b"", "cut": whole[: len(whole) // 2], "text": b"no weights", "flipped": bytes(flipped)}[kind]


@pytest.mark.parametrize("kind", ["empty", "cut", "text", "flipped"])
def test_damaged_files_are_named(kind, tmp_path):
    path = tmp_path / "best.npz"
    save_arrays(path, {"a": np.arange(100.0)})
    path.write_bytes(damaged(kind, path.read_bytes()))
    with pytest.raises(RunError, match=r"best\.npz: damaged, or not a file of weights"):
        load_arrays(path)


def test_an_unknown_compression_is_damage(tmp_path):
    path = tmp_path / "best.npz"
    save_arrays(path, {"a": np.zeros(2)})
    whole = path.read_bytes()
    entry = whole.index(b"PK\x01\x02")  # of the central directory; the method of compression is its byte 10
    path.write_bytes(whole[: entry + 10] + b"\x63" + whole[entry + 11 :])
    with pytest.raises(RunError, match="damaged, or not a file of weights"):
        load_arrays(path)


def test_weights_are_never_unpickled(tmp_path):
    with open(tmp_path / "objects.npz", "wb") as file:
        np.savez(file, a=np.array([print], dtype=object))
    np.save(tmp_path / "single.npy", np.zeros(3))
    for name in ("objects.npz", "single.npy"):
        with pytest.raises(RunError, match=f"{name}: damaged"):
            load_arrays(tmp_path / name)


def test_no_flipped_bit_changes_an_array(tmp_path):
    """Each array is unchanged, or the file is refused; a flipped bit in a header must not shift the values."""
    path = tmp_path / "best.npz"
    arrays = {"a/kernel": np.arange(6, dtype=np.float32).reshape(2, 3), "b": np.array(7)}
    save_arrays(path, arrays)
    whole = path.read_bytes()
    for bit in range(8 * len(whole)):
        flipped = bytearray(whole)
        flipped[bit // 8] ^= 1 << bit % 8
        path.write_bytes(flipped)
        try:
            back = load_arrays(path)
        except RunError as error:
            assert "\n" not in str(error)
            continue
        for name, array in back.items():  # a flipped bit may have changed a name, so that its array is missing
            if name in arrays:
                np.testing.assert_array_equal(array, arrays[name], strict=True)


def test_memory_for_weights_is_bounded_by_the_file(tmp_path):
    """A compressed file may hold a thousand times its size, and a header may claim any shape."""
    np.savez_compressed(tmp_path / "bomb.npz", a=np.zeros(10_000))
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f4", "fortran_order": False, "shape": (10**12,)})
    with zipfile.ZipFile(tmp_path / "claim.npz", "w") as archive:
        archive.writestr("a.npy", header.getvalue() + bytes(4))
    for name in ("bomb.npz", "claim.npz"):
        with pytest.raises(RunError, match=f"{name}: damaged"):
            load_arrays(tmp_path / name)


def test_memory_for_shapes_is_bounded_by_the_file(tmp_path):
    """A header of version 2 gives its own length, and zeros compress to a thousandth."""
    path = tmp_path / "bomb.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.npy", b"\x93NUMPY\x02\x00" + (2**23).to_bytes(4, "little") + bytes(2**23))
    assert path.stat().st_size < 10_000
    tracemalloc.start()
    with open(path, "rb") as file:
        assert read_shapes(file) == {}
    assert tracemalloc.get_traced_memory()[1] < 2**20
    tracemalloc.stop()
    assert read_shapes(io.BytesIO(packed_arrays({"a/b": np.zeros((2, 3)), "c": np.zeros(4)}))) == {
        "a/b": (2, 3),
        "c": (4,),
    }


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(RunError, match=r"best\.npz: no such file"):
        load_arrays(tmp_path / "best.npz")


def test_the_order_of_values_and_empty_arrays_return(tmp_path):
    arrays = {"f": np.asfortranarray(np.arange(6).reshape(2, 3)), "none": np.zeros((0, 5), np.int8), "one": np.array(7)}
    save_arrays(tmp_path / "a.npz", arrays)
    back = load_arrays(tmp_path / "a.npz")
    assert [*back] == [*arrays]
    for name, array in arrays.items():
        np.testing.assert_array_equal(back[name], array, strict=True)
        np.testing.assert_array_equal(load_array(tmp_path / "a.npz", name), array, strict=True)
        back[name].flags.writeable = True  # a copy, so that it can be changed
    with pytest.raises(RunError, match=r"a\.npz: has no array g, or is damaged"):
        load_array(tmp_path / "a.npz", "g")


@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
def test_headers_of_two_versions_are_read(version, tmp_path):
    content = io.BytesIO()
    np.lib.format.write_array(content, np.arange(3), version=version)
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("a.npy", content.getvalue())
    if version == (3, 0):
        with pytest.raises(RunError, match="damaged"):
            load_arrays(tmp_path / "a.npz")
    else:
        assert load_arrays(tmp_path / "a.npz")["a"].tolist() == [0, 1, 2]


@pytest.mark.parametrize("excess", [-3, -1, 1])
def test_an_array_of_another_length_than_its_header_is_damage(excess, tmp_path):
    content = io.BytesIO()
    np.lib.format.write_array(content, np.arange(3, dtype=np.int8))
    changed = content.getvalue()[:excess] if excess < 0 else content.getvalue() + b"\0"
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("a.npy", changed)
    for read in (load_arrays, lambda path: load_array(path, "a")):
        with pytest.raises(RunError, match="damaged"):
            read(tmp_path / "a.npz")


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_two_arrays_of_one_name_are_damage(tmp_path):
    content = io.BytesIO()
    np.lib.format.write_array(content, np.arange(3))
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        for name in ("a.npy", "a"):
            archive.writestr(name, content.getvalue())
    with pytest.raises(RunError, match="damaged"):
        load_arrays(tmp_path / "a.npz")
    with open(tmp_path / "a.npz", "rb") as file:
        assert read_shapes(file) == {}
