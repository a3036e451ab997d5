// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// sys.path of an environment's interpreter, as site.py computes it: folders with installed packages. Nothing is run.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "core/facts/inventory.hpp"

namespace pbprobe {

// Returns `packages` (a site-packages folder), then the folders that its .pth files name, then those of the base Python
// if pyvenv.cfg says include-system-site-packages. Folders without packages and torch are left out, `packages` is not.
[[nodiscard]] std::vector<std::filesystem::path> sys_path(const std::filesystem::path& packages);

// Returns the prefix of the base Python whose packages the virtual environment `root` sees; nullopt if it sees none.
[[nodiscard]] std::optional<std::filesystem::path> find_base_prefix(const std::filesystem::path& root);

// Returns the site-packages folder of the virtual environment that was audited, if its torch is in another folder of
// its sys.path; nullopt otherwise.
[[nodiscard]] std::optional<std::filesystem::path> find_packages_above_torch(const Inventory& inventory);

}  // namespace pbprobe
