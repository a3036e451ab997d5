// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "probes/report/page.hpp"

namespace pbprobe {
namespace {

text::Cell right(std::string text, text::Colour colour = text::Colour::none) {
  return {std::move(text), colour, true};
}

void add_kernels(const PlannedProduct& product, text::Page& page) {
  constexpr auto kFaint = text::Colour::faint;
  std::vector<std::vector<text::Cell>> rows{{{"kernel", kFaint},
                                             {"", kFaint},
                                             right("tile", kFaint),
                                             right("parts of k", kFaint),
                                             right("blocks", kFaint),
                                             right("cluster", kFaint),
                                             right("by the model", kFaint)}};
  const auto number = [](const std::optional<int64_t>& value) { return value ? fmt::format("{}", *value) : "-"; };
  for (const auto& kernel : product.kernels) {
    rows.push_back({{kernel.kernel, kernel.chosen ? text::Colour::strong : text::Colour::none},
                    {kernel.chosen ? "*" : ""},
                    right(kernel.tile),
                    right(fmt::format("{}", kernel.parts)),
                    right(number(kernel.blocks)),
                    right(number(kernel.cluster)),
                    right(kernel.model ? fmt::format("{:.2f}×", *kernel.model) : "-")});
  }
  page.table(rows);
  for (const auto& kernel : product.kernels) {
    if (kernel.chosen) page.paragraph(kernel.why, 2);
  }
}

}  // namespace

std::string render_plans(const PlanList& list, const TextOptions& options) {
  text::Page page(options);
  for (const auto& product : list.products) {
    if (&product != &list.products.front()) page.blank();
    page.line({{fmt::format("{}×{}×{} {} {} to {} on {}", product.m, product.n, product.k, product.dtype,
                            product.layout, product.out, product.device),
                text::Colour::strong}});
    if (product.supposed) page.paragraph("supposed: " + *product.supposed, 2, text::Colour::faint);
    if (!product.kernels.empty()) add_kernels(product, page);
    if (product.why_not) page.paragraph(*product.why_not, 2, text::Colour::doubt);
  }
  return std::move(page).take();
}

}  // namespace pbprobe
