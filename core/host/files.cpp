// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "core/host/files.hpp"

#include <charconv>

#include "core/open_file.hpp"
#include "core/strings.hpp"

namespace pbprobe::host {
namespace {

constexpr size_t kMaxBytes = 1 << 20;
constexpr int64_t kMaxCpus = 65536;

}  // namespace

std::optional<std::string> read_text(const std::string& root, const std::string& path) {
  auto text = read_start_of_file(root + path, kMaxBytes);
  return text.ok() ? std::optional(*std::move(text)) : std::nullopt;
}

std::optional<std::string> read_line(const std::string& root, const std::string& path) {
  const auto text = read_text(root, path);
  if (!text || trim(*text).empty()) return std::nullopt;
  return std::string(trim(*text));
}

std::optional<uint64_t> parse_number(std::string_view text) {
  int base = 10;
  if (text.starts_with("0x")) {
    text.remove_prefix(2);
    base = 16;
  }
  uint64_t value = 0;
  const auto* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value, base);
  if (error != std::errc() || stop != end) return std::nullopt;
  return value;
}

std::optional<std::vector<int64_t>> parse_cpu_list(std::string_view text) {
  std::vector<int64_t> cpus;
  for (const auto range : split(trim(text), ',')) {
    const auto dash = range.find('-');
    const auto first = parse_number(range.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : parse_number(range.substr(dash + 1));
    if (!first || !last || *last < *first || *last >= kMaxCpus) return std::nullopt;
    for (auto cpu = static_cast<int64_t>(*first); cpu <= static_cast<int64_t>(*last); ++cpu) cpus.push_back(cpu);
    if (cpus.size() > static_cast<size_t>(kMaxCpus)) return std::nullopt;
  }
  return cpus;
}

std::optional<std::string> find_value(std::string_view text, std::string_view key) {
  for (const auto line : split(text, '\n')) {
    const auto colon = line.find(':');
    if (colon == std::string_view::npos || trim(line.substr(0, colon)) != key) continue;
    return std::string(trim(line.substr(colon + 1)));
  }
  return std::nullopt;
}

}  // namespace pbprobe::host
