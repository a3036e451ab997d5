// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Imports of torch and of packages that link it, in separate processes, and comparison of the mapped libraries with the
// prediction from files.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/facts/loading.hpp"

namespace pbprobe {

struct ImportRequest {
  std::filesystem::path packages;        // the folder that has torch in it
  std::string library_path;              // LD_LIBRARY_PATH of programs in the environment
  std::filesystem::path program;         // pbprobe, which starts the imports; empty for this program
  double seconds = 60;                   // time limit of each import
  std::function<double()> seconds_left;  // remaining total time; imports that do not start in time get an obstacle
  std::function<void(std::string_view step)> progress;
};

// Imports torch and packages that link it, with the environment's Python, without network, access to other processes,
// or write access. Returns nothing if the environment has no usable Python, no torch, or a torch for another processor.
[[nodiscard]] std::vector<Import> try_imports(const ImportRequest& request);

// Imports only torch of `packages`, in the same way, by the Python of its environment, else by a Python on PATH of the
// version that torch's extension module is for. Returns null if neither exists, or if torch is for another processor. A
// package or library that torch needs
// and that is not torch's own is an obstacle if it is missing.
[[nodiscard]] std::optional<Import> try_torch(const std::filesystem::path& packages,
                                              const std::filesystem::path& program, double seconds = 60);

}  // namespace pbprobe
