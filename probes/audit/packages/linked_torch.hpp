// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// An environment whose torch lies elsewhere: what `pip install -e` leaves in site-packages in place of it.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

namespace pbprobe {

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
