// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// The parts of the pages.
#pragma once

#include <optional>
#include <string>

#include "core/facts/report.hpp"
#include "probes/report/html/document.hpp"

namespace pbprobe::html {

// verdict.cpp: verdict word and subject.
void add_headline(Document& page, const std::optional<Verdict>& verdict, const std::string& subject);
// Adds the five answers: does it work, is it native, is it fast, what to do, what to paste.
void add_answers(Document& page, const Report& report);
void add_devices(Document& page, const Verdict& verdict);
void add_claims(Document& page, const Verdict& verdict);
void add_findings(Document& page, const Verdict& verdict);
void add_checks(Document& page, const Verdict& verdict);

// figures.cpp
void add_rooflines(Document& page, const Measurements& measurements, const Host* host);
void add_kernels(Document& page, const Measurements& measurements);
void add_libtorch(Document& page, const LibtorchRun& run);
void add_operators(Document& page, const std::vector<OperatorRun>& runs);
void add_probes(Document& page, const Measurements& measurements);
void add_traces(Document& page, const Measurements& measurements);
// Adds the comparison with a generic build: sizes, differences that forbid it, and the gains as a chart and a table.
void add_baseline(Document& page, const BaselineComparison& beside);
void add_what_did_not_run(Document& page, const Measurements& measurements);

// build.cpp: packages of a build, by the SMs that they have code for.
void add_device_code(Document& page, const Report& report);

// Returns "pbprobe 0.1.0 (0123456789ab), 2026-11-21T00:00:00Z".
[[nodiscard]] std::string format_origin(const Report& report);

}  // namespace pbprobe::html
