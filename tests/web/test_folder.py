"""`nmt export --format web` writes a folder that is complete, checked, and an ONNX export too."""

from __future__ import annotations

import hashlib
import json
import posixpath
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from commands import REPOSITORY, contents

import nmt
from nmt.cli import main
from nmt.run.directory import Run
from nmt.web import runtime
from nmt.web.files import folder_files


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory in the place of the npm package of ONNX Runtime, with other content."""
    files = {}
    for name, (path, _) in runtime.FILES.items():
        place = tmp_path / "package" / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(name.encode() * 50_000)
        files[name] = path, hashlib.sha256(place.read_bytes()).hexdigest()
    monkeypatch.setattr(runtime, "FILES", files)
    return tmp_path / "package"


def export(run: Path, output: Path, *options: str) -> int:
    return main(
        ["export", "--model", str(run), "--format", "web", "--output", str(output), "--licence", "CC0", *options]
    )


def test_a_folder_has_page_network_runtime_card_and_sums(demo_run, package, tmp_path, capsys):
    output = tmp_path / "demo.web"
    assert export(demo_run, output, "--runtime", str(package)) == 0
    shown = capsys.readouterr()
    assert "a browser loads the model" in shown.out and "python3 -m http.server" in shown.err
    there = contents(output)
    assert {"index.html", "main.js", "worker.js", "engine/search.js", "view/sentence.js", "page.json"} <= {*there}
    settings = json.loads(there["page.json"])
    assert {name: file["bytes"] for name, file in settings["files"].items()} == {
        name: len(there[name]) for name in ("encoder.onnx", "step.onnx", "shared.model", "runtime/onnxruntime.wasm")
    }
    for name, file in settings["files"].items():
        assert file["sha256"] == hashlib.sha256(there[name]).hexdigest()
    assert json.loads(there["export.json"])["precision"] == "int8"
    assert main(["verify", str(output)]) == 0
    (output / "engine" / "search.js").write_text("changed")
    assert main(["verify", str(output)]) == 2
    assert "search.js" in capsys.readouterr().err
    assert main(["verify", "--accept", str(output)]) == 0
    (output / "engine" / "search.js").write_text("changed again")
    assert main(["verify", str(output)]) == 2
    download = sum(len(there[name]) for name in there if name not in UNLOADED) / 2**20
    stated = float(re.search(rb"The page loads ([\d.]+) MiB once", there["index.html"])[1])
    assert stated == pytest.approx(download, abs=0.06)


UNLOADED = ("README.md", "config.json", "export.json", "manifest.json", "profile.json", "runtime/LICENSE")


def test_settings_that_the_page_lacks_are_named(demo_run, package, tmp_path, capsys):
    run = tmp_path / "run"
    shutil.copytree(demo_run, run)
    opened = Run.open(run)
    search = replace(opened.config.search, method="sample")
    replace(opened, config=replace(opened.config, search=search)).save_config()
    command = ["export", "--model", str(run), "--format", "web", "--runtime", str(package), "--output"]
    assert main([*command, str(tmp_path / "folder")]) == 0
    assert "although search.method of this run is sample" in capsys.readouterr().err


def test_nmt_translates_with_a_folder_too(demo_run, package, tmp_path):
    assert export(demo_run, tmp_path / "demo.web", "--runtime", str(package)) == 0
    folder, run = (nmt.Translator.load(path) for path in (tmp_path / "demo.web", demo_run))
    found = folder.translate(["The garden is empty .", ""])
    assert found[0].text and not found[1].text
    pair = ["The garden is empty ."], [found[0].text]
    assert folder.align(*pair)[0].log_probability == pytest.approx(run.align(*pair)[0].log_probability, rel=0.05)


def test_a_missing_or_another_runtime_is_refused_in_one_line(demo_run, package, tmp_path, capsys):
    assert export(demo_run, tmp_path / "new", "--runtime", str(tmp_path / "nowhere")) == 2
    error = capsys.readouterr().err
    assert "nowhere" in error and "npm pack onnxruntime-web@" in error and error.count("\n") == 1
    changed = package / "dist" / "ort-wasm-simd-threaded.wasm"
    changed.write_bytes(b"another version")
    assert export(demo_run, tmp_path / "new", "--runtime", str(package)) == 2
    assert f"{changed}: is not the file of onnxruntime-web" in capsys.readouterr().err
    assert not (tmp_path / "new").exists()
    assert main(["export", "--model", str(demo_run), "--output", str(tmp_path / "new"), "--runtime", "x"]) == 2
    assert "--runtime is for --format web: leave it out" in capsys.readouterr().err


def test_the_script_fetches_the_version_that_is_tested():
    script = (REPOSITORY / "scripts" / "web_runtime.sh").read_text(encoding="utf-8")
    assert f"version={runtime.VERSION} " in script and f'fetch_package {runtime.PACKAGE} "$version"' in script


def test_a_module_imports_files_of_the_folder():
    files = {*folder_files({}), *runtime.FILES}
    for path, content in folder_files({}).items():
        text = content.decode()
        imported = re.findall(r'^import [^"]* from "(.+)";$', text, re.MULTILINE) if path.endswith(".js") else []
        assert len(imported) == len(re.findall(r"^import ", text, re.MULTILINE)), path
        for name in imported:
            assert posixpath.normpath(posixpath.join(posixpath.dirname(path), name)) in files, (path, name)


def test_the_page_has_a_policy_and_names_no_other_host():
    page = folder_files({"model": 2**20})["index.html"].decode()
    assert re.findall(r"<script[^>]*>(.+?)</script>", page, re.DOTALL) == []
    assert "<style" not in page and not re.search(r"\s(on\w+|style)=", page)
    assert "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'" in page
    for path, content in folder_files({}).items():
        found = re.findall(r"https?://[^\s\"'<]+", content.decode())
        assert {*found} <= {"http://www.w3.org/2000/svg", "http://127.0.0.1:8000/"}, path
