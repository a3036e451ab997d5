// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Packages on PyPI that contain a library: what to install if the loader does not find the library.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pbprobe {

// Library that is missing, and the package that provides it.
struct ProvidedLibrary {
  std::string name;                    // "libcudart.so.12"
  std::optional<std::string> package;  // "nvidia-cuda-runtime-cu12"; nullopt if no PyPI package is known
};

// Returns the package of each name. `cuda`: major version of CUDA for libraries that packages of several CUDA versions
// contain, as libcudnn.so.9; libraries among `names` that only one CUDA version has decide before.
[[nodiscard]] std::vector<ProvidedLibrary> find_packages(const std::vector<std::string>& names,
                                                         std::optional<int64_t> cuda);

// Returns a pip command that installs the packages and keeps the installed torch. Returns nullopt if a library has no
// package, or several. `torch`: its version, or "" without an installed torch.
[[nodiscard]] std::optional<std::string> make_install_command(const std::vector<ProvidedLibrary>& libraries,
                                                              std::string_view torch);

}  // namespace pbprobe
