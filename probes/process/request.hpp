// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Request of the pipeline to the child. It contains the host, because kernels and timing never detect hardware.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/dtype.hpp"
#include "core/facts/host.hpp"
#include "core/fields.hpp"

namespace pbprobe {

// Sizes of a GEMM: C has m rows and n columns, and k is summed over. Each must be at least 1.
struct Shape {
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
};

// One `pbprobe bench`: every kernel of the target (or of every target that the host can run) on every shape.
struct BenchRequest {
  std::optional<std::string> target;  // target id; null for all targets that this host can run
  DType dtype = DType::fp32;
  std::string layout = "nt";
  BlockScale blocks = BlockScale::none;  // scales of A and B; GPU kernels only
  std::optional<DType> out;              // type of C; null for the type that the kernels of this dtype write
  std::vector<Shape> shapes;
  bool drawn = false;                 // shapes were drawn at random; shapes that do not fit into memory are left out
  std::vector<Shape> gpu_shapes;      // shapes for GPUs; empty if equal to `shapes`
  bool chosen = false;                // only the kernel that dispatch chooses
  bool prepacked = false;             // B is packed once, outside the time, as weights are; CPU kernels only
  std::optional<std::string> kernel;  // kernel to run; null for all kernels
  int64_t launches = 0;               // more than 0: repeat each GPU kernel and compare the bits before it is timed
  bool scaled = false;                // C by a scale for each of its rows and one for each of its columns
  int64_t threads = 0;                // 0: as many as the host lets us use
  double sustained_seconds = 0;       // duration of a sample, to measure a warm chip; 0 for short samples
  std::vector<std::string> against;   // "libtorch", "cublaslt", "cublaslt_best", "bf16"
};

struct MeasureRequest {
  Host host;
  std::optional<std::string> libtorch_dir;     // folder of libtorch_cpu.so; null to load no libtorch
  std::optional<std::string> torch_libraries;  // folder where libcublasLt and OpenMP's runtime are looked for
  std::optional<std::string> scratch;          // only writable folder; null for no restriction
  std::vector<BenchRequest> benches;
  bool every_core = false;     // first checks every kernel bit for bit on each CPU
  bool timings = false;        // measures libtorch's areas, with all threads that the host allows
  bool probes = false;         // measures memories, launches and instructions of the GPUs
  double budget_seconds = 10;  // time for measuring; the notes name rows that do not fit
  double limit_seconds = 60;   // time limit, after which the child is killed
};

void fields(auto& visit, SameAs<Shape> auto& shape) {
  visit("m", shape.m);
  visit("n", shape.n);
  visit("k", shape.k);
}

void fields(auto& visit, SameAs<BenchRequest> auto& bench) {
  visit("target", bench.target, "target id; null for every target that the host can run");
  visit("dtype", bench.dtype, "type of A and B");
  visit("layout", bench.layout, "nt, nn, tn or tt");
  visit("blocks", bench.blocks, "scales that neighbours along k share: one of the names of --block-scales");
  visit("out", bench.out, "type of C; null for the type that the kernels of this dtype write");
  visit("shapes", bench.shapes);
  visit("drawn", bench.drawn, "shapes were drawn at random; those that do not fit into memory are left out");
  visit("gpu_shapes", bench.gpu_shapes, "shapes for GPUs; empty if equal to shapes");
  visit("chosen", bench.chosen, "only the kernel that dispatch chooses");
  visit("prepacked", bench.prepacked, "B is packed once, outside the time");
  visit("kernel", bench.kernel, "kernel to run; null for all kernels");
  visit("launches", bench.launches, "more than 0: repeat each GPU kernel and compare the bits before it is timed");
  visit("scaled", bench.scaled, "C by a scale for each row and each column");
  visit("threads", bench.threads, "0: as many as the host lets us use");
  visit("sustained_seconds", bench.sustained_seconds, "duration of a sample; 0 for short samples");
  visit("against", bench.against, "peers: libtorch, cublaslt, cublaslt_best, bf16");
}

void fields(auto& visit, SameAs<MeasureRequest> auto& request) {
  visit.constant("schema", "pbprobe.measure-request/1");
  visit("host", request.host);
  visit("libtorch_dir", request.libtorch_dir, "folder of libtorch_cpu.so; null to load no libtorch");
  visit("torch_libraries", request.torch_libraries, "folder where libcublasLt and OpenMP's runtime are looked for");
  visit("scratch", request.scratch, "only writable folder; null for no restriction");
  visit("benches", request.benches);
  visit("every_core", request.every_core, "first checks every kernel bit for bit on each CPU");
  visit("timings", request.timings, "measures libtorch's areas");
  visit("probes", request.probes, "measures memories, launches and instructions of the GPUs");
  visit("budget_seconds", request.budget_seconds, "time for measuring");
  visit("limit_seconds", request.limit_seconds, "time limit, after which the child is killed");
}

}  // namespace pbprobe
