# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""cmake/native_targets.py; the driver is a double, compiled here, for GPUs that are not."""

import json
import platform
import subprocess
import sys

import pytest
from conftest import SOURCE

ROWS = json.loads((SOURCE / "recipes" / "targets.json").read_text())["targets"]
CPUS = [row["id"] for row in ROWS if row["kind"] == "cpu" and row["architecture"] == platform.machine()]

DRIVER = """
#include <stdlib.h>
int cuInit(unsigned flags) { (void)flags; return atoi(getenv("DOUBLE_INIT")); }
int cuDeviceGetCount(int *count) { *count = 2; return 0; }
int cuDeviceGet(int *device, int index) { *device = index; return 0; }
int cuDeviceGetAttribute(int *value, int attribute, int device) {
  (void)device;
  *value = atoi(getenv(attribute == 75 ? "DOUBLE_MAJOR" : "DOUBLE_MINOR"));
  return 0;
}
"""


@pytest.fixture(scope="module")
def driver(tmp_path_factory):
    folder = tmp_path_factory.mktemp("driver")
    (folder / "driver.c").write_text(DRIVER)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", folder / "libcuda.so.1", folder / "driver.c"], check=True)
    return folder


def resolve(*arguments, driver=None, init=0, capability="0.0"):
    major, minor = capability.split(".")
    env = {"PATH": "/usr/bin:/bin", "DOUBLE_INIT": str(init), "DOUBLE_MAJOR": major, "DOUBLE_MINOR": minor}
    if driver:
        env["LD_LIBRARY_PATH"] = str(driver)
    script = SOURCE / "cmake" / "native_targets.py"
    return subprocess.run([sys.executable, script, *arguments], env=env, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("row", [row for row in ROWS if row["kind"] == "gpu"], ids=lambda row: row["id"])
def test_native_is_the_gpu_and_every_cpu_target_of_this_architecture(driver, row):
    run = resolve("native", driver=driver, capability=row["capability"])
    assert run.stdout == ",".join([row["id"], *CPUS]) + "\n"
    assert run.stderr == ""


def test_gpu_without_a_target_is_reported(driver):
    run = resolve("native", driver=driver, capability="5.2")
    assert run.stdout == ",".join(CPUS) + "\n"
    assert "5.2" in run.stderr


def test_accepts_a_machine_without_a_device(driver):
    run = resolve("native", driver=driver, init=100)
    assert (run.stdout, run.stderr) == (",".join(CPUS) + "\n", "")


def test_driver_in_a_bad_state_is_reported(driver):
    run = resolve("native", driver=driver, init=999)
    assert run.stdout == ",".join(CPUS) + "\n"
    assert "error 999" in run.stderr


def test_choice_is_checked():
    assert resolve("all").stdout == "all\n"
    assert resolve(f"{ROWS[0]['id']}, {ROWS[-1]['id']}").stdout == f"{ROWS[0]['id']},{ROWS[-1]['id']}\n"
    run = resolve("sm999")
    assert run.returncode == 2
    assert 'unknown target "sm999"' in run.stderr
    assert ROWS[0]["id"] in run.stderr


def test_compilers_are_those_of_the_rows():
    assert resolve("--compilers", "all").stdout.split() == sorted({row["compiler"] for row in ROWS} - {"none"})
    assert resolve("--compilers", CPUS[0]).stdout == "cxx\n"
