// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/audit/device_code/sass.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <initializer_list>
#include <optional>
#include <set>

namespace pbprobe {
namespace {

constexpr SassUse math = SassUse::math;
constexpr SassUse tensor = SassUse::tensor;
constexpr SassUse copy = SassUse::copy;
constexpr SassUse allocation = SassUse::allocation;
constexpr SassUse trap = SassUse::trap;
constexpr SassUse local = SassUse::local;
constexpr SassUse memory = SassUse::memory;

#define PBPROBE_SASS(mnemonic, opcode, use, ...) SassInstruction{#mnemonic, opcode, use, __VA_ARGS__},
constexpr std::array kInstructions{
#include "probes/audit/device_code/sass.inc"
};
#undef PBPROBE_SASS

constexpr size_t kOpcodes = 512;
constexpr uint8_t kOther = 0xff;
constexpr uint64_t kWordBytes = 16;

// Returns the first row of each opcode. Rows with one opcode are adjacent.
constexpr std::array<uint8_t, kOpcodes> first_rows() {
  std::array<uint8_t, kOpcodes> rows{};
  for (auto& row : rows) row = kOther;
  for (size_t i = kInstructions.size(); i-- > 0;) rows[kInstructions[i].opcode] = static_cast<uint8_t>(i);
  return rows;
}

constexpr auto kFirstRows = first_rows();

// Marks the opcodes whose row depends on masks or the SM.
constexpr std::array<bool, kOpcodes> shared_opcodes() {
  std::array<bool, kOpcodes> shared{};
  for (const auto& row : kInstructions) {
    if (row.low_mask != 0 || row.high_mask != 0 || row.last_sm != 0) shared[row.opcode] = true;
  }
  return shared;
}

constexpr auto kShared = shared_opcodes();

// Effect of an instruction that the kernel's caller can observe.
enum class Effect : uint8_t { none, store, call, exit, traps, branch };

constexpr std::array<Effect, kOpcodes> effects() {
  std::array<Effect, kOpcodes> all{};
  const auto set = [&](Effect effect, std::initializer_list<uint16_t> opcodes) {
    for (const uint16_t opcode : opcodes) all[opcode] = effect;
  };
  // ST, STG, STAS, ATOM, ATOMG, RED, SUST and surface atomics; bulk copies, which also go from shared to global memory.
  set(Effect::store, {0x185, 0x186, 0x1bd, 0x18a, 0x18b, 0x1a3, 0x1a8, 0x1a9, 0x18e, 0x1a6,
                      0x19c, 0x19d, 0x19e, 0x194, 0x195, 0x196, 0x1b5, 0x1b6, 0x1ba, 0x1bb});
  set(Effect::call, {0x143, 0x144, 0x14a, 0x14c});           // CALL.ABS, CALL.REL, JMP, JMX
  set(Effect::exit, {0x14d});                                // EXIT
  set(Effect::traps, {0x15c});                               // BPT
  set(Effect::branch, {0x147, 0x149, 0x150, 0x148, 0x141});  // BRA, BRX, RET, BRXU, BREAK
  return all;
}

constexpr auto kEffects = effects();

using Histogram = std::array<uint64_t, kOpcodes>;

// Alternates two tables: adjacent instructions often have one opcode, and an increment must not wait for the last one.
Histogram count_opcodes(std::span<const uint8_t> code, uint64_t words) {
  std::array<std::array<uint32_t, kOpcodes>, 2> counts{};
  const uint8_t* at = code.data();
  for (uint64_t i = 0; i < words; ++i, at += kWordBytes) {
    uint16_t low = 0;
    std::memcpy(&low, at, sizeof(low));
    ++counts[i & 1][low & (kOpcodes - 1)];
  }
  Histogram sum{};
  for (size_t opcode = 0; opcode < kOpcodes; ++opcode) sum[opcode] = uint64_t{counts[0][opcode]} + counts[1][opcode];
  return sum;
}

size_t find_opcode_row(size_t first, uint32_t sm, uint64_t low, uint64_t high) {
  for (size_t row = first; row < kInstructions.size() && kInstructions[row].opcode == kInstructions[first].opcode;
       ++row) {
    const auto& entry = kInstructions[row];
    if (entry.last_sm != 0 && sm > entry.last_sm) continue;
    if ((low & entry.low_mask) == entry.low_value && (high & entry.high_mask) == entry.high_value) return row;
  }
  return kInstructions.size();
}

// Counts instructions whose opcode has several rows.
void count_shared(std::span<const uint8_t> code, uint32_t sm, SassCounts& counts) {
  for (uint64_t i = 0; i < counts.words; ++i) {
    uint64_t low = 0;
    std::memcpy(&low, code.data() + i * kWordBytes, sizeof(low));
    const size_t opcode = low & (kOpcodes - 1);
    if (!kShared[opcode]) continue;
    uint64_t high = 0;
    std::memcpy(&high, code.data() + i * kWordBytes + sizeof(low), sizeof(high));
    const size_t row = find_opcode_row(kFirstRows[opcode], sm, low, high);
    if (row < counts.rows.size()) ++counts.rows[row];
  }
}

// Reports whether a trap without a condition precedes each branch, call and exit.
bool traps_at_once(std::span<const uint8_t> code) {
  constexpr unsigned kPredicateShift = 12;
  constexpr uint64_t kAlways = 7;
  for (size_t at = 0; at + kWordBytes <= code.size(); at += kWordBytes) {
    uint64_t low = 0;
    std::memcpy(&low, code.data() + at, sizeof(low));
    const Effect effect = kEffects[low & (kOpcodes - 1)];
    if (effect == Effect::traps && (low >> kPredicateShift & 0xf) == kAlways) return true;
    if (effect == Effect::exit || effect == Effect::branch || effect == Effect::call) return false;
  }
  return false;
}

// Instructions that lead out of a function, by how they find their target.
struct Calls {
  uint64_t by_register = 0;  // CALL.ABS of an address that the driver writes: the call graph names the function
  uint64_t unknown = 0;      // through a pointer, or a jump to another function
};

Calls count_calls(std::span<const uint8_t> code) {
  constexpr uint64_t kForm = 0xfff;
  Calls calls;
  for (size_t at = 0; at + kWordBytes <= code.size(); at += kWordBytes) {
    uint64_t low = 0;
    std::memcpy(&low, code.data() + at, sizeof(low));
    switch (low & kForm) {
      case 0x343: ++calls.by_register; break;
      case 0x344:  // CALL.REL of a register
      case 0x34a:  // JMP and JMX in their forms
      case 0x94a:
      case 0x34c: ++calls.unknown; break;
      default: break;  // CALL.REL and CALL.ABS of a constant: its target is in this section or in the call graph
    }
  }
  return calls;
}

// Functions of the driver that change nothing which the kernel's caller can read: they print, end the kernel, or take
// and return memory of the heap. The driver links them by these names.
bool is_harmless(std::string_view name) {
  constexpr std::array<std::string_view, 4> kNames{"vprintf", "__assertfail", "malloc", "free"};
  return std::ranges::find(kNames, name) != kNames.end();
}

// Decides for the kernels of one cubin whether anything comes of them. Reads the call graph at the first call.
class IdleKernels {
 public:
  IdleKernels(const Cubin& cubin, const std::vector<SassCounts>& counts) : cubin_(cubin), counts_(counts) {}

