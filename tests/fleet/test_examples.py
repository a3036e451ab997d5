# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""The batch script and the prolog of tools/fleet, with stand-ins for srun, python and logger."""

import os
import pathlib
import subprocess

import pytest

EXAMPLES = pathlib.Path(__file__).parents[2] / "tools/fleet"


def write_fake_program(folder, name, body):
    file = folder / name
    file.write_text(f"#!/bin/sh\n{body}\n")
    file.chmod(0o755)


def run(folder, script, **env):
    path = {"PATH": f"{folder}:{os.environ['PATH']}"}
    return subprocess.run(
        ["bash", EXAMPLES / script],
        cwd=folder,
        env=os.environ | path | env,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("code", [0, 1, 2])
def test_batch_script_returns_verdict_and_keeps_baseline(tmp_path, code):
    write_fake_program(
        tmp_path, "srun", f'echo "$@" >>calls; mkdir -p fleet; echo "{{}}" >fleet/fleet.json; exit {code}'
    )
    assert run(tmp_path, "fleet.sbatch").returncode == code
    assert run(tmp_path, "fleet.sbatch").returncode == code
    first, second = (tmp_path / "calls").read_text().splitlines()
    assert first == "--kill-on-bad-exit=0 python -m pbprobe.fleet --strict --minutes 3 --output fleet"
    assert second == first + (" --baseline fleet/last.json" if code == 0 else "")


@pytest.mark.parametrize(
    "line, code, expected, logged",
    [("PASS  1 of 1 nodes pass", 0, 0, False), ("FAIL  rank 3: slow", 1, 1, False), ("UNKNOWN  busy", 1, 0, True),
     ("", 2, 0, True)],
)  # fmt: skip
def test_prolog_drains_failed_nodes_only(tmp_path, line, code, expected, logged):
    write_fake_program(
        tmp_path, "python3", f'[ "$*" = "-m pbprobe.fleet --node-health" ] || exit 9; echo "{line}"; exit {code}'
    )
    write_fake_program(tmp_path, "logger", 'echo "$@" >logged')
    done = run(tmp_path, "prolog.sh")
    assert done.returncode == expected
    assert done.stdout == (f"print pbprobe: {line}\n" if expected else "")
    assert (tmp_path / "logged").exists() == logged


# Keys of the objects that the example has, by the Kubernetes API (batch/v1, core/v1).
KNOWN = {
    "": {"apiVersion", "kind", "metadata", "spec"},
    "Service.spec": {"clusterIP", "selector", "ports", "publishNotReadyAddresses"},
    "Job.spec": {"completionMode", "completions", "parallelism", "backoffLimit", "activeDeadlineSeconds", "template"},
    "pod": {"subdomain", "restartPolicy", "affinity", "containers", "volumes", "nodeSelector", "tolerations"},
    "container": {"name", "image", "command", "args", "env", "resources", "volumeMounts", "ports"},
}


def test_kubernetes_job_runs_its_command(tmp_path):
    yaml = pytest.importorskip("yaml")
    service, job = yaml.safe_load_all((EXAMPLES / "fleet-job.yaml").read_text())
    assert set(service) == set(job) == KNOWN[""]
    assert (service["apiVersion"], service["kind"]) == ("v1", "Service")
    assert (job["apiVersion"], job["kind"]) == ("batch/v1", "Job")
    pod = job["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert set(service["spec"]) <= KNOWN["Service.spec"] and set(job["spec"]) <= KNOWN["Job.spec"]
    assert set(pod) <= KNOWN["pod"] and set(container) <= KNOWN["container"]
    # Pod 0 has a name for the others: by a service without an address, of these pods, before they are ready.
    assert service["spec"]["clusterIP"] == "None" and service["spec"]["publishNotReadyAddresses"] is True
    assert service["metadata"]["name"] == pod["subdomain"]
    assert service["spec"]["selector"] == {"job-name": job["metadata"]["name"]}
    assert job["spec"]["completionMode"] == "Indexed" and job["spec"]["completions"] == job["spec"]["parallelism"]
    assert {mount["name"] for mount in container["volumeMounts"]} == {volume["name"] for volume in pod["volumes"]}
    assert container["env"][0]["valueFrom"]["fieldRef"]["fieldPath"] == "spec.nodeName"
    write_fake_program(tmp_path, "torchrun", 'echo "$@"')
    env = os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}", "JOB_COMPLETION_INDEX": "2"}
    started = subprocess.run(container["command"], env=env, capture_output=True, text=True, check=True).stdout
    master = f"{job['metadata']['name']}-0.{pod['subdomain']}"
    assert started.startswith(
        f"--nnodes {job['spec']['completions']} --nproc-per-node gpu --node-rank 2 --master-addr {master} "
    )
    # The time limit exceeds the time of the job: --join, --minutes and the grace.
    assert job["spec"]["activeDeadlineSeconds"] > 60 + 180 + 30


def test_kubernetes_job_matches_schema():
    validate = pytest.importorskip("kubernetes_validate", reason="pip install kubernetes-validate, 22 MB")
    yaml = pytest.importorskip("yaml")
    for document in yaml.safe_load_all((EXAMPLES / "fleet-job.yaml").read_text()):
        validate.validate(document, "1.31", strict=True)
