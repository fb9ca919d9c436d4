"""scripts/supply_chain.py: pinned packages have hashes and licences, and the bill of materials names all of them."""

from __future__ import annotations

import importlib.metadata
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import supply_chain

REPOSITORY = Path(__file__).parents[2]
SUM = "0" * 64


@pytest.fixture
def files(tmp_path) -> tuple[Path, Path]:
    """A constraints file and its hashes; two packages."""
    constraints, hashes = tmp_path / "constraints.txt", tmp_path / "constraints-hashes.txt"
    constraints.write_text("# packages\nPy_YAML==6.0\nsix==1.17.0\n")
    hashes.write_text(
        f"Py_YAML==6.0 \\\n    --hash=sha256:{SUM} \\\n    --hash=sha256:{'1' * 64}\nsix==1.17.0 --hash=sha256:{SUM}\n"
    )
    return constraints, hashes


def test_every_pinned_package_has_its_hashes() -> None:
    assert supply_chain.differences() == []


def test_the_file_of_hashes_names_no_registry() -> None:
    text = supply_chain.HASHES.read_text()
    assert "//" not in text and "index" not in text


def test_hashes_of_names_however_they_are_written(files) -> None:
    assert supply_chain.differences(*files) == []
    assert supply_chain.pinned(files[1])["py-yaml"] == ("6.0", [SUM, "1" * 64])


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ("six==1.17.0", "six==1.16.0", "six: the hashes are of version 1.17.0, constraints.txt pins 1.16.0"),
        ("six", "seven", "six has hashes, but constraints.txt does not pin it"),
        ("six", "seven==1\nsix", "seven==1 has no hash"),
    ],
)
def test_a_pin_without_its_hash_is_named(files, old: str, new: str, found: str) -> None:
    constraints, hashes = files
    constraints.write_text(constraints.read_text().replace(old, new))
    assert found in supply_chain.differences(constraints, hashes)


@pytest.mark.parametrize("line", ["six>=1", "--index-url x", f"six==1 --hash=sha256:{SUM[1:]}", "six==1 --hash=md5:00"])
def test_a_line_that_pins_nothing_is_refused(files, line: str) -> None:
    files[1].write_text(line)
    with pytest.raises(supply_chain.SupplyError, match="expected NAME==VERSION and hashes"):
        supply_chain.differences(*files)


def test_no_pinned_package_is_under_the_gpl() -> None:
    assert [name for name in supply_chain.pinned(supply_chain.CONSTRAINTS) if supply_chain.refused(name)] == []


def test_every_import_of_nmt_is_a_pinned_package_without_the_gpl() -> None:
    imports = re.compile(r"^\s*(?:import|from) (\w+)", re.MULTILINE)
    modules = {name for path in (REPOSITORY / "nmt").rglob("*.py") for name in imports.findall(path.read_text("utf-8"))}
    owners = importlib.metadata.packages_distributions()
    packages = {supply_chain.canonical(owner) for name in modules for owner in owners.get(name, [])} - {"nmt"}
    assert {"numpy", "keras"} <= packages
    assert packages <= supply_chain.pinned(supply_chain.CONSTRAINTS).keys() - supply_chain.PARTLY_GPL


@pytest.mark.parametrize(
    ("metadata", "licence", "refused"),
    [
        ("License-Expression: MIT\nLicense: GPL", "MIT", False),
        ("Classifier: License :: OSI Approved :: MIT License", "MIT License", False),
        ("License: BSD\n 3-Clause", "BSD", False),
        ("License-Expression: LGPL-3.0-only", "LGPL-3.0-only", True),
        ("License: GNU General Public License v2", "GNU General Public License v2", True),
        ("Summary: none", "unknown", True),
    ],
)
def test_the_licence_of_an_installed_package(tmp_path, monkeypatch, metadata: str, licence: str, refused: bool) -> None:
    (tmp_path / "made_up-1.dist-info").mkdir()
    (tmp_path / "made_up-1.dist-info" / "METADATA").write_text(f"Metadata-Version: 2.4\nName: made-up\n{metadata}\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert (supply_chain.licence("made-up"), supply_chain.refused("made-up")) == (licence, refused)


def test_the_bill_of_materials_names_every_package_and_its_dependencies() -> None:
    bill = supply_chain.sbom()
    refs = {component["bom-ref"] for component in bill["components"]}
    assert len(refs) == len(supply_chain.pinned(supply_chain.CONSTRAINTS))
    edges = {edge["ref"]: edge["dependsOn"] for edge in bill["dependencies"]}
    assert edges.keys() == refs | {"nmt"}
    assert {one for edge in edges.values() for one in edge} <= refs
    assert any(ref.startswith("pkg:pypi/keras@") for ref in edges["nmt"])
    keras = next(ref for ref in refs if ref.startswith("pkg:pypi/keras@"))
    assert any(ref.startswith("pkg:pypi/numpy@") for ref in edges[keras])


def audited(monkeypatch, output: str, errors: str = "") -> int:
    """The exit code of the audit if pip-audit wrote this."""
    monkeypatch.setattr(supply_chain.importlib.util, "find_spec", lambda name: name)
    monkeypatch.setattr(
        supply_chain.subprocess,
        "run",
        lambda *_, **__: subprocess.CompletedProcess([], 1, stdout=output, stderr=errors),
    )
    monkeypatch.setattr(sys, "argv", ["supply_chain.py", "vulnerabilities"])
    return supply_chain.main()


def test_a_known_vulnerability_is_reported(monkeypatch, capsys) -> None:
    packages = [
        {"name": "six", "version": "1", "vulns": [{"id": "CVE-1"}]},
        {"name": "tqdm", "version": "2", "vulns": []},
    ]
    assert audited(monkeypatch, json.dumps({"dependencies": packages})) == 1
    assert capsys.readouterr().out == "six 1: CVE-1\n2 packages, 1 known vulnerabilities\n"


def test_a_database_out_of_reach_is_no_clean_report(monkeypatch, capsys) -> None:
    assert audited(monkeypatch, "", "ERROR: no connection") == 2
    assert (
        "pip-audit gave no answer; its database may be out of reach: ERROR: no connection\n" in capsys.readouterr().err
    )
