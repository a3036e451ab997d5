// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/audit/host_code/x86_forms.hpp"

#include <Zydis/Zydis.h>

#include <string_view>
#include <utility>

namespace pbprobe {
namespace {

// Zydis' sets as /proc/cpuinfo names them. A set that is not here belongs to every x86-64, or is not about arithmetic.
constexpr std::pair<std::string_view, FeatureSet> kSets[] = {
    {"SSE3", x86("pni")},
    {"SSSE3", x86("ssse3")},
    {"SSSE3MMX", x86("ssse3")},
    {"SSE4", x86("sse4_1")},
    {"SSE42", x86("sse4_2")},
    {"SSE4A", x86("sse4a")},
    {"POPCNT", x86("popcnt")},
    {"MOVBE", x86("movbe")},
    {"LZCNT", x86("abm")},
    {"BMI1", x86("bmi1")},
    {"BMI2", x86("bmi2")},
    {"TBM", x86("tbm")},
    {"AES", x86("aes")},
    {"AVXAES", x86("aes") | x86("avx")},
    {"PCLMULQDQ", x86("pclmulqdq")},
    {"SHA", x86("sha_ni")},
    {"GFNI", x86("gfni")},
    {"AVX_GFNI", x86("gfni") | x86("avx")},
    {"VAES", x86("vaes") | x86("avx")},
    {"VPCLMULQDQ", x86("vpclmulqdq") | x86("avx")},
    {"AVX", x86("avx")},
    {"F16C", x86("f16c")},
    {"FMA", x86("fma")},
    {"FMA4", x86("fma4")},
    {"XOP", x86("xop")},
    {"AVX2", x86("avx2")},
    {"AVX2GATHER", x86("avx2")},
    {"AVX_VNNI", x86("avx_vnni")},
    {"AMX_TILE", x86("amx_tile")},
    {"AMX_BF16", x86("amx_bf16")},
    {"AMX_INT8", x86("amx_int8")},
};

// "AVX512BW_256" is a stem and a width; narrow ones also need AVX512VL.
constexpr std::pair<std::string_view, FeatureSet> kWideSets[] = {
    {"AVX512F_", x86("avx512f")},
    {"AVX512BW_", x86("avx512bw")},
    {"AVX512DQ_", x86("avx512dq")},
    {"AVX512CD_", x86("avx512cd")},
    {"AVX512ER_", x86("avx512er")},
    {"AVX512PF_", x86("avx512pf")},
    {"AVX512_4FMAPS_", x86("avx512_4fmaps")},
    {"AVX512_4VNNIW_", x86("avx512_4vnniw")},
    {"AVX512_BF16_", x86("avx512_bf16")},
    {"AVX512_BITALG_", x86("avx512_bitalg")},
    {"AVX512_FP16_", x86("avx512_fp16")},
    {"AVX512_GFNI_", x86("avx512f") | x86("gfni")},
    {"AVX512_IFMA_", x86("avx512ifma")},
    {"AVX512_VAES_", x86("avx512f") | x86("vaes")},
    {"AVX512_VBMI2_", x86("avx512_vbmi2")},
    {"AVX512_VBMI_", x86("avx512vbmi")},
    {"AVX512_VNNI_", x86("avx512_vnni")},
    {"AVX512_VP2INTERSECT_", x86("avx512_vp2intersect")},
    {"AVX512_VPCLMULQDQ_", x86("avx512f") | x86("vpclmulqdq")},
    {"AVX512_VPOPCNTDQ_", x86("avx512_vpopcntdq")},
};

FeatureSet features_named(std::string_view set) {
  for (const auto& [name, features] : kSets) {
    if (set == name) return features;
  }
  for (const auto& [stem, features] : kWideSets) {
    if (!set.starts_with(stem)) continue;
    const std::string_view width = set.substr(stem.size());
    return width == "128" || width == "256" ? features | x86("avx512vl") : features;
  }
  return 0;
}

static_assert(ZYDIS_ISA_SET_INVALID == X86Forms::kInvalid && ZYDIS_ISA_SET_MAX_VALUE < 256);

// What Zydis 4.0 does not know: VEX forms of Intel's ISA extensions since Sierra Forest, and EVEX forms of AVX10.2.
// A row is a form without its register operand's bits. Source: Intel ISA extensions reference 319433, chapters 2 to 16.
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
};

// tzcnt is what compilers write for bsf on every CPU: older ones ignore its prefix, and the results agree.
bool is_bsf_too(const ZydisDecodedInstruction& instruction) {
  return instruction.mnemonic == ZYDIS_MNEMONIC_TZCNT;
}

}  // namespace

FeatureSet X86Forms::features(uint8_t set) {
  static const auto table = [] {
    std::array<FeatureSet, 256> features{};
    for (int i = 0; i <= ZYDIS_ISA_SET_MAX_VALUE; ++i) {
      const char* name = ZydisISASetGetString(static_cast<ZydisISASet>(i));
      if (name != nullptr) features[static_cast<size_t>(i)] = features_named(name);
    }
    for (const auto& [newer, needs] : kNewerFeatures) features[newer] = needs;
    return features;
  }();
  return table[set];
}

uint8_t X86Forms::ask(uint32_t form, std::span<const uint8_t> code) {
  static const ZydisDecoder decoder = [] {
    ZydisDecoder made;
    ZydisDecoderInit(&made, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    return made;
  }();
  ZydisDecodedInstruction instruction;
  if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&decoder, nullptr, code.data(), code.size(), &instruction)))
    return newer_set(form);  // not remembered: another instruction of this form may be known to Zydis
  auto set = static_cast<uint8_t>(instruction.meta.isa_set);
  if (set == kInvalid || is_bsf_too(instruction)) set = static_cast<uint8_t>(ZYDIS_ISA_SET_I386);
  sets_[form].store(set, std::memory_order_relaxed);
  return set;
}

X86Forms& X86Forms::shared() {
  static X86Forms forms;
  return forms;
}

}  // namespace pbprobe
