// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Makes reports from recorded facts, in which tests plant faults.
#pragma once

#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "core/facts/json.hpp"
#include "core/facts/report.hpp"
#include "paths.hpp"

namespace pbprobe::test {

template <class T>
T recorded(const std::string& name) {
  std::ifstream stream(std::string(PBPROBE_SOURCE_DIR) + "/tests/judge/recorded/" + name);
  std::ostringstream text;
  text << stream.rdbuf();
  const auto json = parse_json(text.str());
  EXPECT_TRUE(json.ok()) << name << ": " << (json.ok() ? "" : json.error().message);
  if (!json.ok()) return {};
  auto value = from_json<T>(*json);
  EXPECT_TRUE(value.ok()) << name << ": " << (value.ok() ? "" : value.error().message);
  return value.ok() ? *value : T{};
}

inline LibtorchFigure figure(std::string device, std::string dtype, double gflops) {
  const int64_t threads = device == "cpu" ? 2 : 0;
  return {.device = std::move(device),
          .dtype = std::move(dtype),
          .m = 2048,
          .n = 2048,
          .k = 2048,
          .layout = "nt",
          .threads = threads,
          .gflops = gflops,
          .samples_us = {100, 101, 102}};
}

// Marks all device code as opened and sound: the recorded audit only listed the device code.
inline void open_device_code(Inventory& inventory) {
  for (auto& file : inventory.files) {
    for (auto* code : {&file.device_code, &file.self_loaded_code}) {
      if (*code) (*code)->false_entries = 0;
    }
  }
}

// Returns a report of torch 2.11.0+cu130 that computed on a machine without a GPU.
inline Report cpu_report() {
  Report report{.version = "0.1.0", .commit = "0123456789ab", .created = "2026-11-21T00:00:00Z"};
  report.host = recorded<Host>("xeon-without-gpu.json");
  report.inventory = recorded<Inventory>("torch-2.11.0-cu130-x86_64.json");
  open_device_code(*report.inventory);
  report.measurements = Measurements{};
  report.measurements->libtorch = LibtorchRun{.path = *report.inventory->libtorch_dir,
                                              .loaded = true,
                                              .executed = true,
                                              .version = "2.11.0",
                                              .cpu_capability = "AVX512",
                                              .figures = {figure("cpu", "fp32", 205), figure("cpu", "bf16", 104)}};
  return report;
}

// Returns the gain of an area over a baseline.
inline AreaGain area_gain(std::string area, std::string device, double low, double high) {
  return {.area = std::move(area),
          .device = std::move(device),
          .gain = (low + high) / 2,
          .low = low,
          .high = high,
          .samples_us = {100},
          .baseline_samples_us = {100 * (low + high) / 2}};
}

// Returns a comparison with a comparable baseline, twice as large.
inline BaselineComparison beside(std::vector<AreaGain> gains) {
  return {.path = "generic/torch", .bytes = 500 << 20, .baseline_bytes = 1000 << 20, .gains = std::move(gains)};
}

// Returns cpu_report() with one GPU, on which libtorch computed too.
inline Report gpu_report(std::string name, std::string capability) {
  Report report = cpu_report();
  report.host->driver = {.state = DriverState::ok,
                         .sentence = "Driver 580.159.04 supports CUDA 13.0",
                         .version = "580.159.04",
                         .cuda_version = "13.0",
                         .library = "libcuda.so.1"};
  report.host->gpus = {{.index = 0,
                        .name = std::move(name),
                        .capability = std::move(capability),
                        .uuid = "GPU-01234567-89ab-cdef-0123-456789abcdef"}};
  report.measurements->libtorch->executed_on_gpu = true;
  report.measurements->libtorch->figures.push_back(figure("cuda:0", "bf16", 750000));
  return report;
}

inline File& file_named(Report& report, const std::string& end) {
  for (auto& file : report.inventory->files) {
    if (file.path.ends_with("/" + end)) return file;
  }
  ADD_FAILURE() << "the recorded torch has no " << end;
  return report.inventory->files.front();
}

inline File& libtorch_cuda(Report& report) {
  return file_named(report, "libtorch_cuda.so");
}

using Versions = std::map<std::string, std::string>;

// Returns a report of only files, as `pbprobe audit --claim` judges them.
inline Report audit_report(std::optional<Claim> claim = std::nullopt) {
  Report report{.version = "0.1.0", .commit = "0123456789ab", .created = "2026-11-21T00:00:00Z"};
  report.inventory = recorded<Inventory>("torch-2.11.0-cu130-x86_64.json");
  open_device_code(*report.inventory);
  report.inventory->python_abi = "cp311";
  file_named(report, "libtorch_cpu.so").links = Links{.contains = {"FBGEMM", "MKL", "oneDNN"}, .cxx11_names = 570};
  file_named(report, "libtorch_cuda_linalg.so").links = Links{.contains = {"MAGMA"}, .torch_symbols = {.cxx = 500}};
  libtorch_cuda(report).links.emplace();
  report.inventory->component_versions = Versions{{"torch", "2.11.0"},
                                                  {"cuBLAS", "13.1.0.3"},
                                                  {"cuFFT", "12.0.0.61"},
                                                  {"NVRTC", "13.0.88"},
                                                  {"cuDNN", "9.19.0.56"}};
  report.inventory->required_versions = Versions{{"cuDNN", "9.19.0.56"}, {"CUDA toolkit", "13.0.2"}};
  report.inventory->wheel_tags = {"cp311-cp311-manylinux_2_28_x86_64"};
  report.inventory->version_floors = Versions{{"GLIBC", "2.28"}};
  report.claim = std::move(claim);
  return report;
}

// Changes the artifact into a build without CUDA.
inline void make_cpu_build(Report& report) {
  report.inventory->torch_version = "2.11.0+cpu";
  report.inventory->cuda_version.reset();
  std::erase_if(report.inventory->files, [](const File& file) { return file.device_code.has_value(); });
  for (auto& file : report.inventory->files)
    std::erase_if(file.needed, [](const std::string& name) { return name.find("cuda") != std::string::npos; });
}

}  // namespace pbprobe::test
