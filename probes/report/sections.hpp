// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// The sections of the report, each written onto a page.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/facts/report.hpp"
#include "probes/report/page.hpp"

namespace pbprobe::text {

// verdict.cpp
void add_verdict(Page& page, const Report& report);
void add_levels(Page& page, const Verdict& verdict);
void add_gpu_outcomes(Page& page, const Verdict& verdict);
void add_findings(Page& page, const Verdict& verdict);

// artifact.cpp
void add_device_code(Page& page, const Inventory& inventory);
[[nodiscard]] std::string torch_line(const Inventory& inventory);
// Which package it is, torch or another one, and what could be claimed of it.
void add_package(Page& page, const Report& report);
// "444 × sm_75, 80, 86; 4 × sm_90a; no PTX".
[[nodiscard]] std::string device_code_line(const DeviceCode& code);
// "made by CUDA 13.0"; with a census "sm_90a: 12 kernels, 400 HGMMA, 12 HMMA" for each SM.
[[nodiscard]] std::vector<std::string> device_code_details(const DeviceCode& code);

// libraries.cpp
void add_versions(Page& page, const Inventory& inventory);
// What is linked into each file, the C++ ABI, and where all that is needed or opened comes from.
void add_libraries(Page& page, const Inventory& inventory);

// host_code.cpp
void add_host_code(Page& page, const Inventory& inventory);
// "minimum CPU: avx2", or the range where some code is unclassified.
[[nodiscard]] std::string minimum_cpu_line(const HostCode& code);

// figures.cpp
void add_figures(Page& page, const Measurements& measurements, size_t limit);
// What a libtorch gave on its own: speeds on a GPU, the kernels that ran there, how it started.
void add_libtorch(Page& page, const LibtorchRun& run);

// environment.cpp
void add_environment(Page& page, const Host& host);

// "139.8 GiB".
[[nodiscard]] std::string bytes(int64_t count);

}  // namespace pbprobe::text
