// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Where packages are installed below a folder: in an environment, the root of a container, a Nix result and what it
// propagates.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "core/facts/inventory.hpp"

namespace pbprobe {

struct FoundEnvironments {
  std::vector<std::filesystem::path> folders;  // each with *.dist-info in it
};

[[nodiscard]] FoundEnvironments environments_in(const std::filesystem::path& root);

// Returns `packages` (a site-packages folder), then the folders that its .pth files name, then those of the base Python
// if pyvenv.cfg says include-system-site-packages. Folders without packages and torch are left out, `packages` is not.
[[nodiscard]] std::vector<std::filesystem::path> sys_path(const std::filesystem::path& packages);

// Returns the prefix of the base Python whose packages the virtual environment `root` sees; nullopt if it sees none.
[[nodiscard]] std::optional<std::filesystem::path> find_base_prefix(const std::filesystem::path& root);

// Returns the site-packages folder of the virtual environment that was audited, if its torch is in another folder of
// its sys.path; nullopt otherwise.
[[nodiscard]] std::optional<std::filesystem::path> find_packages_above_torch(const Inventory& inventory);

struct LinkedTorch {
  std::filesystem::path torch;     // the folder of version.py, in a checkout
  std::filesystem::path packages;  // that of the environment, with the package's metadata
};

// Follows *.pth, pyvenv.cfg (include-system-site-packages) and *.egg-link files, the MAPPING of setuptools' finders and
// direct_url.json of the environment's or the folder's own site-packages. Nothing of it is run. `named`: folders that
// they name and that hold no torch.
[[nodiscard]] std::optional<LinkedTorch> linked_torch(const std::filesystem::path& root,
                                                      std::vector<std::filesystem::path>* named = nullptr);

// Returns the lines of a .pth file that are folders. Lines that Python executes are left out.
[[nodiscard]] std::vector<std::filesystem::path> folders_of_pth(const std::string& text);

// The trees that an editable install is imported from, by its direct_url.json (PEP 610): {"url": "file:///src/pytorch",
// "dir_info": {"editable": true}}. Empty: it is none.
[[nodiscard]] std::vector<std::filesystem::path> folders_of_editable(const std::string& direct_url);

}  // namespace pbprobe
