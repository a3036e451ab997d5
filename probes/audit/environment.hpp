// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// The audit of many packages, in an environment or a folder of wheels.
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
  std::filesystem::path environment;      // environment of an installed package; "" for an artifact
  std::string installer;                  // installer of an installed package: "pip", "uv"
  std::optional<RecordedFiles> recorded;  // comparison with RECORD; null without a RECORD, and for an artifact
};

struct AuditedPackages {
  std::filesystem::path environment;  // environment of all packages; "" for several or none
  std::optional<std::string> interpreter;
  std::vector<SharedLibrary> shared_libraries;
  int64_t without_files = 0;  // packages without files to read
  std::vector<std::string> problems;
  std::vector<std::string> notes;
};

// Reports whether the folder is an environment, contains installed packages, or directly contains wheels. Searches the
// root of a system to a depth of 5.
[[nodiscard]] bool holds_packages(const std::filesystem::path& folder);

// Reports whether the folder contains packages, but no torch, not even a broken one or its metadata.
[[nodiscard]] bool holds_only_other_packages(const std::filesystem::path& folder);

struct PackagesOptions {
  AuditOptions audit;
  std::string library_path;  // LD_LIBRARY_PATH, for the loader
};

// Passes the inventory of each package with readable files to `each`, in the order of names. Opens device code of
// CUDA's own libraries only for `kernel_names`. Errors: the errors of audit(), for a single artifact.
[[nodiscard]] Result<AuditedPackages> audit_packages(const std::filesystem::path& artifact,
                                                     const PackagesOptions& options,
                                                     const std::function<void(AuditedPackage)>& each);

}  // namespace pbprobe
