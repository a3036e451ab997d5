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
  std::vector<Sm> gpus;                      // what each package has for them is counted, kernel by kernel
  std::optional<MajorMinor> driver = {};     // the CUDA of the driver that is here, whose GPUs they are
  std::string library_path;                  // LD_LIBRARY_PATH, as programs of the environment have it
  std::filesystem::path cache = {};          // as AuditOptions::cache
  const std::vector<File>* known = nullptr;  // as AuditOptions::known
  bool beside_torch = false;                 // torch itself is judged elsewhere, and nobody asks for minimum CPUs
  std::function<void(std::string_view step)> progress;
};

// What `pbprobe audit` does where a row of each package is wanted. What cannot be read of several artifacts becomes a
// problem. Errors: those of `audit`, of one artifact.
[[nodiscard]] Result<Environment> make_environment(const EnvironmentRequest& request);

}  // namespace pbprobe
