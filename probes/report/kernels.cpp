// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Kernels of an artifact, grouped by the SMs that they have code for.
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/demangle.hpp"
#include "core/facts/device_code.hpp"
#include "probes/report/sections.hpp"
#include "probes/report/text.hpp"

namespace pbprobe {
namespace {

// Code of each kernel, by mangled name: SMs ordered by capability ("sm_90a"), cubins before PTX.
using Code = std::set<std::pair<bool, Sm>>;
using Kernels = std::map<std::string, Code>;

void take(const std::optional<DeviceCode>& code, Kernels& kernels) {
  if (!code) return;
  visit_kernels(*code, [&](const std::string& name, const Sm& sm, bool is_ptx) { kernels[name].insert({is_ptx, sm}); });
}

std::string format_title(const Code& code) {
  std::vector<std::string> names;
  for (const auto& [ptx, sm] : code) names.push_back(ptx ? "PTX for " + compute_name(sm) : sm_name(sm));
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

std::string render_kernels(const Report& report, const TextOptions& options) {
  text::Page page(options);
  if (!report.inventory) return {};
  text::add_package(page, report);
  bool any = false;
  for (const auto& file : report.inventory->files) {
    Kernels kernels;
    take(file.device_code, kernels);
    take(file.self_loaded_code, kernels);
    if (kernels.empty()) continue;
    any = true;
    page.heading(file.path);
    std::map<Code, std::vector<std::string>> groups;
    for (const auto& [name, code] : kernels) groups[code].push_back(name);
    for (const auto& [code, names] : groups) {
      page.paragraph(
          fmt::format("{} {} for {}", names.size(), names.size() == 1 ? "kernel" : "kernels", format_title(code)), 2,
          text::Colour::strong);
      for (const auto& name : names) page.paragraph(demangled(name, 4096), 6);
    }
  }
  if (!any) page.paragraph("no kernels", 2);
  return std::move(page).take();
}

}  // namespace pbprobe
