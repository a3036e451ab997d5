// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Checks that the libraries and compilers that libtorch needs and opens exist and fit together.
#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/cuda_releases.hpp"
#include "core/major_minor.hpp"
#include "probes/judge/libraries/needed_files.hpp"
#include "probes/judge/subjects.hpp"

namespace pbprobe {
namespace {

// Returns "libcublas" for "libcublas.so.13".
std::string_view get_soname_stem(std::string_view soname) {
  return soname.substr(0, soname.find(".so"));
}

std::vector<const ToolkitRelease*> find_toolkit_releases(std::string_view cuda) {
  std::vector<const ToolkitRelease*> releases;
  for (const auto& release : all_cuda_releases()) {
    if (is_version_of(release.release, cuda)) releases.push_back(&release);
  }
  return releases;
}

// Returns the sonames of a CUDA library in these releases; empty if the library is not a part of the toolkit.
std::set<std::string_view> list_sonames(const std::vector<const ToolkitRelease*>& releases, std::string_view stem) {
  std::set<std::string_view> names;
  for (const auto* release : releases) {
    for (const auto& component : release->components) {
      for (const auto& soname : component.sonames) {
        if (get_soname_stem(soname) == stem) names.insert(soname);
      }
    }
  }
  return names;
}

// Reports whether an update of this release brings that version, or does not list the component.
bool may_bring(const std::vector<const ToolkitRelease*>& updates, std::string_view component,
               std::string_view version) {
  return std::ranges::any_of(updates, [&](const ToolkitRelease* update) {
    const auto& entries = update->components;
    const auto is_it = [&](const ToolkitComponent& entry) { return entry.component == component; };
    const auto found = std::ranges::find_if(entries, is_it);
    return found == entries.end() || fits_release(*found, version);
  });
}

// Returns the versions of toolkit libraries by package or file names; for a wheel, also by its requirements.
std::map<std::string, std::string> toolkit_versions(const Inventory& inventory) {
  std::map<std::string, std::string> versions;
  for (const auto* known : {&inventory.component_versions, &inventory.required_versions}) {
    if (!*known || (known == &inventory.required_versions && inventory.layout != "wheel")) continue;
    for (const auto& [component, version] : **known) {
      if (is_toolkit_component(component)) versions.emplace(component, version);
    }
  }
  return versions;
}

using Versions = std::map<std::string, std::string>;  // version by component: {"cuBLAS": "12.8.4.1"}

// Returns the components whose version no update of the release brings.
Versions find_mismatches(Versions versions, const std::vector<const ToolkitRelease*>& updates) {
  std::erase_if(versions, [&](const auto& one) { return may_bring(updates, one.first, one.second); });
  return versions;
}

// Returns "cuBLAS 12.8.4.1, cuFFT 11.4.1.4".
std::string join_versions(const Versions& versions) {
  std::vector<std::string> names;
  for (const auto& [component, version] : versions) names.push_back(component + " " + version);
  return fmt::format("{}", fmt::join(names, ", "));
}

// Reports whether torch's installed package asks for exactly this version: no reinstallation of torch changes it.
bool is_pinned_by_torch(const Inventory& inventory, const std::string& component, const std::string& version) {
  if (inventory.layout == "wheel" || !inventory.required_versions) return false;
  const auto pinned = inventory.required_versions->find(component);
  return pinned != inventory.required_versions->end() && is_version_of(version, pinned->second);
}

// Release with the fewest mismatches. One release, "12.6", has all its updates together: torch 2.7.1 pins NVRTC of
// 12.6.2 and cuBLAS of 12.6.3.
struct Fit {
  std::string release;
  Versions mismatches;
};

Fit find_best_fit(const Versions& versions) {
  std::map<MajorMinor, std::vector<const ToolkitRelease*>> releases;
  for (const auto& update : all_cuda_releases()) {
    if (const auto number = parse_major_minor(update.release)) releases[*number].push_back(&update);
  }
  std::optional<Fit> best;
  for (const auto& [number, updates] : releases) {
    auto mismatches = find_mismatches(versions, updates);
    if (!best || mismatches.size() <= best->mismatches.size())
      best = {fmt::format("{}.{}", number.major, number.minor), std::move(mismatches)};
  }
  return best.value_or(Fit{});
}

// Returns the run-time compilers that cannot compile for a chip of this capability.
std::vector<const File*> find_compilers_without_sm(const Inventory& inventory, const Sm& gpu) {
  std::vector<const File*> files;
  for (const auto& file : inventory.files) {
    if (!file.compiler || base_name(file.path).find(".alt.") != std::string_view::npos) continue;
    const auto& knows = file.compiler->knows;
    const bool knows_it = std::ranges::any_of(knows, [&](const std::string& name) {
      const auto cubin = parse_sm(name);
      return cubin && same_capability(*cubin, gpu);
    });
    if (!knows_it) files.push_back(&file);
  }
  return files;
}

// Reports whether each GPU that the compiler knows is newer: CUDA 13 dropped Volta and older chips.
bool has_dropped(const Compiler& compiler, const Sm& gpu) {
  return !compiler.knows.empty() && std::ranges::none_of(compiler.knows, [&](const std::string& name) {
    const auto known = parse_sm(name);
    return known && Sm{known->major, known->minor} < Sm{gpu.major, gpu.minor};
  });
}

Seen ignorance(const File& file, const Sm& gpu, std::string_view chip) {
  const char* const other = has_dropped(*file.compiler, gpu) ? "an older one, as of CUDA 12" : "a newer one";
  return {.what = say(
              "{} {} does not support {}: code that it compiles at run time fails there (torch.compile, for example)",
              base_name(file.path), file.compiler->version.value_or("of unknown version"), chip),
          .where = file.path,
          .remedy = file.component == "PTX compiler"
                        ? std::optional(fmt::format("give Triton {}: TRITON_PTXAS_PATH=/path/to/ptxas", other))
                        : std::nullopt};
}

// Reports whether Triton's other ptxas knows the chip. Triton calls a separate ptxas for Blackwell.
bool another_knows(const Inventory& inventory, const File& file, const Sm& gpu) {
  if (file.component != "PTX compiler") return false;
  const std::string folder = file.path.substr(0, file.path.rfind('/') + 1);
  return std::ranges::any_of(inventory.files, [&](const File& other) {
    return other.compiler && other.path.starts_with(folder) &&
           other.path.find('/', folder.size()) == std::string::npos &&
           std::ranges::any_of(other.compiler->knows, [&](const std::string& name) {
             const auto cubin = parse_sm(name);
             return cubin && same_capability(*cubin, gpu);
           });
  });
}

// Adds compilers that do not know the chip. Without `ptxas`, skips Triton's ptxas, which the preflight judges.
void ask_compilers(Answer& answer, const Inventory& inventory, const std::string& capability, bool ptxas) {
  const auto gpu = parse_sm(capability);
  if (!gpu) return;
  for (const File* file : find_compilers_without_sm(inventory, *gpu)) {
    if (!ptxas && file->component == "PTX compiler") continue;
    if (!another_knows(inventory, *file, *gpu)) answer.seen.push_back(ignorance(*file, *gpu, capability));
  }
}

Answer cuda_is_one_major(const Facts& facts) {
  if (!facts.inventory->cuda_version) return {};
  const auto releases = find_toolkit_releases(*facts.inventory->cuda_version);
  if (releases.empty()) return {};  // newer than the table
  std::map<std::string, const File*> foreign;
  for (const File* file : collect_closure(*facts.inventory)) {
    for (const auto& name : file->needed) {
      const auto names = list_sonames(releases, get_soname_stem(name));
      if (!names.empty() && !names.contains(name)) foreign.emplace(name, file);
    }
  }
  if (foreign.empty()) return {};
  std::vector<std::string> known;
  for (const auto& [name, file] : foreign)
    known.push_back(
        fmt::format("{} (there it is {})", name, fmt::join(list_sonames(releases, get_soname_stem(name)), ", ")));
  return {.seen = {{.what = say("torch is built with CUDA {}, and it needs libraries of another release: {}",
                                *facts.inventory->cuda_version, fmt::join(known, ", ")),
                    .where = foreign.begin()->second->path}}};
}

Answer toolkit_is_one_release(const Facts& facts) {
  if (facts.inventory->store_closure) return {};  // PB130 judges the whole closure
  const Inventory& inventory = *facts.inventory;
  auto versions = toolkit_versions(inventory);
  if (versions.size() < 2) return {};
  Fit fit = find_best_fit(versions);
  if (fit.mismatches.size() * 2 > versions.size()) return {};  // a release that the table does not contain
  std::erase_if(fit.mismatches, [&](const auto& one) { return is_pinned_by_torch(inventory, one.first, one.second); });
  if (fit.mismatches.empty()) return {};
  return {.seen = {{.what = say("most CUDA libraries belong to CUDA release {}, but these do not: {}", fit.release,
                                join_versions(fit.mismatches)),
                    .remedy = reinstall_torch(inventory)}}};
}

Answer toolkit_is_claimed(const Facts& facts) {
  if (!facts.claim->cuda || !cuda_matches_claim(facts)) return {};  // reported already
  const auto versions = toolkit_versions(*facts.inventory);
  const auto releases = find_toolkit_releases(*facts.claim->cuda);
  if (versions.empty() || releases.empty()) return {};
  const auto mismatches = find_mismatches(versions, releases);
  if (mismatches.empty()) return {};
  return {.seen = {{say("CUDA {} is claimed, and these libraries belong to no release of it: {}", *facts.claim->cuda,
                        join_versions(mismatches))}}};
}

Answer compilers_know_claim(const Facts& facts) {
  Answer answer;
  for (const Target* target : facts.claimed_gpus)
    ask_compilers(answer, *facts.inventory, target->capability.value_or(""), true);
  return answer;
}

Answer compilers_know_host(const Facts& facts) {
  Answer answer;
  if (!facts.cuda_build) return answer;
  const auto& preflight = facts.report.preflight;
  const bool ptxas = !preflight || preflight->ptxas.empty();
  std::set<std::string> asked;
  for (const auto& gpu : facts.gpus) {
    if (asked.insert(gpu.capability).second) ask_compilers(answer, *facts.inventory, gpu.capability, ptxas);
  }
  return answer;
}

Answer opened_parts_exist(const Facts& facts) {
  Answer answer;
  for (const auto& file : facts.inventory->files) {
    for (const auto& opened : list_opened(file)) {
      const bool part = opened.name.starts_with("libcudnn_") || opened.name.starts_with("libnvrtc-builtins");
      if (!part || opened.provider != Provider::unresolved) continue;
      answer.seen.push_back(
          {say("{} opens {} at run time, and that file is missing", base_name(file.path), opened.name), file.path});
    }
  }
  return answer;
}

Answer openmp_is_one(const Facts& facts) {
  std::map<std::string, const File*> runtimes;  // a file that needs the library, by path, else by name
  for (const File* file : collect_closure(*facts.inventory)) {
    for (const auto& dependency : list_dependencies(*file)) {
      constexpr std::array kRuntimes{"libgomp", "libiomp5", "libomp"};
      const std::string stem(get_soname_stem(dependency.name));
      const bool runtime = std::ranges::any_of(
          kRuntimes, [&](const char* name) { return stem == name || stem.starts_with(std::string(name) + "-"); });
      if (runtime) runtimes.emplace(dependency.path.value_or(dependency.name), file);
    }
  }
  if (runtimes.size() < 2) return {};
  std::vector<std::string_view> names;
  for (const auto& [name, file] : runtimes) names.push_back(name);
  return {.seen = {{say("{} OpenMP libraries are loaded together: {}", runtimes.size(), fmt::join(names, ", ")),
                    runtimes.rbegin()->second->path}}};
}

Answer driver_is_not_shipped(const Facts& facts) {
  Answer answer;
  for (const auto& file : facts.inventory->files) {
    const bool stub =
        base_name(file.path).starts_with("libcuda.so") || file.soname.value_or("").starts_with("libcuda.so");
    if (stub)
      answer.seen.push_back(
          {"the package ships a libcuda, which belongs to the driver: a stub hides the driver's libcuda", file.path});
    if (!is_own(*facts.inventory, file)) continue;
    for (const auto* folders : {&file.rpath, &file.runpath}) {
      const auto found = std::find_if(folders->begin(), folders->end(), [](const std::string& folder) {
        return folder.find("/stubs") != std::string::npos;
      });
      if (found == folders->end()) continue;
      answer.seen.push_back(
          {say("the RPATH or RUNPATH of this file names {}, which holds a stub of the driver's libcuda", *found),
           file.path});
    }
  }
  return answer;
}

}  // namespace

std::vector<const File*> collect_closure(const Inventory& inventory) {
  std::map<std::string_view, const File*> by_path;
  std::vector<const File*> closure;
  std::set<const File*> seen;
  for (const auto& file : inventory.files) {
    by_path[file.path] = &file;
    if (is_own(inventory, file) && seen.insert(&file).second) closure.push_back(&file);
  }
  for (size_t i = 0; i < closure.size(); ++i) {
    for (const auto& dependency : list_dependencies(*closure[i])) {
      const auto found = dependency.path ? by_path.find(*dependency.path) : by_path.end();
      if (found != by_path.end() && seen.insert(found->second).second) closure.push_back(found->second);
    }
  }
  return closure;
}

std::vector<Check> closure_checks() {
  using enum Need;
  return {
      {.id = "PB110",
       .needs = {cuda_build, inventory, whole},
       .remedy =
           "look for a second CUDA among the build's inputs: libraries of two major versions do not work together",
       .ask = cuda_is_one_major},
      {.id = "PB111",
       .severity = Severity::warn,
       .needs = {inventory, whole},
       .remedy =
           "install torch again from the same source: that installs the library versions that torch's package requires",
       .ask = toolkit_is_one_release},
      {.id = "PB112",
       .needs = {cuda_claim, inventory, whole},
       .remedy = "move the whole package set to that CUDA, not only torch",
       .ask = toolkit_is_claimed},
      {.id = "PB113",
       .subject = Subject::gpu,
       .severity = Severity::warn,
       .needs = {claim, inventory},
       .remedy = "ship a compiler library of a CUDA version that supports the claimed GPU",
       .ask = compilers_know_claim},
      {.id = "PB114",
       .subject = Subject::gpu,
       .severity = Severity::warn,
       .needs = {host, inventory},
       .remedy = "use a build whose NVRTC and nvJitLink know this GPU",
       .ask = compilers_know_host},
      {.id = "PB116",
       .severity = Severity::warn,
       .needs = {inventory, whole},
       .remedy = "install that library again: one of its files is missing",
       .ask = opened_parts_exist},
      {.id = "PB117",
       .severity = Severity::warn,
       .needs = {inventory},
       .remedy =
           "link all files with one OpenMP library: a second one in the process reduces the threads, or deadlocks",
       .ask = openmp_is_one},
      {.id = "PB118",
       .severity = Severity::warn,
       .needs = {inventory},
       .remedy = "leave libcuda and the folder of stubs out of the package",
       .ask = driver_is_not_shipped},
  };
}

}  // namespace pbprobe
