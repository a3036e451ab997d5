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
  FIELD(int64_t, m) = 0;
  FIELD(int64_t, n) = 0;
  FIELD(int64_t, k) = 0;
};

// One `pbprobe bench`: every kernel of the target (or of every target that the host can run) on every shape.
struct BenchRequest {
  FIELD(std::optional<std::string>, target, "target id; null for every target that the host can run");
  FIELD(DType, dtype, "type of A and B") = DType::fp32;
  FIELD(std::string, layout, "nt, nn, tn or tt") = "nt";
  FIELD(BlockScale, blocks,
        "scales that neighbours along k share: one of the names of --block-scales") = BlockScale::none;
  FIELD(std::optional<DType>, out, "type of C; null for the type that the kernels of this dtype write");
  FIELD(std::vector<Shape>, shapes);
  FIELD(bool, drawn, "shapes were drawn at random; those that do not fit into memory are left out") = false;
  FIELD(std::vector<Shape>, gpu_shapes, "shapes for GPUs; empty if equal to shapes");
  FIELD(bool, chosen, "only the kernel that dispatch chooses") = false;
  FIELD(bool, prepacked, "B is packed once, outside the time") = false;
  FIELD(std::optional<std::string>, kernel, "kernel to run; null for all kernels");
  FIELD(int64_t, launches, "more than 0: repeat each GPU kernel and compare the bits before it is timed") = 0;
  FIELD(bool, scaled, "C by a scale for each row and each column") = false;
  FIELD(int64_t, threads, "0: as many as the host lets us use") = 0;
  FIELD(double, sustained_seconds, "duration of a sample; 0 for short samples") = 0;
  FIELD(bool, timed, "false: each kernel is verified, and nothing is timed") = true;
  FIELD(std::vector<std::string>, against, "peers: libtorch, cublaslt, cublaslt_best, bf16");
};

struct MeasureRequest {
  SCHEMA("pbprobe.measure-request/1");
  FIELD(Host, host);
  FIELD(std::optional<std::string>, libtorch_dir, "folder of libtorch_cpu.so; null to load no libtorch");
  FIELD(std::optional<std::string>, torch_libraries, "folder where libcublasLt and OpenMP's runtime are looked for");
  FIELD(std::optional<std::string>, scratch, "only writable folder; null for no restriction");
  FIELD(std::vector<BenchRequest>, benches);
  FIELD(bool, every_core, "first checks every kernel bit for bit on each CPU") = false;
  FIELD(bool, timings, "measures libtorch's areas") = false;
  FIELD(bool, probes, "measures memories, launches and instructions of the GPUs") = false;
  FIELD(double, budget_seconds, "time for measuring") = 10;
  FIELD(double, limit_seconds, "time limit, after which the child is killed") = 60;
};

}  // namespace pbprobe
