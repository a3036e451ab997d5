// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include <array>
#include <cstring>
#include <map>

#include "probes/audit/aarch64_masks.hpp"
#include "probes/audit/code.hpp"

namespace pbprobe {
namespace {

constexpr uint32_t kSveMask = 0x1E000000;
constexpr uint32_t kSve = 0x04000000;

// For each highest byte the rows that a word with it can belong to, in their order.
class Rows {
 public:
  explicit Rows(std::span<const WordMask> masks) {
    for (size_t byte = 0; byte < 256; ++byte) {
      const auto top = static_cast<uint32_t>(byte << 24U);
      for (const auto& row : masks) {
        if (((top ^ row.value) & row.mask & 0xFF000000) == 0) rows_[byte].push_back(row);
      }
    }
  }
  [[nodiscard]] FeatureSet features(uint32_t word) const {
    for (const auto& row : rows_[word >> 24U]) {
      if ((word & row.mask) == row.value) return row.features;
    }
    return 0;
  }

 private:
  std::array<std::vector<WordMask>, 256> rows_;
};

FeatureSet features_of(uint32_t word) {
  static const Rows base(base_masks());
  static const Rows sve(sve_masks());
  if ((word & kSveMask) == kSve) return arm("sve") | sve.features(word);
  return base.features(word);
}

// A branch of 26, 19 or 14 bits, counted in words, or an address made by adr.
bool leads_to(uint32_t word, uint64_t address, uint64_t& target) {
  const auto from = [&](uint32_t low, uint32_t bits) {
    const auto field = static_cast<int64_t>(static_cast<uint64_t>(word >> low) << (64U - bits));
    return static_cast<uint64_t>(field >> (64U - bits));
  };
  if ((word & 0x7C000000) == 0x14000000) {
    target = address + from(0, 26) * 4;  // b, bl
  } else if ((word & 0xFF000010) == 0x54000000 || (word & 0x7E000000) == 0x34000000) {
    target = address + from(5, 19) * 4;  // b.cond, cbz, cbnz
  } else if ((word & 0x9F000000) == 0x10000000) {
    target = address + (from(5, 19) << 2U) + ((word >> 29U) & 3U);  // adr
  } else {
    return false;
  }
  return true;
}

// adrp x, page; add x, x, offset: an address that the code takes, where the two stand beside each other.
bool takes_address(uint32_t word, uint32_t next, uint64_t address, uint64_t& target) {
  if ((word & 0x9F000000) != 0x90000000 || (next & 0xFFC00000) != 0x91000000) return false;
  if (((next >> 5U) & 31U) != (word & 31U)) return false;
  const auto field = static_cast<int64_t>(static_cast<uint64_t>((word >> 5U) & 0x7FFFF) << 45U) >> 43;
  const int64_t pages = field | static_cast<int64_t>((word >> 29U) & 3U);
  target = (address & ~uint64_t{0xFFF}) + static_cast<uint64_t>(pages) * 4096 + ((next >> 10U) & 0xFFF);
  return true;
}

}  // namespace

FeatureSet decode_aarch64(uint32_t word) {
  return features_of(word);
}

CodeCount count_aarch64(std::span<const uint8_t> code, uint64_t address, CodeTargets* targets) {
  CodeCount count;
  for (size_t offset = 0; offset + 4 <= code.size(); offset += 4) {
    uint32_t word = 0;
    std::memcpy(&word, code.data() + offset, sizeof word);
    ++count.instructions;
    if (const FeatureSet features = features_of(word); features != 0) {
      count.features |= features;
      auto entry = count.counts.begin();
      while (entry != count.counts.end() && entry->first != features) ++entry;
      if (entry == count.counts.end()) entry = count.counts.insert(entry, {features, 0});
      ++entry->second;
    }
    if (targets == nullptr) continue;
    uint64_t target = 0;
    uint32_t next = 0;
    if (offset + 8 <= code.size()) std::memcpy(&next, code.data() + offset + 4, sizeof next);
    if (leads_to(word, address + offset, target) || takes_address(word, next, address + offset, target))
      targets->push_back(target);
  }
  return count;
}

}  // namespace pbprobe
