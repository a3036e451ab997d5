// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// The document as text for people. It decides nothing: what it prints is in the document.
#pragma once

#include <string>
#include <vector>

#include "core/facts/comparison.hpp"
#include "core/facts/environment.hpp"
#include "core/facts/plan_list.hpp"
#include "core/facts/report.hpp"
#include "core/facts/target_list.hpp"

namespace pbprobe {

struct TextOptions {
  bool colour = false;   // the caller knows whether this is a terminal, and what NO_COLOR says
  bool unicode = false;  // else plain ASCII
  int width = 100;       // columns
  bool verbose = false;  // a report with its inventory, all figures, and what was printed meanwhile
};

// The verdict first: one line, one reason, one fix; then a row for each device, the findings, and the figures; one line
// of summary last. Verbose adds what each GPU gets, device code, what was not measured, and the environment.
[[nodiscard]] std::string render_report(const Report& report, const TextOptions& options = {});

// One line: verdict, what was judged, and the reason.
[[nodiscard]] std::string render_quiet(const Report& report, const TextOptions& options = {});

// What `pbprobe audit` prints: with a claim the verdict on it first; then what the artifact ships, and the findings.
[[nodiscard]] std::string render_audit(const Report& report, const TextOptions& options = {});

// What `pbprobe audit --table` prints: one row of a Markdown table for each audit.
[[nodiscard]] std::string render_table(const std::vector<Report>& reports);

// What `pbprobe audit --kernels` prints: each file's kernels, by the SMs that they are there for.
[[nodiscard]] std::string render_kernels(const Report& report, const TextOptions& options = {});

// What `pbprobe audit` prints of many packages: a row each; then what GPUs that were asked for get.
[[nodiscard]] std::string render_environment(const Environment& environment, const TextOptions& options = {});

// What `pbprobe compare` prints.
[[nodiscard]] std::string render_comparisons(const ComparisonList& list, const TextOptions& options = {});

// The sections on their own: what `pbprobe host` and `bench` print.
[[nodiscard]] std::string render_host(const Host& host, const TextOptions& options = {});
[[nodiscard]] std::string render_bench(const Measurements& measurements, const TextOptions& options = {});
[[nodiscard]] std::string render_plans(const PlanList& list, const TextOptions& options = {});
[[nodiscard]] std::string render_targets(const TargetList& list, const TextOptions& options = {});

}  // namespace pbprobe
