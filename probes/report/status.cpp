// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Table of levels, one row per claim and device. "not tested" marks levels that were not tried, "unknown" tried levels
// without an answer.
#include <algorithm>

#include <fmt/format.h>

#include "probes/report/sections.hpp"

namespace pbprobe::text {

const ClaimRow* find_device_row(const Verdict& verdict, const std::string& begin) {
  const auto found = std::ranges::find_if(
      verdict.claims, [&](const ClaimRow& row) { return !row.claimed && row.claim.starts_with(begin); });
  return found == verdict.claims.end() ? nullptr : &*found;
}

namespace {

Cell outcome_cell(const std::optional<Outcome>& outcome, const char* if_none, const char* if_pass,
                  const char* if_fail) {
  if (!outcome) return {if_none, Colour::faint};
  const char* const word = *outcome == Outcome::pass ? if_pass : *outcome == Outcome::fail ? if_fail : "unknown";
  return {word, choose_colour(*outcome)};
}

Cell level_cell(const std::optional<Outcome>& outcome, const char* if_none) {
  return outcome_cell(outcome, if_none, "✓", "✗");
}

Cell gain_cell(const std::optional<Outcome>& outcome) {
  return outcome_cell(outcome, "not compared", "not slower", "slower");
}

// Returns the best code for this GPU: "✓ sm_90", "~ sm_120", "~ PTX".
Cell ships_cell(const GpuOutcome& gpu, const ClaimRow& row) {
  switch (gpu.code) {
    case GpuCode::native: return {"✓ " + gpu.best.value_or("native"), Colour::good};
    case GpuCode::same_major: return {"~ " + gpu.best.value_or("compatible"), Colour::doubt};
    case GpuCode::ptx: return {"~ PTX", Colour::doubt};
    case GpuCode::none: return {"✗", Colour::bad};
    case GpuCode::unknown: break;
  }
  return level_cell(row.shipped, "-");
}

std::vector<Cell> cells_after(Cell label, Cell name, Cell ships, const ClaimRow& row) {
  const char* const none = row.shipped == Outcome::fail ? "-" : "not tested";
  return {std::move(label),
          std::move(name),
          std::move(ships),
          level_cell(row.loaded, none),
          level_cell(row.executed, none),
          row.executed == Outcome::pass ? gain_cell(row.measured) : Cell{"-", Colour::faint}};
}

bool alike(const GpuOutcome& a, const ClaimRow& row_of_a, const GpuOutcome& b, const ClaimRow& row_of_b) {
  return a.name == b.name && a.capability == b.capability && a.code == b.code && a.best == b.best &&
         row_of_a.shipped == row_of_b.shipped && row_of_a.loaded == row_of_b.loaded &&
         row_of_a.executed == row_of_b.executed && row_of_a.measured == row_of_b.measured;
}

std::string format_claim_begin(const GpuOutcome& gpu) {
  return fmt::format("GPU {} ", gpu.gpu);
}

void add_gpu_rows(Rows& rows, const Verdict& verdict) {
  const auto& gpus = verdict.gpus;
  for (size_t i = 0; i < gpus.size();) {
    const ClaimRow* row = find_device_row(verdict, format_claim_begin(gpus[i]));
    size_t next = i + 1;
    for (; row != nullptr && next < gpus.size(); ++next) {
      const ClaimRow* other = find_device_row(verdict, format_claim_begin(gpus[next]));
      if (other == nullptr || !alike(gpus[i], *row, gpus[next], *other)) break;
    }
    const auto count = next - i;
    const std::string label =
        count == 1 ? fmt::format("GPU {}", gpus[i].gpu) : fmt::format("GPU {}-{}", gpus[i].gpu, gpus[next - 1].gpu);
    const std::string name = count == 1 ? gpus[i].name : fmt::format("{} ({} equal)", gpus[i].name, count);
    if (row != nullptr) rows.push_back(cells_after({label}, {name}, ships_cell(gpus[i], *row), *row));
    i = next;
  }
}

Rows titles(std::initializer_list<const char*> words) {
  Rows rows(1);
  for (const char* word : words) rows.front().push_back({word, Colour::faint});
  return rows;
}

}  // namespace

int64_t tested_gpus(const Verdict& verdict) {
  return std::ranges::count_if(verdict.gpus, [&](const GpuOutcome& gpu) {
    const ClaimRow* row = find_device_row(verdict, format_claim_begin(gpu));
    return row != nullptr && row->executed && row->executed != Outcome::unknown;
  });
}

void add_claimed(Page& page, const Verdict& verdict) {
  Rows rows = titles({"claim", "", "ships", "loads", "correct", "vs generic build"});
  std::vector<std::string> details;
  for (const auto& row : verdict.claims) {
    if (!row.claimed) continue;
    rows.push_back({{row.claim},
                    {*row.claimed},
                    level_cell(row.shipped, "-"),
                    level_cell(row.loaded, "-"),
                    level_cell(row.executed, "-"),
                    row.measured ? gain_cell(row.measured) : Cell{"-", Colour::faint}});
    if (!row.detail.empty()) details.push_back(fmt::format("{}: {}", row.claim, row.detail));
  }
  if (rows.size() == 1) return;
  page.blank();
  page.fitted_table(without_empty_columns(std::move(rows)), 1);
  for (const auto& detail : details) page.paragraph(strip_child_output(page, detail), 4, Colour::faint);
}

Rows device_rows(const Verdict& verdict) {
  Rows rows = titles({"", "", "ships", "loads", "correct", "vs generic build"});
  add_gpu_rows(rows, verdict);
  if (const ClaimRow* none = find_device_row(verdict, "GPU"); none != nullptr && none->claim == "GPU")
    rows.push_back({{"GPU"}, {"none here", Colour::faint}, level_cell(none->shipped, "-")});
  if (const ClaimRow* cpu = find_device_row(verdict, "CPU "))
    rows.push_back(cells_after({"CPU"}, {cpu->claim.substr(4)}, level_cell(cpu->shipped, "-"), *cpu));
  return rows;
}

void add_devices(Page& page, const Verdict& verdict) {
  Rows rows = device_rows(verdict);
  if (rows.size() == 1) return;
  page.blank();
  page.fitted_table(without_empty_columns(std::move(rows)), 1);
}

void add_gpu_outcomes(Page& page, const Verdict& verdict) {
  if (verdict.gpus.empty()) return;
  page.heading("Code of this torch for each GPU");
  for (size_t i = 0; i < verdict.gpus.size();) {
    const GpuOutcome& gpu = verdict.gpus[i];
    size_t next = i + 1;
    while (next < verdict.gpus.size() && verdict.gpus[next].sentence == gpu.sentence) ++next;
    const std::string which =
        next - i == 1 ? fmt::format("GPU {}", gpu.gpu) : fmt::format("GPU {}-{}", gpu.gpu, verdict.gpus[next - 1].gpu);
    page.entry(which, fmt::format("{}: {}", describe_code(gpu.code), gpu.sentence));
    i = next;
  }
}

std::string_view describe_code(GpuCode code) {
  switch (code) {
    case GpuCode::native: return "native cubin";
    case GpuCode::same_major: return "same-major cubin";
    case GpuCode::ptx: return "PTX compiled at load";
    case GpuCode::none: return "none";
    case GpuCode::unknown: return "unknown";
  }
  return "";
}

}  // namespace pbprobe::text
