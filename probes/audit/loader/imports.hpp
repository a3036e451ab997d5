// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// What a process has mapped that imports torch, or opens an extension after it: by the files, to be held against what
// came.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/facts/loading.hpp"
#include "probes/audit/loader/extensions.hpp"

namespace pbprobe {

class Imports {
 public:
  // `library_path`: LD_LIBRARY_PATH, as whoever imports them has it.
  Imports(const std::filesystem::path& packages, const std::string& library_path);

  // The environment's interpreter by the name that makes it one; empty: it has none that could be followed.
  [[nodiscard]] std::filesystem::path python() const;

  // torch first, then each file of another package that links it. Of files whose names differ by numbers only, and of
  // which one should load, the others are left out; so is what its package has to open other libraries for.
  [[nodiscard]] std::vector<Import> predicted();

  // What of `loaded` is not as predicted.
  void compare(Import& tried);

 private:
  void predict(const InstalledPackage& package, std::vector<Import>& all);

  std::vector<InstalledPackages> path_;
  Extensions extensions_;
};

}  // namespace pbprobe
