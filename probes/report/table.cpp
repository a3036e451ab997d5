// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/cpu_needs.hpp"
#include "core/printable.hpp"
#include "core/strings.hpp"
#include "probes/report/sections.hpp"
#include "probes/report/text.hpp"

namespace pbprobe {
namespace {

// "75 80 100a", or a dash.
std::string numbers(const std::vector<std::string>& names) {
  std::string text;
  for (const auto& name : names) text += (text.empty() ? "" : " ") + name.substr(name.find('_') + 1);
  return text.empty() ? "-" : text;
}

std::string minimum_cpu(const Holdings& holdings) {
  std::string text = holdings.minimum_cpu.value_or("?");
  if (holdings.minimum_cpu_at_most == kUnknownCpu)
    text = "at least " + text;
  else if (holdings.minimum_cpu_at_most)
    text += " to " + *holdings.minimum_cpu_at_most;
  if (holdings.leaks && !holdings.leaks->empty()) text += fmt::format(" (leaks: {})", fmt::join(*holdings.leaks, " "));
  return text;
}

std::string table_row(const Report& report) {
  const Inventory& inventory = *report.inventory;
  const Holdings holdings = report.verdict && report.verdict->holdings ? *report.verdict->holdings : Holdings{};
  std::string sms = numbers(holdings.sms);
  if (!holdings.few.empty()) sms += fmt::format(" (few: {})", numbers(holdings.few));
  const std::string capabilities =
      holdings.cpu_capabilities.empty() ? "-" : fmt::format("{}", fmt::join(holdings.cpu_capabilities, " "));
  return fmt::format(
      "| {} | {} | {} | {} | {} | {} | {} | {} | {} |\n", printable_markdown(base_name(inventory.artifact)),
      printable_markdown(inventory.torch_version.value_or("?")), printable_markdown(inventory.platform.value_or("?")),
      printable_markdown(inventory.cuda_version.value_or("-")), printable_markdown(sms),
      printable_markdown(numbers(holdings.ptx)), printable_markdown(minimum_cpu(holdings)),
      printable_markdown(capabilities), text::bytes(holdings.size_bytes));
}

}  // namespace

std::string render_table(const std::vector<Report>& reports) {
  std::string text =
      "| artifact | torch | platform | CUDA | SMs | PTX | minimum CPU | CPU capabilities | unpacked |\n"
      "|---|---|---|---|---|---|---|---|---|\n";
  for (const auto& report : reports) {
    if (report.inventory) text += table_row(report);
  }
  return text;
}

}  // namespace pbprobe
