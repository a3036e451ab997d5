// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// The packages that were installed into a folder, each with the files that are its own: by its RECORD, and where there
// is none by the folders that its name stands for.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "probes/audit/packages/layout.hpp"

namespace pbprobe {

struct RecordedFile {
  std::string path;  // relative to the folder of packages, unchanged
  std::string hash;  // "sha256=…", or empty
  std::optional<uint64_t> size_bytes;
};

struct Record {
  std::vector<RecordedFile> files;
  std::optional<Error> fault;  // the first invalid line; the other lines are kept
};

[[nodiscard]] Record parse_record(std::string_view text);
struct InstalledPackage {
  ArtifactLayout layout;  // of kind "distribution", with one package
  std::string info;       // "xformers-0.0.35.dist-info"; empty: the files that nobody owns
  std::string installer;  // "pip", "uv", "conda"; empty: it does not say
  std::vector<RecordedFile> record;
  bool relocated = false;  // its files were changed after it had recorded them: conda, Nix and Debian do
  bool twin = false;       // another one has its name: whose files are there is not known
};

struct InstalledPackages {
  std::filesystem::path folder;
  std::filesystem::path environment;  // that the folder belongs to: with bin and lib
  std::vector<InstalledPackage> packages;
  std::vector<std::string> problems;
  std::vector<std::string> notes;  // no faults: how packages without a RECORD were read, links that lead out
};

// The folder with *.dist-info in it: this one, or site-packages of the environment that it is. Null: there is none.
[[nodiscard]] std::optional<std::filesystem::path> packages_folder(const std::filesystem::path& root);

// Whether a path, as RECORD has it, stays in the environment. `pip install --target` puts scripts elsewhere than it
// says.
[[nodiscard]] bool stays_inside(const InstalledPackages& installed, const std::filesystem::path& path);

// Returns the packages of each folder on sys.path, `folder` first. A package that an earlier folder has is left out.
[[nodiscard]] std::vector<InstalledPackages> packages_on_path(const std::filesystem::path& folder);

[[nodiscard]] InstalledPackages installed_packages(const std::filesystem::path& folder);

}  // namespace pbprobe
