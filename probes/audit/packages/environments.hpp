// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Where packages are installed below a folder: in an environment, the root of a container, a Nix result and what it
// propagates.
#pragma once

#include <filesystem>
#include <vector>

namespace pbprobe {

struct FoundEnvironments {
  std::vector<std::filesystem::path> folders;  // each with *.dist-info in it
};

[[nodiscard]] FoundEnvironments environments_in(const std::filesystem::path& root);

}  // namespace pbprobe
