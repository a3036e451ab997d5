// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "probes/report/sections.hpp"

namespace pbprobe::text {
namespace {

void add_names(Page& page, std::string_view label, const std::vector<std::string>& names) {
  if (!names.empty()) page.entry(label, fmt::format("{}", fmt::join(names, ", ")));
}

}  // namespace

std::string summarize_operators(const OperatorRun& run) {
  if (run.problem && run.operators == 0) return *run.problem;
  std::string words = fmt::format("{} of {} right", run.right, run.operators);
  if (!run.random.empty()) words += fmt::format(" ({} by shape only)", run.random.size());
  if (run.wrong > 0) words += fmt::format(", {} wrong", run.wrong);
  if (run.crashed > 0) words += fmt::format(", {} crashed", run.crashed);
  if (run.not_run > 0) words += fmt::format(", {} not run", run.not_run);
  return words + fmt::format(" ({} calls, {:.0f} s)", run.calls, run.seconds);
}

void add_operators(Page& page, const std::vector<OperatorRun>& runs) {
  page.heading("Operators of torch, compared with double precision on the CPU");
  for (const auto& run : runs) {
    page.entry(run.compiled ? run.device + ", compiled" : run.device, summarize_operators(run));
    if (!page.verbose()) continue;
    for (const auto& result : run.results) {
      if (result.state == OperatorState::not_run)
        page.entry("not run", fmt::format("{} {}: {}", result.name, result.type, result.reason.value_or("")));
    }
    add_names(page, "packages", run.packages);
    add_names(page, "shape only", run.random);
    add_names(page, "not repeatable", run.not_repeated);
    add_names(page, "omitted", run.omitted);
    for (const auto& one : run.refused) page.entry("raises", one);
  }
}

}  // namespace pbprobe::text
