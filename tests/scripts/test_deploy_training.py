"""The examples for training on several machines, run with a fake nmt and fake commands of Slurm."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from commands import REPOSITORY

from nmt.cli.commands import parser_of
from nmt.training.distribution.cluster import Cluster, read_cluster

DEPLOY = REPOSITORY / "scripts" / "deploy"
KUBERNETES = DEPLOY / "train-kubernetes.yaml"

FAKE_NMT = """#!/bin/bash
printf '%s\\n' "$TF_CONFIG" "$@" > "$OUT/worker-$$"
[[ "$TF_CONFIG" != *"\\"index\\": 1"* ]] || exit "${CODE_OF_1:-0}"
"""
FAKES = {
    "nmt": FAKE_NMT,
    "scontrol": '#!/bin/bash\n[[ "$*" == "show hostnames node[3-4]" ]] && printf "node3\\nnode4\\n"\n',
    # srun starts a task on each machine; here they run one after the other.
    "srun": '#!/bin/bash\nfor number in 0 1; do SLURM_PROCID=$number "$@"; done\n',
}


@pytest.fixture
def fakes(tmp_path: Path) -> dict[str, str]:
    """An environment whose commands are fakes, and the directory that they write to."""
    for name, text in FAKES.items():
        (tmp_path / "bin").mkdir(exist_ok=True)
        (tmp_path / "bin" / name).write_text(text)
        (tmp_path / "bin" / name).chmod(0o755)
    (tmp_path / "out").mkdir()
    return {**os.environ, "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}", "OUT": str(tmp_path / "out")}


def started(environment: dict[str, str]) -> list[tuple[Cluster, list[str]]]:
    """The cluster and the arguments of each nmt that was started."""
    texts = [path.read_text().splitlines() for path in Path(environment["OUT"]).iterdir()]
    return sorted(((read_cluster({"TF_CONFIG": text}), words) for text, *words in texts), key=lambda one: one[0].index)


def require_worker_commands(environment: dict[str, str], addresses: tuple[str, ...], words: list[str]) -> None:
    assert started(environment) == [(Cluster(addresses, index), words) for index in range(len(addresses))]
    parser_of("train").parse_args(words[1:])


def test_two_local_workers(fakes: dict[str, str]) -> None:
    words = ["nmt", "train", "--name", "with space"]
    subprocess.run(["bash", DEPLOY / "local-workers.sh", "2", *words], env={**fakes, "PORT": "43100"}, check=True)
    require_worker_commands(fakes, ("127.0.0.1:43100", "127.0.0.1:43101"), words[1:])
    failed = subprocess.run(["bash", DEPLOY / "local-workers.sh", "2", *words], env={**fakes, "CODE_OF_1": "3"})
    assert failed.returncode == 3


def test_a_job_of_slurm(fakes: dict[str, str]) -> None:
    job = {"SLURM_JOB_ID": "4711", "SLURM_JOB_NODELIST": "node[3-4]"}
    subprocess.run(["bash", DEPLOY / "train.slurm", "--name", "with space"], env={**fakes, **job}, check=True)
    require_worker_commands(fakes, ("node3:24711", "node4:24711"), ["train", "--name", "with space"])


def objects() -> dict[str, Any]:
    return {one["kind"]: one for one in yaml.safe_load_all(KUBERNETES.read_text())}


def test_the_pods_of_kubernetes(fakes: dict[str, str]) -> None:
    job, (container,) = objects()["Job"]["spec"], objects()["Job"]["spec"]["template"]["spec"]["containers"]
    variables = {one["name"]: one["value"] for one in container["env"]}
    workers = int(variables["WORKERS"])
    assert job["completions"] == job["parallelism"] == workers == 2
    for index in range(workers):
        environment = {**fakes, **variables, "JOB_COMPLETION_INDEX": str(index)}
        subprocess.run(container["command"], env=environment, check=True)
    addresses = tuple(f"nmt-train-{index}.nmt-train:2222" for index in range(workers))
    words = started(fakes)[0][1]
    require_worker_commands(fakes, addresses, words)
    names = {objects()[kind]["metadata"]["name"] for kind in ("Service", "Job")}
    assert names == {job["template"]["spec"]["subdomain"]} == {"nmt-train"}  # the names in the addresses


def test_the_objects_of_kubernetes_follow_its_schemas() -> None:
    validate = pytest.importorskip("kubernetes_validate", reason="pip install kubernetes-validate")
    for one in objects().values():
        validate.validate(one, validate.latest_version(), strict=True)
    broken = json.loads(json.dumps(objects()["Job"]).replace("completionMode", "completionMod"))
    with pytest.raises(validate.ValidationError):
        validate.validate(broken, validate.latest_version(), strict=True)
