// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/pipeline/presets.hpp"

#include <cmath>

namespace pbprobe {
namespace {

BenchRequest bench(DType dtype, std::vector<Shape> shapes, bool against_libtorch, int64_t threads = 0) {
  BenchRequest request{.dtype = dtype, .shapes = std::move(shapes), .threads = threads};
  if (against_libtorch) request.against = {"libtorch"};
  return request;
}

}  // namespace

// A GPU computes 1024x1024x1024 within a launch time. A single row of C shows the memory rate.
std::vector<BenchRequest> quick_benches(bool against_libtorch) {
  const std::vector<Shape> shapes{{1024, 1024, 1024}, {256, 256, 256}};
  const Shape row{1, 4096, 4096};
  std::vector<BenchRequest> benches{bench(DType::fp32, shapes, against_libtorch),
                                    bench(DType::bf16, shapes, against_libtorch),
                                    bench(DType::fp32, {row}, against_libtorch)};
  for (size_t i = 0; i < 2; ++i) benches[i].gpu_shapes = {{4096, 4096, 4096}};
  return benches;
}

std::vector<BenchRequest> full_benches(bool against_libtorch) {
  const std::vector<Shape> squares{{64, 64, 64},       {256, 256, 256},    {512, 512, 512},
                                   {1024, 1024, 1024}, {2048, 2048, 2048}, {4096, 4096, 4096}};
  const std::vector<Shape> others{{509, 251, 383}, {1021, 1031, 1009}, {1, 4096, 4096},
                                  {8, 4096, 4096}, {128, 4096, 4096},  {512, 3072, 768}};
  std::vector<BenchRequest> benches;
  for (DType dtype : {DType::fp32, DType::bf16, DType::int8}) {
    benches.push_back(bench(dtype, squares, against_libtorch));
    benches.push_back(bench(dtype, others, against_libtorch));
    benches.push_back(bench(dtype, squares, against_libtorch, 1));
  }
  return benches;
}

std::vector<Shape> random_shapes(int64_t count, uint64_t seed) {
  constexpr double kMost = 16384;
  uint64_t state = seed;
  const auto next = [&state] {
    state = state * 6364136223846793005U + 1442695040888963407U;
    const double part = std::ldexp(static_cast<double>(state >> 11U), -53);
    return static_cast<int64_t>(std::llround(std::exp(part * std::log(kMost))));
  };
  for (int i = 0; i < 8; ++i) next();  // small seeds produce similar first numbers
  std::vector<Shape> shapes;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t m = next();
    const int64_t n = next();
    shapes.push_back({.m = m, .n = n, .k = next()});
  }
  return shapes;
}

}  // namespace pbprobe
