// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Checks that the closure of a Nix result contains all that its files need, in one version each.
#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/cuda_releases.hpp"
#include "probes/judge/subjects.hpp"

namespace pbprobe {
namespace {

bool is_inside(std::string_view path, std::string_view folder) {
  return path.starts_with(folder) && (path.size() == folder.size() || path[folder.size()] == '/');
}

// Returns "/nix/store/" for "/nix/store/<hash>-name".
std::string_view get_store_folder(const StoreClosure& closure) {
  const std::string_view first = closure.paths.front().path;
  return first.substr(0, first.rfind('/') + 1);
}

bool holds(const StoreClosure& closure, std::string_view path) {
  return std::ranges::any_of(closure.paths, [&](const StorePath& entry) { return is_inside(path, entry.path); });
}

std::optional<Seen> unknown_closure(const StoreClosure& closure) {
  return Seen{.what = closure.problem.value_or("nix-store reported no path"),
              .remedy = "run `pbprobe audit` on the machine whose Nix store holds the result"};
}

// Returns the answer of a check that has no closure; nullopt if the closure was read.
std::optional<Answer> without_closure(const Facts& facts) {
  const auto& closure = facts.inventory->store_closure;
  if (!closure) return Answer{};
  if (closure->problem || closure->paths.empty()) return Answer{.seen = {}, .unknown = unknown_closure(*closure)};
  return std::nullopt;
}

void ask_needed(Answer& answer, const StoreClosure& closure, const File& file) {
  if (!file.links) return;
  for (const auto& dependency : file.links->dependencies) {
    const bool elsewhere = dependency.provider == Provider::outside || dependency.provider == Provider::system;
    if (!elsewhere || !dependency.path || holds(closure, *dependency.path)) continue;
    answer.seen.push_back({say("{} needs {}, which is found at {}, outside of the artifact's Nix closure",
                               base_name(file.path), dependency.name, *dependency.path),
                           file.path});
  }
}

// Reports store folders that the closure lacks, unless ask_needed() found a library there.
void ask_folders(Answer& answer, const StoreClosure& closure, const File& file) {
  for (const auto* folders : {&file.rpath, &file.runpath}) {
    for (const auto& folder : *folders) {
      if (!folder.starts_with(get_store_folder(closure)) || holds(closure, folder)) continue;
      const bool known = file.links && std::ranges::any_of(file.links->dependencies, [&](const Dependency& dependency) {
                           return dependency.path && is_inside(*dependency.path, folder);
                         });
      if (known) continue;
      answer.seen.push_back({say("{} searches the folder {} for libraries, which the artifact's Nix closure lacks",
                                 base_name(file.path), folder),
                             file.path});
    }
  }
}

// Returns "12.8" for "cuda12.8-cuda_cudart", and for packages that have the version of the toolkit.
std::optional<std::string> parse_nix_cuda(const StorePath& path) {
  const size_t dash = path.package.find('-');
  const std::string version = path.version.value_or("");
  if (path.package.starts_with("cuda") && dash != std::string::npos &&
      parse_major_minor(path.package.substr(4, dash - 4)))
    return path.package.substr(4, dash - 4);
  const bool same_version = path.package == "cudatoolkit" || path.package == "cuda-merged" ||
                            path.component == "CUDA runtime" || path.component == "nvcc" || path.component == "NVRTC";
  if (!same_version) return std::nullopt;
  const size_t minor = version.find('.');
  if (minor == std::string::npos) return std::nullopt;
  return version.substr(0, version.find('.', minor + 1));
}

// First path with each release or version: {"12.8": "/nix/store/<hash>-cuda12.8-cuda_cudart-12.8.90"}.
using Tellers = std::map<std::string, std::string>;

Seen several(std::string_view what, const Tellers& tellers) {
  std::vector<std::string> parts;
  for (const auto& [version, path] : tellers) parts.push_back(fmt::format("{} ({})", version, base_name(path)));
  return {.what = say("the closure holds {}: {}", make_words(what), fmt::join(parts, ", ")),
          .where = tellers.begin()->second};
}

Answer files_stay_in_store_closure(const Facts& facts) {
  if (auto answer = without_closure(facts)) return std::move(*answer);
  const StoreClosure& closure = *facts.inventory->store_closure;
  Answer answer;
  for (const auto& path : closure.paths) {
    if (path.there) continue;
    answer.seen.push_back(
        {.what = say("{} is in the artifact's Nix closure, and the Nix store lacks it", base_name(path.path)),
         .where = path.path,
         .remedy = "fetch or build it again: nix-store --verify --check-contents --repair"});
  }
  for (const auto& file : facts.inventory->files) {
    ask_needed(answer, closure, file);
    ask_folders(answer, closure, file);
  }
  return answer;
}

Answer store_closure_has_one_cuda(const Facts& facts) {
  if (auto answer = without_closure(facts)) return std::move(*answer);
  Tellers releases;
  std::map<std::string, Tellers> components;
  for (const auto& path : facts.inventory->store_closure->paths) {
    if (const auto release = parse_nix_cuda(path)) releases.emplace(*release, path.path);
    if (path.component && path.version && is_toolkit_component(*path.component))
      components[*path.component].emplace(*path.version, path.path);
  }
  if (releases.size() > 1) return {.seen = {several("more than one CUDA toolkit", releases)}};
  Answer answer;
  for (const auto& [component, versions] : components) {
    if (versions.size() > 1) answer.seen.push_back(several("more than one " + component, versions));
  }
  return answer;
}

Answer store_closure_has_one_libc(const Facts& facts) {
  if (auto answer = without_closure(facts)) return std::move(*answer);
  Tellers versions;
  for (const auto& path : facts.inventory->store_closure->paths) {
    if (path.package == "glibc" && path.version) versions.emplace(*path.version, path.path);
  }
  if (versions.size() < 2) return {};
  return {.seen = {several("more than one glibc", versions)}};
}

}  // namespace

std::vector<Check> nix_checks() {
  using enum Need;
  return {
      {.id = "PB129",
       .needs = {store, inventory, whole},
       .remedy = "add the package that holds this path to the inputs of the build, and build again: an installation "
                 "copies only the closure",
       .ask = files_stay_in_store_closure},
      {.id = "PB130",
       .needs = {store, inventory, whole},
       .remedy = "move the whole package set to one CUDA (an overlay of cudaPackages): `nix-store -q --referrers` "
                 "shows which package needs the other CUDA",
       .ask = store_closure_has_one_cuda},
      {.id = "PB131",
       .severity = Severity::warn,
       .needs = {store, inventory, whole},
       .remedy =
           "take all inputs from one nixpkgs: a library built for the newer glibc does not load with the older one",
       .ask = store_closure_has_one_libc},
  };
}

}  // namespace pbprobe
