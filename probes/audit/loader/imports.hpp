// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Prediction of the libraries that a process maps when it imports torch, or opens an extension after torch. The
// prediction is compared with a real import.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/facts/loading.hpp"
#include "probes/audit/loader/extensions.hpp"

namespace pbprobe {

// Predictor of the libraries that a process maps when it imports torch, or opens an extension after torch. compare()
// records the differences from a real import.
class Imports {
 public:
  // `library_path`: LD_LIBRARY_PATH of the importing process.
  Imports(const std::filesystem::path& packages, const std::string& library_path);

  // Returns the interpreter of the environment; "" if none was found.
  [[nodiscard]] std::filesystem::path python() const;

  // Returns torch first, then each file of another package that links torch. Omits a file that should not load if
  // another file should whose path differs only by digits. Omits files for which their package opens other libraries
  // first.
  [[nodiscard]] std::vector<Import> predicted();

  // Records the differences between `loaded` and the prediction.
  void compare(Import& tried);

 private:
  void predict(const InstalledPackage& package, std::vector<Import>& all);

  std::vector<InstalledPackages> path_;
  Extensions extensions_;
};

}  // namespace pbprobe
