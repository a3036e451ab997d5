// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Versions as the artifact's own small files say them. They are read as text; no Python runs.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"

namespace pbprobe {

struct Versions {
  std::optional<std::string> torch;  // "2.11.0+cu130"
  std::optional<std::string> cuda;   // "13.0"; null: a CPU build, or not known
  std::optional<std::string> git;
  std::vector<Error> problems;  // what in these files is not as they are written
};

// The value of `name` in lines such as "cuda: Optional[str] = '13.0'"; null for None and where it is missing.
[[nodiscard]] std::optional<std::string> python_string(std::string_view text, std::string_view name);

// From version.py, else build-version and build-hash (libtorch archives), else TorchConfigVersion.cmake.
[[nodiscard]] Versions read_versions(const std::map<std::string, std::string>& texts);

}  // namespace pbprobe
