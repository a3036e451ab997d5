// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/audit/x86_forms.hpp"

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

// tdpfp16ps, which Zydis 4.0 does not know: VEX.128.F2.0F38.W0 5C, registers alone.
constexpr uint32_t kTileFp16 = X86Forms::kVex + (2U << 16U | 0x5CU << 8U | 3U << 6U | 1U);
constexpr uint32_t kAnyReg = 7U << 1U;
constexpr uint8_t kTileFp16Set = 255;
static_assert(ZYDIS_ISA_SET_MAX_VALUE < kTileFp16Set);

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
    features[kTileFp16Set] = x86("amx_fp16");
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
  if ((form & ~kAnyReg) == kTileFp16) return kTileFp16Set;
  ZydisDecodedInstruction instruction;
  if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&decoder, nullptr, code.data(), code.size(), &instruction)))
    return kInvalid;  // not remembered: another instruction of this form may be sound
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
