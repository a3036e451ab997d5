// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "core/torch_symbols.hpp"

#include <algorithm>
#include <utility>

#include <fmt/ranges.h>

#include "core/base64.hpp"
#include "core/json.hpp"
#include "core/sha256.hpp"
#include "core/torch_names.hpp"

namespace pbprobe {
namespace {

constexpr std::string_view kTableJson =
#include "torch_symbols.inc"  // recipes/torch_symbols.json as string literals (cmake/Embed.cmake)
    ;

struct Digests {
  std::vector<std::string> releases;
  uint64_t slots = 1;
  std::vector<std::pair<uint64_t, uint32_t>> sorted;  // digest, and set of releases that export it
};

uint32_t make_bits(const TorchSymbolGroup& group, const std::vector<std::string>& releases) {
  uint32_t bits = 0;
  for (size_t i = 0; i < releases.size(); ++i) {
    const auto& having = group.releases;
    if (std::ranges::find(having, releases[i]) != having.end()) bits |= 1U << i;
  }
  return bits;
}

void add_group(const TorchSymbolGroup& group, uint32_t bits, Digests& digests) {
  uint64_t digest = 0;
  uint64_t gap = 0;
  int shift = 0;
  for (const char byte : decode_base64(group.gaps).value_or("")) {
    gap |= static_cast<uint64_t>(byte & 0x7f) << shift;
    shift += 7;
    if ((static_cast<unsigned char>(byte) & 0x80) != 0) continue;
    digest += gap;
    digests.sorted.emplace_back(digest, bits);
    gap = 0;
    shift = 0;
  }
}

Digests load() {
  auto parsed = parse_json(kTableJson);
  auto table = parsed ? from_json<TorchSymbolTable>(*parsed) : Result<TorchSymbolTable>(parsed.error());
  const TorchSymbolTable whole = embedded(std::move(table), "recipes/torch_symbols.json");
  Digests digests{.releases = whole.releases, .slots = static_cast<uint64_t>(whole.slots)};
  for (const auto& group : whole.groups) add_group(group, make_bits(group, whole.releases), digests);
  std::ranges::sort(digests.sorted);
  return digests;
}

const Digests& table() {
  static const Digests digests = load();
  return digests;
}

uint64_t compute_digest(std::string_view name) {
  return std::stoull(compute_sha256(name).substr(0, 16), nullptr, 16) % table().slots;
}

// "2.9" of "2.9.0".
std::string format_minor(const std::string& release) {
  return release.substr(0, release.find('.', release.find('.') + 1));
}

std::vector<std::string> all_names() {
  return TorchReleases::all().names();
}

}  // namespace

TorchReleases TorchReleases::all() {
  return TorchReleases((1U << table().releases.size()) - 1);
}

TorchReleases TorchReleases::with(std::string_view symbol) {
  const uint64_t digest = compute_digest(symbol);
  const auto& sorted = table().sorted;
  uint32_t bits = 0;
  for (auto at = std::lower_bound(sorted.begin(), sorted.end(), std::pair(digest, uint32_t{0}));
       at != sorted.end() && at->first == digest; ++at)
    bits |= at->second;
  return TorchReleases(bits);
}

TorchReleases TorchReleases::of(const std::vector<std::string>& names) {
  uint32_t bits = 0;
  for (size_t i = 0; i < table().releases.size(); ++i) {
    if (std::ranges::find(names, format_minor(table().releases[i])) != names.end()) bits |= 1U << i;
  }
  return TorchReleases(bits);
}

std::vector<std::string> TorchReleases::names() const {
  std::vector<std::string> names;
  for (size_t i = 0; i < table().releases.size(); ++i) {
    if ((bits_ >> i & 1U) != 0) names.push_back(format_minor(table().releases[i]));
  }
  return names;
}

std::string known_torch_releases() {
  return join_ranges(all_names());
}

std::string explain_unknown_torch_name(std::string_view symbol) {
  return fmt::format(
      "none of torch {} has{}", known_torch_releases(),
      has_old_string(symbol) ? ": the file was built with _GLIBCXX_USE_CXX11_ABI=0, for torch 2.6 or older" : "");
}

std::string join_ranges(const std::vector<std::string>& releases) {
  const auto every = all_names();
  std::vector<std::string> parts;
  for (size_t i = 0; i < releases.size();) {
    size_t at = static_cast<size_t>(std::ranges::find(every, releases[i]) - every.begin());
    size_t last = i;
    while (last + 1 < releases.size() && at + 1 < every.size() && releases[last + 1] == every[at + 1]) {
      ++last;
      ++at;
    }
    parts.push_back(last == i ? releases[i] : fmt::format("{} to {}", releases[i], releases[last]));
    i = last + 1;
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace pbprobe
