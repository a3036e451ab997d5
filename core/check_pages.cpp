// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "core/check_pages.hpp"

namespace pbprobe {
namespace {

struct CheckPage {
  std::string_view file;  // "PB303.md"
  std::string_view text;
};

constexpr CheckPage kPages[] = {
#include "check_pages.inc"
};

}  // namespace

std::string_view check_page(std::string_view id) {
  for (const auto& page : kPages) {
    if (page.file.substr(0, page.file.find('.')) == id) return page.text;
  }
  return {};
}

std::string_view check_question(std::string_view id) {
  const std::string_view page = check_page(id);
  const size_t begin = page.find(": ");
  return begin == page.npos ? "" : page.substr(begin + 2, page.find('\n') - begin - 2);
}

}  // namespace pbprobe
