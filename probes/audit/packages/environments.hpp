// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Folders of installed packages: below an environment, the root of a container or a Nix result, on sys.path, and in a
// checkout that `pip install -e` links to.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "core/facts/inventory.hpp"

namespace pbprobe {

struct FoundEnvironments {
  std::vector<std::filesystem::path> folders;  // folders with *.dist-info
};

// Finds folders with *.dist-info in the environment `root`, anywhere in an unpacked system, or in a Nix result.
[[nodiscard]] FoundEnvironments find_environments(const std::filesystem::path& root);

// Returns `packages` (a site-packages folder), then the folders in its .pth files, then the folders of the base Python
// if pyvenv.cfg sets include-system-site-packages. Omits other folders without packages and torch.
[[nodiscard]] std::vector<std::filesystem::path> sys_path(const std::filesystem::path& packages);

// Returns the prefix of the base Python whose packages the virtual environment `root` sees; nullopt if it sees none.
[[nodiscard]] std::optional<std::filesystem::path> find_base_prefix(const std::filesystem::path& root);

// Returns the site-packages folder of the virtual environment that was audited, if its torch is in another folder of
// its sys.path; nullopt otherwise.
[[nodiscard]] std::optional<std::filesystem::path> find_packages_above_torch(const Inventory& inventory);

struct LinkedTorch {
  std::filesystem::path torch;     // folder of version.py, in a checkout
  std::filesystem::path packages;  // site-packages of the environment, with the metadata
};

// Finds a linked torch by *.pth, pyvenv.cfg (include-system-site-packages), *.egg-link, the MAPPING of setuptools'
// finders and direct_url.json in the site-packages of `root`. Runs no code. Adds named folders without torch to
// `named`.
[[nodiscard]] std::optional<LinkedTorch> linked_torch(const std::filesystem::path& root,
                                                      std::vector<std::filesystem::path>* named = nullptr);

// Returns the folders of a .pth file, without the lines that Python executes.
[[nodiscard]] std::vector<std::filesystem::path> folders_of_pth(const std::string& text);

// Returns the source trees of an editable install by its direct_url.json (PEP 610): {"url": "file:///src/pytorch",
// "dir_info": {"editable": true}}. Returns nothing for other installs.
[[nodiscard]] std::vector<std::filesystem::path> folders_of_editable(const std::string& direct_url);

}  // namespace pbprobe
