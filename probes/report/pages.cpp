// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/report/attest.hpp"

namespace pbprobe {
namespace {

struct CheckPage {
  std::string_view id;
  std::string_view text;
};

constexpr CheckPage kPages[] = {
#include "check_pages.inc"
};

}  // namespace

std::string_view check_page(std::string_view id) {
  for (const auto& page : kPages) {
    if (page.id == id) return page.text;
  }
  return {};
}

}  // namespace pbprobe
