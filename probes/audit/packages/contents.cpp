// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/audit/packages/contents.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "core/demangle.hpp"
#include "probes/audit/containers/symbols.hpp"
#include "probes/audit/packages/own_versions.hpp"

namespace pbprobe {
namespace {

struct Signature {
  std::string_view prefix;  // of a defined symbol, as mangled
  std::string_view component;
};

constexpr std::array<Signature, 19> kSignatures{{
    {"_ZN13cudnn_frontend", "cuDNN frontend"},
    {"_ZN4dnnl", "oneDNN"},
    {"_ZN4gloo", "Gloo"},
    {"_ZN6fbgemm", "FBGEMM"},
    {"_ZN7cutlass", "CUTLASS"},
    {"_ZN11arm_compute", "Arm Compute"},
    {"Sleef_", "SLEEF"},
    {"cblas_", "CBLAS"},
    {"dnnl_", "oneDNN"},
    {"kai_", "KleidiAI"},
    {"magma_", "MAGMA"},
    {"mkl_", "MKL"},
    {"nccl", "NCCL"},
    {"nnp_", "NNPACK"},
    {"nvpl_", "NVPL"},
    {"openblas_", "OpenBLAS"},
    {"pytorch_q", "QNNPACK"},
    {"pytorch_u8gemm", "QNNPACK"},
    {"xnn_", "XNNPACK"},
}};
constexpr int64_t kEnough = 10;

bool is_torch_name(std::string_view name) {
  for (const char* prefix : {"_ZN3c10", "_ZNK3c10", "_ZN2at", "_ZNK2at", "_ZN5torch", "_ZNK5torch", "_ZN6caffe2"}) {
    if (name.starts_with(prefix)) return true;
  }
  return false;
}

// "Ss" is std::string's short name before C++11, but also a part of many identifiers.
bool has_old_string(std::string_view name) {
  if (name.find("Ss") == std::string_view::npos) return false;
  const auto plain = demangle(name);
  if (!plain) return false;
  return plain->find("std::string") != std::string::npos || plain->find("std::basic_string<char") != std::string::npos;
}

}  // namespace

Result<Contents> read_contents(const Elf& elf) {
  Contents contents;
  OwnVersions versions;
  std::array<int64_t, kSignatures.size()> counts{};
  const auto count = [&](std::string_view name, const Elf64_Sym& symbol) {
    if (symbol.st_shndx == SHN_UNDEF) return;
    versions.look_at(name, symbol);
    for (size_t i = 0; i < kSignatures.size(); ++i) {
      if (name.starts_with(kSignatures[i].prefix)) ++counts[i];
    }
  };
  PBPROBE_CHECK(visit_symbols(elf, ".symtab", count));
  PBPROBE_CHECK(visit_symbols(elf, ".dynsym", [&](std::string_view name, const Elf64_Sym& symbol) {
    count(name, symbol);
    if (symbol.st_shndx == SHN_UNDEF || !is_torch_name(name)) return;
    if (name.find("7__cxx1112basic_string") != std::string_view::npos) {
      ++contents.cxx11_names;
    } else if (has_old_string(name)) {
      ++contents.pre_cxx11_names;
    }
  }));
  for (size_t i = 0; i < kSignatures.size(); ++i) {
    auto& names = contents.components;
    const std::string component(kSignatures[i].component);
    if (counts[i] >= kEnough && std::find(names.begin(), names.end(), component) == names.end())
      names.push_back(component);
  }
  std::sort(contents.components.begin(), contents.components.end());
  contents.versions = versions.read(elf);
  return contents;
}

}  // namespace pbprobe
