// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// The audit of many packages: of an environment, or of a folder of wheels.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/facts/environment.hpp"
#include "core/facts/inventory.hpp"
#include "core/result.hpp"
#include "probes/audit/audit.hpp"

namespace pbprobe {

struct AuditedPackage {
  Inventory inventory;
  std::filesystem::path environment;      // that it is installed into; empty: it is an artifact by itself
  std::string installer;                  // of an installed one: "pip", "uv"
  std::optional<RecordedFiles> recorded;  // null: it has no RECORD, or is an artifact by itself
};

struct AuditedPackages {
  std::filesystem::path environment;  // that they are installed into; empty: none, or several
  std::optional<std::string> interpreter;
  std::vector<SharedLibrary> shared_libraries;
  int64_t without_files = 0;  // that hold nothing which is read
  std::vector<std::string> problems;
  std::vector<std::string> notes;
};

// Whether the folder holds installed packages, or wheels.
[[nodiscard]] bool holds_packages(const std::filesystem::path& folder);

// The same, and torch is not among them: none is found, and none says that it was installed (one that is broken is).
[[nodiscard]] bool holds_only_other_packages(const std::filesystem::path& folder);

struct PackagesOptions {
  AuditOptions audit;
  std::string library_path;  // LD_LIBRARY_PATH, for the loader
};

// Hands over the inventory of each package with files that are read, in the order of their names: of an environment,
// a folder of packages or of wheels, or of one artifact. Of CUDA's own libraries device code is opened only where
// `kernel_names` are wanted. Errors: as `audit`, of an artifact by itself.
[[nodiscard]] Result<AuditedPackages> audit_packages(const std::filesystem::path& artifact,
                                                     const PackagesOptions& options,
                                                     const std::function<void(AuditedPackage)>& each);

}  // namespace pbprobe
