// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Table of the torch releases that export each symbol: recipes/torch_symbols.json, embedded at build time as digests.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/fields.hpp"

namespace pbprobe {

// Symbols that the same releases export. Each digest is stored as its distance from the previous one, in LEB128 and
// base64.
struct TorchSymbolGroup {
  FIELD(std::vector<std::string>, releases, "releases that export these symbols");
  FIELD(int64_t, symbols, "number of symbols") = 0;
  FIELD(std::string, gaps, "distances between consecutive digests: LEB128, in base64");
};

struct TorchSymbolTable {
  SCHEMA("pbprobe.torch_symbols/1");
  FIELD(std::vector<std::string>, releases, "oldest first");  // "2.11.0"
  FIELD(int64_t, slots, "a digest is the first 8 bytes of the SHA-256 of the name, modulo this") = 0;
  FIELD(std::vector<TorchSymbolGroup>, groups, "symbols by the releases that export them");
};

// Subset of the releases in the table.
class TorchReleases {
 public:
  [[nodiscard]] static TorchReleases all();
  // Returns the releases that export a symbol with this mangled name. One in 4096 unknown names collides with a known
  // one.
  [[nodiscard]] static TorchReleases with(std::string_view symbol);

  // Returns the releases in `names`.
  [[nodiscard]] static TorchReleases of(const std::vector<std::string>& names);

  [[nodiscard]] bool empty() const { return bits_ == 0; }
  TorchReleases& operator&=(TorchReleases other) {
    bits_ &= other.bits_;
    return *this;
  }
  // Returns the releases as {"2.9", "2.10"}, oldest first.
  [[nodiscard]] std::vector<std::string> names() const;

 private:
  explicit TorchReleases(uint32_t bits) : bits_(bits) {}
  uint32_t bits_ = 0;
};

// Returns the range of the table: "2.8 to 2.15".
[[nodiscard]] std::string known_torch_releases();

// Explains why no known release exports a symbol that is reserved for torch: "none of torch 2.8 to 2.15 has".
[[nodiscard]] std::string explain_unknown_torch_name(std::string_view symbol);

// "2.9", "2.9 to 2.11", "2.9, 2.11": of `releases` as `names` gives them.
[[nodiscard]] std::string join_ranges(const std::vector<std::string>& releases);

}  // namespace pbprobe
