// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/audit/environment.hpp"

#include <algorithm>
#include <set>
#include <system_error>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/open_file.hpp"
#include "core/pep440.hpp"
#include "probes/audit/audit_layout.hpp"
#include "probes/audit/loader/extensions.hpp"
#include "probes/audit/loader/inside_root.hpp"
#include "probes/audit/packages/distributions.hpp"
#include "probes/audit/packages/environments.hpp"
#include "probes/audit/packages/ownership.hpp"
#include "probes/audit/packages/packages.hpp"
#include "probes/audit/packages/processors.hpp"
#include "probes/audit/packages/version.hpp"
#include "probes/audit/packages/walk.hpp"
#include "probes/audit/packages/wheel_name.hpp"

namespace pbprobe {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kWheel = ".whl";

std::vector<fs::path> list_wheels(const fs::path& folder) {
  std::vector<fs::path> wheels;
  for (const auto& name : list_entry_names(folder)) {
    if (name.ends_with(kWheel)) wheels.push_back(folder / name);
  }
  return wheels;
}

// NVIDIA's own libraries would take longer than all other files of an environment.
AuditOptions adjust_options(const std::string& name, AuditOptions options) {
  const bool cuda = name.starts_with("nvidia_");
  if (cuda && !options.kernel_names) options.open_libraries = false;
  if (cuda) options.host_code = HostCodeScope::none;
  return options;
}

AuditOptions adjust_options(const InstalledPackage& package, const AuditOptions& given) {
  AuditOptions options = adjust_options(package.info, given);
  options.digests = !package.record.empty() && !package.relocated;
  return options;
}

void audit_wheels(const std::vector<fs::path>& wheels, const AuditOptions& options,
                  const std::function<void(AuditedPackage)>& each, AuditedPackages& audited) {
  for (const auto& wheel : wheels) {
    if (is_for_other_system(wheel.filename().string())) {
      audited.notes.push_back(wheel.filename().string() + ": not read, since it is for another system than Linux");
      continue;
    }
    auto inventory = audit(wheel, adjust_options(wheel.filename().string(), options));
    if (inventory) {
      each({.inventory = std::move(*inventory)});
    } else if (inventory.error().code == ErrorCode::not_found) {
      ++audited.without_files;
    } else {
      audited.problems.push_back(inventory.error().message);
    }
  }
}

std::vector<std::string> list_change_sentences(const RecordedFiles& recorded, const std::string& info) {
  std::vector<std::string> sentences;
  for (const auto& [path, how, other] : recorded.changed_libraries) {
    const std::string whose = other ? fmt::format(": {} wrote the same path", *other) : "";
    sentences.push_back(fmt::format("{}: it has {} than {} recorded{}", path, how, info, whose));
  }
  return sentences;
}

// Returns a note on missing and changed files if no library is among them: people edit Python.
std::optional<std::string> describe_changed_files(const RecordedFiles& recorded, const std::string& info) {
  std::vector<std::string> first = recorded.first_missing;
  first.insert(first.end(), recorded.first_changed.begin(), recorded.first_changed.end());
  if (recorded.reinstall || first.empty()) return std::nullopt;
  std::vector<std::string> parts;
  if (recorded.missing > 0) parts.push_back(fmt::format("{} missing", recorded.missing));
  if (recorded.changed > 0) parts.push_back(fmt::format("{} changed", recorded.changed));
  return fmt::format(
      "{}: files were removed or changed after the installation: {} of the {} in its RECORD, no library among them; "
      "the first is {}",
      info, fmt::join(parts, " and "), recorded.files, first.front());
}

std::optional<std::string> read_module_version(const fs::path& module) {
  const auto text = read_whole_file(module);
  const auto assignments = text ? read_assignments(*text) : Result<std::vector<Assignment>>(text.error());
  if (!assignments) return std::nullopt;
  for (const auto& [name, value, is_text, line] : *assignments) {
    if (name == "__version__" && is_text) return value;
  }
  return std::nullopt;
}

// Returns the version that Python imports: METADATA of the package index's wheels omits "+cu130", and an older torch
// may have left its METADATA.
std::optional<std::string> version_of_torch(const std::vector<InstalledPackages>& path) {
  for (const auto& installed : path) {
    for (const auto& package : installed.packages) {
      const PackageText& text = package.layout.packages.front();
      const Package one = make_package(text.folder, text.metadata);
      if (!one.name || package_name(*one.name) != "torch" || !one.version) continue;
      const auto imported = read_module_version(installed.folder / "torch/version.py");
      return imported ? imported : one.version;
    }
  }
  return std::nullopt;
}

template <class T>
void append(std::vector<T>& all, std::vector<T> more) {
  std::move(more.begin(), more.end(), std::back_inserter(all));
}

// Returns the names of all packages on sys.path, including packages without machine code.
std::set<std::string> list_package_names(const std::vector<InstalledPackages>& path) {
  std::set<std::string> names;
  for (const auto& installed : path) {
    for (const auto& entry : list_entry_names(installed.folder)) {
      const bool is_package =
          entry.ends_with(".dist-info") || entry.ends_with(".egg-info") || entry.ends_with(".egg-link");
      if (is_package) names.insert(package_name(entry.substr(0, std::min(entry.find('-'), entry.rfind('.')))));
    }
  }
  return names;
}

// Facts of an environment that its packages share.
struct Surroundings {
  std::optional<std::string> torch;  // version of the one that is imported
  std::set<std::string> packages;    // names of all packages
};

// One folder of sys.path.
void audit_folder(const InstalledPackages& installed, const PackagesOptions& options, Extensions& extensions,
                  const Surroundings& shared, const std::function<void(AuditedPackage)>& each,
                  AuditedPackages& audited) {
  const Owners owners(installed.packages);
  const Processors processors(installed, root_above(installed.folder));
  append(audited.problems, installed.problems);
  append(audited.notes, installed.notes);
  for (const auto& package : installed.packages) {
    AuditedPackage one{
        .inventory = audit_layout(package.layout, installed.folder, adjust_options(package, options.audit)),
        .environment = installed.environment,
        .installer = package.installer};
    one.inventory.loading = extensions.of(package, one.inventory.files);
    one.inventory.redirected = extensions.find_redirected(package);
    one.inventory.torch_beside = shared.torch;
    for (auto& known : one.inventory.packages)
      known.absent = find_absent_requirements(package.layout.packages.front().metadata, shared.packages);
    one.inventory.other_processor = processors.other(package);
    one.recorded = compare_with_record(installed, package, one.inventory.files, owners);
    if (one.recorded) {
      append(one.inventory.problems, list_change_sentences(*one.recorded, package.info));
      if (auto note = describe_changed_files(*one.recorded, package.info)) audited.notes.push_back(std::move(*note));
    }
    if (package.layout.items.empty() && one.inventory.problems.empty()) {
      ++audited.without_files;
    } else {
      each(std::move(one));
    }
  }
}

AuditedPackages audit_installed(const fs::path& folder, const PackagesOptions& options,
                                const std::function<void(AuditedPackage)>& each) {
  const std::vector<InstalledPackages> path = packages_on_path(folder);
  const InstalledPackages& installed = path.front();
  const fs::path root = root_above(installed.folder);
  Extensions extensions(path, options.library_path, root);
  const Surroundings shared{.torch = version_of_torch(path), .packages = list_package_names(path)};
  AuditedPackages audited{.environment = installed.environment};
  for (size_t i = 1; i < path.size(); ++i)
    audited.notes.push_back(fmt::format("packages in {} are on sys.path of {} too, and are audited",
                                        path[i].folder.string(), installed.folder.string()));
  audited.interpreter = extensions.interpreter();
  audited.shared_libraries = extensions.shared_libraries();
  if (!root.empty())
    audited.notes.push_back(
        fmt::format("pbprobe searched the libraries that {} needs in {}, the root of another system",
                    installed.folder.string(), root.string()));
  if (!extensions.not_started().empty())
    audited.notes.push_back(fmt::format(
        "pbprobe cannot predict which libraries load: the Python interpreter {} itself needs {}, which is missing",
        extensions.interpreter().value_or(""), extensions.not_started()));
  bool has_libraries = false;
  const auto seen = [&](AuditedPackage package) {
    has_libraries = has_libraries || !package.inventory.files.empty();
    each(std::move(package));
  };
  for (const auto& part : path) audit_folder(part, options, extensions, shared, seen, audited);
  if (!audited.interpreter && has_libraries)
    audited.notes.push_back(
        fmt::format("pbprobe cannot predict which libraries load: the folder {} belongs to no Python, as after pip "
                    "install --target; audit the environment that uses it",
                    installed.folder.string()));
  return audited;
}

AuditedPackages audit_each(const FoundEnvironments& found, const PackagesOptions& options,
                           const std::function<void(AuditedPackage)>& each) {
  if (found.folders.size() == 1) return audit_installed(found.folders.front(), options, each);
  AuditedPackages all;
  std::vector<std::string> names;
  for (const auto& folder : found.folders) {
    AuditedPackages one = audit_installed(folder, options, each);
    names.push_back(folder.string());
    all.without_files += one.without_files;
    append(all.shared_libraries, std::move(one.shared_libraries));
    append(all.problems, std::move(one.problems));
    append(all.notes, std::move(one.notes));
  }
  all.notes.push_back(fmt::format("packages were found in {}", fmt::join(names, ", ")));
  return all;
}

}  // namespace

