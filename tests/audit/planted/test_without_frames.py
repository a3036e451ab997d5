# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""A stripped library without unwind tables, as some builds of OpenSSL: only calls tell where its functions begin."""

import subprocess

import pytest
from builds import PROGRAM
from made import MACHINE, OUT, compiler, made, text

CODE = """
#define LOCAL __attribute__((noinline)) static void
int state[64];
float wide[64];
void exported(void) { state[0] = 1; }
LOCAL set_up(void) { for (int i = 0; i < 64; ++i) state[i] += 2 * i; }
LOCAL ask(void) { state[2] = 5; %s }
__attribute__((target("avx512f"))) LOCAL fast(void) { for (int i = 0; i < 64; ++i) wide[i] = wide[i] * wide[i] + 1; }
__attribute__((constructor)) static void start(void) { ask(); }
void (*chosen)(void) = fast;
"""


@pytest.mark.skipif(MACHINE != "x86_64", reason="AVX-512 is x86-64's")
@pytest.mark.parametrize(("called", "found"), [("set_up();", []), ("fast();", ["fail[PB204"])])
def test_attributes_only_code_that_runs_at_load(called, found):
    declared = "__attribute__((noinline)) static void fast(void);"
    source = text("frameless.c", declared + CODE % called)
    flags = ("-O3", "-fPIC", "-shared", "-s", "-fno-asynchronous-unwind-tables", "-fno-unwind-tables", "-fno-inline")
    flags += ("-fno-toplevel-reorder",)  # behind a function with a known end
    library = made("libframeless.so", compiler(MACHINE, "gcc"), *flags, source, "-o", OUT)
    done = subprocess.run([PROGRAM, "audit", library], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == (1 if found else 0), done.stdout + done.stderr
    assert [line.partition("]")[0] for line in done.stdout.splitlines() if line.startswith("fail[")] == found
