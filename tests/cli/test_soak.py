# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""Failing system calls in the program and its child: no fault of torch is reported, and no file is left.

PBPROBE_SOAK=3600 draws for an hour; by default each call fails once.
"""

import json
import os
import pathlib
import random
import subprocess
import time

import pytest
from gated import CLAIM
from test_cli import COULD_NOT_RUN, FAILED, PASSED, SOURCE, refused, run

CALLS = ("pipe2", "clone", "fork", "memfd_create", "socketpair", "mmap", "poll", "waitpid", "read", "write", "malloc")
INTERRUPTED = ("read", "poll", "waitpid", "write")
SHIM = r"""
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>

static const char* failing;
static long every, seen;
__attribute__((constructor)) static void read_environment(void) {
  const char* number = getenv("FAIL_EVERY");
  failing = getenv("FAIL_IN");
  every = number ? atol(number) : 0;
}
static int fails(const char* call) {
  if (!failing || every <= 0 || strcmp(failing, call) != 0) return 0;
  return __atomic_add_fetch(&seen, 1, __ATOMIC_RELAXED) % every == 0;
}
extern void* __libc_malloc(size_t);
static __thread int listed;  // an entry of a folder, for which no memory is to be had
void* malloc(size_t size) {
  if (!listed && !fails("malloc")) return __libc_malloc(size);
  listed = 0;
  errno = ENOMEM;
  return NULL;
}
struct dirent* readdir(DIR* folder) {
  struct dirent* (*real)(DIR*) = dlsym(RTLD_NEXT, "readdir");
  struct dirent* entry = real(folder);
  listed = fails("readdir");
  return entry;
}
#define FAILING(type, name, error, failed, declared, passed) \
  type name declared {                                       \
    type(*real) declared = dlsym(RTLD_NEXT, #name);          \
    if (!fails(#name)) return real passed;                   \
    errno = error;                                           \
    return failed;                                           \
  }
FAILING(int, pipe2, EMFILE, -1, (int* ends, int flags), (ends, flags))
FAILING(pid_t, fork, EAGAIN, -1, (void), ())
FAILING(int, memfd_create, ENOMEM, -1, (const char* name, unsigned flags), (name, flags))
FAILING(int, socketpair, EMFILE, -1, (int d, int t, int p, int* ends), (d, t, p, ends))
FAILING(void*, mmap, ENOMEM, (void*)-1, (void* a, size_t s, int p, int f, int d, off_t o), (a, s, p, f, d, o))
FAILING(ssize_t, read, EINTR, -1, (int file, void* into, size_t size), (file, into, size))
FAILING(ssize_t, write, EINTR, -1, (int file, const void* from, size_t size), (file, from, size))
FAILING(int, poll, EINTR, -1, (void* files, unsigned long count, int time), (files, count, time))
FAILING(pid_t, waitpid, EINTR, -1, (pid_t process, int* status, int flags), (process, status, flags))
long syscall(long number, ...) {
  long (*real)(long, ...) = dlsym(RTLD_NEXT, "syscall");
  long with[6];
  va_list more;
  va_start(more, number);
  for (int i = 0; i < 6; ++i) with[i] = va_arg(more, long);
  va_end(more);
  if (number != SYS_clone || !fails("clone")) return real(number, with[0], with[1], with[2], with[3], with[4], with[5]);
  errno = EAGAIN;
  return -1;
}
"""


@pytest.fixture(scope="module")
def shim(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shim")
    (folder / "shim.c").write_text(SHIM)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", folder / "shim.so", folder / "shim.c", "-ldl"], check=True)
    return folder / "shim.so"


@pytest.fixture(scope="module")
def faults_at_rest(sound):
    """Returns the findings without failing calls: the build does not compute."""
    return list_fault_ids(run("report", sound, "--budget", 2, "--format", "json"))


def list_fault_ids(result):
    return {found["id"] for found in json.loads(result.stdout)["verdict"]["findings"] if found["severity"] == "fail"}


def left_running(mark):
    """Processes that carry the mark in their environment, after five seconds in which the kernel may end them."""
    until = time.monotonic() + 5
    while (found := running(mark)) and time.monotonic() < until:
        time.sleep(0.1)
    return found


def running(mark):
    found = []
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if mark.encode() in (process / "environ").read_bytes():
                found.append(process.name)
        except OSError:
            continue
    return found


def soaked(shim, sound, at_rest, folder, call, every):
    mark = f"FAIL_MARK={folder}"
    environment = {"LD_PRELOAD": str(shim), "FAIL_IN": call, "FAIL_EVERY": str(every), "TMPDIR": str(folder)}
    environment["FAIL_MARK"] = str(folder)
    result = run("report", sound, "--budget", 1, "--format", "json", env=environment)
    reported = f"{call}, each {every}th: {result.returncode}, {result.stderr[-500:]}"
    assert result.returncode in (PASSED, FAILED, COULD_NOT_RUN), reported
    if result.returncode != COULD_NOT_RUN:
        assert list_fault_ids(result) <= at_rest, reported
    assert not list(folder.iterdir()), reported
    assert not left_running(mark), reported


@pytest.mark.parametrize("call", CALLS)
def test_reports_no_fault_after_a_failed_call(shim, sound, faults_at_rest, tmp_path, call):
    for every in (5000, 30000) if call == "malloc" else (1, 2, 5, 9):
        soaked(shim, sound, faults_at_rest, tmp_path, call, every)


def interrupting(shim, call):
    return {"LD_PRELOAD": str(shim), "FAIL_IN": call, "FAIL_EVERY": "1"}


@pytest.mark.parametrize("call", INTERRUPTED)
@pytest.mark.parametrize("command", ["host", "audit", "bench --shape 64x64x64"])
def test_stops_repeating_an_interrupted_call(shim, sound, call, command):
    arguments = [*command.split(), sound] if command == "audit" else command.split()
    result = run(*arguments, env=interrupting(shim, call), timeout=60)
    assert result.returncode in (PASSED, FAILED, COULD_NOT_RUN), result.stderr


def test_names_a_file_with_interrupted_reads(shim, sound):
    environment = interrupting(shim, "read")
    assert "version.py: Interrupted system call" in " ".join(run("audit", sound, env=environment).stdout.split())
    refused(
        run("bench", "--shape", "64x64x64", env=environment),
        "the answer of the measuring process: Interrupted system call",
    )


# The names of entries: libstdc++'s iterators of folders end the process there.
@pytest.mark.parametrize("command", ["audit", "gate", "report", "recipes verify"])
def test_reports_a_folder_without_memory_for_its_entries(shim, sound, command):
    more = {"gate": ["--claim", CLAIM], "report": ["--budget", 2]}.get(command, [])
    folder = SOURCE / ".flox/pkgs" if command.startswith("recipes") else sound
    environment = {"LD_PRELOAD": str(shim), "FAIL_IN": "readdir", "FAIL_EVERY": "4"}
    refused(run(*command.split(), folder, *more, env=environment), "too little memory")


def test_reports_a_lack_of_memory(shim):
    """In a destructor too, which cannot throw: three in a hundred of these draws."""
    ends = set()
    for every in range(6000, 9000, 6):
        result = run("host", env={"LD_PRELOAD": str(shim), "FAIL_IN": "malloc", "FAIL_EVERY": str(every)})
        ends.add((result.returncode, "too little memory" in result.stderr))
    assert ends <= {(PASSED, False), (COULD_NOT_RUN, True)}


@pytest.mark.skipif("PBPROBE_SOAK" not in os.environ, reason="PBPROBE_SOAK=3600 soaks for an hour")
def test_survives_random_failures(shim, sound, faults_at_rest, tmp_path):
    rng = random.Random(1)
    until = time.monotonic() + float(os.environ["PBPROBE_SOAK"])
    while time.monotonic() < until:
        call = rng.choice(CALLS)
        every = rng.randrange(1000, 50000) if call == "malloc" else rng.randrange(2, 40)
        folder = tmp_path / f"{rng.getrandbits(32):08x}"
        folder.mkdir()
        soaked(shim, sound, faults_at_rest, folder, call, every)
