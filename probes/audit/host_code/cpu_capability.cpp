// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/audit/host_code/cpu_capability.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

namespace pbprobe {
namespace {

// torch compiles at::native and at::vec once for each, in a namespace or a file of this name.
constexpr std::array<std::string_view, 5> kCpuCapabilities{"AVX512", "AVX2", "SVE256", "SVE128", kDefaultCapability};
constexpr std::array<std::string_view, 5> kMangled{"6AVX512", "4AVX2", "6SVE256", "6SVE128", "7DEFAULT"};

constexpr std::string_view kOutlined = "gcc's atomics";  // use LSE if __aarch64_have_lse_atomics is set

// Libraries that choose their code when they run.
constexpr std::pair<std::string_view, std::string_view> kPrefixes[] = {
    {"mkl_", "MKL"},
    {"fpk_", "MKL"},
    {"_vmls", "MKL"},
    {"_vmld", "MKL"},
    {"__svml_", "SVML"},
    {"__libm_", "MKL"},
    {"dnnl_", "oneDNN"},
    {"Sleef_", "SLEEF"},
    {"xnn_", "XNNPACK"},
    {"nnp_", "NNPACK"},
    {"pytorch_q", "QNNPACK"},
    {"qnnp_", "QNNPACK"},
    {"nvpl_", "NVPL"},
    {"libnvpl_", "NVPL"},  // "libnvpl_blas_core_275ed0…": its inner names are hashes
    {"kai_", "KleidiAI"},
    {"openblas_", "OpenBLAS"},
    {"jsimd_", "libjpeg-turbo"},
    {"__aarch64_cas", kOutlined},
    {"__aarch64_swp", kOutlined},
    {"__aarch64_ld", kOutlined},
};
constexpr std::pair<std::string_view, std::string_view> kNamespaces[] = {
    {"4dnnl", "oneDNN"},          {"6fbgemm", "FBGEMM"},         {"6asmjit", "FBGEMM"},
    {"5Xbyak", "oneDNN"},         {"13Xbyak_aarch64", "oneDNN"}, {"11arm_compute", "Arm Compute"},
    {"8arm_gemm", "Arm Compute"}, {"8arm_conv", "Arm Compute"},  {"10fbgemm_gpu", "FBGEMM"},
};

// Written in lower case; found in any.
constexpr std::string_view kInstructionSets[] = {"avx",  "_amx", "_sse",          "ssse3",   "_fma3",   "_fma4",
                                                 "f16c", "_xop", "vnni",          "neondot", "i8mm",    "bf16mm",
                                                 "_sve", "sve2", "neonfp16arith", "a64_",    "neoverse"};
// OpenBLAS names its kernels after cores.
constexpr std::string_view kCores[] = {"_PRESCOTT",       "_CORE2",       "_PENRYN",    "_DUNNINGTON", "_NEHALEM",
                                       "_ATHLON",         "_OPTERON",     "_BARCELONA", "_BOBCAT",     "_ATOM",
                                       "_NANO",           "_SANDYBRIDGE", "_BULLDOZER", "_PILEDRIVER", "_STEAMROLLER",
                                       "_EXCAVATOR",      "_HASWELL",     "_ZEN",       "_SKYLAKEX",   "_COOPERLAKE",
                                       "_SAPPHIRERAPIDS", "_NEOVERSE",    "_CORTEXA",   "_ARMV8SVE",   "_A64FX",
                                       "_THUNDERX",       "_TSV110",      "_EMAG8180",  "_FALKOR",     "_VORTEX"};

bool starts_initializer(std::string_view name) {
  for (const char* prefix : {"_GLOBAL__sub_I_", "_GLOBAL__I_", "_Z41__static_initialization_and_destruction_0",
                             "__cxx_global_var_init", "__cxx_global_array_dtor"}) {
    if (name.starts_with(prefix)) return true;
  }
  return false;
}

std::string_view find_dispatching_library(std::string_view name) {
  for (const auto& [prefix, library] : kPrefixes) {
    if (name.starts_with(prefix)) return library;
  }
  if (!name.starts_with("_Z")) return {};
  for (const auto& [space, library] : kNamespaces) {
    const size_t at = name.find(space);
    // "_ZN4dnnl4impl": a namespace of its own, not the end of a longer number
    if (at != std::string_view::npos && at > 0 && std::isdigit(static_cast<unsigned char>(name[at - 1])) == 0)
      return library;
  }
  return {};
}

}  // namespace

std::string_view parse_cpu_capability(std::string_view name) {
  if (name.starts_with("_Z")) {
    for (size_t i = 0; i < kMangled.size(); ++i) {
      for (size_t at = name.find(kMangled[i]); at != std::string_view::npos; at = name.find(kMangled[i], at + 1)) {
        if (std::isdigit(static_cast<unsigned char>(name[at - 1])) == 0) return kCpuCapabilities[i];
      }
    }
    return {};
  }
  for (const auto capability : kCpuCapabilities) {  // "BinaryOpsKernel.cpp.AVX2.cpp"
    const size_t at = name.find(capability);
    if (at != std::string_view::npos && at > 0 && name[at - 1] == '.' &&
        name.substr(at + capability.size()).starts_with(".c"))
      return capability;
  }
  return {};
}

bool names_instruction_set(std::string_view name) {
  std::array<char, 512> lower{};
  const size_t size = std::min(name.size(), lower.size());
  std::transform(name.begin(), name.begin() + static_cast<ptrdiff_t>(size), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const std::string_view folded(lower.data(), size);
  for (const auto word : kInstructionSets) {
    if (folded.find(word) != std::string_view::npos) return true;
  }
  return std::any_of(std::begin(kCores), std::end(kCores),
                     [&](std::string_view core) { return name.find(core) != std::string_view::npos; });
}

CodeOwner find_code_owner(const Function& function, bool needs_more) {
  if (starts_initializer(function.name)) return {CodeClass::static_initializer, {}};
  for (const auto text : {function.name, function.source}) {
    if (const auto capability = parse_cpu_capability(text); !capability.empty())
      return {capability == kDefaultCapability ? CodeClass::default_capability : CodeClass::cpu_capability, capability};
  }
  if (const auto library = find_dispatching_library(function.name); !library.empty())
    return {CodeClass::dispatched, library};
  if (function.source.starts_with("sleef")) return {CodeClass::dispatched, "SLEEF"};
  // mkldnn_tensor.cpp is torch's own.
  if (function.source.starts_with("mkl") && !function.source.starts_with("mkldnn"))
    return {CodeClass::dispatched, "MKL"};
  if (needs_more && (names_instruction_set(function.name) || names_instruction_set(function.source)))
    return {CodeClass::dispatched, {}};
  if (function.name.empty()) return {CodeClass::unclassified, {}};
  return {};
}

}  // namespace pbprobe
