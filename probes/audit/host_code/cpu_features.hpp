// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// CPU features that instructions need, by the names that /proc/cpuinfo and core/host use. Names that Linux does not
// print: 3dnow as AMD's manuals name it, kl, widekl and ptwrite as GCC's options; lor, specres, tme, ecv, xs, the,
// lsui, lsfe, cmpbr, cpa and fp8 as Arm's FEAT_ names; sve256: SVE with vectors of 256 bits or more.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pbprobe {

__extension__ typedef unsigned __int128 FeatureSet;  // bit i: the i-th name of the architecture's list

// clang-format off
inline constexpr std::array<std::string_view, 98> kX86Features{
    "pni", "ssse3", "sse4_1", "sse4_2", "sse4a", "popcnt", "movbe", "abm", "bmi1", "bmi2", "tbm", "aes", "pclmulqdq",
    "sha_ni", "gfni", "vaes", "vpclmulqdq", "avx", "f16c", "fma", "fma4", "xop", "avx2", "avx_vnni", "avx512f",
    "avx512dq", "avx512bw", "avx512vl", "avx512cd", "avx512ifma", "avx512vbmi", "avx512_vbmi2", "avx512_vnni",
    "avx512_bitalg", "avx512_vpopcntdq", "avx512_bf16", "avx512_fp16", "avx512_vp2intersect", "avx512er", "avx512pf",
    "avx512_4fmaps", "avx512_4vnniw", "amx_tile", "amx_bf16", "amx_int8", "amx_fp16", "avx_ifma", "avx_vnni_int8",
    "avx_vnni_int16", "avx_ne_convert", "sha512", "sm3", "sm4", "cmpccxadd", "raoint", "amx_complex", "amx_tf32",
    "apx_f", "avx10_2", "cx16", "lahf_lm", "rdtscp", "xsave", "xsaveopt", "xsavec", "rdrand", "rdseed", "rdpid",
    "fsgsbase", "adx", "rtm", "tsxldtrk", "clflushopt", "clwb", "clzero", "movdiri", "movdir64b", "enqcmd", "waitpkg",
    "mwaitx", "serialize", "kl", "widekl", "pku", "ptwrite", "rdpru", "mcommit", "sgx", "uintr", "vmx", "svm", "smx",
    "lwp", "3dnow", "rng", "ace", "phe", "pmm"};

inline constexpr std::array<std::string_view, 67> kAarch64Features{
    "atomics", "asimdrdm", "crc32", "aes", "pmull", "sha1", "sha2", "sha3", "sha512", "sm3", "sm4", "fphp", "asimdhp",
    "asimddp", "asimdfhm", "jscvt", "fcma", "lrcpc", "ilrcpc", "paca", "flagm", "flagm2", "frint", "sb", "bf16",
    "i8mm", "sve", "sve2", "sveaes", "svesha3", "svesm4", "svebitperm", "svebf16", "svei8mm", "svef32mm", "svef64mm",
    "mte", "sme", "mops", "cssc", "lse128", "lrcpc3", "hbc", "ls64", "wfxt", "dcpop", "dcpodp", "pacg", "rng", "dit",
    "ssbs", "ecv", "gcs", "tme", "lor", "specres", "xs", "the", "lsui", "lsfe", "cmpbr", "cpa", "fp8", "fpmr",
    "faminmax", "lut", "sve256"};
// clang-format on
static_assert(kX86Features.size() <= 128 && kAarch64Features.size() <= 128);

// Returns the set of one name. An unknown name is a compile error in a constant expression.
template <size_t N>
constexpr FeatureSet feature(const std::array<std::string_view, N>& names, std::string_view name) {
  for (size_t i = 0; i < N; ++i) {
    if (names[i] == name) return FeatureSet{1} << i;
  }
  throw "no such feature";  // never at run time: see x86() and arm()
}
consteval FeatureSet x86(std::string_view name) {
  return feature(kX86Features, name);
}
consteval FeatureSet arm(std::string_view name) {
  return feature(kAarch64Features, name);
}

// The names of "x86_64" or "aarch64", else none.
[[nodiscard]] std::span<const std::string_view> feature_names(std::string_view machine);

[[nodiscard]] std::vector<std::string> list_feature_names(FeatureSet set, std::span<const std::string_view> names);

}  // namespace pbprobe
