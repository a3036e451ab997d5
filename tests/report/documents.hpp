// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Whole documents, made of recorded facts and judged.
#pragma once

#include <string>

#include "probes/judge/judge.hpp"
#include "tests/judge/cases.hpp"

namespace pbprobe::test {

inline BenchRow bench_row(std::string kernel, std::string target, int64_t size, double gflops, bool best) {
  return {.kernel = std::move(kernel),
          .target = std::move(target),
          .dtype = "fp32",
          .m = size,
          .n = size,
          .k = size,
          .layout = "nt",
          .out = "fp32",
          .instruction = "vfmadd zmm",
          .shape_class = "square",
          .threads = 2,
          .gflops = gflops,
          .peak_fraction = 0.91,
          .best = best,
          .clock_ghz = 3.1,
          .plan = "8x48, k 256",
          .samples_us = {101.5, 102.25, 103},
          .peers = {{"libtorch", {.gflops = gflops / 1.04, .ratio = 1.04, .samples_us = {105.5, 106, 107}}}}};
}

inline Report judged(Report report) {
  report.verdict = judge(report);
  return report;
}

inline Report h200_document() {
  Report report = gpu_report("NVIDIA H200", "9.0");
  Gpu& gpu = report.host->gpus[0];
  gpu.sm_count = 132;
  gpu.memory_bytes = int64_t{143771} << 20;
  gpu.unified_memory = false;
  gpu.max_sm_clock_mhz = 1980;
  gpu.power_limit_watts = 700;
  gpu.ecc = true;
  gpu.mig = false;
  report.measurements->rows = {bench_row("gemm_fp32_8x48", "avx512", 1024, 158, true),
                               bench_row("gemm_fp32_6x16", "avx2", 1024, 91.5, false)};
  return judged(std::move(report));
}

// NVML answers "not supported" to most questions on a GB10: the values are null, without a warning. No speed was
// measured.
inline Report gb10_document() {
  Report report = gpu_report("NVIDIA GB10", "12.1");
  report.measurements->libtorch->figures.pop_back();
  report.host->gpus[0].sm_count = 48;
  report.host->gpus[0].unified_memory = true;
  report.host->gpus[0].memory_bytes = int64_t{119} << 30;
  return judged(std::move(report));
}

inline Report no_gpu_document() {
  return judged(cpu_report());
}

inline Report pascal_document() {
  Report report = gpu_report("NVIDIA GeForce GTX 1080 Ti", "6.1");
  report.measurements->libtorch->executed_on_gpu.reset();
  report.measurements->libtorch->figures.pop_back();
  report.measurements->notes = {"nothing was measured on the GPU: libtorch has no code for it"};
  return judged(std::move(report));
}

inline Report eight_gpus_document() {
  Report report = gpu_report("NVIDIA B300", "10.3");
  for (int64_t i = 1; i < 8; ++i) {
    report.host->gpus.push_back(report.host->gpus[0]);
    report.host->gpus.back().index = i;
  }
  return judged(std::move(report));
}

// A GPU that computed a wrong product.
inline Report wrong_document() {
  Report report = gpu_report("NVIDIA H200", "9.0");
  report.measurements->libtorch->executed_on_gpu = false;
  report.measurements->libtorch->figures.pop_back();
  return judged(std::move(report));
}

inline AreaGain make_gain(std::string area, std::string device, double low, double high) {
  const double middle = (low + high) / 2;
  return {.area = std::move(area),
          .device = std::move(device),
          .gain = middle,
          .low = low,
          .high = high,
          .samples_us = {100},
          .baseline_samples_us = {100 * middle}};
}

// Timed beside a generic build: faster on the GPU, and slower on the CPU.
inline Report slower_document() {
  Report report = gpu_report("NVIDIA H200", "9.0");
  report.baseline = BaselineComparison{.path = "generic/torch", .bytes = 500 << 20, .baseline_bytes = 1000 << 20};
  report.baseline->gains = {make_gain("softmax", "cuda:0", 1.04, 1.12), make_gain("sort", "cpu", 0.8, 0.9)};
  return judged(std::move(report));
}

// torch is in order, and an extension beside it needs another CUDA's runtime.
inline Report package_document() {
  Report report = gpu_report("NVIDIA H200", "9.0");
  Distribution torch{.name = "torch", .version = "2.11.0+cu130", .torch_abi = TorchAbi::own};
  Distribution ext{.name = "xformers", .version = "0.0.35", .torch_abi = TorchAbi::stable};
  ext.cubin = {{"sm_90", 1}};
  ext.findings = {{.id = "PB161",
                   .severity = Severity::fail,
                   .what = "xformers 0.0.35: _C.so needs libcudart.so.12, which neither the environment nor the "
                           "system has",
                   .where = "xformers/_C.so",
                   .operands = {},
                   .remedy = "install the package that brings the library, or the build for the installed version",
                   .waived = {}}};
  ext.worst = Severity::fail;
  report.environment.emplace().distributions = {std::move(torch), std::move(ext)};
  return judged(std::move(report));
}

inline Report no_torch_document() {
  Report report = cpu_report();
  report.inventory.reset();
  report.measurements.reset();
  report.problems = {
      "no torch was found in /opt/venv: activate an environment that has one, or name it: "
      "pbprobe report SITE_PACKAGES"};
  return judged(std::move(report));
}

}  // namespace pbprobe::test
