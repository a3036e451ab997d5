// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/audit/sass.hpp"

#include <array>
#include <cstring>
#include <set>

#include "probes/audit/symbols.hpp"

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
#include "probes/audit/sass.inc"
};
#undef PBPROBE_SASS

constexpr size_t kOpcodes = 512;
constexpr uint8_t kOther = 0xff;
constexpr uint64_t kWordBytes = 16;
constexpr uint8_t kEntryFunction = 0x10;  // st_other of a kernel; device functions lack it
constexpr std::string_view kTextPrefix = ".text.";

// The first row of each opcode. Rows with the same opcode stand together.
constexpr std::array<uint8_t, kOpcodes> first_rows() {
  std::array<uint8_t, kOpcodes> rows{};
  for (auto& row : rows) row = kOther;
  for (size_t i = kInstructions.size(); i-- > 0;) rows[kInstructions[i].opcode] = static_cast<uint8_t>(i);
  return rows;
}

constexpr auto kFirstRows = first_rows();

size_t row_of(size_t first, uint32_t sm, uint64_t low, uint64_t high) {
  for (size_t row = first; row < kInstructions.size() && kInstructions[row].opcode == kInstructions[first].opcode;
       ++row) {
    const auto& entry = kInstructions[row];
    if (entry.last_sm != 0 && sm > entry.last_sm) continue;
    if ((low & entry.low_mask) == entry.low_value && (high & entry.high_mask) == entry.high_value) return row;
  }
  return kInstructions.size();
}

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
  for (size_t row = 0; row < kInstructions.size(); ++row) {
    const auto& entry = kInstructions[row];
    if (counts.rows[row] == 0 || entry.use == memory) continue;
    census.instructions[std::string(entry.mnemonic)] += static_cast<int64_t>(counts.rows[row]);
    census.has_tensor_instructions = census.has_tensor_instructions || entry.use == tensor;
  }
}

}  // namespace

std::span<const SassInstruction> sass_instructions() {
  return kInstructions;
}

SassCounts count_sass(std::span<const uint8_t> code, uint32_t sm) {
  SassCounts counts;
  counts.rows.resize(kInstructions.size() + 1);  // the last: what no row fits
  counts.words = code.size() / kWordBytes;
  for (uint64_t i = 0; i < counts.words; ++i) {
    uint64_t low = 0;
    std::memcpy(&low, code.data() + i * kWordBytes, sizeof(low));
    const uint8_t first = kFirstRows[low & (kOpcodes - 1)];
    if (first == kOther) continue;
    uint64_t high = 0;
    std::memcpy(&high, code.data() + i * kWordBytes + sizeof(low), sizeof(high));
    ++counts.rows[row_of(first, sm, low, high)];
  }
  counts.rows.pop_back();
  return counts;
}

Result<CubinCensus> read_census(const Elf& cubin, uint32_t sm) {
  CubinCensus census;
  std::set<size_t> entries;  // sections of kernels
  int64_t functions = 0;     // with sections of their own, which kernels call
  const bool has_symbols = find_section(cubin, ".symtab") != nullptr;
  PBPROBE_CHECK(visit_symbols(cubin, ".symtab", [&](std::string_view, const Elf64_Sym& symbol) {
    if (ELF64_ST_TYPE(symbol.st_info) == STT_FUNC && (symbol.st_other & kEntryFunction) != 0)
      entries.insert(symbol.st_shndx);
  }));
  for (size_t i = 0; i < cubin.sections.size(); ++i) {
    const ElfSection& section = cubin.sections[i];
    if (section.header.sh_type != SHT_PROGBITS || !section.name.starts_with(kTextPrefix)) continue;
    const bool kernel = entries.contains(i) || !has_symbols;
    ++(kernel ? census.kernels : functions);
    if (sm < kFirstWideSm) continue;
    PBPROBE_TRY(const Bytes code, section_bytes(cubin, section));
    const SassCounts counts = count_sass(code.span(), sm);
    add(counts, census);
    if (kernel && only_traps(counts)) census.only_traps.push_back(section.name.substr(kTextPrefix.size()));
  }
  if (functions > 0) census.only_traps.clear();  // a kernel's work may stand in them
  return census;
}

}  // namespace pbprobe
