"""Files that are read: local and remote, plain and compressed."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import sys
from pathlib import Path

import pytest

from nmt.errors import NmtError
from nmt.files import reading
from nmt.files.reading import (
    damage_errors,
    digest_of,
    file_state,
    file_system,
    is_remote,
    matching_files,
    one_line,
    opened,
    package,
    plain_name,
    raw_file,
)

CONTENT = b"one\ntwo\n"


def content_of(path: Path | str) -> bytes:
    with opened(str(path)) as file:
        return file.read()


def test_the_scheme_of_a_name_makes_it_remote():
    assert is_remote("s3://bucket/text.gz") and is_remote("GS://bucket/text") and is_remote("git+ssh://host/text")
    assert not any(map(is_remote, ["text.gz", "/a/s3://b", "-", "3s://a", "C:/text"]))


def test_a_plain_name_lacks_the_end_of_a_compressed_file():
    names = ["a.en.gz", "a.ZST", "a.b/c", "a.txt", "gz"]
    assert [plain_name(name) for name in names] == ["a.en", "a", "a.b/c", "a.txt", "gz"]


@pytest.mark.parametrize("name", ["text", "text.gz", "text.GZ"])
def test_the_name_decides_whether_content_is_decompressed(name, tmp_path):
    stored = gzip.compress(CONTENT) if name != "text" else CONTENT
    (tmp_path / name).write_bytes(stored)
    assert content_of(tmp_path / name) == CONTENT
    with raw_file(str(tmp_path / name)) as file:
        assert file.read() == stored
    assert digest_of(str(tmp_path / name)) == hashlib.sha256(stored).hexdigest()


def test_zst_files_are_decompressed(tmp_path):
    zstd = pytest.importorskip("backports.zstd")
    (tmp_path / "text.zst").write_bytes(zstd.compress(CONTENT))
    assert content_of(tmp_path / "text.zst") == CONTENT


def test_a_dash_is_standard_input(monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(CONTENT)))
    assert content_of("-") == CONTENT


def test_damage_raises_the_errors_of_damage(tmp_path):
    cut = gzip.compress(os.urandom(99))[:-9]
    (tmp_path / "cut.gz").write_bytes(cut)
    (tmp_path / "plain.gz").write_bytes(CONTENT)
    (tmp_path / "changed.gz").write_bytes(cut[:10] + b"\xff" + cut[11:])
    for path in tmp_path.iterdir():
        with pytest.raises(damage_errors()):
            content_of(path)


def test_damage_to_zst_files_raises_the_errors_of_damage(tmp_path):
    pytest.importorskip("backports.zstd")
    (tmp_path / "plain.zst").write_bytes(CONTENT)
    with opened(str(tmp_path / "plain.zst")) as file, pytest.raises(damage_errors()):
        file.read()


def test_the_errors_of_damage_need_no_package(monkeypatch):
    monkeypatch.delitem(sys.modules, "backports.zstd", raising=False)
    assert EOFError in damage_errors()
    assert "backports.zstd" not in sys.modules


@pytest.mark.parametrize(
    ("name", "distribution"), [("absent", "absent"), ("absent.fs", "absent"), ("absent.zstd", "absent.zstd")]
)
def test_a_missing_package_is_named_with_its_purpose(name, distribution, monkeypatch):
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(NmtError, match=rf"^reading text needs {distribution}: .*corpora"):
        package(name, "reading text")


def test_a_package_is_imported():
    assert package("gzip", "reading text") is gzip


def test_an_error_is_shown_on_one_line():
    assert one_line(ValueError("a\n  b\tc")) == "a b c"
    assert one_line(ValueError()) == "ValueError"
    assert one_line(ValueError("x" * 301)) == "x" * 300


def test_the_state_of_a_file_changes_with_it(tmp_path):
    path = tmp_path / "text"
    path.write_bytes(CONTENT)
    os.utime(path, ns=(1, 5))
    first = file_state(str(path))
    assert first == (8, f"5 {path.stat().st_ctime_ns}") == file_state(str(path))
    path.write_bytes(CONTENT[::-1])
    os.utime(path, ns=(1, 5))  # as tar and rsync keep the time of a change
    assert file_state(str(path)) != first
    pytest.raises(FileNotFoundError, file_state, str(tmp_path / "none"))


class Server:
    """A file system of fixed answers."""

    def __init__(self, names: list[str], about: dict[str, object]) -> None:
        self._names, self._about = names, about

    def glob(self, pattern: str) -> list[str]:
        return self._names

    def ls(self, directory: str) -> None:
        if directory == "absent":
            raise FileNotFoundError
        if directory != "bucket/folder":
            raise ValueError(f"{directory} is\nclosed")

    def info(self, name: str) -> dict[str, object]:
        return self._about


@pytest.mark.parametrize(
    ("about", "state"),
    [
        ({"size": 8, "ETag": "e", "mtime": 3}, (8, "e")),
        ({"size": 8, "ETag": None, "LastModified": 3}, (8, "3")),
        ({"size": None}, (0, "")),
    ],
)
def test_the_state_of_a_remote_file_is_named_by_its_server(about, state, monkeypatch):
    monkeypatch.setattr(reading, "file_system", lambda path: (Server([], about), path))
    assert file_state("s3://bucket/a") == state


@pytest.mark.parametrize(
    ("pattern", "inner", "names"),
    [
        ("s3://bucket/*", "bucket/*", ["bucket/b", "bucket/a"]),
        ("S3://bucket/*", "bucket/*", ["/bucket/b", "/bucket/a"]),
        ("file:///bucket/*", "/bucket/*", ["/bucket/b", "/bucket/a"]),
        ("http://bucket/*", "http://bucket/*", ["http://bucket/b", "http://bucket/a"]),
    ],
)
def test_remote_files_that_match_are_named_as_the_pattern_names_them(pattern, inner, names, monkeypatch):
    """Some servers give whole names, some give names without the scheme, and some begin them with a slash."""
    monkeypatch.setattr(reading, "file_system", lambda path: (Server(names, {}), inner))
    assert matching_files(pattern) == [pattern.replace("*", "a"), pattern.replace("*", "b")]


@pytest.mark.parametrize("folder", ["bucket/folder", "absent"])
def test_a_pattern_that_no_remote_file_matches_is_refused(folder, monkeypatch):
    monkeypatch.setattr(reading, "file_system", lambda path: (Server([], {}), f"{folder}/a*b?"))
    with pytest.raises(NmtError, match=r"^s3://x/\*: no file has such a name"):
        matching_files("s3://x/*")


def test_a_server_that_answers_no_pattern_says_why(monkeypatch):
    monkeypatch.setattr(reading, "file_system", lambda path: (Server([], {}), "bucket/other/[ab]/*"))
    with pytest.raises(NmtError, match=r"^s3://x/\*: cannot be read: bucket/other is closed$"):
        matching_files("s3://x/*")


def test_local_files_that_match_are_sorted(tmp_path):
    for name in ("b.en", "a.en", "a.fr", "[a].en"):
        (tmp_path / name).touch()
    (tmp_path / "deep" / "er").mkdir(parents=True)
    (tmp_path / "deep" / "er" / "c.fr").touch()
    assert matching_files(f"{tmp_path}/?.en") == [f"{tmp_path}/a.en", f"{tmp_path}/b.en"]
    assert matching_files(f"{tmp_path}/**/*.fr") == [f"{tmp_path}/a.fr", f"{tmp_path}/deep/er/c.fr"]
    assert matching_files(f"{tmp_path}/[a].en") == [f"{tmp_path}/[a].en"]
    assert matching_files("no pattern") == ["no pattern"]
    with pytest.raises(NmtError, match="no file has such a name"):
        matching_files(f"{tmp_path}/*.de")


def test_files_of_a_remote_file_system_are_read(tmp_path):
    pytest.importorskip("fsspec")
    (tmp_path / "a.gz").write_bytes(gzip.compress(CONTENT))
    (tmp_path / "b").write_bytes(CONTENT)
    assert content_of(f"file://{tmp_path}/a.gz") == content_of(f"file://{tmp_path}/b") == CONTENT
    assert file_state(f"file://{tmp_path}/b").size == len(CONTENT)
    assert matching_files(f"file://{tmp_path}/*") == [f"file://{tmp_path}/a.gz", f"file://{tmp_path}/b"]
    with pytest.raises(FileNotFoundError):
        content_of(f"file://{tmp_path}/none")


def test_damage_to_a_remote_file_is_an_error_of_damage(tmp_path):
    pytest.importorskip("fsspec")
    (tmp_path / "cut.gz").write_bytes(gzip.compress(CONTENT)[:-9])
    (tmp_path / "plain.gz").write_bytes(CONTENT)
    for path in tmp_path.iterdir():
        with pytest.raises(damage_errors()):
            content_of(f"file://{path}")


def test_a_client_that_is_missing_is_one_line():
    fsspec = pytest.importorskip("fsspec")
    fsspec.register_implementation("absent", "absent_client.Client", clobber=True)
    with pytest.raises(NmtError, match=r"^absent://a: its client is missing: .*absent_client"):
        content_of("absent://a")
    with pytest.raises(NmtError, match=r"^strange://a: cannot be read: .*strange"):
        content_of("strange://a")


@pytest.mark.parametrize(
    ("name", "client", "variables", "options"),
    [
        ("S3", "S3FileSystem", {}, {}),
        ("s3", "S3FileSystem", {"AWS_ENDPOINT_URL": "http://a"}, {"endpoint_override": "http://a"}),
        (
            "s3a",
            "S3FileSystem",
            {"AWS_ENDPOINT_URL": "http://a", "AWS_ENDPOINT_URL_S3": "http://b"},
            {"endpoint_override": "http://b"},
        ),
        ("gs", "GcsFileSystem", {"AWS_ENDPOINT_URL": "http://a"}, {}),
    ],
)
def test_the_environment_names_the_endpoint_of_s3(name, client, variables, options, tmp_path, monkeypatch):
    """Here a local file system stands for the client."""
    pytest.importorskip("fsspec")
    arrow = pytest.importorskip("pyarrow.fs")
    given = []
    monkeypatch.setattr(arrow, client, lambda **chosen: given.append(chosen) or arrow.LocalFileSystem(), raising=False)
    for variable in ("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3"):
        monkeypatch.delenv(variable, raising=False)
    for variable, value in variables.items():
        monkeypatch.setenv(variable, value)
    (tmp_path / "text").write_bytes(CONTENT)
    assert file_system(f"{name}://{tmp_path}/text")[1] == f"{tmp_path}/text"
    assert content_of(f"{name}://{tmp_path}/text") == CONTENT
    assert given == [options, options]
