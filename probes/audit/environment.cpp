// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/audit/environment.hpp"

#include <algorithm>
#include <system_error>

#include "probes/audit/audit_layout.hpp"
#include "probes/audit/packages/distributions.hpp"
#include "probes/audit/packages/walk.hpp"

namespace pbprobe {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kWheel = ".whl";

std::vector<fs::path> wheels_in(const fs::path& folder) {
  std::vector<fs::path> wheels;
  for (const auto& name : names_in(folder)) {
    if (name.ends_with(kWheel)) wheels.push_back(folder / name);
  }
  return wheels;
}

void audit_wheels(const std::vector<fs::path>& wheels, const AuditOptions& options,
                  const std::function<void(Inventory)>& each, AuditedPackages& audited) {
  for (const auto& wheel : wheels) {
    auto inventory = audit(wheel, options);
    if (inventory) {
      each(std::move(*inventory));
    } else if (inventory.error().code == ErrorCode::not_found) {
      ++audited.without_files;
    } else {
      audited.problems.push_back(inventory.error().message);
    }
  }
}

// Opening these takes longer than everything else of an environment.
AuditOptions options_for(const Layout& layout, AuditOptions options) {
  const bool cuda = layout.packages.front().folder.starts_with("nvidia_");
  if (cuda && !options.kernel_names) options.open_libraries = false;
  return options;
}

}  // namespace

bool holds_packages(const fs::path& folder) {
  std::error_code error;
  return fs::is_directory(folder, error) && (packages_folder(folder).has_value() || !wheels_in(folder).empty());
}

Result<AuditedPackages> audit_packages(const fs::path& artifact, const AuditOptions& options,
                                       const std::function<void(Inventory)>& each) {
  AuditedPackages audited;
  std::error_code error;
  const bool folder = fs::is_directory(artifact, error);
  if (const auto packages = folder ? packages_folder(artifact) : std::nullopt) {
    InstalledPackages installed = installed_packages(*packages);
    audited.problems = std::move(installed.problems);
    audited.notes = std::move(installed.notes);
    for (auto& layout : installed.layouts) {
      if (layout.items.empty() && layout.problems.empty()) {
        ++audited.without_files;
        continue;
      }
      const AuditOptions own = options_for(layout, options);
      each(audit_layout(layout, installed.folder, own));
    }
    return audited;
  }
  const auto wheels = folder ? wheels_in(artifact) : std::vector<fs::path>();
  if (wheels.empty()) {
    PBPROBE_TRY(Inventory inventory, audit(artifact, options));
    each(std::move(inventory));
    return audited;
  }
  audit_wheels(wheels, options, each, audited);
  return audited;
}

}  // namespace pbprobe
