"""The page as files: complete, without inline scripts, and without another host."""

from __future__ import annotations

import posixpath
import re

import pytest

from nmt.web.files import page_files

FILES = page_files()
SCRIPTS = sorted(path for path in FILES if path.endswith(".js"))


@pytest.mark.parametrize("path", SCRIPTS)
def test_a_module_imports_files_that_the_server_has(path: str) -> None:
    text = FILES[path].content.decode()
    imported = re.findall(r'^import .* from "(.+)";$', text, re.MULTILINE)
    assert len(imported) == len(re.findall(r"^import ", text, re.MULTILINE))
    for name in imported:
        assert posixpath.normpath(posixpath.join(posixpath.dirname(path), name)) in FILES


def test_the_page_loads_only_its_own_files_and_has_no_inline_script_or_style() -> None:
    page = FILES["index.html"].content.decode()
    loaded = re.findall(r'(?:src|href)="(.*?)"', page)
    assert {name for name in loaded if not name.startswith(("#", "data:"))} <= set(FILES)
    assert re.findall(r"<script[^>]*>(.+?)</script>", page, re.DOTALL) == []
    assert "<style" not in page and not re.search(r"\s(on\w+|style)=", page)


def test_no_file_names_another_host() -> None:
    for path, file in FILES.items():
        found = re.findall(r"https?://[^\s\"'<]+", file.content.decode())
        assert set(found) <= {"http://www.w3.org/2000/svg"}, path


def test_the_server_sends_each_file_with_its_type_and_once(client) -> None:
    for path, file in FILES.items():
        answer = client.get(f"/{path}")
        assert answer.content == file.content and answer.headers["content-type"] == file.media_type, path
        again = client.get(f"/{path}", headers={"If-None-Match": answer.headers["etag"]})
        assert again.status_code == 304 and again.content == b""
    assert client.get("/").content == FILES["index.html"].content
    assert client.get("/page_files.py").status_code == client.get("/view/page.html").status_code == 404
