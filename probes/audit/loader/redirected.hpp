// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// CUDA's libraries that a process takes from elsewhere than from the packages that are installed for it.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "core/facts/loading.hpp"
#include "probes/audit/loader/process.hpp"

namespace pbprobe {

// Returns the libraries that `process` has loaded, or that CUDA's libraries in it open with dlopen() (parts of cuDNN,
// nvrtc-builtins), if the loader takes them by LD_LIBRARY_PATH, ld.so.cache or the system's folders, and a package has
// another file of that name. `installed`: libraries of all packages by file name.
[[nodiscard]] std::vector<RedirectedLibrary> find_redirected_libraries(
    Process& process, const std::map<std::string, std::vector<std::filesystem::path>>& installed);

}  // namespace pbprobe
