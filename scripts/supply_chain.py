"""Hashes, licences, an SBOM and known vulnerabilities of the packages in constraints.txt.

    python scripts/supply_chain.py hashes             writes constraints-hashes.txt (needs the package index, minutes)
    python scripts/supply_chain.py check              compares constraints-hashes.txt with constraints.txt
    python scripts/supply_chain.py licences           prints the licence of each package
    python scripts/supply_chain.py sbom               prints a software bill of materials, CycloneDX 1.6
    python scripts/supply_chain.py vulnerabilities    asks pip-audit (needs `pip install pip-audit` and its database)

`hashes` takes the files that pip chooses on Linux x86-64 for each supported Python. `licences` and `sbom` read the
metadata of the installed packages. Exit code 1: something was found. Exit code 2: no answer was possible.
"""

from __future__ import annotations

import argparse
import configparser
import importlib.metadata
import importlib.util
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
CONSTRAINTS = REPOSITORY / "constraints.txt"
HASHES = REPOSITORY / "constraints-hashes.txt"

PYTHONS = ["3.11.5", "3.12", "3.13"]
"""The oldest release of each that every pinned package takes."""
PLATFORMS = [*(f"manylinux_2_{minor}_x86_64" for minor in range(28, 16, -1)), "manylinux2014_x86_64", "any"]

HEADER = """\
# The SHA-256 of every file that pip chooses for constraints.txt on Linux x86-64 with Python 3.11, 3.12 and 3.13.
# Written by `python scripts/supply_chain.py hashes`; install with `pip install --require-hashes --no-deps -r`.
"""
_REQUIREMENT = re.compile(r"([\w.-]+)==([\w.!+-]+)((?: --hash=sha256:[0-9a-f]{64})*)")
_GPL = re.compile(r"GPL|General Public License", re.IGNORECASE)

LICENCE_FILES = {"atheris": "Apache-2.0", "namex": "Apache-2.0"}
"""Packages whose metadata have no licence, with the one of their source."""
PARTLY_GPL = {"docutils"}
"""Packages that name the GPL for files that are not installed: the Emacs mode of docutils."""


class SupplyError(Exception):
    """One line about an answer that is not possible."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["hashes", "check", "licences", "sbom", "vulnerabilities"])
    commands = {
        "hashes": write_hashes,
        "check": check,
        "licences": print_licences,
        "sbom": lambda: print(json.dumps(sbom(), indent=2)),
        "vulnerabilities": audit,
    }
    try:
        return commands[parser.parse_args().command]() or 0
    except (SupplyError, OSError) as error:
        print(f"supply_chain.py: error: {error}", file=sys.stderr)
        return 2


def canonical(name: str) -> str:
    """The name of a package as pip compares it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def pinned(path: Path) -> dict[str, tuple[str, list[str]]]:
    """The version and the hashes of each package in a requirements file, by its canonical name.

    Raises:
        SupplyError: a line is more than a name, an exact version and hashes.
    """
    found = {}
    text = re.sub(r"\s*\\\n\s*", " ", path.read_text(encoding="utf-8"))
    for line in text.splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        if not (match := _REQUIREMENT.fullmatch(line.strip())):
            raise SupplyError(f"{path.name}: expected NAME==VERSION and hashes, found {line.strip()}")
        found[canonical(match[1])] = match[2], re.findall(r"[0-9a-f]{64}", match[3])
    return found


def differences(constraints: Path = CONSTRAINTS, hashes: Path = HASHES) -> list[str]:
    """A line for each package that the two files disagree on."""
    pins, hashed = pinned(constraints), pinned(hashes)
    lines = [f"{name} has hashes, but {constraints.name} does not pin it" for name in hashed if name not in pins]
    for name, (version, _) in pins.items():
        other, sums = hashed.get(name, (version, []))
        if other != version:
            lines.append(f"{name}: the hashes are of version {other}, {constraints.name} pins {version}")
        elif not sums:
            lines.append(f"{name}=={version} has no hash")
    return lines


def check() -> int:
    if lines := differences():
        print(*lines, "repair: python scripts/supply_chain.py hashes", sep="\n")
        return 1
    print(f"{len(pinned(HASHES))} packages, each with its hashes")
    return 0


def write_hashes() -> None:
    """Collects the hashes that pip reports for each Python, and writes the file."""
    pins = pinned(CONSTRAINTS)
    sums: dict[str, set[str]] = {name: set() for name in pins}
    for python in PYTHONS:
        print(f"Python {python}", file=sys.stderr)
        for name, digest in reported(python):
            sums[name].add(digest)
    lines = [
        " \\\n".join([f"{name}=={pins[name][0]}", *(f"    --hash=sha256:{digest}" for digest in sorted(digests))])
        for name, digests in sums.items()
    ]
    HASHES.write_text(HEADER + "\n".join(lines) + "\n", encoding="utf-8")


def reported(python: str) -> list[tuple[str, str]]:
    """Name and SHA-256 of each file that pip would install for this version of Python."""
    with tempfile.TemporaryDirectory() as place:
        report = Path(place, "report.json")
        platforms = [flag for platform in PLATFORMS for flag in ("--platform", platform)]
        command = [sys.executable, "-m", "pip", "install", "--dry-run", "--quiet", "--ignore-installed", "--no-deps"]
        command += ["--target", f"{place}/none", "--python-version", python, *platforms, "--report", str(report)]
        done = subprocess.run([*command, "--requirement", str(CONSTRAINTS)], capture_output=True, text=True)
        if done.returncode:
            raise SupplyError(f"pip found no files for Python {python}: {last_error(done.stderr)}")
        return [
            (canonical(one["metadata"]["name"]), one["download_info"]["archive_info"]["hashes"]["sha256"])
            for one in json.loads(report.read_text())["install"]
        ]


