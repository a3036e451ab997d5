// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// CPU features by the bits of CPUID, and of AT_HWCAP and AT_HWCAP2 in the auxiliary vector of Linux.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace pbprobe::host {

// Source: Intel SDM volume 2A, CPUID.
enum class CpuidRegister { eax, ebx, ecx, edx };
enum class SavedState { none, avx, avx512, amx };  // register state that XCR0 must enable

struct CpuidBit {
  uint32_t leaf;
  uint32_t subleaf;
  CpuidRegister reg;
  int bit;
  SavedState state;
  std::string_view name;  // named as in /proc/cpuinfo
};

inline constexpr CpuidBit kCpuidBits[] = {
    {1, 0, CpuidRegister::ecx, 0, SavedState::none, "pni"},  // SSE3
    {1, 0, CpuidRegister::ecx, 13, SavedState::none, "cx16"},
    {1, 0, CpuidRegister::ecx, 26, SavedState::none, "xsave"},
    {0x80000001, 0, CpuidRegister::ecx, 0, SavedState::none, "lahf_lm"},
    {0x80000001, 0, CpuidRegister::edx, 27, SavedState::none, "rdtscp"},
    {1, 0, CpuidRegister::ecx, 9, SavedState::none, "ssse3"},
    {1, 0, CpuidRegister::ecx, 19, SavedState::none, "sse4_1"},
    {1, 0, CpuidRegister::ecx, 20, SavedState::none, "sse4_2"},
    {1, 0, CpuidRegister::ecx, 22, SavedState::none, "movbe"},
    {1, 0, CpuidRegister::ecx, 23, SavedState::none, "popcnt"},
    {1, 0, CpuidRegister::ecx, 1, SavedState::none, "pclmulqdq"},
    {1, 0, CpuidRegister::ecx, 25, SavedState::none, "aes"},
    {1, 0, CpuidRegister::ecx, 30, SavedState::none, "rdrand"},
    {7, 0, CpuidRegister::ebx, 0, SavedState::none, "fsgsbase"},
    {7, 0, CpuidRegister::ebx, 18, SavedState::none, "rdseed"},
    {7, 0, CpuidRegister::ebx, 19, SavedState::none, "adx"},
    {7, 0, CpuidRegister::ebx, 23, SavedState::none, "clflushopt"},
    {7, 0, CpuidRegister::ebx, 24, SavedState::none, "clwb"},
    {7, 0, CpuidRegister::ebx, 29, SavedState::none, "sha_ni"},
    {7, 0, CpuidRegister::ecx, 8, SavedState::none, "gfni"},
    {7, 0, CpuidRegister::ecx, 22, SavedState::none, "rdpid"},
    {7, 0, CpuidRegister::ecx, 27, SavedState::none, "movdiri"},
    {7, 0, CpuidRegister::ecx, 28, SavedState::none, "movdir64b"},
    {0xD, 1, CpuidRegister::eax, 0, SavedState::none, "xsaveopt"},
    {0xD, 1, CpuidRegister::eax, 1, SavedState::none, "xsavec"},
    {0x80000001, 0, CpuidRegister::ecx, 6, SavedState::none, "sse4a"},
    {0x80000008, 0, CpuidRegister::ebx, 0, SavedState::none, "clzero"},
    {0x80000001, 0, CpuidRegister::ecx, 5, SavedState::none, "abm"},
    {7, 0, CpuidRegister::ebx, 3, SavedState::none, "bmi1"},
    {7, 0, CpuidRegister::ebx, 8, SavedState::none, "bmi2"},
    {1, 0, CpuidRegister::ecx, 28, SavedState::avx, "avx"},
    {1, 0, CpuidRegister::ecx, 29, SavedState::avx, "f16c"},
    {1, 0, CpuidRegister::ecx, 12, SavedState::avx, "fma"},
    {7, 0, CpuidRegister::ebx, 5, SavedState::avx, "avx2"},
    {7, 0, CpuidRegister::ecx, 9, SavedState::avx, "vaes"},
    {7, 0, CpuidRegister::ecx, 10, SavedState::avx, "vpclmulqdq"},
    {7, 1, CpuidRegister::eax, 4, SavedState::avx, "avx_vnni"},
    {7, 1, CpuidRegister::eax, 23, SavedState::avx, "avx_ifma"},
    {7, 1, CpuidRegister::edx, 4, SavedState::avx, "avx_vnni_int8"},
    {7, 1, CpuidRegister::edx, 5, SavedState::avx, "avx_ne_convert"},
    {7, 0, CpuidRegister::ebx, 16, SavedState::avx512, "avx512f"},
    {7, 0, CpuidRegister::ebx, 17, SavedState::avx512, "avx512dq"},
    {7, 0, CpuidRegister::ebx, 21, SavedState::avx512, "avx512ifma"},
    {7, 0, CpuidRegister::ebx, 28, SavedState::avx512, "avx512cd"},
    {7, 0, CpuidRegister::ebx, 30, SavedState::avx512, "avx512bw"},
    {7, 0, CpuidRegister::ebx, 31, SavedState::avx512, "avx512vl"},
    {7, 0, CpuidRegister::ecx, 1, SavedState::avx512, "avx512vbmi"},
    {7, 0, CpuidRegister::ecx, 6, SavedState::avx512, "avx512_vbmi2"},
    {7, 0, CpuidRegister::ecx, 11, SavedState::avx512, "avx512_vnni"},
    {7, 0, CpuidRegister::ecx, 12, SavedState::avx512, "avx512_bitalg"},
    {7, 0, CpuidRegister::ecx, 14, SavedState::avx512, "avx512_vpopcntdq"},
    {7, 0, CpuidRegister::edx, 8, SavedState::avx512, "avx512_vp2intersect"},
    {7, 1, CpuidRegister::eax, 5, SavedState::avx512, "avx512_bf16"},
    {7, 0, CpuidRegister::edx, 23, SavedState::avx512, "avx512_fp16"},
    {7, 0, CpuidRegister::edx, 24, SavedState::amx, "amx_tile"},
    {7, 0, CpuidRegister::edx, 22, SavedState::amx, "amx_bf16"},
    {7, 0, CpuidRegister::edx, 25, SavedState::amx, "amx_int8"},
    {7, 1, CpuidRegister::eax, 21, SavedState::amx, "amx_fp16"},
};

