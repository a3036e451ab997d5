// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include <map>
#include <set>

#include <fmt/format.h>

#include "core/sm.hpp"
#include "probes/report/html/sections.hpp"
#include "probes/report/sections.hpp"

namespace pbprobe::html {
namespace {

// Cubins and PTX entries of a package, by SM.
struct Held {
  std::map<Sm, int64_t> cubins;
  std::map<Sm, int64_t> ptx;
};

void take(const std::optional<DeviceCode>& code, Held& held) {
  if (!code) return;
  for (const auto& [name, count] : code->cubin) {
    if (const auto sm = parse_sm(name)) held.cubins[*sm] += count;
  }
  for (const auto& [name, count] : code->ptx) {
    if (const auto sm = parse_sm(name)) held.ptx[*sm] += count;
  }
}

Cell count_cell(const std::map<Sm, int64_t>& counts, const Sm& sm, Colour colour) {
  const auto found = counts.find(sm);
  if (found == counts.end() || found->second == 0) return {"-", Colour::faint};
  return {fmt::format("{}", found->second), colour, static_cast<double>(found->second)};
}

}  // namespace

void add_device_code(Document& page, const Report& report) {
  if (!report.inventory) return;
  std::map<std::string, Held> packages;
  std::set<Sm> sms;
  std::set<Sm> virtuals;
  for (const auto& file : report.inventory->files) {
    if (!file.device_code && !file.self_loaded_code) continue;
    Held& held = packages[file.component.value_or(file.path)];
    take(file.device_code, held);
    take(file.self_loaded_code, held);
    for (const auto& [sm, count] : held.cubins) sms.insert(sm);
    for (const auto& [sm, count] : held.ptx) virtuals.insert(sm);
  }
  if (packages.empty()) return;
  Table table{.caption = "Cubins for each SM, and PTX entries, by package", .head = {"package"}, .heat = true};
  for (const auto& sm : sms) table.head.push_back(sm_name(sm));
  for (const auto& sm : virtuals) table.head.push_back("PTX " + compute_name(sm));
  if (report.host && !report.host->gpus.empty()) table.here = text::format_sm(report.host->gpus.front().capability);
  for (const auto& [name, held] : packages) {
    table.rows.push_back({{name}});
    for (const auto& sm : sms) table.rows.back().push_back(count_cell(held.cubins, sm, Colour::good));
    for (const auto& sm : virtuals) table.rows.back().push_back(count_cell(held.ptx, sm, Colour::doubt));
  }
  const auto section = page.open_section("Packages and SMs", text::torch_line(*report.inventory));
  page.add(table);
}

}  // namespace pbprobe::html
