// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// CUDA libraries that torch/__init__.py opens by path, and CUDA libraries that the loader takes from another place than
// the installed packages.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "core/facts/loading.hpp"
#include "probes/audit/loader/process.hpp"

namespace pbprobe {

// When torch/__init__.py opens libraries by their paths.
enum class PreloadTime {
  after_start,  // libtorch_global_deps.so was loaded: none before torch 2.6, NVRTC and nvJitLink before 2.11, then all
  after_failure,  // loading libtorch_global_deps.so failed: the libraries that this __init__.py names
};

// Returns the paths in order, up to the first library that is not installed beside `torch`, where torch stops.
// `cuda`: major version, "13".
[[nodiscard]] std::vector<std::filesystem::path> find_preloaded(const std::filesystem::path& torch,
                                                                const std::string& cuda, PreloadTime time);

// Returns the libraries that `process` has loaded, or that CUDA's libraries in it open with dlopen() (parts of cuDNN,
// nvrtc-builtins), if the loader takes them by LD_LIBRARY_PATH, ld.so.cache or the system's folders, and a package has
// another file of that name. `installed`: libraries of all packages by file name.
[[nodiscard]] std::vector<RedirectedLibrary> find_redirected_libraries(
    Process& process, const std::map<std::string, std::vector<std::filesystem::path>>& installed);

}  // namespace pbprobe
