/* SPDX-FileCopyrightText: 2026 The pbprobe authors
 * SPDX-License-Identifier: MIT
 *
 * The shims of a torch that computes aten::_scaled_mm.out on the CPU, for every kind of scales, by a reading of its
 * own; PBPROBE_TEST_FAULT makes it wrong, or lets it throw. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { E4M3 = 24, E8M0 = 44, E2M1X2 = 45, FLOAT = 6 };

struct tensor {
  const uint8_t* data;
  int64_t sizes[2];
  int64_t strides[2];
  int64_t dims;
  int32_t type;
};

static const char* planted = "";
static int fault(const char* name) { return strcmp(planted, name) == 0; }

uint64_t aoti_torch_abi_version(void) { return 2ULL << 56 | 99ULL << 48 | 1ULL << 40; }
int32_t aoti_torch_create_tensor_from_blob(void* data, int64_t dims, const int64_t* sizes, const int64_t* strides,
                                           int64_t offset, int32_t type, int32_t device_type, int32_t device_index,
                                           void** result) {
  (void)offset, (void)device_type, (void)device_index;
  struct tensor* made = calloc(1, sizeof *made);
  *made = (struct tensor){.data = data, .dims = dims, .type = type};
  for (int64_t i = 0; i < dims && i < 2; ++i) {
    made->sizes[i] = sizes[i];
    made->strides[i] = strides[i];
  }
  *result = made;
  return 0;
}
int32_t aoti_torch_empty_strided(int64_t dims, const int64_t* sizes, const int64_t* strides, int32_t type,
                                 int32_t device_type, int32_t device_index, void** result) {
  return aoti_torch_create_tensor_from_blob(NULL, dims, sizes, strides, 0, type, device_type, device_index, result);
}
int32_t aoti_torch_new_tensor_handle(void* from, void** to) {
  *to = malloc(sizeof(struct tensor));
  memcpy(*to, from, sizeof(struct tensor));
  return 0;
}
int32_t aoti_torch_delete_tensor_object(void* which) {
  free(which);
  return 0;
}
int32_t aoti_torch_device_type_cpu(void) { return 0; }
int32_t aoti_torch_device_type_cuda(void) { return 1; }
int32_t aoti_torch_dtype_float32(void) { return FLOAT; }
int32_t aoti_torch_dtype_float16(void) { return 5; }
int32_t aoti_torch_dtype_bfloat16(void) { return 15; }
int32_t aoti_torch_dtype_int8(void) { return 1; }
int32_t aoti_torch_dtype_uint8(void) { return 0; }
int32_t aoti_torch_dtype_int32(void) { return 3; }
int32_t aoti_torch_dtype_float64(void) { return 7; }
int32_t aoti_torch_dtype_int64(void) { return 4; }
int32_t aoti_torch_dtype_complex64(void) { return 9; }
int32_t aoti_torch_dtype_float8_e4m3fn(void) { return E4M3; }
int32_t aoti_torch_dtype_float8_e5m2(void) { return 23; }

static double decode_e4m3(uint8_t bits) {
  const int exponent = bits >> 3 & 15;
  const int bias = fault("bias") ? 8 : 7;
  const double fraction = (bits & 7) / 8.0;
  const double size = exponent == 0 ? ldexp(fraction, 1 - bias) : ldexp(1 + fraction, exponent - bias);
  return (bits & 0x7f) == 0x7f ? NAN : bits & 0x80 ? -size : size;
}

/* Returns number l of a line; a byte holds two E2M1, the first one in the low half. The other order in both operands
 * would give the same sums. */
static double number(const struct tensor* t, int64_t line, int64_t l, int of_b) {
  const int64_t at = line * t->strides[of_b];
  if (t->type != E2M1X2) return decode_e4m3(t->data[at + l * t->strides[1 - of_b]]);
  static const double sizes[8] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
  const uint8_t both = t->data[at + l / 2 * t->strides[1 - of_b]];
  const uint8_t code = (l % 2 == 0) != (!of_b && fault("order")) ? both & 15 : both >> 4;
  return code & 8 ? -sizes[code & 7] : sizes[code & 7];
}

/* The scale of number l of a line, of `depth` numbers. */
static double scale(const struct tensor* s, int64_t line, int64_t l, int64_t depth, int of_b) {
  if (fault(of_b ? "b unscaled" : "a unscaled")) return 1;
  if (s->type == FLOAT) {
    const float* values = (const float*)s->data;
    if (s->sizes[0] * s->sizes[1] == 1) return (double)values[0];
    const int64_t blocks = s->sizes[1 - of_b];
    const int64_t block = (l / 128 + fault("next block")) % blocks;
    const int64_t group = blocks > 1 && of_b ? line / 128 : line;
    return (double)values[group * s->strides[of_b] + block * s->strides[1 - of_b]];
  }
  const int64_t length = s->type == E8M0 ? 32 : 16;
  const int64_t blocks = depth / length;
  const int64_t block = (l / length + fault("next block")) % blocks;
  int64_t at = (line / 128 * ((blocks + 3) / 4) + block / 4) * 512 + line % 32 * 16 + line / 32 % 4 * 4 + block % 4;
  if (fault("not swizzled")) at = line * blocks + block;
  return s->type == E8M0 ? ldexp(1, s->data[at] - 127) : decode_e4m3(s->data[at]);
}

static double* read_lines(const struct tensor* t, const struct tensor* scales, int64_t depth, int of_b) {
  const int64_t lines = t->sizes[of_b];
  double* all = malloc((size_t)(lines * depth) * sizeof *all);
  for (int64_t line = 0; line < lines; ++line)
    for (int64_t l = 0; l < depth; ++l)
      all[line * depth + l] = number(t, line, l, of_b) * scale(scales, line, l, depth, of_b);
  return all;
}

static uint16_t bf16(double value) {
  const float single = (float)value;
  uint32_t bits;
  memcpy(&bits, &single, sizeof bits);
  return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

int32_t aoti_torch_call_dispatcher(const char* name, const char* overload, uint64_t* stack) {
  const char* wanted = getenv("PBPROBE_TEST_FAULT");
  planted = wanted != NULL ? wanted : "";
  if (strcmp(name, "aten::_scaled_mm") != 0 || strcmp(overload, "out") != 0) return 1;
  struct tensor* tensors[9];
  memcpy(tensors, stack, sizeof tensors);
  struct tensor *a = tensors[0], *b = tensors[1], *c = tensors[8];
  if (fault("throws")) {  // the arguments are its own, and of them C is a result
    for (int i = 0; i < 4; ++i) free(tensors[i]);
    free(c);
    return 1;
  }
  const int64_t depth = a->sizes[1] * (a->type == E2M1X2 ? 2 : 1);
  double* rows = read_lines(a, tensors[2], depth, 0);
  double* columns = read_lines(b, tensors[3], depth, 1);
  const int64_t end = fault("short k") ? depth - 1 : depth;
  const int one_element = fault("one element");
  for (int64_t i = 0; i < a->sizes[0]; ++i)
    for (int64_t j = 0; j < b->sizes[1]; ++j) {
      double sum = one_element && i == a->sizes[0] - 1 && j == b->sizes[1] - 1 ? 1 : 0;
      for (int64_t l = 0; l < end; ++l) sum += rows[i * depth + l] * columns[j * depth + l];
      ((uint16_t*)c->data)[i * c->strides[0] + j] = bf16(sum);
    }
  free(rows);
  free(columns);
  for (int i = 0; i < 4; ++i) free(tensors[i]);
  memcpy(stack, &c, sizeof c);
  return 0;
}