  [[nodiscard]] bool is_idle(size_t kernel) {
    const SassCounts& counts = counts_[kernel];
    const auto code = cubin_.functions[kernel].code;
    if (counts.calls == 0) return counts.stores == 0 || counts.exits == 0 || traps_at_once(code);
    std::set<size_t> seen;
    return !stores(kernel, seen);
  }

 private:
  // Reports whether the function, or one that it calls, stores something or may do so.
  bool stores(size_t function, std::set<size_t>& seen) {
    if (!seen.insert(function).second) return false;
    if (counts_[function].stores > 0) return true;
    if (counts_[function].calls == 0) return false;
    const Calls calls = count_calls(cubin_.functions[function].code);
    bool any = false;
    for (const auto& call : graph()) {
      if (call.caller != cubin_.functions[function].section) continue;
      any = true;
      if (!call.callee && !is_harmless(call.name)) return true;
      if (call.callee && stores_in_section(*call.callee, seen)) return true;
    }
    return calls.unknown > 0 || (calls.by_register > 0 && !any);
  }

  bool stores_in_section(uint64_t section, std::set<size_t>& seen) {
    for (size_t i = 0; i < cubin_.functions.size(); ++i) {
      if (cubin_.functions[i].section == section) return stores(i, seen);
    }
    return true;
  }

  const std::vector<CubinCall>& graph() {
    if (!graph_) {
      auto read = read_calls(cubin_);
      graph_ = read ? std::move(*read) : std::vector<CubinCall>();
    }
    return *graph_;
  }

