// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/audit/packages/contents.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "core/demangle.hpp"
#include "core/torch_symbols.hpp"
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
constexpr size_t kNamedSymbols = 10;

bool is_torch_name(std::string_view name) {
  for (const char* prefix : {"_ZN3c10", "_ZNK3c10", "_ZN2at", "_ZNK2at", "_ZN5torch", "_ZNK5torch", "_ZN6caffe2"}) {
    if (name.starts_with(prefix)) return true;
  }
  return false;
}

// In one of torch's namespaces, type information and tables of its classes among them, or of what libtorch_python
// exports under plain names: "_ZTIN3c105ErrorE", "THPVariableClass".
bool lives_in_torch(std::string_view name) {
  if (name.starts_with("THP")) return true;
  if (!name.starts_with("_Z")) return false;
  name.remove_prefix(2);
  for (const std::string_view kind : {"TI", "TV", "TS", "TT", "GV"}) {
    if (name.starts_with(kind)) name.remove_prefix(kind.size());
  }
  if (!name.starts_with('N')) return name.substr(0, name.find("THP")).find_first_not_of("0123456789") == name.npos;
  name.remove_prefix(name.starts_with("NK") ? 2 : 1);
  constexpr std::array<std::string_view, 4> kTorchNamespaces{"3c10", "2at", "5torch", "6caffe2"};
  return std::any_of(kTorchNamespaces.begin(), kTorchNamespaces.end(),
                     [&](auto space) { return name.starts_with(space); });
}

// torch/csrc/inductor/aoti_torch/c/shim.h and torch/csrc/stable/c/shim.h.
bool is_stable_torch_name(std::string_view name) {
  return name.starts_with("aoti_torch_") || name.starts_with("torch_");
}

// What a file takes from torch, by the names of its undefined symbols.
struct TakenNames {
  std::set<std::string_view> cxx;
  std::set<std::string_view> stable;

  void look_at(std::string_view name) {
    if (lives_in_torch(name)) {
      cxx.insert(name);
    } else if (is_stable_torch_name(name)) {
      stable.insert(name);
    }
  }
  // What no known release exports is another library's: namespaces are everybody's.
  TorchReleases releases() const {
    TorchReleases all = TorchReleases::all();
    for (const auto* names : {&cxx, &stable}) {
      for (const auto& name : *names) {
        const TorchReleases having = TorchReleases::with(name);
        if (!having.empty()) all &= having;
      }
    }
    return all;
  }
  TorchSymbols summary() const {
    TorchSymbols symbols{.cxx = static_cast<int64_t>(cxx.size()), .stable = static_cast<int64_t>(stable.size())};
    for (const auto& name : cxx.empty() ? stable : cxx) {
      if (symbols.first.size() < kNamedSymbols) symbols.first.emplace_back(name);
    }
    if (symbols.cxx + symbols.stable > 0) symbols.releases = releases().names();
    return symbols;
  }
};

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
  TakenNames taken;
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
    if (symbol.st_shndx == SHN_UNDEF) taken.look_at(name);
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
  contents.torch_symbols = taken.summary();
  return contents;
}

}  // namespace pbprobe
