// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// The document rendered as text. Makes no decision: it prints only contents of the document.
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
  bool colour = false;   // set by the caller, from the terminal and NO_COLOR
  bool unicode = false;  // false for plain ASCII
  int width = 100;       // columns
  bool verbose = false;  // a report with its inventory, all figures, and the output of the children
};

// Renders the verdict first (one line, one reason, one fix), then a row per device, the findings, the figures, and one
// summary line. Verbose adds the code for each GPU, device code, parts that were not measured, and the environment.
[[nodiscard]] std::string render_report(const Report& report, const TextOptions& options = {});

// Renders one line: verdict, subject and reason.
[[nodiscard]] std::string render_quiet(const Report& report, const TextOptions& options = {});

// Renders `pbprobe audit`: the verdict if there is a claim, the contents of the artifact, and the findings.
[[nodiscard]] std::string render_audit(const Report& report, const TextOptions& options = {});

// Renders `pbprobe audit --table`: one row of a Markdown table per audit.
[[nodiscard]] std::string render_table(const std::vector<Report>& reports);

// Renders `pbprobe audit --kernels`: the kernels of each file, grouped by the SMs that they have code for.
[[nodiscard]] std::string render_kernels(const Report& report, const TextOptions& options = {});

// Renders `pbprobe audit` for many packages: one row each, then the code that each requested GPU can use.
[[nodiscard]] std::string render_environment(const Environment& environment, const TextOptions& options = {});

// Renders `pbprobe compare`.
[[nodiscard]] std::string render_comparisons(const ComparisonList& list, const TextOptions& options = {});

// Render single sections: the output of `pbprobe host` and `bench`.
[[nodiscard]] std::string render_host(const Host& host, const TextOptions& options = {});

// Renders the system-features of nix.conf that this machine may offer, one per line: "gccarch-x86-64-v4", "cuda".
[[nodiscard]] std::string render_nix_features(const Host& host);

[[nodiscard]] std::string render_bench(const Measurements& measurements, const TextOptions& options = {});
[[nodiscard]] std::string render_plans(const PlanList& list, const TextOptions& options = {});
[[nodiscard]] std::string render_targets(const TargetList& list, const TextOptions& options = {});

// Renders the verdict and all objections; with `explain`, each check too. Returns "" without a verdict.
[[nodiscard]] std::string render_gate(const Report& report, bool explain, const TextOptions& options = {});

// Renders `pbprobe report` and `gate`: verdict, consequences, figures, build, machine.
[[nodiscard]] std::string render_html(const Report& report);
// Renders `pbprobe bench`.
[[nodiscard]] std::string render_html(const Measurements& measurements);
// Renders `pbprobe compare`.
[[nodiscard]] std::string render_html(const ComparisonList& list);
// Renders `pbprobe audit` for many packages.
[[nodiscard]] std::string render_html(const Environment& environment);

}  // namespace pbprobe
