// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Plain loops without a guard: the compiler's flags decide which instructions they need.
extern "C" {

void scale_add(float* x, const float* y, int n) {
  for (int i = 0; i < n; ++i) x[i] += y[i] * x[i];
}

int next(int* counter) {
  return __atomic_fetch_add(counter, 1, __ATOMIC_SEQ_CST);
}

int sum(const int* x, int n) {
  int total = 0;
  for (int i = 0; i < n; ++i) total += x[i];
  return total;
}

int dot(const unsigned char* x, const signed char* y, int n) {
  int total = 0;
  for (int i = 0; i < n; ++i) total += x[i] * y[i];
  return total;
}

int dot_signed(const signed char* x, const signed char* y, int n) {
  int total = 0;
  for (int i = 0; i < n; ++i) total += x[i] * y[i];
  return total;
}

unsigned first_bit(unsigned x, int by) {
  return (x & -x) << by;
}

}  // extern "C"