def last_error(text: str) -> str:
    """The last line of a log that names an error."""
    lines = [line for line in text.splitlines() if "ERROR" in line]
    return lines[-1] if lines else "no reason given"


def licence(name: str) -> str:
    """The licence that a package's metadata state: an SPDX expression where there is one; "" if it is not installed."""
    if name in LICENCE_FILES:
        return LICENCE_FILES[name]
    try:
        metadata = importlib.metadata.metadata(name)
    except importlib.metadata.PackageNotFoundError:
        return ""
    if expression := metadata.get("License-Expression"):
        return expression
    classifiers = [line for line in metadata.get_all("Classifier", []) if line.startswith("License ::")]
    if classifiers:
        return "; ".join(line.rpartition(" :: ")[2] for line in classifiers)
    return ((metadata.get("License") or "").strip() or "unknown").splitlines()[0]


def refused(name: str) -> bool:
    """Whether a package is under the GPL, or its licence is unknown."""
    stated = licence(name)
    return stated == "unknown" or (bool(_GPL.search(stated)) and name not in PARTLY_GPL)


def print_licences() -> int:
    pins = pinned(CONSTRAINTS)
    for name, (version, _) in pins.items():
        print(f"{name + ' ' + version:36} {licence(name) or 'not installed'}{' (refused)' * refused(name)}")
    return int(any(map(refused, pins)))


def sbom() -> dict[str, object]:
    """A bill of materials in the JSON format of CycloneDX 1.6, equal for equal packages: it has no date."""
    pins, hashed = pinned(CONSTRAINTS), pinned(HASHES)
    setup = configparser.ConfigParser()
    setup.read(REPOSITORY / "setup.cfg")
    direct = [setup["options"]["install_requires"], *setup["options.extras_require"].values()]
    ours = sorted({name for group in direct for line in group.split("\n") if (name := required(line)) in pins})
    refs = {name: f"pkg:pypi/{name}@{version}" for name, (version, _) in pins.items()}
    components = [
        {
            "type": "library",
            "bom-ref": refs[name],
            "name": name,
            "version": version,
            "purl": refs[name],
            "licenses": stated(licence(name)),
            "hashes": [{"alg": "SHA-256", "content": digest} for digest in hashed[name][1]],
        }
        for name, (version, _) in pins.items()
    ]
    sys.path.insert(0, str(REPOSITORY))
    from nmt.version import __version__

    nmt = {"type": "application", "bom-ref": "nmt", "name": "nmt", "version": __version__, "licenses": stated("MIT")}
    edges = {"nmt": ours, **{refs[name]: [other for other in dependencies(name) if other in pins] for name in pins}}
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": nmt},
        "components": components,
        "dependencies": [{"ref": ref, "dependsOn": [refs[one] for one in edge]} for ref, edge in edges.items()],
    }


def stated(text: str) -> list[dict[str, object]]:
    """A licence as CycloneDX writes it."""
    if re.fullmatch(r"[\w.-]+-[\w.-]+|MIT|0BSD|.* (?:AND|OR) .*", text):
        return [{"expression": text}]
    return [{"license": {"name": text}}] if text else []


def required(requirement: str) -> str:
    """The canonical name of the package that a line such as `requests[socks]>=2 ; extra == "x"` requires."""
    match = re.match(r"[\w.-]+", requirement)
    return canonical(match[0]) if match else ""


def dependencies(name: str) -> list[str]:
    """The packages that an installed one requires without extras."""
    from packaging.requirements import Requirement

    try:
        found = [Requirement(line) for line in importlib.metadata.requires(name) or []]
    except importlib.metadata.PackageNotFoundError:
        return []
    return sorted({canonical(one.name) for one in found if not one.marker or one.marker.evaluate({"extra": ""})})


def audit() -> int:
    """Asks pip-audit for known vulnerabilities of the pinned versions.

    Raises:
        SupplyError: pip-audit is not installed, or its database is out of reach. Without `--strict`, pip-audit would
            report no vulnerabilities for packages that it did not find.
    """
    if not importlib.util.find_spec("pip_audit"):
        raise SupplyError("pip-audit is not installed: run pip install pip-audit")
    command = [sys.executable, "-m", "pip_audit", "--strict", "--disable-pip", "--require-hashes", "--format", "json"]
    command += ["--progress-spinner", "off", "--requirement", str(HASHES)]
    done = subprocess.run(command, capture_output=True, text=True)
    if not done.stdout.strip():
        raise SupplyError(f"pip-audit gave no answer; its database may be out of reach: {last_error(done.stderr)}")
    packages = json.loads(done.stdout)["dependencies"]
    lines = [f"{one['name']} {one['version']}: {flaw['id']}" for one in packages for flaw in one["vulns"]]
    print(*lines, f"{len(packages)} packages, {len(lines)} known vulnerabilities", sep="\n")
    return int(bool(lines))


if __name__ == "__main__":
    sys.exit(main())
