// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Source of the encodings: Arm ARM (DDI 0487), C4.1.36 (SVE).
#include "probes/audit/host_code/vector_length.hpp"

#include <algorithm>
#include <array>
#include <bitset>
#include <cstring>
#include <map>
#include <numeric>
#include <optional>
#include <vector>

namespace pbprobe {
namespace {

constexpr uint32_t kLeastBytes = 16;
constexpr uint32_t kZeroRegister = 31;
constexpr uint32_t kStackPointer = 31;
constexpr uint32_t kFramePointer = 29;
constexpr uint32_t kNoLoop = UINT32_MAX;

struct Mask {
  uint32_t mask;
  uint32_t value;
};

// cnt, inc and dec of a register, of a vector, saturating; rdvl; cntp, incp
constexpr Mask kAsking[] = {{0xFF30FC00, 0x0420E000}, {0xFF30F800, 0x0430E000}, {0xFF30F800, 0x0430C000},
                            {0xFF20F000, 0x0420F000}, {0xFF30F000, 0x0420C000}, {0xFFFFF000, 0x04BF5000},
                            {0xFF38C000, 0x25208000}, {0xFF38F000, 0x25288000}};
constexpr Mask kAddsLength = {0xFFA0F000, 0x04205000};  // addvl, addpl
// Loads of one element, or of 16 or 32 bytes, that fill the vector with copies
constexpr Mask kCopies[] = {{0xFE408000, 0x84408000}, {0xFE00C000, 0xA4000000}};
constexpr Mask kRegisters[] = {{0xFFC0A000, 0x85800000}, {0xFFC0A000, 0xE5800000}};  // ldr, str of a whole register

// log2 of the bytes of an element in memory and in the vector, by the dtype of a ld1
constexpr uint8_t kInMemory[] = {0, 0, 0, 0, 2, 1, 1, 1, 1, 1, 2, 2, 0, 0, 0, 3};
constexpr uint8_t kInVector[] = {0, 1, 2, 3, 3, 1, 2, 3, 3, 2, 2, 3, 3, 2, 1, 3};

bool is_in(uint32_t word, Mask mask) {
  return (word & mask.mask) == mask.value;
}

bool is_in_any(uint32_t word, std::span<const Mask> masks) {
  return std::ranges::any_of(masks, [&](Mask mask) { return is_in(word, mask); });
}

uint32_t read_bits(uint32_t word, uint32_t low, uint32_t bits) {
  return (word >> low) & ((1U << bits) - 1);
}

// Lanes of a ptrue with a count: vl1 to vl8, vl16 to vl256; 0: no count.
uint32_t count_lanes(uint32_t pattern) {
  if (pattern <= 8) return pattern;
  return pattern <= 13 ? 16U << (pattern - 9) : 0;
}

// Returns n if `and` or `tst` with this constant splits a number into a multiple of 2^n and the rest.
std::optional<uint32_t> find_split(uint32_t word) {
  if (!is_in(word, {0x3F800000, 0x12000000}) && !is_in(word, {0x7F800000, 0x72000000})) return std::nullopt;
  const uint32_t ones = read_bits(word, 10, 6) + 1;
  const uint32_t rotated = read_bits(word, 16, 6);
  const uint32_t bits = read_bits(word, 22, 1) != 0 ? 64 : 32;
  return rotated == 0 ? ones : bits - rotated;
}

// Returns the distance of a branch in words.
std::optional<int64_t> find_distance(uint32_t word) {
  const auto field = [&](uint32_t low, uint32_t bits) {
    return static_cast<int64_t>(static_cast<uint64_t>(word) << (64 - low - bits)) >> (64 - bits);
  };
  if (is_in(word, {0xFC000000, 0x14000000})) return field(0, 26);
  if (is_in(word, {0xFF000010, 0x54000000}) || is_in(word, {0x7E000000, 0x34000000})) return field(5, 19);
  if (is_in(word, {0x7E000000, 0x36000000})) return field(5, 14);
  return std::nullopt;
}

// Returns the innermost loop of each word: its first word, or kNoLoop.
std::vector<uint32_t> find_loops(std::span<const uint32_t> words) {
  std::map<uint32_t, uint32_t> ends;  // last word by first word
  for (uint32_t at = 0; at < words.size(); ++at) {
    const auto distance = find_distance(words[at]);
    if (!distance || *distance > 0 || -*distance > static_cast<int64_t>(at)) continue;
    ends[at - static_cast<uint32_t>(-*distance)] = at;
  }
  std::vector<std::pair<uint32_t, uint32_t>> loops(ends.begin(), ends.end());
  std::ranges::stable_sort(loops, [](const auto& a, const auto& b) { return a.second - a.first < b.second - b.first; });
  std::vector<uint32_t> innermost(words.size(), kNoLoop);
  std::vector<uint32_t> open(words.size() + 1);  // the next word that no smaller loop has
  std::iota(open.begin(), open.end(), 0U);
  const auto next_open = [&](uint32_t at) {
    while (open[at] != at) at = open[at] = open[open[at]];
    return at;
  };
  for (const auto& [first, last] : loops) {
    for (uint32_t at = next_open(first); at <= last; at = next_open(at + 1)) {
      innermost[at] = first;
      open[at] = at + 1;
    }
  }
  return innermost;
}

// Reads the words of one function in order.
class LengthReader {
 public:
  explicit LengthReader(std::span<const uint32_t> words) : loops_(find_loops(words)) {
    for (const uint32_t word : words) {
      see(word);
      ++at_;
    }
  }

