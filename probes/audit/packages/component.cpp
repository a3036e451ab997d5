// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/audit/packages/component.hpp"

#include <array>
#include <utility>

namespace pbprobe {
namespace {

// The first prefix that fits wins, so longer ones stand before shorter ones.
constexpr std::array<std::pair<std::string_view, std::string_view>, 57> kComponents{{
    {"libtorch.", "libtorch"},
    {"libtorch_", "libtorch"},
    {"libtorch-", "libtorch"},  // as auditwheel renames what it takes into a wheel: libtorch-d6f8e1a2.so
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

std::optional<std::string> component_of(std::string_view path) {
  const size_t slash = path.rfind('/');
  const std::string_view name = slash == std::string_view::npos ? path : path.substr(slash + 1);
  const std::string_view folder = slash == std::string_view::npos ? "" : path.substr(0, slash);
  for (const auto& [prefix, component] : kComponents) {
    if (name.starts_with(prefix) && may_be_torch(folder, name)) return std::string(component);
  }
  return std::nullopt;
}

}  // namespace pbprobe
