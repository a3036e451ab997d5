// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// From a folder of packages to a row each.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/facts/environment.hpp"
#include "core/major_minor.hpp"
#include "core/result.hpp"
#include "core/sm.hpp"
#include "probes/audit/audit.hpp"

namespace pbprobe {

struct EnvironmentRequest {
  std::vector<std::filesystem::path> artifacts;
  std::vector<Sm> gpus;                      // counts the kernels of each package for these GPUs
  std::optional<MajorMinor> driver = {};     // CUDA version of this machine's driver, for the GPUs of this machine
  std::string library_path;                  // LD_LIBRARY_PATH of programs in the environment
  std::filesystem::path cache = {};          // see AuditOptions::cache
  const std::vector<File>* known = nullptr;  // see AuditOptions::known
  bool beside_torch = false;                 // torch is judged elsewhere
  bool minimum_cpus = true;                  // counts the machine code of packages, which takes minutes
  bool other_machine = false;                // the packages are judged for another machine (--host)
  std::function<void(std::string_view step)> progress;
};

// Audits packages: one row each, sorted by name. With several artifacts, an unreadable artifact becomes a problem of
// the result. Errors, for a single artifact: as for audit().
[[nodiscard]] Result<Environment> make_environment(const EnvironmentRequest& request);

}  // namespace pbprobe
