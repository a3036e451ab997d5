// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// CUDA's libraries that torch/__init__.py opens by their paths.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace pbprobe {

enum class PreloadOrder {
  of_torch_2_11,
  of_init_py,  // of this torch/__init__.py: libraries that it does not name are left out
};

// Returns the paths in order, up to the first library that is not installed beside `torch`, where torch stops.
// `cuda`: major version, "13".
[[nodiscard]] std::vector<std::filesystem::path> find_preloaded(const std::filesystem::path& torch,
                                                                const std::string& cuda, PreloadOrder order);

}  // namespace pbprobe
