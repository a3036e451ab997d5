// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Packages of a folder, each with its own files: by RECORD, or without a RECORD by the folders that its name implies.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "probes/audit/packages/layout.hpp"
#include "probes/audit/packages/record.hpp"

namespace pbprobe {

struct InstalledPackage {
  ArtifactLayout layout;  // layout of kind "distribution", with one package
  std::string info;       // "xformers-0.0.35.dist-info"; "" for files without an owner
  std::string installer;  // "pip", "uv", "conda"; "" if unknown
  std::vector<RecordedFile> record;
  bool relocated = false;  // files may differ from RECORD: conda, Nix and Debian change them later
  bool twin = false;       // another package has this name: the owner of the files is unknown
};

struct InstalledPackages {
  std::filesystem::path folder;
  std::filesystem::path environment;  // parent environment, with bin and lib
  std::vector<InstalledPackage> packages;
  std::vector<std::string> problems;
  std::vector<std::string> notes;  // no faults: how packages without a RECORD were read, links that lead out
};

// Returns the folder with *.dist-info: `root`, or site-packages of the environment `root`; nullopt without *.dist-info.
[[nodiscard]] std::optional<std::filesystem::path> packages_folder(const std::filesystem::path& root);

// Reports whether a path in RECORD stays in the environment. `pip install --target` moves scripts away from their paths
// in RECORD.
[[nodiscard]] bool stays_inside(const InstalledPackages& installed, const std::filesystem::path& path);

// Returns the packages of each folder on sys.path, `folder` first. A package that an earlier folder has is left out.
[[nodiscard]] std::vector<InstalledPackages> packages_on_path(const std::filesystem::path& folder);

// Reads the packages in one folder (site-packages), not in other folders on sys.path.
[[nodiscard]] InstalledPackages installed_packages(const std::filesystem::path& folder);

// Returns the packages with shared objects or device code in the environments below `root`.
[[nodiscard]] std::vector<ArtifactLayout> list_packages_with_code(const std::filesystem::path& root);

}  // namespace pbprobe
