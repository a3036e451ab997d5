# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""A libtorch whose constructors forge answers of their process or write to forbidden places, and sound twins."""

import json
import pathlib
import subprocess

import pytest
from test_cli import FAILED, TORCH, needs_torch, run

NOTHING = "static int nothing;\n"

# Writes a former answer of the measuring process to every descriptor.
FORGER = r"""
#include <unistd.h>
#include <string.h>
__attribute__((constructor)) static void start(void) {
  static const char* const answers[] = {
      "\n{\"libtorch\": {\"path\": \"/t\", \"loaded\": true, \"executed\": true, \"executed_on_gpu\": true, "
      "\"version\": \"2.11.0\", \"areas\": [], \"figures\": [], \"timings\": [], \"built_for\": [], "
      "\"libraries\": [], \"starts\": [], \"kernels\": [], \"speeds\": []}}\n",
      "\n{\"finished\": true}\n", "\n{\"ended\": {\"how\": \"exited\", \"code\": 0, \"left_behind\": 0}}\n"};
  for (int number = 3; number < 1024; ++number)
    for (int i = 0; i < 3; ++i)
      if (write(number, answers[i], strlen(answers[i])) < 0) break;
  LEAVE
}
"""

WRITER = r"""
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
__attribute__((constructor)) static void start(void) {
  char path[4096];
  for (int i = 0; i < 3; ++i) {
    const char* folder = i == 0 ? getenv("PLANT_HOME") : i == 1 ? "." : getenv("PLANT_SELF");
    snprintf(path, sizeof path, "%s/planted", folder);
    close(open(path, O_WRONLY | O_CREAT, 0600));
  }
}
"""

# Writes to allowed folders; dies if a write fails.
SCRATCH = r"""
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
__attribute__((constructor)) static void start(void) {
  char path[4096];
  snprintf(path, sizeof path, "%s/cache", getenv("TMPDIR"));
  const int file = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
  if (file < 0 || write(file, "x", 1) != 1 || unlink(path) != 0) abort();
}
"""


def make_torch_with_code(folder: pathlib.Path, code: str) -> pathlib.Path:
    """The torch of these tests behind a libtorch_cpu.so that runs this code when it is loaded."""
    real = pathlib.Path(TORCH) / "torch"
    (folder / "torch/lib").mkdir(parents=True)
    (folder / "torch/version.py").write_text((real / "version.py").read_text())
    source = folder.parent / f"{folder.name}.c"
    source.write_text(code)
    library = folder / "torch/lib/libtorch_cpu.so"
    linked = ["-Wl,--no-as-needed", real / "lib/libtorch_cpu.so", f"-Wl,-rpath,{real / 'lib'}"]
    relaxed = ["-Wl,--unresolved-symbols=ignore-all", "-Wl,-soname,libtorch_cpu_planted.so"]
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source, *linked, *relaxed], check=True)
    return folder


def make_report(folder: pathlib.Path, **options) -> dict:
    command = ("report", folder, "--format", "json", "--no-figures", "--budget", "100")
    result = run(*command, timeout=200, **options)
    return json.loads(result.stdout)


def failures(report: dict) -> set[str]:
    return {finding["id"] for finding in report["verdict"]["findings"] if finding["severity"] == "fail"}


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    return make_torch_with_code(tmp_path_factory.mktemp("twin") / "site", NOTHING)


@pytest.fixture(scope="module")
def sound_report(sound):
    return make_report(sound)


@needs_torch
def test_accepts_the_sound_twin(sound_report):
    libtorch = sound_report["measurements"]["libtorch"]
    assert libtorch["problem"] is None
    assert (libtorch["loaded"], libtorch["executed"], libtorch["intruded"]) == (True, True, None)
    assert "PB513" not in failures(sound_report)


@needs_torch
def test_rejects_an_answer_of_a_constructor_by_its_own_check(tmp_path, sound_report):
    report = make_report(make_torch_with_code(tmp_path / "site", FORGER.replace("LEAVE", "")))
    libtorch = report["measurements"]["libtorch"]
    assert failures(report) - failures(sound_report) == {"PB513"}
    assert 'bytes that begin with "{"libtorch"' in libtorch["intruded"]
    assert libtorch["executed"], "what it computed when it was asked is another matter"


@needs_torch
@pytest.mark.parametrize("level", ["loaded", "executed"])
def test_rejects_answers_of_a_constructor_that_exits(tmp_path, level):
    folder = make_torch_with_code(tmp_path / "site", FORGER.replace("LEAVE", "_exit(0);"))
    result = run("gate", folder, "--claim", "avx2", "--require", level, "--budget", "60", timeout=180)
    assert result.returncode == FAILED
    assert "PB513" in result.stdout
    assert "wrote to the channel of pbprobe's results" in " ".join(result.stdout.split())  # wherever the line breaks


@needs_torch
def test_blocks_writes_of_a_constructor_elsewhere(tmp_path, sound_report):
    if sound_report["measurements"]["libtorch"]["confinement"]["landlock"] is None:
        pytest.skip("this kernel has no Landlock")
    folder, home, here = tmp_path / "site", tmp_path / "home", tmp_path / "here"
    home.mkdir()
    here.mkdir()
    make_torch_with_code(folder, WRITER)
    environment = {"PLANT_HOME": str(home), "PLANT_SELF": str(folder / "torch"), "HOME": str(home)}
    report = make_report(folder, env=environment, cwd=here)
    assert report["measurements"]["libtorch"]["executed"]
    for place in (home, here, folder / "torch"):
        assert not (place / "planted").exists(), place


@needs_torch
def test_its_scratch_folder_can_be_written(tmp_path):
    libtorch = make_report(make_torch_with_code(tmp_path / "site", SCRATCH))["measurements"]["libtorch"]
    assert (libtorch["problem"], libtorch["executed"]) == (None, True)
