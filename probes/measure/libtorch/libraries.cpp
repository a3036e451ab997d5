// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/measure/libtorch/speeds.hpp"

#include <algorithm>
#include <filesystem>
#include <optional>

#include <dlfcn.h>
#include <fmt/format.h>

namespace pbprobe {
namespace {

// Returns the text after `key`, up to the first character of `ends`.
std::optional<std::string> after(std::string_view text, std::string_view key, std::string_view ends) {
  const size_t found = text.find(key);
  if (found == std::string_view::npos) return std::nullopt;
  const std::string_view rest = text.substr(found + key.size());
  return std::string(rest.substr(0, rest.find_first_of(ends)));
}

// "-gencode;arch=compute_90,code=sm_90;…"
std::vector<std::string> architectures(std::string_view flags) {
  std::vector<std::string> names;
  constexpr std::string_view kKey = "code=";
  for (size_t at = flags.find(kKey); at != std::string_view::npos; at = flags.find(kKey, at + 1)) {
    const std::string_view rest = flags.substr(at + kKey.size());
    std::string name(rest.substr(0, rest.find_first_of(";, ")));
    std::erase_if(name, [](char c) { return c == '[' || c == ']' || c == '"'; });
    if (std::ranges::find(names, name) == names.end()) names.push_back(std::move(name));
  }
  return names;
}

std::string dotted(size_t major, size_t minor, size_t patch) {
  return fmt::format("{}.{}.{}", major, minor, patch);
}

std::optional<std::string> find_file(void* function) {
  Dl_info info{};
  if (dladdr(function, &info) == 0 || info.dli_fname == nullptr) return std::nullopt;
  std::error_code error;
  const auto file = std::filesystem::canonical(info.dli_fname, error);
  return error ? std::string(info.dli_fname) : file.string();
}

LibtorchLibrary& entry(std::vector<LibtorchLibrary>& libraries, std::string_view name) {
  for (auto& library : libraries)
    if (library.name == name) return library;
  return libraries.emplace_back(LibtorchLibrary{.name = std::string(name), .compiled = {}, .running = {}, .path = {}});
}

// Calls `symbol` of a library that libtorch_cuda needs, and stores the version and the path. Does nothing if missing.
template <class Function, class Ask>
void ask(const Libtorch& library, std::vector<LibtorchLibrary>& libraries, std::string_view name, const char* symbol,
         const Ask& version_by) {
  Function function = nullptr;
  library.cuda_symbols().optional(function, symbol);
  if (function == nullptr) return;
  LibtorchLibrary& found = entry(libraries, name);
  found.running = version_by(function);
  found.path = find_file(reinterpret_cast<void*>(function));
}

}  // namespace

Configuration read_configuration(std::string_view text) {
  Configuration configuration;
  if (const auto flags = after(text, "NVCC architecture flags: ", "\n"))
    configuration.built_for = architectures(*flags);
  const auto add = [&](const char* name, std::optional<std::string> compiled, std::optional<std::string> running) {
    if (!compiled && !running) return;
    configuration.libraries.push_back(
        {.name = name, .compiled = std::move(compiled), .running = std::move(running), .path = {}});
  };
  add("MKL", std::nullopt, after(text, "Math Kernel Library Version ", "-\n "));
  add("oneDNN", std::nullopt, after(text, "MKL-DNN v", " \n("));
  add("OpenMP", std::nullopt, after(text, "(a.k.a. OpenMP ", ")\n"));
  add("CUDA", after(text, "CUDA_VERSION=", ", \n"), after(text, "CUDA Runtime ", " \n"));
  add("MAGMA", after(text, "- Magma ", " \n"), std::nullopt);
  add("cuDNN", after(text, "CUDNN_VERSION=", ", \n"), std::nullopt);
  add("BLAS", after(text, "BLAS_INFO=", ", \n"), std::nullopt);
  return configuration;
}

std::string cudnn_version(size_t number) {
  const size_t unit = number >= 90000 ? 10000 : 1000;
  return dotted(number / unit, number % unit / 100, number % 100);
}

std::string nccl_version(int number) {
  const auto value = static_cast<size_t>(number);
  const size_t unit = value >= 10000 ? 10000 : 1000;
  return dotted(value / unit, value % unit / 100, value % 100);
}

std::string cublas_version(size_t number) {
  return dotted(number / 10000, number % 10000 / 100, number % 100);
}

void ask_libraries(const Libtorch& library, LibtorchRun& run) {
  Configuration configuration = read_configuration(library.configuration());
  run.built_for = std::move(configuration.built_for);
  run.libraries = std::move(configuration.libraries);
  using AsksSize = size_t (*)();
  using AsksInto = int (*)(int*);
  ask<AsksSize>(library, run.libraries, "cuDNN", "cudnnGetVersion",
                [](AsksSize function) { return cudnn_version(function()); });
  ask<AsksSize>(library, run.libraries, "cuBLAS", "cublasLtGetVersion",
                [](AsksSize function) { return cublas_version(function()); });
  ask<AsksInto>(library, run.libraries, "NCCL", "ncclGetVersion", [](AsksInto function) {
    int number = 0;
    return function(&number) == 0 ? std::optional(nccl_version(number)) : std::nullopt;
  });
  // torch::cuda::nccl::version(): a constant from its headers.
  uint64_t (*compiled)() = nullptr;
  library.cuda_symbols().optional(compiled, "_ZN5torch4cuda4nccl7versionEv");
  if (compiled != nullptr) {
    const uint64_t packed = compiled();
    entry(run.libraries, "NCCL").compiled = dotted(packed >> 32, packed >> 16 & 0xffff, packed & 0xffff);
  }
}

}  // namespace pbprobe
