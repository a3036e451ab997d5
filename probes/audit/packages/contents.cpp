// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/audit/packages/contents.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "core/facts/environment.hpp"
#include "core/torch_names.hpp"
#include "core/torch_symbols.hpp"
#include "probes/audit/containers/symbols.hpp"
#include "probes/audit/packages/own_versions.hpp"

namespace pbprobe {
namespace {

struct Signature {
  std::string_view prefix;  // mangled prefix of a defined symbol
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

// Names of a file's undefined symbols that belong to torch.
struct TakenNames {
  std::set<std::string_view> cxx;
  std::set<std::string_view> stable;
  std::set<std::string_view> unknown;
  TorchReleases common = TorchReleases::all();

  void add(std::string_view name) {
    const TorchName kind = classify_torch_name(name);
    if (kind == TorchName::none) return;
    const TorchReleases having = TorchReleases::with(name);
    if (having.empty() && kind == TorchName::signature) return;
    (kind == TorchName::stable ? stable : cxx).insert(name);
    if (!having.empty()) {
      common &= having;
    } else if (is_reserved_for_torch(name)) {
      unknown.insert(name);
    }
  }
  TorchSymbols summary() const {
    TorchSymbols symbols{.cxx = static_cast<int64_t>(cxx.size()), .stable = static_cast<int64_t>(stable.size())};
    for (const auto& name : cxx.empty() ? stable : cxx) {
      if (symbols.first.size() < kNamedSymbols) symbols.first.emplace_back(name);
    }
    if (!unknown.empty()) symbols.unknown.emplace(unknown.begin(), unknown.end());
    if (symbols.cxx + symbols.stable > 0) symbols.releases = common.names();
    return symbols;
  }
};

bool starts_module(std::string_view name) {
  return std::any_of(kModuleEntries.begin(), kModuleEntries.end(),
                     [&](std::string_view begin) { return name.starts_with(begin); });
}

}  // namespace

Result<Contents> read_contents(const Elf& elf) {
  Contents contents;
  OwnVersions versions;
  TakenNames taken;
  std::array<int64_t, kSignatures.size()> counts{};
  const auto count = [&](std::string_view name, const Elf64_Sym& symbol) {
    if (symbol.st_shndx == SHN_UNDEF) return;
    versions.record_symbol(name, symbol);
    for (size_t i = 0; i < kSignatures.size(); ++i) {
      if (name.starts_with(kSignatures[i].prefix)) ++counts[i];
    }
  };
  PBPROBE_CHECK(visit_symbols(elf, ".symtab", count));
  PBPROBE_CHECK(visit_symbols(elf, ".dynsym", [&](std::string_view name, const Elf64_Sym& symbol) {
    count(name, symbol);
    // The loader sets an undefined weak symbol to 0.
    const bool undefined = symbol.st_shndx == SHN_UNDEF;
    if (undefined && ELF64_ST_BIND(symbol.st_info) != STB_WEAK) taken.add(name);
    if (undefined ? name.starts_with("Py") || name.starts_with("_Py") : starts_module(name))
      contents.uses_python = true;
    if (undefined || classify_torch_name(name) != TorchName::member) return;
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

namespace {

// The first match wins, so longer prefixes precede shorter ones.
constexpr std::array<std::pair<std::string_view, std::string_view>, 57> kComponents{{
    {"libtorch.", "libtorch"},
    {"libtorch_", "libtorch"},
    {"libtorch-", "libtorch"},  // renamed by auditwheel: libtorch-d6f8e1a2.so
    {"libtorchbind", "libtorch"},
    {"libc10", "libtorch"},
    {"libATen", "libtorch"},
    {"libcaffe2", "libtorch"},
    {"libshm", "libtorch"},
    {"_C.", "libtorch"},
    {"_dl.", "libtorch"},
    {"libaoti_", "libtorch"},
    {"torch_shm_manager", "libtorch"},  // a program that torch starts
    {"libmagma", "MAGMA"},
    {"libnccl", "NCCL"},
    {"libcudnn", "cuDNN"},
    {"libcublas", "cuBLAS"},
    {"libnvblas", "cuBLAS"},
    {"libcufftw", "cuFFT"},
    {"libcufft", "cuFFT"},
    {"libcusparseLt", "cuSPARSELt"},
    {"libcusparse", "cuSPARSE"},
    {"libcusolver", "cuSOLVER"},
    {"libcurand", "cuRAND"},
    {"libcudart", "CUDA runtime"},
    {"libnvrtc", "NVRTC"},
    {"libnvJitLink", "nvJitLink"},
    {"libnvvm", "NVVM"},
    {"libcupti", "CUPTI"},
    {"libnvperf", "CUPTI"},
    {"libpcsamplingutil", "CUPTI"},
    {"libcheckpoint", "CUPTI"},
    {"libcufile", "cuFile"},
    {"libnvshmem", "NVSHMEM"},
    {"nvshmem_", "NVSHMEM"},
    {"libnvToolsExt", "NVTX"},
    {"libnvtx", "NVTX"},
    {"libgomp", "OpenMP"},
    {"libiomp", "OpenMP"},
    {"libomp", "OpenMP"},
    {"libopenblas", "OpenBLAS"},
    {"libmkl_", "MKL"},
    {"libdnnl", "oneDNN"},
    {"libfbgemm", "FBGEMM"},
    {"libarm_compute", "Arm Compute"},
    {"libnvpl_", "NVPL"},
    {"libsleef", "SLEEF"},
    {"libXNNPACK", "XNNPACK"},
    {"libgloo", "Gloo"},
    {"libuv", "libuv"},
    {"libnuma", "libnuma"},
    {"libtriton", "Triton"},
    {"libgfortran", "GCC runtime"},
    {"libquadmath", "GCC runtime"},
    {"libstdc++", "GCC runtime"},
    {"libgcc_s", "GCC runtime"},
    {"libblas", "BLAS"},
    {"ptxas", "PTX compiler"},
}};

// Many packages call their extension module _C, as torch does. torch's wheel also has a folder functorch.
bool may_be_torch(std::string_view folder, std::string_view name) {
  const std::string_view last = folder.substr(folder.rfind('/') + 1);
  return !name.starts_with("_") || folder.empty() || last == "torch" || last == "functorch";
}

}  // namespace

std::optional<std::string> find_component(std::string_view path) {
  const size_t slash = path.rfind('/');
  const std::string_view name = slash == std::string_view::npos ? path : path.substr(slash + 1);
  const std::string_view folder = slash == std::string_view::npos ? "" : path.substr(0, slash);
  for (const auto& [prefix, component] : kComponents) {
    if (name.starts_with(prefix) && may_be_torch(folder, name)) return std::string(component);
  }
  return std::nullopt;
}

}  // namespace pbprobe
