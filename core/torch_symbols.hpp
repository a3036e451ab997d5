// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// recipes/torch_symbols.json: which releases of torch export a symbol, embedded at build time as digests.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/fields.hpp"

namespace pbprobe {

// Those that export one digest after another: each as the distance from the one before, in LEB128 and base64.
struct TorchSymbolGroup {
  std::vector<std::string> releases;
  int64_t symbols = 0;
  std::string gaps;
};

struct TorchSymbolTable {
  std::vector<std::string> releases;  // "2.11.0", oldest first
  int64_t slots = 0;                  // a digest is the first 8 bytes of SHA-256, modulo this
  std::vector<TorchSymbolGroup> groups;
};

// A set of the table's releases.
class TorchReleases {
 public:
  [[nodiscard]] static TorchReleases all();
  // Those that export a symbol of this mangled name. One name in 4096 that none exports is taken for another's.
  [[nodiscard]] static TorchReleases with(std::string_view symbol);

  // As `names` gives them.
  [[nodiscard]] static TorchReleases of(const std::vector<std::string>& names);

  [[nodiscard]] bool empty() const { return bits_ == 0; }
  TorchReleases& operator&=(TorchReleases other) {
    bits_ &= other.bits_;
    return *this;
  }
  // {"2.9", "2.10"}, oldest first.
  [[nodiscard]] std::vector<std::string> names() const;

 private:
  explicit TorchReleases(uint32_t bits) : bits_(bits) {}
  uint32_t bits_ = 0;
};

// "2.8 to 2.15": what the table covers.
[[nodiscard]] std::string known_torch_releases();

// Explains why no known release exports a symbol that is reserved for torch: "none of torch 2.8 to 2.15 has".
[[nodiscard]] std::string explain_unknown_torch_name(std::string_view symbol);

// "2.9", "2.9 to 2.11", "2.9, 2.11": of `releases` as `names` gives them.
[[nodiscard]] std::string in_ranges(const std::vector<std::string>& releases);

template <class Visitor, SameAs<TorchSymbolGroup> T>
void fields(Visitor& visit, T& group) {
  visit("releases", group.releases, "that export these symbols, and no other does");
  visit("symbols", group.symbols, "how many");
  visit("gaps", group.gaps, "from one digest to the next, in order: LEB128, in base64");
}

template <class Visitor, SameAs<TorchSymbolTable> T>
void fields(Visitor& visit, T& table) {
  visit.constant("schema", "pbprobe.torch_symbols/1");
  visit("releases", table.releases, "oldest first");
  visit("slots", table.slots, "a digest is the first 8 bytes of the name's SHA-256, modulo this");
  visit("groups", table.groups, "symbols by the releases that export them");
}

}  // namespace pbprobe
