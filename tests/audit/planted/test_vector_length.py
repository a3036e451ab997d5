# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
"""SVE code for vectors of one length, which other CPUs of the claimed row run wrongly."""

import pytest
from made import OUT, compiler, made, text
from rows import Row, ask
from small_builds import Library
from test_cpu import ARM, C10, built

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
