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
[[nodiscard]] Colour colour_of(Outcome outcome);
[[nodiscard]] Colour colour_of(Severity severity);
// "sm_90" of "9.0".
[[nodiscard]] std::string sm_of(std::string_view capability);
// "torch 2.11.0 on NVIDIA H200 (sm_90)".
[[nodiscard]] std::string subject_of(const Report& report);
// "1 node", "2 nodes".
[[nodiscard]] std::string plural(int64_t count, std::string_view word);
// "PASS", with its sign where the page shows one.
[[nodiscard]] std::string verdict_line(const Page& page, const std::optional<Verdict>& verdict);
void add_headline(Page& page, const std::optional<Verdict>& verdict, const std::string& subject);
void add_verdict(Page& page, const Report& report);
// "1 note · 1 of 1 GPU tested · 8.2 s".
void add_summary(Page& page, const Report& report);

// status.cpp
void add_claimed(Page& page, const Verdict& verdict);
void add_devices(Page& page, const Verdict& verdict);
// A row each, below their titles; alike GPUs beside each other are one.
[[nodiscard]] Rows device_rows(const Verdict& verdict);
// The row of a device by the words with which its claim begins, "GPU 0 ", "CPU "; null: it has none.
[[nodiscard]] const ClaimRow* row_of(const Verdict& verdict, const std::string& begin);
void add_gpu_outcomes(Page& page, const Verdict& verdict);
[[nodiscard]] std::string_view words_for(GpuCode code);
// On which libtorch's results are known, right or wrong.
[[nodiscard]] int64_t tested_gpus(const Verdict& verdict);

// findings.cpp
// A block each. Below add_verdict the one whose words are the verdict's reason is left out; a gate names all that it
// objects to, and no notes.
enum class Blocks { below_verdict, all, of_gate };
void add_findings(Page& page, const Verdict& verdict, Blocks which);
// What one of them says; its words are the verdict's.
struct Block {
  std::string_view word;  // "fail", "unknown", "warn", "note"
  Colour colour = Colour::none;
  std::string_view id;
  std::string_view what;
  std::optional<std::string> where;
  std::optional<std::string> remedy;
};
// The worst first. One cause leaves many questions without an answer: its words stand there once.
[[nodiscard]] std::vector<Block> blocks_of(const Verdict& verdict, const Objection* left_out);
// What lies under a sentence: where, what helps (null: nothing), and the check to look up.
void add_rest_of_block(Page& page, std::string_view id, const std::optional<std::string>& where,
                       const std::optional<std::string>& remedy);
// The objection whose words are the verdict's reason; null: nothing stands against a pass.
[[nodiscard]] const Objection* leading_objection(const Verdict& verdict);
// Without what a child printed, unless the page is verbose.
[[nodiscard]] std::string briefly(const Page& page, std::string_view sentence);

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
[[nodiscard]] std::string rate_with_unit(double gflops);
// "750.0 Top/s", "3 us": with its unit.
[[nodiscard]] std::string value_of(const ProbeFigure& figure);
void add_figures(Page& page, const Measurements& measurements, size_t limit);
// Of libtorch's own matrix products the largest of each type, with its shape.
void add_libtorch_figures(Page& page, const LibtorchRun& run);
// Our own kernels, those that dispatch would choose: what this machine gives.
void add_own_kernels(Page& page, const Measurements& measurements);
// What a libtorch gave on its own: speeds on a GPU, the kernels that ran there, how it started.
void add_libtorch(Page& page, const LibtorchRun& run);

// environment.cpp
// What each line of it is about, and what it says.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> environment_of(const Host& host);
void add_environment(Page& page, const Host& host);
// What torch.compile and Triton find to compile with.
void add_preflight(Page& page, const Preflight& preflight);
void add_packages(Page& page, const Environment& environment);

// "139.8 GiB".
[[nodiscard]] std::string bytes(int64_t count);

}  // namespace pbprobe::text
