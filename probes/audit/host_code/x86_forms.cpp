// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/audit/host_code/x86_forms.hpp"

#include <Zydis/Zydis.h>

#include <utility>

#include "probes/audit/host_code/x86_sets.hpp"

namespace pbprobe {
namespace {

static_assert(ZYDIS_ISA_SET_INVALID == X86Forms::kInvalid && ZYDIS_ISA_SET_MAX_VALUE < 256);

// Forms unknown to Zydis 4.0: VEX forms of Intel's ISA extensions since Sierra Forest, and EVEX forms of AVX10.2. A row
// is a form without the register operand. Source: Intel ISA extensions reference 319433, chapters 2 to 16.
struct NewerForm {
  uint32_t kind;  // kVex or kEvex
  uint32_t map;
  uint32_t opcode;
  int32_t prefix;  // 0: none, 1: 66, 2: F3, 3: F2; -1: any
  int32_t wide;    // W; -1: either
  uint8_t set;
};

// Numbers beyond Zydis' own.
enum NewerSet : uint8_t {
  kAvxIfma = 236,
  kVnniInt8,
  kVnniInt16,
  kNeConvert,
  kSha512,
  kSm3,
  kSm4,
  kCmpccxadd,
  kRaoint,
  kAmxComplex,
  kAmxTf32,
  kApx,
  kAvx102,
  kTileFp16,
  kMovdir64b,
};
static_assert(static_cast<int>(ZYDIS_ISA_SET_MAX_VALUE) < static_cast<int>(kAvxIfma) && kApx == X86Forms::kApx);

constexpr uint32_t kVexKind = X86Forms::kVex;
constexpr uint32_t kEvexKind = X86Forms::kEvex;
constexpr NewerForm kNewer[] = {
    {kVexKind, 2, 0xB4, 1, 1, kAvxIfma},    {kVexKind, 2, 0xB5, 1, 1, kAvxIfma},
    {kVexKind, 2, 0x50, 0, 0, kVnniInt8},   {kVexKind, 2, 0x50, 2, 0, kVnniInt8},
    {kVexKind, 2, 0x50, 3, 0, kVnniInt8},   {kVexKind, 2, 0x51, 0, 0, kVnniInt8},
    {kVexKind, 2, 0x51, 2, 0, kVnniInt8},   {kVexKind, 2, 0x51, 3, 0, kVnniInt8},
    {kVexKind, 2, 0xD2, 0, 0, kVnniInt16},  {kVexKind, 2, 0xD2, 1, 0, kVnniInt16},
    {kVexKind, 2, 0xD2, 2, 0, kVnniInt16},  {kVexKind, 2, 0xD3, 0, 0, kVnniInt16},
    {kVexKind, 2, 0xD3, 1, 0, kVnniInt16},  {kVexKind, 2, 0xD3, 2, 0, kVnniInt16},
    {kVexKind, 2, 0xB0, -1, 0, kNeConvert}, {kVexKind, 2, 0xB1, 1, 0, kNeConvert},
    {kVexKind, 2, 0xB1, 2, 0, kNeConvert},  {kVexKind, 2, 0x72, 2, 0, kNeConvert},
    {kVexKind, 2, 0xCB, 3, 0, kSha512},     {kVexKind, 2, 0xCC, 3, 0, kSha512},
    {kVexKind, 2, 0xCD, 3, 0, kSha512},     {kVexKind, 2, 0xDA, 0, 0, kSm3},
    {kVexKind, 2, 0xDA, 1, 0, kSm3},        {kVexKind, 3, 0xDE, 1, 0, kSm3},
    {kVexKind, 2, 0xDA, 2, 0, kSm4},        {kVexKind, 2, 0xDA, 3, 0, kSm4},
    {kVexKind, 2, 0x6C, 0, 0, kAmxComplex}, {kVexKind, 2, 0x6C, 1, 0, kAmxComplex},
    {kVexKind, 2, 0x48, 0, 0, kAmxTf32},    {kVexKind, 2, 0x48, 1, 0, kAmxTf32},
    {kVexKind, 2, 0x5C, 3, 0, kTileFp16},   {kEvexKind, 3, 0x52, -1, -1, kAvx102},
    {kEvexKind, 3, 0x53, -1, -1, kAvx102},  {kEvexKind, 2, 0x50, -1, -1, kAvx102},
    {kEvexKind, 2, 0x51, -1, -1, kAvx102},  {kEvexKind, 2, 0xD2, -1, -1, kAvx102},
    {kEvexKind, 2, 0xD3, -1, -1, kAvx102},  {kEvexKind, 3, 0x42, -1, -1, kAvx102},
    {kEvexKind, 1, 0x2E, -1, -1, kAvx102},  {kEvexKind, 1, 0x2F, -1, -1, kAvx102},
    {kEvexKind, 1, 0x6E, -1, -1, kAvx102},  {kEvexKind, 1, 0x7E, -1, -1, kAvx102},
    {kEvexKind, 1, 0xD6, -1, -1, kAvx102},  {kEvexKind, 3, 0x08, 3, -1, kAvx102},
    {kEvexKind, 3, 0x26, 3, -1, kAvx102},   {kEvexKind, 3, 0x56, 3, -1, kAvx102},
    {kEvexKind, 3, 0x66, 3, -1, kAvx102},   {kEvexKind, 3, 0xC2, 3, -1, kAvx102},
};

// Whole maps that AVX10.2 filled where AVX512-FP16 had left room: BF16 arithmetic, saturating conversions.
bool is_avx10_room(uint32_t map) {
  return map == 5 || map == 6;
}

uint8_t newer_set(uint32_t form) {
  const bool evex = form >= X86Forms::kEvex;
  // aadd, aand, aor, axor: 0F38 FC, to memory
  if (form < X86Forms::kVex)
    return form >> 8U == 0x1FC && (form & 1U) == 0 ? uint8_t{kRaoint} : uint8_t{X86Forms::kInvalid};
  if (form >= X86Forms::kXop && !evex) return X86Forms::kInvalid;
  const uint32_t bits = form - (evex ? X86Forms::kEvex : X86Forms::kVex);
  const uint32_t map = bits >> (evex ? 18U : 16U);
  const uint32_t opcode = (bits >> (evex ? 10U : 8U)) & 0xFFU;
  const auto prefix = static_cast<int32_t>((bits >> (evex ? 8U : 6U)) & 3U);
  const auto wide = static_cast<int32_t>((bits >> (evex ? 7U : 5U)) & 1U);
  for (const auto& row : kNewer) {
    const bool same = row.kind == (evex ? X86Forms::kEvex : X86Forms::kVex) && row.map == map && row.opcode == opcode;
    if (same && (row.prefix < 0 || row.prefix == prefix) && (row.wide < 0 || row.wide == wide)) return row.set;
  }
  // cmpccxadd, of each of the sixteen conditions
  if (!evex && map == 2 && opcode >= 0xE0 && opcode <= 0xEF && prefix == 1 && (bits & 1U) == 0) return kCmpccxadd;
  return evex && is_avx10_room(map) ? uint8_t{kAvx102} : uint8_t{X86Forms::kInvalid};
}

constexpr std::pair<uint8_t, FeatureSet> kNewerFeatures[] = {
    {kAvxIfma, x86("avx_ifma")},
    {kVnniInt8, x86("avx_vnni_int8")},
    {kVnniInt16, x86("avx_vnni_int16")},
    {kNeConvert, x86("avx_ne_convert")},
    {kSha512, x86("sha512")},
    {kSm3, x86("sm3")},
    {kSm4, x86("sm4")},
    {kCmpccxadd, x86("cmpccxadd")},
    {kRaoint, x86("raoint")},
    {kAmxComplex, x86("amx_complex")},
    {kAmxTf32, x86("amx_tf32")},
    {kApx, x86("apx_f")},
    {kAvx102, x86("avx10_2")},
    {kTileFp16, x86("amx_fp16")},
    {kMovdir64b, x86("movdir64b")},
};

struct IsaSets {
  std::array<FeatureSet, 256> features{};
  std::array<bool, 256> known{};
};

const IsaSets& isa_sets() {
  static const IsaSets sets = [] {
    IsaSets table;
    for (size_t i = 0; i <= ZYDIS_ISA_SET_MAX_VALUE; ++i) {
      const char* name = ZydisISASetGetString(static_cast<ZydisISASet>(i));
      const auto set = name == nullptr ? std::nullopt : find_isa_set(name);
      table.known[i] = set && !set->unknown;
      if (set) table.features[i] = set->features;
    }
    for (const auto& [newer, needs] : kNewerFeatures) table.features[newer] = needs;
    return table;
  }();
  return sets;
}

uint8_t find_number(const ZydisDecodedInstruction& instruction) {
  switch (instruction.mnemonic) {
    // Compilers write tzcnt for bsf on every CPU: older ones ignore its prefix, and the results agree. xgetbv belongs
    // to the question which CPU it is.
    case ZYDIS_MNEMONIC_TZCNT:
    case ZYDIS_MNEMONIC_XGETBV: return static_cast<uint8_t>(ZYDIS_ISA_SET_I386);
    case ZYDIS_MNEMONIC_MOVDIR64B: return kMovdir64b;
    default: break;
  }
  const auto set = static_cast<uint8_t>(instruction.meta.isa_set);
  return isa_sets().known[set] ? set : X86Forms::kInvalid;
}

}  // namespace

FeatureSet X86Forms::features(uint8_t set) {
  return isa_sets().features[set];
}

uint8_t X86Forms::set_of_plain(uint8_t opcode, uint8_t operand) {
  const bool stores_truncated =
      (opcode == 0xDB || opcode == 0xDD || opcode == 0xDF) && operand < 0xC0 && ((operand >> 3U) & 7U) == 1;  // fisttp
  const bool transacts = (opcode == 0xC6 || opcode == 0xC7) && operand == 0xF8;  // xabort, xbegin
  if (opcode == 0x9E || opcode == 0x9F) return static_cast<uint8_t>(ZYDIS_ISA_SET_LAHF);
  if (stores_truncated) return static_cast<uint8_t>(ZYDIS_ISA_SET_SSE3X87);
  return transacts ? static_cast<uint8_t>(ZYDIS_ISA_SET_RTM) : kInvalid;
}

uint8_t X86Forms::ask(uint32_t form, std::span<const uint8_t> code) {
  static const ZydisDecoder decoder = [] {
    ZydisDecoder made;
    ZydisDecoderInit(&made, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    return made;
  }();
  ZydisDecodedInstruction instruction;
  const bool decoded =
      ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&decoder, nullptr, code.data(), code.size(), &instruction));
  const uint8_t set = decoded ? find_number(instruction) : kInvalid;
  if (form == kVaried) return set;
  if (set == kInvalid)
    return newer_set(form);  // not remembered: another instruction of this form may be known to Zydis
  sets_[form].store(set, std::memory_order_relaxed);
  return set;
}

X86Forms& X86Forms::shared() {
  static X86Forms forms;
  return forms;
}

}  // namespace pbprobe
