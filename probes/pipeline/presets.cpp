// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/pipeline/presets.hpp"

namespace pbprobe {
namespace {

BenchRequest bench(DType dtype, std::vector<Shape> shapes, bool against_libtorch, int64_t threads = 0) {
  BenchRequest request{.dtype = dtype, .shapes = std::move(shapes), .threads = threads};
  if (against_libtorch) request.against = {"libtorch"};
  return request;
}

}  // namespace

std::vector<BenchRequest> quick_benches(bool against_libtorch) {
  const std::vector<Shape> shapes{{1024, 1024, 1024}, {256, 256, 256}};
  return {bench(DType::fp32, shapes, against_libtorch), bench(DType::bf16, shapes, against_libtorch)};
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

}  // namespace pbprobe