  const Cubin& cubin_;
  const std::vector<SassCounts>& counts_;
  std::optional<std::vector<CubinCall>> graph_;
};

bool only_traps(const SassCounts& counts) {
  std::array<uint64_t, static_cast<size_t>(memory) + 1> uses{};
  for (size_t row = 0; row < kInstructions.size(); ++row) {
    uses[static_cast<size_t>(kInstructions[row].use)] += counts.rows[row];
  }
  const auto of = [&](SassUse use) { return uses[static_cast<size_t>(use)]; };
  if (of(tensor) > 0) return false;
  if (of(allocation) > 0 && of(trap) > kAllocationTraps) return true;
  return of(trap) > 0 && of(memory) == 0 && of(copy) == 0;
}

void add(const SassCounts& counts, CubinCensus& census) {
  census.words += static_cast<int64_t>(counts.words);
  census.stores += static_cast<int64_t>(counts.stores);
  for (size_t row = 0; row < kInstructions.size(); ++row) {
    const auto& entry = kInstructions[row];
    if (counts.rows[row] == 0 || entry.use == memory) continue;
    census.instructions[std::string(entry.mnemonic)] += static_cast<int64_t>(counts.rows[row]);
    census.has_tensor_instructions = census.has_tensor_instructions || entry.use == tensor;
  }
}

void add_idle(const Cubin& cubin, const std::vector<SassCounts>& counts, CubinCensus& census) {
  IdleKernels idle(cubin, counts);
  for (size_t i = 0; i < cubin.functions.size(); ++i) {
    if (cubin.functions[i].kernel && idle.is_idle(i)) census.idle.emplace_back(cubin.functions[i].name);
  }
}

// Words of 64 bits, sm_50 to sm_62: one word in four schedules the other three.
constexpr size_t kNarrowWordBytes = 8;
constexpr size_t kBundle = 4;

// Instructions without an effect: NOP, SSY, SYNC or DEPBAR, BRA, EXIT, RET, BPT.
constexpr std::array<uint16_t, 7> kIdle{0x50b, 0xe29, 0xf0f, 0xe24, 0xe30, 0xe32, 0xe3a};
constexpr unsigned kIdleShift = 52;

// Reports whether such code only exits, waits, branches or traps.
bool is_idle_narrow(std::span<const uint8_t> code) {
  for (size_t at = 0; (at + 1) * kNarrowWordBytes <= code.size(); ++at) {
    if (at % kBundle == 0) continue;
    uint64_t word = 0;
    std::memcpy(&word, code.data() + at * kNarrowWordBytes, sizeof word);
    if (std::ranges::find(kIdle, word >> kIdleShift) == kIdle.end()) return false;
  }
  return true;
}

}  // namespace

std::span<const SassInstruction> sass_instructions() {
  return kInstructions;
}

SassCounts count_sass(std::span<const uint8_t> code, uint32_t sm) {
  SassCounts counts;
  counts.rows.resize(kInstructions.size());
  counts.words = code.size() / kWordBytes;
  const Histogram histogram = count_opcodes(code, counts.words);
  bool shared = false;  // does the code use opcodes with several rows?
  for (size_t opcode = 0; opcode < kOpcodes; ++opcode) {
    const uint64_t count = histogram[opcode];
    if (count == 0) continue;
    if (kEffects[opcode] == Effect::store) counts.stores += count;
    if (kEffects[opcode] == Effect::call) counts.calls += count;
    if (kEffects[opcode] == Effect::exit) counts.exits += count;
    if (kFirstRows[opcode] == kOther) continue;
    if (kShared[opcode]) {
      shared = true;
    } else {
      counts.rows[kFirstRows[opcode]] += count;
    }
  }
  if (shared) count_shared(code, sm, counts);
  return counts;
}

CubinCensus read_census(const Cubin& cubin, uint32_t sm, bool with_names) {
  CubinCensus census;
  bool functions = false;  // does it have device functions, which may do the work?
  std::vector<SassCounts> counts(cubin.functions.size());
  for (size_t i = 0; i < cubin.functions.size(); ++i) {
    const auto& function = cubin.functions[i];
    functions = functions || !function.kernel;
    if (function.kernel) ++census.kernels;
    census.code_bytes += static_cast<int64_t>(function.code.size());
    if (function.kernel && with_names) census.names.emplace_back(function.name);
    if (sm < kFirstWideSm) {
      if (function.kernel && is_idle_narrow(function.code)) census.idle.emplace_back(function.name);
      continue;
    }
    counts[i] = count_sass(function.code, sm);
    add(counts[i], census);
    if (function.kernel && only_traps(counts[i])) census.only_traps.emplace_back(function.name);
  }
  if (functions) census.only_traps.clear();
  if (sm >= kFirstWideSm) add_idle(cubin, counts, census);
  return census;
}

}  // namespace pbprobe
