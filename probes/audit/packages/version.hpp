// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Versions as the artifact's own small files say them. They are read as text; no Python runs.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/facts/inventory.hpp"
#include "core/result.hpp"

namespace pbprobe {

struct Versions {
  std::optional<std::string> torch;  // "2.11.0+cu130"
  std::optional<std::string> cuda;   // "13.0"; null: a CPU build, or not known
  std::optional<std::string> git;
  std::vector<StatedVersion> stated;  // each assignment of version.py; of the others what they say
  std::vector<Error> problems;        // what in these files is not as they are written
};

// From version.py, whose last assignment counts, else build-version and build-hash (libtorch archives), else
// TorchConfigVersion.cmake.
[[nodiscard]] Versions read_versions(const std::map<std::string, std::string>& texts);

}  // namespace pbprobe
