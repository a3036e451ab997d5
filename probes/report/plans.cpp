// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "probes/report/page.hpp"

namespace pbprobe {
namespace {

using text::right;

void add_kernels(const PlannedGemm& gemm, text::Page& page) {
  constexpr auto kFaint = text::Colour::faint;
  std::vector<std::vector<text::Cell>> rows{{{"kernel", kFaint},
                                             {"", kFaint},
                                             right("tile", kFaint),
                                             right("split-K", kFaint),
                                             right("blocks", kFaint),
                                             right("cluster", kFaint),
                                             right("time / chosen (model)", kFaint),
                                             right("µs", kFaint)}};
  const auto number = [](const std::optional<int64_t>& value) { return value ? fmt::format("{}", *value) : "-"; };
  for (const auto& kernel : gemm.kernels) {
    rows.push_back({{kernel.kernel, kernel.chosen ? text::Colour::strong : text::Colour::none},
                    {kernel.chosen ? "*" : ""},
                    right(kernel.tile),
                    right(fmt::format("{}", kernel.parts)),
                    right(number(kernel.blocks)),
                    right(number(kernel.cluster)),
                    right(kernel.model ? fmt::format("{:.2f}×", *kernel.model) : "-"),
                    right(kernel.model_us ? fmt::format("{:.1f}", *kernel.model_us) : "-")});
  }
  page.table(rows);
  for (const auto& kernel : gemm.kernels) {
    if (kernel.chosen) page.paragraph(kernel.why, 2);
  }
}

}  // namespace

std::string render_plans(const PlanList& list, const TextOptions& options) {
  text::Page page(options);
  for (const auto& gemm : list.gemms) {
    if (&gemm != &list.gemms.front()) page.blank();
    const std::string blocks = gemm.blocks ? fmt::format(" ({} blocks)", *gemm.blocks) : "";
    page.line({{fmt::format("{}×{}×{} {}{} {} to {} on {}", gemm.m, gemm.n, gemm.k, gemm.dtype, blocks, gemm.layout,
                            gemm.out, gemm.device),
                text::Colour::strong}});
    if (gemm.supposed) page.paragraph("supposed: " + *gemm.supposed, 2, text::Colour::faint);
    if (!gemm.kernels.empty()) add_kernels(gemm, page);
    if (gemm.why_not) page.paragraph(*gemm.why_not, 2, text::Colour::doubt);
  }
  return std::move(page).take();
}

}  // namespace pbprobe
