// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include <elf.h>
#include <sys/auxv.h>

#include <map>
#include <tuple>
#include <vector>

#include "core/host/cpu_bits.hpp"
#include "probes/audit/host_code/guards.hpp"

namespace pbprobe {
namespace {

// Features by the bits that __builtin_cpu_supports reads, 32 a word. Source: gcc/common/config/i386/i386-cpuinfo.h;
// tests/audit/planted asks the compiler.
// clang-format off
constexpr std::array<std::string_view, 96> kModel{
    "", "", "popcnt", "", "", "pni", "ssse3", "sse4_1", "sse4_2", "avx", "avx2", "sse4a", "fma4", "xop", "fma",
    "avx512f", "bmi1", "bmi2", "aes", "pclmulqdq", "avx512vl", "avx512bw", "avx512dq", "avx512cd", "avx512er",
    "avx512pf", "avx512vbmi", "avx512ifma", "avx512_4vnniw", "avx512_4fmaps", "avx512_vpopcntdq", "avx512_vbmi2",
    "gfni", "vpclmulqdq", "avx512_vnni", "avx512_bitalg", "avx512_bf16", "avx512_vp2intersect", "3dnow", "", "adx",
    "abm", "", "clflushopt", "clwb", "clzero", "cx16", "", "enqcmd", "f16c", "fsgsbase", "", "", "", "lahf_lm", "",
    "lwp", "abm", "movbe", "movdir64b", "movdiri", "mwaitx", "", "",
    "pku", "", "", "ptwrite", "rdpid", "rdrand", "rdseed", "rtm", "serialize", "sgx", "sha_ni", "", "tbm", "tsxldtrk",
    "vaes", "waitpkg", "", "xsave", "xsavec", "xsaveopt", "", "amx_tile", "amx_int8", "amx_bf16", "uintr", "", "kl",
    "", "widekl", "avx_vnni", "avx512_fp16", ""};
// clang-format on

template <size_t N>
FeatureSet find_feature(const std::array<std::string_view, N>& names, std::string_view name) {
  for (size_t i = 0; i < N; ++i) {
    if (names[i] == name) return FeatureSet{1} << i;
  }
  return 0;
}

using CpuidWords = std::map<std::tuple<uint32_t, uint32_t, CpuidRegister>, FeatureBits>;

CpuidWords make_cpuid_words() {
  CpuidWords words;
  for (const auto& row : host::kCpuidBits) {
    const auto reg = static_cast<CpuidRegister>(row.reg);
    words[{row.leaf, row.subleaf, reg}][static_cast<size_t>(row.bit)] = find_feature(kX86Features, row.name);
  }
  return words;
}

template <size_t N>
FeatureBits make_hwcap(const std::array<std::string_view, N>& names) {
  FeatureBits bits{};
  for (size_t bit = 0; bit < N; ++bit) bits[bit] = find_feature(kAarch64Features, names[bit]);
  return bits;
}

struct Implied {
  FeatureSet feature;
  FeatureSet more;
};

// Every CPU that was sold with the first has the others. Some CPUs of VIA have AVX2 without FMA, some of Intel have
// AVX2 without AES, and Knights Landing has AVX-512F without AVX-512BW, DQ and VL.
constexpr FeatureSet kSse42 = x86("pni") | x86("ssse3") | x86("sse4_1") | x86("popcnt") | x86("cx16") | x86("lahf_lm");
constexpr FeatureSet kAvx = x86("sse4_2") | x86("xsave") | x86("pclmulqdq");
constexpr FeatureSet kAvx2 =
    x86("avx") | x86("f16c") | x86("bmi1") | x86("bmi2") | x86("abm") | x86("movbe") | x86("fsgsbase");
constexpr FeatureSet kAvx512f =
    x86("avx512cd") | x86("avx2") | x86("fma") | x86("aes") | x86("rdrand") | x86("rdseed") | x86("adx");
constexpr FeatureSet kAvx512 = x86("avx512f") | x86("avx512bw") | x86("avx512dq") | x86("avx512vl");
constexpr FeatureSet kIceLake = x86("avx512_vnni") | x86("avx512vbmi") | x86("avx512ifma") | x86("avx512_vbmi2") |
                                x86("avx512_bitalg") | x86("avx512_vpopcntdq") | x86("gfni") | x86("vaes") |
                                x86("vpclmulqdq") | x86("sha_ni") | x86("rdpid");
constexpr FeatureSet kSapphireRapids = kIceLake | x86("avx512_fp16") | x86("avx512_bf16") | x86("avx_vnni") |
                                       x86("amx_tile") | x86("amx_int8") | x86("amx_bf16") | x86("serialize") |
                                       x86("waitpkg") | x86("movdiri") | x86("movdir64b");
// clang-format off
constexpr Implied kX86[] = {
    {x86("amx_fp16"), kSapphireRapids | x86("amx_tile")},
    {x86("amx_complex"), kSapphireRapids},
    {x86("amx_bf16") | x86("amx_int8") | x86("amx_tile"), kSapphireRapids},
    {x86("avx512_fp16"), kIceLake | x86("avx512_bf16") | x86("avx_vnni")},
    {x86("avx512_bf16"), x86("avx512_vnni")},
    {x86("avx512_vbmi2") | x86("avx512_bitalg"), kIceLake},
    {x86("avx512_vnni") | x86("avx512vbmi") | x86("avx512ifma") | x86("avx512bw") | x86("avx512dq") | x86("avx512vl") |
         x86("avx512_vp2intersect"),
     kAvx512},
    {x86("avx512_vpopcntdq") | x86("avx512er") | x86("avx512pf") | x86("avx512cd") | x86("avx512_4vnniw") |
         x86("avx512_4fmaps"),
     x86("avx512f")},
    {x86("avx512f"), kAvx512f},
    {x86("vaes") | x86("vpclmulqdq") | x86("avx_vnni") | x86("avx_ifma") | x86("avx_vnni_int8") | x86("avx_ne_convert"),
     x86("avx2") | x86("fma")},
    {x86("vaes"), x86("aes")},
    {x86("vpclmulqdq"), x86("pclmulqdq")},
    {x86("avx2"), kAvx2},
    {x86("fma") | x86("f16c") | x86("xop") | x86("fma4"), x86("avx")},
    {x86("avx"), kAvx},
    {x86("sse4_2"), kSse42},
    {x86("sse4_1"), x86("ssse3")},
    {x86("ssse3"), x86("pni")},
    {x86("bmi2"), x86("bmi1")}};
constexpr FeatureSet kArmv82 = arm("atomics") | arm("asimdrdm") | arm("crc32");
constexpr Implied kAarch64[] = {
    {arm("sme"), arm("sve2") | arm("bf16") | arm("i8mm") | arm("svebf16") | arm("svei8mm")},
    {arm("sve2") | arm("sveaes") | arm("svesha3") | arm("svesm4") | arm("svebitperm"), arm("sve2") | arm("sve") | arm("asimddp") | arm("asimdfhm")},
    {arm("svebf16") | arm("svei8mm") | arm("svef32mm") | arm("svef64mm"), arm("sve")},
    {arm("sve"), arm("sve256") | arm("asimdhp") | arm("fcma")},
    {arm("bf16") | arm("i8mm"), arm("asimddp")},
    {arm("asimddp") | arm("asimdfhm") | arm("i8mm") | arm("bf16"), arm("asimdhp")},
    {arm("asimdhp") | arm("fphp"), kArmv82 | arm("asimdhp") | arm("fphp")},
    {arm("aes") | arm("pmull"), arm("aes") | arm("pmull")},
    {arm("lse128"), arm("atomics")},
    {arm("ilrcpc"), arm("lrcpc")}};
// clang-format on

FeatureSet add_implied(std::span<const Implied> rows, FeatureSet features) {
  for (FeatureSet before = 0; before != features;) {
    before = features;
    for (const auto& row : rows) {
      if ((features & row.feature) != 0) features |= row.more;
    }
  }
  return features;
}

}  // namespace

const FeatureBits& get_cpuid_bits(uint32_t leaf, uint32_t subleaf, CpuidRegister reg) {
  static const CpuidWords words = make_cpuid_words();
  static const FeatureBits none{};
  const auto found = words.find({leaf, subleaf, reg});
  return found == words.end() ? none : found->second;
}

const FeatureBits& get_model_bits(uint64_t word) {
  static const std::vector<FeatureBits> words = [] {
    std::vector<FeatureBits> all(kModel.size() / 32);
    for (size_t i = 0; i < kModel.size(); ++i) all[i / 32][i % 32] = find_feature(kX86Features, kModel[i]);
    // x86-64-v2, v3 and v4 are the levels of the psABI.
    all.push_back({0, x86("sse4_2"), x86("avx2") | x86("fma"), x86("avx512bw")});
    return all;
  }();
  return words[word < words.size() ? word : words.size() - 1];
}

const FeatureBits& get_hwcap_bits(uint64_t entry) {
  static const FeatureBits first = make_hwcap(host::kHwcap);
  static const FeatureBits second = make_hwcap(host::kHwcap2);
  return entry == AT_HWCAP2 ? second : first;
}

FeatureSet add_implied_features(uint16_t machine, FeatureSet features) {
  if (machine == EM_X86_64) return add_implied(kX86, features);
  features = add_implied(kAarch64, features);
  if ((features & arm("sve")) == 0) return features;
  if ((features & arm("bf16")) != 0) features |= arm("svebf16");
  if ((features & arm("i8mm")) != 0) features |= arm("svei8mm");
  return features;
}

FeatureSet list_askable_features(uint16_t machine) {
  FeatureSet all = 0;
  if (machine == EM_X86_64) {
    for (const auto name : kModel) all |= name.empty() ? 0 : find_feature(kX86Features, name);
    for (const auto& row : host::kCpuidBits) all |= find_feature(kX86Features, row.name);
    return all;
  }
  for (const auto* bits : {&get_hwcap_bits(AT_HWCAP), &get_hwcap_bits(AT_HWCAP2)}) {
    for (const FeatureSet feature : *bits) all |= feature;
  }
  return all;
}

}  // namespace pbprobe