bool holds_packages(const fs::path& folder) {
  std::error_code error;
  return fs::is_directory(folder, error) &&
         (!find_environments(folder).folders.empty() || !list_wheels(folder).empty());
}

bool holds_only_other_packages(const fs::path& folder) {
  if (!holds_packages(folder) || find_torch({folder})) return false;
  const auto found = find_environments(folder);
  return std::ranges::none_of(found.folders, [](const fs::path& packages) {
    const auto names = list_entry_names(packages);
    return std::ranges::any_of(
        names, [](const std::string& name) { return name.ends_with(".dist-info") && calls_itself_torch(name, ""); });
  });
}

Result<AuditedPackages> audit_packages(const fs::path& artifact, const PackagesOptions& options,
                                       const std::function<void(AuditedPackage)>& each) {
  std::error_code error;
  const bool folder = fs::is_directory(artifact, error);
  const FoundEnvironments found = folder ? find_environments(artifact) : FoundEnvironments{};
  if (!found.folders.empty()) return audit_each(found, options, each);
  AuditedPackages audited;
  const auto wheels = folder ? list_wheels(artifact) : std::vector<fs::path>();
  if (wheels.empty()) {
    PBPROBE_TRY(Inventory inventory, audit(artifact, options.audit));
    each({.inventory = std::move(inventory)});
    return audited;
  }
  audit_wheels(wheels, options.audit, each, audited);
  return audited;
}

}  // namespace pbprobe
