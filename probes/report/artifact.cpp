// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <functional>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/facts/other_package.hpp"
#include "core/sm.hpp"
#include "core/strings.hpp"
#include "probes/report/sections.hpp"

namespace pbprobe::text {
namespace {

// Limit for the libraries other than libtorch's own files: the largest, by name only.
constexpr size_t kMaxComponents = 4;

// "sm_75, 80, 100a": the prefix once.
std::string chips(std::vector<std::string> names) {
  std::ranges::sort(names, [](const std::string& a, const std::string& b) { return parse_sm(a) < parse_sm(b); });
  for (size_t i = 1; i < names.size(); ++i) {
    if (names[i].starts_with("sm_")) names[i].erase(0, 3);
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

// Returns "444 × sm_75, 80; 4 × sm_90a", the most frequent first.
std::string group_by_count(const std::map<std::string, int64_t>& cubins) {
  std::map<int64_t, std::vector<std::string>, std::greater<>> by_count;
  for (const auto& [name, count] : cubins) by_count[count].push_back(name);
  std::vector<std::string> groups;
  for (const auto& [count, names] : by_count)
    groups.push_back(fmt::format("{0}{1}×{1}{2}", count, kNoBreak, chips(names)));
  return fmt::format("{}", fmt::join(groups, "; "));
}

struct Names {
  std::set<std::string> cubin;
  bool ptx = false;
  int64_t stored_bytes = 0;
};

std::string names_line(const Names& names) {
  if (names.cubin.empty()) return "PTX only";
  return chips({names.cubin.begin(), names.cubin.end()}) + (names.ptx ? "; and PTX" : "");
}

void add_components(Page& page, const Inventory& inventory) {
  std::map<std::string, Names> components;
  for (const auto& file : inventory.files) {
    if (!file.device_code || file.component == "libtorch") continue;
    Names& names = components[file.component.value_or(std::string(base_name(file.path)))];
    for (const auto& [name, count] : file.device_code->cubin) names.cubin.insert(name);
    names.ptx = names.ptx || !file.device_code->ptx.empty();
    names.stored_bytes += file.device_code->stored_bytes;
  }
  std::vector<std::pair<std::string, Names>> largest(components.begin(), components.end());
  std::ranges::stable_sort(largest,
                           [](const auto& a, const auto& b) { return a.second.stored_bytes > b.second.stored_bytes; });
  const size_t left_out = largest.size() > kMaxComponents ? largest.size() - kMaxComponents : 0;
  largest.resize(largest.size() - left_out);
  for (const auto& [component, names] : largest) page.entry(component, names_line(names), 24);
  if (left_out > 0) page.entry("", fmt::format("and {} more libraries: `pbprobe audit` lists all", left_out), 24);
}

}  // namespace

void add_package(Page& page, const Report& report) {
  const Inventory& inventory = *report.inventory;
  const bool unclaimed = !report.claim && report.verdict && report.verdict->holdings;
  if (const Package* other = other_package(inventory)) {
    page.line(
        {{name_and_version(*other), Colour::strong}, {fmt::format(", {}: {}", inventory.layout, inventory.artifact)}});
    if (unclaimed) page.entry("in short", report.verdict->holdings->sentence);
    return;
  }
  if (inventory.layout == "file") {
    page.line({{std::string(base_name(inventory.artifact)), Colour::strong}, {", single file: " + inventory.artifact}});
  } else {
    page.line({{"torch ", Colour::strong}, {torch_line(inventory)}});
  }
  if (unclaimed) page.entry("claim", "none given; the files satisfy: " + report.verdict->holdings->sentence);
}

std::string torch_line(const Inventory& inventory) {
  std::string line = inventory.torch_version.value_or("(version unknown)");
  line += inventory.cuda_version ? ", CUDA " + *inventory.cuda_version : ", no CUDA version";
  return fmt::format("{}, {}: {}", line, inventory.layout, inventory.artifact);
}

std::string device_code_line(const DeviceCode& code) {
  std::string line = code.cubin.empty() ? "no machine code" : group_by_count(code.cubin);
  line += code.ptx.empty() ? "; no PTX" : "; PTX " + group_by_count(code.ptx);
  if (!code.lto_ir.empty()) line += "; LTO-IR " + group_by_count(code.lto_ir);
  if (!code.other_entries) return line;
  for (const auto& [kind, counts] : *code.other_entries) line += fmt::format("; {} {}", kind, group_by_count(counts));
  return line;
}

std::vector<std::string> device_code_details(const DeviceCode& code) {
  std::vector<std::string> lines;
  for (const auto& [version, sms] : code.assemblers.value_or(decltype(code.assemblers)::value_type())) {
    std::map<std::string, int64_t> cubins;
    for (const auto& [sm, made] : sms) cubins[sm] = made.cubins;
    lines.push_back(fmt::format("by ptxas {}: {}", version, group_by_count(cubins)));
  }
  if (code.stored_bytes > 0)
    lines.push_back(
        fmt::format("{} of device code, {} stored", bytes(code.uncompressed_bytes), bytes(code.stored_bytes)));
  if (!code.census) return lines;
  for (const auto& [sm, census] : *code.census) {
    std::string line = fmt::format("{}: {} {}", sm, census.kernels, census.kernels == 1 ? "kernel" : "kernels");
    for (const auto& [mnemonic, count] : census.instructions)
      line += fmt::format(", {}{}{}", count, kNoBreak, mnemonic);
    if (!census.tensor_cubins.empty() && code.cubin.contains(sm))
      line += fmt::format("; tensor instructions in {} of {} cubins", census.tensor_cubins.size(), code.cubin.at(sm));
    if (census.trap_kernels > 0) {
      const std::string first = census.only_traps.empty() ? "" : ": " + census.only_traps.front();
      line += fmt::format("; {} of them only trap{}", census.trap_kernels, first);
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

void add_device_code(Page& page, const Inventory& inventory) {
  const bool any = std::ranges::any_of(inventory.files, [](const File& file) { return file.device_code.has_value(); });
  if (!any) return;
  page.heading("Device code");
  for (const auto& file : inventory.files) {
    if (file.component == "libtorch" && file.device_code)
      page.entry(base_name(file.path), device_code_line(*file.device_code), 24);
  }
  add_components(page, inventory);
}

}  // namespace pbprobe::text
