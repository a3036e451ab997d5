// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Checks that an artifact is one package of one version.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/pep440.hpp"
#include "probes/judge/subjects.hpp"

namespace pbprobe {
namespace {

constexpr std::string_view kTorch = "torch";
constexpr std::string_view kVersionPy = "torch/version.py:";

std::string format_package_title(const Package& package) {
  return fmt::format("{} ({} {})", package.folder, package.name.value_or("no name"), package.version.value_or("?"));
}

Answer package_is_one(const Facts& facts) {
  const auto& packages = facts.inventory->packages;
  if (packages.empty()) return {};
  if (packages.size() > 1) {
    std::vector<std::string> titles;
    for (const auto& package : packages) titles.push_back(format_package_title(package));
    return {.seen = {{say("the artifact contains the metadata of {} packages, and torch is one package: {}",
                          packages.size(), fmt::join(titles, ", ")),
                      packages.back().folder}}};
  }
  const Package& package = packages.front();
  const bool torch = file_named(*facts.inventory, kLibtorchCpu) != nullptr || facts.inventory->torch_version;
  if (!torch || !package.name || package_name(*package.name) == kTorch) return {};
  return {.seen = {{say("the files belong to torch, and the package's metadata names {} {}", *package.name,
                        package.version.value_or("without a version")),
                    package.folder + "/METADATA"}}};
}

Answer version_is_assigned_once(const Facts& facts) {
  Answer answer;
  const auto& stated = facts.inventory->stated_versions;
  for (size_t i = 0; i < stated.size(); ++i) {
    if (!stated[i].where.starts_with(kVersionPy)) continue;
    const auto later =
        std::find_if(stated.begin() + static_cast<std::ptrdiff_t>(i) + 1, stated.end(), [&](const auto& other) {
          return other.of == stated[i].of && other.where.starts_with(kVersionPy) && other.stated != stated[i].stated;
        });
    if (later == stated.end()) continue;
    answer.seen.push_back({say("{} says {} {}, and {} says {}", stated[i].where, stated[i].of, stated[i].stated,
                               later->where, later->stated),
                           "torch/version.py"});
  }
  return answer;
}

// libtorch returns its release from code (aoti_torch_abi_version): three numbers, without a suffix.
Answer libraries_are_of_version(const Facts& facts) {
  Answer answer;
  const auto package = parse_python_version(facts.inventory->torch_version.value_or(""));
  if (!package) return answer;
  for (const auto& file : facts.inventory->files) {
    if (!is_own(*facts.inventory, file) || !file.links) continue;
    const auto known = file.links->versions.find(std::string(kTorch));
    if (known == file.links->versions.end()) continue;
    const auto own = parse_python_version(known->second);
    PythonVersion release = *package;
    release.pre = std::nullopt;
    release.post = release.dev = std::nullopt;
    release.local.clear();
    if (own && same_version(*own, release)) continue;
    answer.seen.push_back({say("the code of {} returns the version torch {}, and the package states {}",
                               base_name(file.path), known->second, *facts.inventory->torch_version),
                           file.path});
  }
  return answer;
}

// Users edit Python files of an installed torch. Only missing files and changed libraries are faults.
void ask_installed(Answer& answer, const RecordedFiles& recorded) {
  if (!recorded.changed_libraries.empty()) {
    const ChangedLibrary& first = recorded.changed_libraries.front();
    answer.seen.push_back(
        {say("{} of the libraries that torch's RECORD lists were changed after the installation: {} has {}",
             recorded.changed_libraries.size(), first.path, make_words(first.how)),
         first.path});
  }
  const auto& missing = recorded.first_missing;
  const bool breaks_import = std::ranges::any_of(missing, [](const std::string& path) {
    return path.ends_with(".py");  // small installations leave headers and stubs out
  });
  if (breaks_import || (recorded.reinstall && recorded.missing > 0))
    answer.seen.push_back({say("{} of the {} files that torch's RECORD lists are missing: {}", recorded.missing,
                               recorded.files, fmt::join(missing, ", ")),
                           missing.front()});
}

Answer is_as_recorded(const Facts& facts) {
  Answer answer;
  const Inventory& inventory = *facts.inventory;
  for (const auto& fault : inventory.faults.value_or(std::vector<std::string>{}))
    answer.seen.push_back({.what = say("{}", fault)});
  if (inventory.recorded) ask_installed(answer, *inventory.recorded);
  return answer;
}

}  // namespace

std::vector<Check> identity_checks() {
  using enum Need;
  return {
      {.id = "PB134",
       .needs = {inventory, whole},
       .remedy = "install one torch into an empty environment: pip shows and removes what the metadata says",
       .ask = package_is_one},
      {.id = "PB135",
       .needs = {inventory, whole},
       .remedy = "do not edit torch/version.py, which torch's build generates (tools/generate_torch_version.py): "
                 "install this torch again",
       .ask = version_is_assigned_once},
      {.id = "PB136",
       .needs = {inventory, whole},
       .remedy = "build libraries and package from one source: one of them is left over from another build",
       .ask = libraries_are_of_version},
      {.id = "PB182",
       .needs = {inventory, record},
       .of_any = true,
       .remedy = "pack the wheel again after the last change to its files: `python -m wheel pack`; if the package is "
                 "installed, install it again",
       .ask = is_as_recorded},
  };
}

}  // namespace pbprobe