  [[nodiscard]] VectorLengths get_lengths() const {
    if (asks_) return VectorLengths::any;
    if (sets_long_predicate_ || steps_far()) return VectorLengths::longer;
    const bool unbounded = std::ranges::any_of(
        ranges_, [&](uint32_t size) { return !split_ || (1ULL << std::min(*split_, 32U)) << size > kLeastBytes; });
    const bool whole = accesses_whole_ || unbounded || (spills_ && !allots_by_length_);
    return whole ? VectorLengths::undecided : VectorLengths::any;
  }

 private:
  using Registers = std::array<uint32_t, 32>;

  // Loads or stores of one vector each in a loop.
  struct Accesses {
    uint32_t vectors = 0;
    Registers bytes{};  // bytes of a vector for each step of a register
  };

  void see(uint32_t word) {
    const uint32_t to = read_bits(word, 0, 5);
    if (is_in(word, {0x7FC00000, 0x11000000}) && to == read_bits(word, 5, 5)) {  // add x, x, constant
      uint32_t& step = steps_[loops_[at_]][to];
      step = std::max(step, read_bits(word, 10, 12));
    } else if (is_in(word, {0x1E000000, 0x04000000})) {
      see_sve(word);
    } else if (const auto split = find_split(word)) {
      split_ = std::min(*split, split_.value_or(*split));
    }
    keep_constants(word);
  }

  // Forgets a constant at any word that may write its register, and all of them at branches.
  void keep_constants(uint32_t word) {
    const uint32_t to = read_bits(word, 0, 5);
    constants_[to].reset();
    if (is_in(word, {0x7FE00000, 0x52800000})) constants_[to] = read_bits(word, 5, 16);  // mov x, constant
    if (is_in(word, {0x1C000000, 0x14000000})) constants_.fill(std::nullopt);
    constants_[kZeroRegister] = 0;
  }

  void see_sve(uint32_t word) {
    const uint32_t base = read_bits(word, 16, 5);
    if (is_in(word, kAddsLength)) (uses_frame(base) ? allots_by_length_ : asks_) = true;
    asks_ = asks_ || is_in_any(word, kAsking);
    if ((word >> 31U) != 0) {
      see_memory(word);
    } else if (is_in(word, {0xFF3EFC10, 0x2518E000})) {  // ptrue
      const uint32_t lanes = count_lanes(read_bits(word, 5, 5));
      whole_[read_bits(word, 0, 4)] = lanes == 0;
      sets_long_predicate_ = sets_long_predicate_ || lanes << read_bits(word, 22, 2) > kLeastBytes;
    } else if (is_in(word, {0xFF20E000, 0x25200000})) {  // whilelo and others
      see_range(word);
    }
  }

