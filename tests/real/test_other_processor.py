# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""The wheel for aarch64 in PyPI's torch for aarch64, under QEMU.

Its operators are right, and pbprobe.report() judges that torch, run by the Python of an arm64 Debian 12. That Python,
torch and what it imports are fetched once.
"""

import json
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2]
KEPT = SOURCE / "build/other-processor"
SYSTEM = KEPT / "debian-12"
PYTHON = SYSTEM / "usr/bin/python3.11"
DEBIAN = ("python3.11-minimal", "libpython3.11-minimal", "libpython3.11-stdlib", "libc6", "libstdc++6", "libgcc-s1")
TORCH = "2.10.0"  # the first that the operators take, and for CPUs only
NEEDS = ("filelock", "typing_extensions", "sympy", "networkx", "jinja2", "fsspec", "mpmath", "markupsafe")

# In namespaces of its own, where the kernel starts arm64 programs by QEMU, those that pbprobe itself starts too.
ENTER = r"""
set -e
mount -t binfmt_misc none /proc/sys/fs/binfmt_misc
zeros='\x00\x00\x00\x00\x00\x00\x00\x00' all='\xff\xff\xff\xff\xff\xff\xff'
printf '%s' ":arm64:M::\x7fELF\x02\x01\x01\x00$zeros\x02\x00\xb7\x00:$all\x00$all\xff\xfe\xff\xff\xff:$QEMU:F" \
  >/proc/sys/fs/binfmt_misc/register
exec "$@"
"""

# Small integers, and scales that are powers of two: each product and sum is exact in every type and order.
CALLS = """
import json, torch
from pbprobe import ops

torch.manual_seed(5)
def show(name, expected, found, kernel):
    print(json.dumps([name, torch.equal(found, expected), kernel]), flush=True)
def integers(low, high, dtype, *shape):
    return torch.randint(low, high, shape).to(dtype)

for m, n, k in [(1, 1, 1), (3, 5, 7), (33, 17, 65), (64, 64, 64), (1, 129, 300), (4, 3, 0)]:
    b = integers(-128, 128, torch.int8, k, n)
    for low, dtype in ((-128, torch.int8), (0, torch.uint8)):
        a = integers(low, low + 256, dtype, m, k)
        expected = (a.long() @ b.long()).int()
        show("int_mm", expected, ops.int_mm(a, b), ops.which(a, b))
    rows, columns = 2.0 ** torch.arange(m).remainder(5), 2.0 ** torch.arange(n).remainder(3)
    scaled = (expected.double() * rows[:, None] * columns).float()
    show("scaled_int_mm", scaled, ops.scaled_int_mm(a, b, rows, columns, torch.float32), ops.which(a, b))
    for dtype in (torch.float32, torch.bfloat16):
        a, b, bias = (integers(-2, 3, dtype, *shape) for shape in ((m, k), (k, n), (n,)))
        expected = a.double() @ b.double()
        show("mm", expected.to(dtype), ops.mm(a, b), ops.which(a, b))
        show("linear", (expected + bias).to(dtype), ops.linear(a, b.t(), bias), ops.which(a, b))
a, b = (integers(-2, 3, torch.float32, 9, 9).requires_grad_() for _ in "ab")
ops.mm(a, b).sum().backward()
show("gradient of mm", b.detach().sum(1).expand(9, 9), a.grad, ops.which(a, b))
"""

pytestmark = [
    pytest.mark.skipif(platform.machine() == "aarch64", reason="this machine runs it by itself"),
    pytest.mark.skipif(not shutil.which("qemu-aarch64-static"), reason="needs qemu-user-static"),
]


def fetched(*command):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"{Path(command[0]).name} fetched nothing: {(done.stdout + done.stderr).strip()[-300:]}")


def install(target, *what):
    """Installs with pip like that machine. Runs nothing of it."""
    tags = [f"--platform=manylinux_2_{minor}_aarch64" for minor in (17, 28, 31)]
    how = ["--quiet", "--no-deps", "--only-binary=:all:", "--python-version=3.11", *tags, "--target", target]
    return [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", *how, *what]


@pytest.fixture(scope="module")
def wheel():
    found = sorted((SOURCE / "dist").glob("pbprobe-*_aarch64.whl"))
    if not found:
        pytest.skip("no wheel for aarch64 in dist: make wheel")
    return found[-1]


@pytest.fixture(scope="module")
def environment(wheel, tmp_path_factory):
    """Returns the environment of a process of that Python."""
    torch = KEPT / f"torch-{TORCH}"
    fetched(SOURCE / "ci/unpack-debian", "--with-needed", SYSTEM, "arm64", "bookworm", *DEBIAN)
    if not torch.is_dir():
        half = torch.with_suffix(".half")
        shutil.rmtree(half, ignore_errors=True)
        fetched(*install(half, f"torch=={TORCH}", *NEEDS))
        half.rename(torch)
    site = tmp_path_factory.mktemp("other") / "site"
    subprocess.run([*map(str, install(site, wheel)), "--no-index"], check=True)
    path = f"{site}:{torch}"
    return {"PATH": os.environ["PATH"], "HOME": str(site.parent), "PYTHONPATH": path, "QEMU_LD_PREFIX": str(SYSTEM)}


def checked(command, env):
    done = subprocess.run(list(map(str, command)), env=env, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-3000:]
    return done.stdout


@pytest.mark.parametrize("cpu, target", [("max", "armv9"), ("neoverse-n1", "armv8_2")])
def test_its_operators_are_right_in_a_real_torch(environment, cpu, target):
    command = ["qemu-aarch64-static", "-cpu", cpu, PYTHON, "-W", "ignore", "-c", CALLS]
    seen = [json.loads(line) for line in checked(command, environment).splitlines()]
    assert len(seen) == 6 * 7 + 1
    assert [row for row in seen if not row[1]] == []
    kernels = {row[2] for row in seen}
    print(f"\n-cpu {cpu}, torch {TORCH}: {len(seen)} results exact, by {', '.join(sorted(kernels))}")
    assert all(kernel.endswith(target) for kernel in kernels)
    assert {kernel.split("_")[1] for kernel in kernels} >= {"int8", "fp32"}


def test_reports_for_the_other_python(environment):
    namespaces = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", ENTER, "enter"]
    env = {**environment, "QEMU": shutil.which("qemu-aarch64-static"), "QEMU_CPU": "max"}
    if subprocess.run([*namespaces, "true"], env=env, capture_output=True, check=False).returncode != 0:
        pytest.skip("takes a binfmt_misc of its own in a user's namespaces: Linux 6.7, and unshare")
    code = "import pbprobe; print(pbprobe.report(show=False, budget=300).to_json(indent=None))"
    document = json.loads(checked([*namespaces, PYTHON, "-W", "ignore", "-c", code], env))
    libtorch = document["measurements"]["libtorch"]
    assert (libtorch["executed"], libtorch["version"], libtorch["problem"]) == (True, TORCH, None)
    assert {area["problem"] for area in libtorch["areas"]} == {None}
    assert [row for row in document["verdict"]["findings"] if row["severity"] == "fail"] == []
    print(f"\npbprobe.report() under QEMU: {document['verdict']['outcome']}, {len(libtorch['areas'])} areas right")
