// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Source of the CPUID bits: Intel SDM volume 2A (CPUID); AMD APM volume 3, appendix E; VIA PadLock programming guide.
#include "probes/audit/host_code/x86_sets.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace pbprobe {
namespace {

constexpr std::pair<std::string_view, FeatureSet> kSets[] = {
    {"SSE3", x86("pni")},
    {"SSE3X87", x86("pni")},  // fisttp
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
    // Beyond arithmetic. CPUID leaf.subleaf:register[bit].
    {"CMPXCHG16B", x86("cx16")},        // 1:ECX[13]
    {"LAHF", x86("lahf_lm")},           // 80000001:ECX[0]; the first CPUs of 64 bits lack it
    {"RDTSCP", x86("rdtscp")},          // 80000001:EDX[27]
    {"XSAVE", x86("xsave")},            // 1:ECX[26]
    {"XSAVEOPT", x86("xsaveopt")},      // D.1:EAX[0]
    {"XSAVEC", x86("xsavec")},          // D.1:EAX[1]
    {"RDRAND", x86("rdrand")},          // 1:ECX[30]
    {"RDSEED", x86("rdseed")},          // 7.0:EBX[18]
    {"RDPID", x86("rdpid")},            // 7.0:ECX[22]
    {"RDWRFSGS", x86("fsgsbase")},      // 7.0:EBX[0]
    {"ADOX_ADCX", x86("adx")},          // 7.0:EBX[19]
    {"RTM", x86("rtm")},                // 7.0:EBX[11]
    {"TSX_LDTRK", x86("tsxldtrk")},     // 7.0:EDX[16]
    {"CLFLUSHOPT", x86("clflushopt")},  // 7.0:EBX[23]
    {"CLWB", x86("clwb")},              // 7.0:EBX[24]
    {"CLZERO", x86("clzero")},          // 80000008:EBX[0]
    {"MOVDIR", x86("movdiri")},         // 7.0:ECX[27]; movdir64b: 7.0:ECX[28], told apart by its mnemonic
    {"ENQCMD", x86("enqcmd")},          // 7.0:ECX[29]
    {"WAITPKG", x86("waitpkg")},        // 7.0:ECX[5]
    {"MONITORX", x86("mwaitx")},        // 80000001:ECX[29]
    {"SERIALIZE", x86("serialize")},    // 7.0:EDX[14]
    {"KEYLOCKER", x86("kl")},           // 7.0:ECX[23]
    {"KEYLOCKER_WIDE", x86("widekl")},  // 19:EBX[2]
    {"PKU", x86("pku")},                // 7.0:ECX[3]
    {"PT", x86("ptwrite")},             // 14.0:EBX[4]
    {"RDPRU", x86("rdpru")},            // 80000008:EBX[4]
    {"MCOMMIT", x86("mcommit")},        // 80000008:EBX[8]
    {"SGX", x86("sgx")},                // 7.0:EBX[2]
    {"SGX_ENCLV", x86("sgx")},
    {"UINTR", x86("uintr")},  // 7.0:EDX[5]
    {"VTX", x86("vmx")},      // 1:ECX[5]
    {"VMFUNC", x86("vmx")},
    {"SVM", x86("svm")},          // 80000001:ECX[2]
    {"SMX", x86("smx")},          // 1:ECX[6]
    {"LWP", x86("lwp")},          // 80000001:ECX[15]
    {"AMD3DNOW", x86("3dnow")},   // 80000001:EDX[31]
    {"PADLOCK_RNG", x86("rng")},  // C0000001:EDX[3:2]
    {"PADLOCK_ACE", x86("ace")},  // C0000001:EDX[7:6]
    {"PADLOCK_PHE", x86("phe")},  // C0000001:EDX[11:10]
    {"PADLOCK_PMM", x86("pmm")},  // C0000001:EDX[13:12]
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

constexpr std::string_view kBaseSets[] = {
    "I86", "I186", "I286REAL", "I286PROTECTED", "I386", "I486", "I486REAL", "PENTIUMREAL", "PENTIUMMMX", "PPRO",
    "LONGMODE", "X87", "CMOV", "FCMOV", "FXSAVE", "FXSAVE64", "SSE", "SSE2", "SSE2MMX", "SSEMXCSR", "SSE_PREFETCH",
    "CLFSH", "PAUSE", "FAT_NOP", "RDPMC",
    // CPUs without these sets run them as no operation. CET: rdssp then keeps its register, and compilers use the
    // shadow stack only if rdssp changed it.
    "CET", "CLDEMOTE", "MPX", "PREFETCHWT1", "PREFETCH_NOP",
    // Only for kernels and hypervisors: each CPU rejects them in a process.
    "AMD_INVLPGB", "HRESET", "INVPCID", "MONITOR", "PCONFIG", "SMAP", "SNP", "TDX", "XSAVES"};

// Knights Corner does not load ELF files of x86-64; Zydis has no instruction of AMD; INVALID is no set.
constexpr std::string_view kUnknownSets[] = {"INVALID",   "AMD",  "KNCE",     "KNCJKBR",
                                             "KNCSTREAM", "KNCV", "KNC_MISC", "KNC_PF_HINT"};

bool has(std::span<const std::string_view> names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

}  // namespace

std::optional<IsaSet> find_isa_set(std::string_view name) {
  const auto exact =
      std::find_if(std::begin(kSets), std::end(kSets), [&](const auto& row) { return row.first == name; });
  if (exact != std::end(kSets)) return IsaSet{.features = exact->second};
  for (const auto& [stem, features] : kWideSets) {
    if (!name.starts_with(stem)) continue;
    const std::string_view width = name.substr(stem.size());
    const bool narrow = width == "128" || width == "256";
    return IsaSet{.features = narrow ? features | x86("avx512vl") : features};
  }
  if (has(kBaseSets, name)) return IsaSet{};
  if (has(kUnknownSets, name)) return IsaSet{.unknown = true};
  return std::nullopt;
}

}  // namespace pbprobe
