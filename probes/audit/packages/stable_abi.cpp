// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/audit/packages/stable_abi.hpp"

#include <charconv>
#include <map>
#include <span>

#include "core/strings.hpp"

namespace pbprobe {
namespace {

// Lines of a release and symbols that it added: "3.2 PyArg_Parse PyArg_ParseTuple".
constexpr std::string_view kTable =
#include "stable_abi.inc"  // stable_abi.txt as string literals (cmake/Embed.cmake)
    ;

std::map<std::string_view, int> parse_table() {
  std::map<std::string_view, int> symbols;
  for (const std::string_view line : split_lines(kTable)) {
    const auto words = split(line, ' ');
    int release = 0;
    std::from_chars(words[0].data() + 2, words[0].data() + words[0].size(), release);
    for (const std::string_view symbol : std::span(words).subspan(1)) symbols.emplace(symbol, release);
  }
  return symbols;
}

}  // namespace

std::optional<int> find_stable_release(std::string_view symbol) {
  static const auto symbols = parse_table();
  const auto found = symbols.find(symbol);
  return found == symbols.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace pbprobe
