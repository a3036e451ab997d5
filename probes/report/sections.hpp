// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// The sections of the report, each written onto a page.
#pragma once

#include <string>
#include <vector>

#include "core/facts/report.hpp"
#include "probes/report/page.hpp"

namespace pbprobe::text {

// verdict.cpp
[[nodiscard]] Colour choose_colour(Outcome outcome);
[[nodiscard]] Colour choose_colour(Severity severity);
// Converts "9.0" to "sm_90".
[[nodiscard]] std::string format_sm(std::string_view capability);
// Returns "torch 2.11.0 on NVIDIA H200 (sm_90)". Without a GPU, names the CPU; without a host, only the torch or
// package.
[[nodiscard]] std::string format_subject(const Report& report);
// Returns the name of the level, or "-".
[[nodiscard]] std::string level_or_dash(const std::optional<Level>& level);
// Returns "1 node", "2 nodes".
[[nodiscard]] std::string plural(int64_t count, std::string_view word);
// Returns "PASS", with its sign if the page shows Unicode.
[[nodiscard]] std::string verdict_line(const Page& page, const std::optional<Verdict>& verdict);
void add_headline(Page& page, const std::optional<Verdict>& verdict, const std::string& subject);
void add_verdict(Page& page, const Report& report);
// Adds "1 note · 1 of 1 GPU tested · 8.2 s".
void add_summary(Page& page, const Report& report);

// text.cpp: a heading and up to `limit` sentences; nothing without sentences.
void add_list(Page& page, std::string_view title, const std::vector<std::string>& sentences, size_t limit);

// status.cpp
void add_claimed(Page& page, const Verdict& verdict);
void add_devices(Page& page, const Verdict& verdict);
// Returns a title row and one row per device; adjacent equal GPUs share a row.
[[nodiscard]] Rows device_rows(const Verdict& verdict);
// Finds the claim row of a device by the beginning of its claim, "GPU 0 ", "CPU "; null if there is no such row.
[[nodiscard]] const ClaimRow* find_device_row(const Verdict& verdict, const std::string& begin);
void add_gpu_outcomes(Page& page, const Verdict& verdict);
[[nodiscard]] std::string_view describe_code(GpuCode code);
// Counts the GPUs with a known result of libtorch, right or wrong.
[[nodiscard]] int64_t tested_gpus(const Verdict& verdict);

// findings.cpp
// Selection of findings. below_verdict leaves out the objection that is the verdict's reason; of_gate has all
// objections and no notes.
enum class Blocks { below_verdict, all, of_gate };
void add_findings(Page& page, const Verdict& verdict, Blocks which);
// Printed form of a finding or objection. Views refer to the verdict.
struct Block {
  std::string_view word;  // "fail", "unknown", "warn", "note"
  Colour colour = Colour::none;
  std::string_view id;
  std::string_view what;
  std::optional<std::string> where;
  std::optional<std::string> remedy;
};
// Returns the blocks, worst first. A cause that leaves several checks without an answer appears once.
[[nodiscard]] std::vector<Block> make_blocks(const Verdict& verdict, const Objection* left_out);
// Adds the lines below a sentence: place, fix (if not null) and the check to look up.
void add_rest_of_block(Page& page, std::string_view id, const std::optional<std::string>& where,
                       const std::optional<std::string>& remedy);
// Returns the objection that is the verdict's reason; null if there is no objection.
[[nodiscard]] const Objection* leading_objection(const Verdict& verdict);
// Removes child output from `sentence` unless the page is verbose.
[[nodiscard]] std::string strip_child_output(const Page& page, std::string_view sentence);

// artifact.cpp
void add_device_code(Page& page, const Inventory& inventory);
// Returns "2.11.0+cu130, CUDA 13.0, wheel: PATH".
[[nodiscard]] std::string torch_line(const Inventory& inventory);
// Adds the package (torch or another one), and the claim that it would satisfy.
void add_package(Page& page, const Report& report);
// Returns "444 × sm_75, 80, 86; 4 × sm_90a; no PTX".
[[nodiscard]] std::string device_code_line(const DeviceCode& code);
// Returns "made by CUDA 13.0"; with a census, also "sm_90a: 12 kernels, 400 HGMMA, 12 HMMA" for each SM.
[[nodiscard]] std::vector<std::string> device_code_details(const DeviceCode& code);

// libraries.cpp
void add_versions(Page& page, const Inventory& inventory);
// Adds static libraries of each file, the C++ ABI, and the source of all needed or opened libraries.
void add_libraries(Page& page, const Inventory& inventory);

// host_code.cpp
void add_host_code(Page& page, const Inventory& inventory);
// Returns "minimum CPU: avx2", or a range if some code is unclassified.
[[nodiscard]] std::string minimum_cpu_line(const HostCode& code);

// figures.cpp
// Formats "850 GFLOP/s", and from 10,000 GFLOP/s on "12.5 TFLOP/s".
[[nodiscard]] std::string rate_with_unit(double gflops);
// Formats the value with its unit: "750.0 Top/s", "3 us".
[[nodiscard]] std::string format_value(const ProbeFigure& figure);
void add_figures(Page& page, const Measurements& measurements, size_t limit);
// Adds the largest matrix product of libtorch for each type, with its shape.
void add_libtorch_figures(Page& page, const LibtorchRun& run);
// Returns "power cap in 60 % of the samples"; nullopt if the clock was never limited, or that is not reported.
[[nodiscard]] std::optional<std::string> describe_throttling(const DeviceTrace& trace);
// Adds, for each device, what limited its clock during the measurement.
void add_throttling(Page& page, const Measurements& measurements);
// Adds pbprobe's kernels that dispatch would choose, to show the speed of this machine.
void add_own_kernels(Page& page, const Measurements& measurements);
// Adds GPU speeds of libtorch, the kernels that ran, and its start times.
void add_libtorch(Page& page, const LibtorchRun& run);

// operators.cpp
// Returns "690 of 697 right, 2 wrong, 1 crashed, 4 not run (4689 calls, 66 s)".
[[nodiscard]] std::string summarize_operators(const OperatorRun& run);
void add_operators(Page& page, const std::vector<OperatorRun>& runs);

// environment.cpp
// Returns pairs of a label and its value.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> describe_host(const Host& host);
void add_environment(Page& page, const Host& host);
// Adds the compilers and headers for torch.compile and Triton.
void add_preflight(Page& page, const Preflight& preflight);
void add_packages(Page& page, const Environment& environment);

// Formats "139.8 GiB".
[[nodiscard]] std::string bytes(int64_t count);

}  // namespace pbprobe::text