  // A predicate for the elements from one number to another. From zero on, and only once, it may be the rest that a
  // loop of NEON leaves.
  void see_range(uint32_t word) {
    const uint32_t size = read_bits(word, 22, 2);
    const uint32_t first = read_bits(word, 5, 5);
    const auto& begin = constants_[first];
    const auto& end = constants_[read_bits(word, 16, 5)];
    const bool increasing = read_bits(word, 10, 1) != 0;  // whilelt, whilele, whilelo, whilels
    if (increasing && begin && end) {
      if (*end > *begin && (*end - *begin) << size > kLeastBytes) sets_long_predicate_ = true;
    } else if (begin) {
      ranges_.push_back(size);
    }
    whole_[read_bits(word, 0, 4)] = !begin;
  }

  void see_memory(uint32_t word) {
    const uint32_t base = read_bits(word, 5, 5);
    const uint32_t index = read_bits(word, 16, 5);
    if (is_in_any(word, kRegisters)) {
      (uses_frame(base) ? spills_ : accesses_whole_) = true;
      return;
    }
    if (is_in_any(word, kCopies)) return;
    accesses_whole_ = accesses_whole_ || whole_[read_bits(word, 10, 3)];
    const bool store = read_bits(word, 30, 1) != 0;
    const uint32_t dtype = read_bits(word, 21, 4);
    const uint32_t in_vector = store ? dtype & 3U : kInVector[dtype];
    const uint32_t in_memory = store ? dtype >> 2U : kInMemory[dtype];
    const uint32_t per_byte = 1U << (in_vector > in_memory ? in_vector - in_memory : 0);  // ld1sb {z0.s}: 4
    const bool indexed = is_in(word, {0xFE00E000, 0xA4004000}) || is_in(word, {0xFE00E000, 0xE4004000});
    if (!indexed && !is_in(word, {0xFE10E000, 0xA400A000}) && !is_in(word, {0xFE10E000, 0xE400E000})) return;
    Accesses& accesses = accesses_[{loops_[at_], store}];
    ++accesses.vectors;
    const auto count = [&](uint32_t where, uint32_t bytes) {
      accesses.bytes[where] = std::max(accesses.bytes[where], bytes);
    };
    count(base, per_byte);
    if (indexed) count(index, 1U << in_vector);
  }

  static bool uses_frame(uint32_t base) { return base == kStackPointer || base == kFramePointer; }

  // Reports whether a loop steps through memory by more than 16 bytes a vector, even if all its loads or all its stores
  // are of the same array.
  [[nodiscard]] bool steps_far() const {
    return std::ranges::any_of(accesses_, [&](const auto& entry) {
      const auto& [place, accesses] = entry;
      const auto moves = steps_.find(place.first);
      if (place.first == kNoLoop || moves == steps_.end()) return false;
      for (uint32_t i = 0; i < kZeroRegister; ++i) {
        if (uint64_t{accesses.bytes[i]} * moves->second[i] > uint64_t{kLeastBytes} * accesses.vectors) return true;
      }
      return false;
    });
  }

  std::vector<uint32_t> loops_;  // first word of the innermost loop, by word
  uint32_t at_ = 0;              // the word that is read
  bool asks_ = false;
  bool sets_long_predicate_ = false;
  bool accesses_whole_ = false;
  bool spills_ = false;                                     // reads or writes whole vectors in its frame
  bool allots_by_length_ = false;                           // has a frame whose size depends on the length
  std::bitset<16> whole_;                                   // predicates that may be true for all elements
  std::vector<uint32_t> ranges_;                            // log2 of the bytes of an element, for a rest
  std::optional<uint32_t> split_;                           // log2 of what numbers are rounded down to
  std::array<std::optional<uint32_t>, 32> constants_{};     // values by register
  std::map<uint32_t, Registers> steps_;                     // most that one `add` of a constant adds, by innermost loop
  std::map<std::pair<uint32_t, bool>, Accesses> accesses_;  // keyed by innermost loop and kind; true: stores
};

}  // namespace

VectorLengths find_vector_lengths(std::span<const uint8_t> code) {
  std::vector<uint32_t> words(code.size() / 4);
  std::memcpy(words.data(), code.data(), words.size() * 4);
  return LengthReader(words).get_lengths();
}

}  // namespace pbprobe
