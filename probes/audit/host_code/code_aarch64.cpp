// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "probes/audit/host_code/aarch64_anchor.hpp"
#include "probes/audit/host_code/aarch64_masks.hpp"
#include "probes/audit/host_code/code.hpp"
#include "probes/audit/host_code/flush_to_zero.hpp"
#include "probes/audit/host_code/vector_length.hpp"

namespace pbprobe {
namespace {

constexpr uint32_t kSveMask = 0x1E000000;
constexpr uint32_t kSve = 0x04000000;

// Rows that a word can match, in order, by the word's highest byte.
class Rows {
 public:
  explicit Rows(std::span<const FeatureMasks> masks) {
    for (const auto& [features, words] : masks) {
      for (const auto& word : words) {
        for (size_t byte = 0; byte < 256; ++byte) {
          const auto top = static_cast<uint32_t>(byte << 24U);
          if (((top ^ word.value) & word.mask & 0xFF000000) == 0) rows_[byte].emplace_back(word, features);
        }
      }
    }
  }
  [[nodiscard]] FeatureSet features(uint32_t word) const {
    for (const auto& [row, features] : rows_[word >> 24U]) {
      if ((word & row.mask) == row.value) return features;
    }
    return 0;
  }

 private:
  std::array<std::vector<std::pair<WordMask, FeatureSet>>, 256> rows_;
};

FeatureSet find_features(uint32_t word) {
  static const Rows base(base_masks());
  static const Rows sve(sve_masks());
  if ((word & kSveMask) == kSve) return arm("sve") | sve.features(word);
  return base.features(word);
}

// Finds the target of a branch of 26, 19 or 14 bits, counted in words, or the address of adr.
bool find_branch_target(uint32_t word, uint64_t address, uint64_t& target) {
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

uint64_t compute_page(uint32_t word, uint64_t address) {
  const auto field = static_cast<int64_t>(static_cast<uint64_t>((word >> 5U) & 0x7FFFF) << 45U) >> 43;
  const int64_t pages = field | static_cast<int64_t>((word >> 29U) & 3U);
  return (address & ~uint64_t{0xFFF}) + static_cast<uint64_t>(pages) * 4096;
}

// Reports whether a load or store has a register of 16 bytes.
bool is_wide_access(uint32_t word) {
  return (word & 0xFF800000) == 0x3D800000;
}

// Finds addresses that code takes, and the words that it reads and writes: adrp x, page … add y, x, offset … ldr z,
// [y]. Compilers put other instructions in between, and form several addresses from one.
class TakenAddresses {
 public:
  // `rest`: the code after the word.
  std::optional<uint64_t> see(uint32_t word, uint64_t address, std::span<const uint8_t> rest) {
    const uint32_t to = word & 31U;
    const uint32_t from = (word >> 5U) & 31U;
    const uint64_t offset = (word >> 10U) & 0xFFFU;
    const bool known = ((known_ >> from) & 1U) != 0;
    if ((word & 0x9F000000) == 0x90000000) {
      know(to, compute_page(word, address));
    } else if ((word & 0x9F000000) == 0x10000000) {  // adr, which find_branch_target() counts
      uint64_t target = 0;
      if (find_branch_target(word, address, target)) know(to, target);
    } else if ((word & 0xFF800000) == 0x91000000 && known) {
      know(to, addresses_[from] + offset);
      if (!is_anchor(rest, to)) return addresses_[to];
    } else if ((word & 0x3B000000) == 0x39000000) {  // loads and stores with an unsigned offset
      const uint64_t place = addresses_[from] + (offset << compute_scale(word));
      const bool loads = (word & 0x00C00000) != 0 && (word & 0x04000000) == 0;
      if (loads) forget(to);
      if (known) return place | kInPlace;
    } else if ((word & 0xFC000000) == 0x94000000) {
      known_ &= ~kOfCallee;
    } else if ((word & 0xFFE0FFE0) == 0xAA0003E0 && ((known_ >> ((word >> 16U) & 31U)) & 1U) != 0) {  // mov
      know(to, addresses_[(word >> 16U) & 31U]);
    } else if ((word & 0x1C000000) == 0x10000000 || (word & 0x0E000000) == 0x0A000000) {  // other data processing
      forget(to);
    }
    return std::nullopt;
  }

 private:
  static constexpr uint32_t kOfCallee = (1U << 19U) - 1;  // a callee may overwrite x0 to x18

  // Returns the binary logarithm of the bytes that the instruction reads or writes.
  static uint32_t compute_scale(uint32_t word) { return is_wide_access(word) ? 4 : word >> 30U; }

  void know(uint32_t to, uint64_t address) {
    addresses_[to] = address;
    known_ |= 1U << to;
  }
  void forget(uint32_t to) { known_ &= ~(1U << to); }

  std::array<uint64_t, 32> addresses_{};
  uint32_t known_ = 0;  // registers that hold an address or a page
};

// Reports whether a word is unallocated: in group 0001, 0011 or the rest of 0000 without SME and udf (op0), or an
// unknown word of SVE. Source: Arm ARM, C4.1 (A64 instruction set encoding).
bool is_unallocated(uint32_t word) {
  static const Rows unknown_sve(unknown_sve_masks());
  if ((word & kSveMask) == kSve) return unknown_sve.features(word) != 0;
  const uint32_t op0 = (word >> 25U) & 15U;
  return op0 == 1 || op0 == 3 || (op0 == 0 && (word >> 31U) == 0 && (word >> 16U) != 0);
}

// mrs of an ID register
bool asks_cpu(uint32_t word) {
  return (word & 0xFFFFF000) == 0xD5380000;
}

// Tracks register contents through straight code, to find the targets of calls through registers.
class Aarch64Tracer {
 public:
  explicit Aarch64Tracer(uint64_t address) : address_(address) {}

  void see(uint32_t word, uint64_t offset) {
    trace_.features |= find_features(word);
    const uint64_t at = address_ + offset;
    const size_t to = word & 31U;
    const size_t from = (word >> 5U) & 31U;
    uint64_t target = 0;
    trace_.asks = trace_.asks || asks_cpu(word);
    trace_.flushes = flush_.see_aarch64(word);
    if ((word & 0x9F000000) == 0x90000000) {  // adrp
      registers_[to] = {Holds::page, compute_page(word, at)};
    } else if (find_branch_target(word, at, target)) {
      const bool adr = (word & 0x9F000000) == 0x10000000;
      (adr ? trace_.taken : trace_.calls).push_back(target);
      if (adr) registers_[to] = {Holds::page, target};
      if ((word & 0xFC000000) == 0x94000000) forget_after_call();
    } else if ((word & 0xFF800000) == 0x91000000) {  // add with an immediate
      const uint64_t value = registers_[from].value + ((word >> 10U) & 0xFFFU);
      const bool known = registers_[from].holds == Holds::page;
      if (known) trace_.taken.push_back(value);
      registers_[to] = known ? Register{Holds::page, value} : Register{};
    } else if ((word & 0x3B000000) == 0x39000000) {  // loads and stores with an unsigned offset
      see_access(word, to, from);
    } else if ((word & 0xFF9FFC1F) == 0xD61F0000 || (word & 0xFFDFF800) == 0xD61F0800) {  // br, blr, and with keys
      see_call((word & 0x00200000) != 0, registers_[from]);
    } else if ((word & 0xFFE0FFE0) == 0xAA0003E0) {  // mov
      registers_[to] = registers_[(word >> 16U) & 31U];
    }
  }

  CodeTrace take() { return std::move(trace_); }

 private:
  enum class Holds : uint8_t { unknown, page, pointer_at };
  struct Register {
    Holds holds = Holds::unknown;
    uint64_t value = 0;
  };

  void see_access(uint32_t word, size_t to, size_t from) {
    const bool loads_pointer = (word & 0xFFC00000) == 0xF9400000;
    const uint64_t place = registers_[from].value + (uint64_t{(word >> 10U) & 0xFFFU} << (word >> 30U));
    const bool known = registers_[from].holds == Holds::page;
    if (known) trace_.data.push_back(place);
    if ((word & 0x04000000) == 0 && (word & 0x00C00000) != 0)
      registers_[to] = known && loads_pointer ? Register{Holds::pointer_at, place} : Register{};
  }

  void see_call(bool call, Register from) {
    if (from.holds == Holds::page) {
      trace_.calls.push_back(from.value);
    } else if (from.holds == Holds::pointer_at) {
      trace_.through.push_back(from.value);
    } else if (call) {
      trace_.indirect = true;
    }
    if (call) forget_after_call();
  }

  // A callee may overwrite x0 to x18.
  void forget_after_call() { std::fill_n(registers_.begin(), 19, Register{}); }

  uint64_t address_;
  FlushToZero flush_;
  std::array<Register, 32> registers_{};
  CodeTrace trace_;
};

}  // namespace

CodeTrace trace_aarch64(std::span<const uint8_t> code, uint64_t address) {
  Aarch64Tracer tracer(address);
  for (size_t offset = 0; offset + 4 <= code.size(); offset += 4) {
    uint32_t word = 0;
    std::memcpy(&word, code.data() + offset, sizeof word);
    tracer.see(word, offset);
  }
  return tracer.take();
}

FeatureSet decode_aarch64(uint32_t word) {
  return find_features(word);
}

CodeCount count_aarch64(std::span<const uint8_t> code, uint64_t address, CodeTargets* targets) {
  CodeCount count;
  TakenAddresses taken;
  for (size_t offset = 0; offset + 4 <= code.size(); offset += 4) {
    uint32_t word = 0;
    std::memcpy(&word, code.data() + offset, sizeof word);
    ++count.instructions;
    count.asks = count.asks || asks_cpu(word);
    if (is_unallocated(word) && (count.unknown += 4) == 4) count.first_unknown = address + offset;
    if (const FeatureSet features = find_features(word); features != 0) {
      count.features |= features;
      auto entry = count.counts.begin();
      while (entry != count.counts.end() && entry->first != features) ++entry;
      if (entry == count.counts.end()) entry = count.counts.insert(entry, {features, 0});
      ++entry->second;
    }
    if (targets == nullptr) continue;
    uint64_t target = 0;
    if (find_branch_target(word, address + offset, target)) targets->push_back(target);
    if (const auto named = taken.see(word, address + offset, code.subspan(offset + 4))) {
      targets->push_back(*named);
      if ((*named & kInPlace) != 0 && is_wide_access(word)) targets->push_back(*named + 8);
    }
  }
  if ((count.features & arm("sve")) == 0) return count;
  const VectorLengths lengths = find_vector_lengths(code);
  count.undecided_length = lengths == VectorLengths::undecided;
  if (lengths == VectorLengths::longer) {
    count.features |= arm("sve256");
    count.counts.emplace_back(arm("sve256"), 1);
  }
  return count;
}

}  // namespace pbprobe
