# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""SVE code for vectors of one length, which other CPUs of the claimed row run wrongly."""

import pytest
from made import OUT, compiler, made, text
from rows import Row, ask
from small_builds import Library
from test_cpu import ARM, C10, GOMP, built
from test_names import judged

LOOPS = """
extern "C" void scale(float* x, const float* y, int n) { for (int i = 0; i < n; ++i) x[i] += 3 * y[i]; }
extern "C" void narrow(unsigned char* x, const int* y, int n) { for (int i = 0; i < n; ++i) x[i] = y[i] * 3; }
"""
SMALL = 'extern "C" void add(double* x, const double* y) { for (int i = 0; i < 4; ++i) x[i] += y[i]; }\n'
INTRINSICS = """
#include <arm_sve.h>
extern "C" void scale(float* x, long n) {
  for (long i = 0; i < n; i += svcntw()) {
    const svbool_t lanes = svwhilelt_b32(i, n);
    svst1(lanes, x + i, svmul_x(lanes, svld1(lanes, x + i), 3.0F));
  }
}
extern "C" void four(float* x) {
  const svbool_t lanes = svptrue_pat_b32(SV_VL4);
  svst1(lanes, x, svmul_x(lanes, svld1(lanes, x), 3.0F));
}
extern "C" void eight_if_long(float* x) {
  if (svcntb() < 32) return;
  const svbool_t lanes = svptrue_pat_b32(SV_VL8);
  svst1(lanes, x, svmul_x(lanes, svld1(lanes, x), 3.0F));
}
"""
EIGHT = """
#include <arm_sve.h>
extern "C" void eight(float* x) {
  const svbool_t lanes = svptrue_pat_b32(SV_VL8);
  svst1(lanes, x, svmul_x(lanes, svld1(lanes, x), 3.0F));
}
"""
FLAGS = ("-O3", "-fPIC", "-march=armv9-a+sve2", "-ffast-math")


def build_c10(code: str, *flags: str):
    """A sound libtorch_cpu.so, and libc10.so from one source file."""

    def build():
        code_object = made("code.o", compiler(ARM), *FLAGS, *flags, "-c", text("code.cpp", code), "-o", OUT)
        return built("armv9")().but({C10: Library(code="", objects=(code_object,), machine=ARM)})

    return build


CASES = [
    ("256", build_c10(LOOPS, "-msve-vector-bits=256"), build_c10(LOOPS)),
    ("512", build_c10(LOOPS, "-msve-vector-bits=512"), build_c10(LOOPS)),
    ("straight code", build_c10(SMALL, "-msve-vector-bits=256"), build_c10(SMALL)),
    ("intrinsics", build_c10(EIGHT), build_c10(INTRINSICS)),
]


@pytest.mark.parametrize(("name", "planted", "twin"), CASES, ids=[name for name, _, _ in CASES])
def test_finds_fixed_vector_length(tmp_path, name, planted, twin):
    ask(Row("PB207", "unguarded code needs sve256, which armv9 lacks", planted, twin, "armv9,only"), tmp_path)


TWO = """
extern "C" void two(float* a, float* b, float* c, float* d, long n) {
  for (long i = 0; i < n; ++i) { a[i] = b[i] * 2; c[i] = d[i] * 3; }
}
"""
ONE_VECTOR = """
#include <arm_sve.h>
extern "C" void scale(float* x, long n) {
  const svbool_t lanes = %s;
  for (long i = 0; i < n; i += %s) svst1(lanes, x + i, svmul_x(lanes, svld1(lanes, x + i), 3.0F));
}
"""
UNDECIDED = [
    ("two arrays by 256", build_c10(TWO, "-msve-vector-bits=256"), build_c10(TWO)),
    ("one array by 128", build_c10(LOOPS, "-msve-vector-bits=128"), build_c10(LOOPS)),
    (
        "length of a caller",
        build_c10(ONE_VECTOR.replace("long n", "long n, long m") % ("svptrue_b32()", "m")),
        build_c10(ONE_VECTOR % ("svptrue_b32()", "svcntw()")),
    ),
    (
        "four elements",
        build_c10(ONE_VECTOR % ("svptrue_b32()", "4")),
        build_c10(ONE_VECTOR % ("svptrue_pat_b32(SV_VL4)", "4")),
    ),
    # NEON for most of the array, and one SVE vector for the rest.
    ("rest", build_c10(TWO, "-msve-vector-bits=256"), build_c10(LOOPS, "-mtune=neoverse-n2")),
]


@pytest.mark.parametrize(("name", "planted", "twin"), UNDECIDED, ids=[name for name, _, _ in UNDECIDED])
def test_leaves_partial_evidence_undecided(tmp_path, name, planted, twin):
    assert judged(planted(), "armv9,only", tmp_path / "planted") == ("unknown", {"PB211"})
    assert judged(twin(), "armv9,only", tmp_path / "twin") == ("pass", set())


def test_finds_vector_length_of_bundled_library(tmp_path):
    def bundle(*flags: str):
        code = made("code.o", compiler(ARM), *FLAGS, *flags, "-c", text("code.cpp", LOOPS), "-o", OUT)
        return built("armv9")().but({GOMP: Library(code="", objects=(code,), machine=ARM)})

    assert judged(bundle("-msve-vector-bits=256"), "armv9,only", tmp_path / "planted") == ("fail", {"PB212"})
    assert judged(bundle(), "armv9,only", tmp_path / "twin") == ("pass", set())