// Source: asm/hwcap.h of the kernel. Names as /proc/cpuinfo has them, bit by bit. tests/core/host compares them with
// the kernel's header.
inline constexpr std::array<std::string_view, 33> kHwcap{
    "fp",    "asimd",    "evtstrm", "aes",   "pmull",  "sha1",  "sha2", "crc32", "atomics", "fphp",    "asimdhp",
    "cpuid", "asimdrdm", "jscvt",   "fcma",  "lrcpc",  "dcpop", "sha3", "sm3",   "sm4",     "asimddp", "sha512",
    "sve",   "asimdfhm", "dit",     "uscat", "ilrcpc", "flagm", "ssbs", "sb",    "paca",    "pacg",    "gcs"};
inline constexpr std::array<std::string_view, 64> kHwcap2{
    "dcpodp",     "sve2",      "sveaes",    "svepmull",  "svebitperm", "svesha3",   "svesm4",    "flagm2",
    "frint",      "svei8mm",   "svef32mm",  "svef64mm",  "svebf16",    "i8mm",      "bf16",      "dgh",
    "rng",        "bti",       "mte",       "ecv",       "afp",        "rpres",     "mte3",      "sme",
    "smei16i64",  "smef64f64", "smei8i32",  "smef16f32", "smeb16f32",  "smef32f32", "smefa64",   "wfxt",
    "ebf16",      "sveebf16",  "cssc",      "rprfm",     "sve2p1",     "sme2",      "sme2p1",    "smei16i32",
    "smebi32i32", "smeb16b16", "smef16f16", "mops",      "hbc",        "sveb16b16", "lrcpc3",    "lse128",
    "fpmr",       "lut",       "faminmax",  "f8cvt",     "f8fma",      "f8dp4",     "f8dp2",     "f8e4m3",
    "f8e5m2",     "smelutv2",  "smef8f16",  "smef8f32",  "smesf8fma",  "smesf8dp4", "smesf8dp2", "poe"};
}  // namespace pbprobe::host
