// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>

#include "probes/report/page.hpp"

namespace pbprobe {
namespace {

// Adds the preferred kernel of each target and type: the first of its rows.
void add_support(const TargetList& list, text::Page& page) {
  std::vector<std::vector<text::Cell>> rows;
  for (const auto& target : list.targets) {
    std::set<std::string_view> types;
    for (const auto& kernel : target.kernels) {
      if (!types.insert(kernel.dtype).second) continue;
      rows.push_back({{types.size() == 1 ? target.id : ""},
                      {kernel.dtype},
                      {kernel.name},
                      {kernel.instruction},
                      {kernel.evidence}});
    }
  }
  if (rows.empty()) return;
  page.line({{"Preferred for each type", text::Colour::strong}});
  page.table(rows);
}

}  // namespace

std::string render_targets(const TargetList& list, const TextOptions& options) {
  text::Page page(options);
  for (const auto& target : list.targets) {
    page.line({{target.id, text::Colour::strong},
               {fmt::format("  {}", fmt::join(target.products, ", ")), text::Colour::none},
               {target.built ? "" : "  (not built)", text::Colour::doubt}});
    std::vector<std::vector<text::Cell>> rows;
    for (const auto& kernel : target.kernels) {
      const std::string device = kernel.device ? " on " + *kernel.device : "";
      rows.push_back({{kernel.name}, {kernel.dtype}, {kernel.instruction}, {kernel.evidence + device}});
    }
    page.table(rows);
    if (target.kernels.empty()) page.paragraph("no kernel yet", 2, text::Colour::faint);
    if (target.why_not) page.paragraph(*target.why_not, 2, text::Colour::faint);
  }
  add_support(list, page);
  return std::move(page).take();
}

}  // namespace pbprobe
