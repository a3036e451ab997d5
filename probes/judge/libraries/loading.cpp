// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Checks that the loader accepts a package's extension modules and finds what they need.
#include <algorithm>
#include <array>
#include <cstdint>
#include <set>
#include <span>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/c_library.hpp"
#include "core/demangle.hpp"
#include "core/package_index.hpp"
#include "core/pep440.hpp"
#include "core/torch_names.hpp"
#include "core/torch_symbols.hpp"
#include "probes/judge/libraries/library_packages.hpp"
#include "probes/judge/libraries/load_faults.hpp"
#include "probes/judge/subjects.hpp"

namespace pbprobe {
namespace {

// Names the file with the need: the module ("_C.so"), or a library of it ("libx.so, which _C.so loads,").
std::string describe_requirer(const Loading& loading, const std::string& needed_by) {
  const std::string module(base_name(loading.path));
  return needed_by.ends_with("/" + loading.path) ? module : fmt::format("{}, which {} loads,", needed_by, module);
}

InWords and_others(const LoadFault& fault) {
  if (fault.files < 2) return make_words("");
  const auto more = fault.files - 1;
  return make_words(fmt::format("; {} more of its files {} not load", more, more == 1 ? "does" : "do"));
}

std::optional<std::string> get_torch_requirement(const Inventory& inventory) {
  return inventory.packages.empty() ? std::nullopt : inventory.packages.front().torch;
}

// Returns the requirements that the environment lacks, without torch, which explain_requirement() names by version.
std::vector<std::string> list_absent(const Inventory& inventory) {
  std::vector<std::string> absent;
  if (!inventory.packages.empty()) absent = inventory.packages.front().absent.value_or(std::vector<std::string>());
  std::erase_if(absent, [](const std::string& one) { return one.substr(0, one.find_first_of("=<>!~@")) == "torch"; });
  return absent;
}

// Returns "; its METADATA requires numkong>=7.8.6, which is not installed", or "".
std::string explain_absent(const Inventory& inventory) {
  const auto absent = list_absent(inventory);
  if (absent.empty()) return "";
  return fmt::format("; its METADATA requires {}, which {} not installed", fmt::join(absent, ", "),
                     absent.size() == 1 ? "is" : "are");
}

std::optional<std::string> install_absent(const Inventory& inventory) {
  const auto absent = list_absent(inventory);
  return absent.empty() ? std::nullopt : std::optional(fmt::format("pip install '{}'", fmt::join(absent, "' '")));
}

// Returns "; its METADATA requires torch==2.9.1, and torch 2.11.0 is installed"; "" if METADATA names no version.
std::string explain_requirement(const Inventory& inventory) {
  const auto asked = get_torch_requirement(inventory);
  if (!asked) return "";
  const std::string installed =
      inventory.torch_beside ? fmt::format("torch {} is installed", *inventory.torch_beside) : "no torch is installed";
  return fmt::format("; its METADATA requires torch{}, and {}", *asked, installed);
}

// Reports whether the rule `how` takes a library from outside of the packages.
bool is_from_outside(const std::optional<std::string>& how) {
  return how == "LD_LIBRARY_PATH" || how == "ld.so.cache" || how == "the system's default folders";
}

std::string explain_rule(const std::optional<std::string>& how) {
  return is_from_outside(how) ? fmt::format(" (found by {})", *how) : "";
}

std::string describe_library_remedy(const std::string& how, const std::string& library) {
  const std::string folder = library.substr(0, library.rfind('/'));
  if (how == "LD_LIBRARY_PATH") return fmt::format("remove {} from LD_LIBRARY_PATH", folder);
  return fmt::format("remove {} from the folders of the system's loader (/etc/ld.so.conf.d), or the library from it",
                     folder);
}

// Returns 12 for "libcudart.so.12"; nullopt for libraries that do not tell the CUDA version.
std::optional<int64_t> parse_library_cuda(std::string_view library) {
  constexpr std::array<std::string_view, 3> kTelling{"libcudart.so.", "libcublas.so.", "libcublasLt.so."};
  for (const auto begin : kTelling) {
    if (!library.starts_with(begin)) continue;
    const std::string_view number = library.substr(begin.size());
    if (number.empty() || number.size() > 3 || number.find_first_not_of("0123456789") != number.npos)
      return std::nullopt;
    return std::stoll(std::string(number));
  }
  return std::nullopt;
}

// Returns the libraries that `first` lacks, then libraries that only other files of the package lack.
std::vector<std::string> find_missing_names(const Inventory& inventory, const Loading& first) {
  std::vector<std::string> names;
  const auto add = [&](const Loading& loading) {
    for (const auto& library : loading.missing_libraries) {
      if (std::ranges::find(names, library.name) == names.end()) names.push_back(library.name);
    }
  };
  add(first);
  for (const Loading* loading : find_unloadable(inventory)) add(*loading);
  return names;
}

// Returns "libcudart.so.12 (nvidia-cuda-runtime-cu12) and libmade.so.1".
std::string name_libraries(std::span<const ProvidedLibrary> libraries) {
  std::string text;
  for (size_t i = 0; i < libraries.size(); ++i) {
    text += i == 0 ? "" : i + 1 < libraries.size() ? ", " : " and ";
    text += libraries[i].name;
    if (libraries[i].package) text += fmt::format(" ({})", *libraries[i].package);
  }
  return text;
}

// Reports whether the package has the file in variants that differ only in numbers, as libbitsandbytes_cuda126.so.
bool has_variants_for_cuda(const Inventory& inventory, const Loading& loading) {
  return std::ranges::any_of(inventory.files, [&](const File& file) {
    return file.path != loading.path && without_numbers(file.path) == without_numbers(loading.path);
  });
}

bool belongs_to_torch(const ProvidedLibrary& library) {
  return library.name.starts_with("libtorch") || library.name.starts_with("libc10");
}

// Returns the remedy for libraries that belong to another torch than the installed one; nullopt if none does.
std::optional<std::string> describe_other_torch(const Inventory& inventory, std::span<const ProvidedLibrary> missing) {
  const auto is_any = [&](auto&& holds) { return std::ranges::any_of(missing, holds); };
  const auto asked = get_torch_requirement(inventory);
  if (!inventory.torch_beside) return fmt::format("install torch{} beside it", asked ? " " + *asked : "");
  const bool of_cuda = is_any([](const ProvidedLibrary& one) { return one.name.find("_cuda.so") != one.name.npos; });
  if (!of_cuda || local_cuda(*inventory.torch_beside)) return std::nullopt;
  std::string cuda = "CUDA";
  for (const auto& one : missing) {
    if (const auto major = parse_library_cuda(one.name)) cuda = fmt::format("CUDA {}", *major);
  }
  return fmt::format(
      "torch {} is a build without CUDA: install torch {} for {} (https://download.pytorch.org/whl has "
      "an index for each CUDA), or the build of it for CPUs",
      *inventory.torch_beside, get_release(*inventory.torch_beside), cuda);
}

// Returns what to install if the package is for another CUDA than torch; nullopt if it may need a CUDA of its own.
std::optional<std::string> describe_cuda_remedy(const Inventory& inventory, const Loading& loading) {
  const auto torch = local_cuda(inventory.torch_beside.value_or(""));
  if (!torch) return std::nullopt;
  const auto major = parse_library_cuda(loading.missing_libraries.front().name);
  if (major && *major != torch->major && links_torch(inventory, loading))
    return fmt::format("install the build of the package for CUDA {}, which torch {} uses, or a torch for CUDA {}",
                       torch->major, *inventory.torch_beside, *major);
  if (!has_variants_for_cuda(inventory, loading)) return std::nullopt;
  const std::string name = inventory.packages.front().name.value_or("");
  return fmt::format(
      "install a release of {} with a library for CUDA {}, which torch {} uses: pip install --upgrade {} {}", name,
      torch->major, *inventory.torch_beside, name, make_torch_pin(*inventory.torch_beside));
}

// Returns what to install if no package of a package index is known to have the libraries.
std::string describe_unknown_libraries(const Inventory& inventory, std::span<const ProvidedLibrary> missing) {
  std::vector<std::string> unknown;
  for (const auto& library : missing) {
    if (!library.package) unknown.push_back(library.name);
  }
  const std::string packages = fmt::format("the system's packages that contain {}", fmt::join(unknown, ", "));
  const auto absent = install_absent(inventory);
  return absent ? fmt::format("install what METADATA requires: {}; if that is not enough, {}", *absent, packages)
                : fmt::format("install {}, or the build for the installed libraries", packages);
}

enum class Part : uint8_t { required, optional, gpu };

Part classify_part(const Inventory& inventory, const LoadFault& fault) {
  if (is_gpu_part(inventory, fault)) return Part::gpu;
  return is_optional_part(inventory, fault) ? Part::optional : Part::required;
}

Answer check_missing_libraries(const Facts& facts, Part part) {
  const auto fault = find_load_fault(facts, LoadFaultKind::library);
  if (!fault || classify_part(*facts.inventory, *fault) != part) return {};
  const auto& own = fault->loading->missing_libraries;
  const MissingLibrary& first = own.front();
  const auto torch = local_cuda(facts.inventory->torch_beside.value_or(""));
  const auto missing = find_packages(find_missing_names(*facts.inventory, *fault->loading),
                                     torch ? std::optional(torch->major) : std::nullopt);
  const bool one_needs_all =
      std::ranges::all_of(own, [&](const MissingLibrary& one) { return one.needed_by == first.needed_by; });
  std::set<std::string> own_names;
  for (const auto& library : own) own_names.insert(library.name);
  const std::span all(missing);
  const std::string others = name_libraries(all.subspan(own_names.size()));
  Seen seen{
      .what = say("{}: {} needs {}, which neither the environment nor the system has{}{}{}{}", facts.torch,
                  one_needs_all ? describe_requirer(*fault->loading, first.needed_by)
                                : std::string(base_name(fault->loading->path)),
                  name_libraries(all.first(own_names.size())), and_others(*fault),
                  make_words(others.empty() ? "" : "; they also need " + others),
                  make_words(explain_absent(*facts.inventory)),
                  make_words(part == Part::gpu ? "; its modules load, so that only its code for a GPU fails" : "")),
      .where = fault->loading->path,
      .remedy = make_install_command(missing, facts.inventory->torch_beside.value_or(""))};
  const auto needed = all.first(own_names.size());
  if (seen.remedy) *seen.remedy += ", or the build of it for the installed libraries";
  if (std::ranges::none_of(needed, [](const auto& library) { return library.package.has_value(); }))
    seen.remedy = describe_unknown_libraries(*facts.inventory, needed);
  if (auto remedy = describe_cuda_remedy(*facts.inventory, *fault->loading)) seen.remedy = std::move(remedy);
  if (std::ranges::any_of(needed, belongs_to_torch)) {
    if (auto remedy = describe_other_torch(*facts.inventory, missing)) seen.remedy = std::move(remedy);
  }
  return {.seen = {std::move(seen)}};
}

Answer libraries_are_found(const Facts& facts) {
  return check_missing_libraries(facts, Part::required);
}

Answer libraries_of_parts_are_found(const Facts& facts) {
  return check_missing_libraries(facts, Part::optional);
}

Answer versions_are_defined(const Facts& facts) {
  const auto fault = find_load_fault(facts, LoadFaultKind::version);
  if (!fault) return {};
  const MissingVersion& first = fault->loading->missing_versions.front();
  return {.seen = {{say("{}: {} needs symbol version {}, but {}{} does not define it{}", facts.torch,
                        describe_requirer(*fault->loading, first.needed_by), first.version, first.library,
                        make_words(explain_rule(first.how)), and_others(*fault)),
                    fault->loading->path}}};
}

// Returns a name in torch's namespaces that no known release has.
std::optional<std::string> find_unknown_name(const Inventory& inventory) {
  for (const auto& file : inventory.files) {
    if (file.links && file.links->torch_symbols.unknown) return file.links->torch_symbols.unknown->front();
  }
  return std::nullopt;
}

// Explains which torch releases have the names that all files of the package need. A name in torch's namespaces that
// no release has and no loaded file defines leaves no release.
std::string describe_loadable_releases(const Inventory& inventory) {
  TorchReleases all = TorchReleases::all();
  for (const auto& file : inventory.files) {
    if (file.links && file.links->torch_symbols.releases) all &= TorchReleases::of(*file.links->torch_symbols.releases);
  }
  for (const Loading* loading : find_unloadable(inventory)) {
    for (const auto& symbol : loading->unresolved) {
      if (is_torch_name(inventory, *loading, symbol)) all &= TorchReleases::of(symbol.releases);
    }
  }
  const auto unknown = find_unknown_name(inventory);
  if (all.empty() && unknown && has_old_string(*unknown)) return explain_unknown_torch_name(*unknown);
  if (all.empty())
    return fmt::format("none of torch {} has all the symbols that the package needs", known_torch_releases());
  return fmt::format("the package loads only with torch {}", join_ranges(all.names()));
}

// Returns the commands that install another build of the package, or another torch. Empty if METADATA accepts the
// installed torch, so that pip would change nothing.
std::string describe_torch_remedy(const Inventory& inventory) {
  const auto asked = get_torch_requirement(inventory);
  const auto installed = parse_python_version(inventory.torch_beside.value_or(""));
  if (!asked || !installed || satisfies(*installed, *asked)) return "";
  const Package& package = inventory.packages.front();
  return fmt::format(
      "install the {0} that is made for this torch: pip install --upgrade {0} {1}; or the torch that "
      "this one requires: pip install {0}{2} 'torch{3}'{4}",
      package.name.value_or(""), make_torch_pin(*inventory.torch_beside),
      package.version ? "==" + *package.version : "", *asked, make_index_option(*inventory.torch_beside));
}

Seen lacking_in_torch(const Facts& facts, const LoadFault& fault) {
  const Inventory& inventory = *facts.inventory;
  const std::string remedy = describe_torch_remedy(inventory);
  return {
      .what = say("{}: {} needs {}, which torch {} lacks: {}{}{}", facts.torch,
                  describe_requirer(*fault.loading, fault.of_torch->needed_by), demangled(fault.of_torch->name),
                  *inventory.torch_beside, make_words(describe_loadable_releases(inventory)),
                  make_words(explain_requirement(inventory)), and_others(fault)),
      .where = fault.loading->path,
      .remedy = remedy.empty()
                    ? fmt::format("install the build of the package for torch {}, or the torch that the package was "
                                  "built with",
                                  *inventory.torch_beside)
                    : remedy};
}

Seen lacking_in_library(const Facts& facts, const LoadFault& fault, const UnresolvedSymbol& symbol) {
  Seen seen{.what = say("{}: {} needs {}@{}, which {}{} does not define{}{}", facts.torch,
                        describe_requirer(*fault.loading, symbol.needed_by), demangled(symbol.name),
                        symbol.version.value_or(""), *symbol.library, make_words(explain_rule(symbol.how)),
                        make_words(explain_requirement(*facts.inventory)), and_others(fault)),
            .where = fault.loading->path};
  if (is_from_outside(symbol.how)) seen.remedy = describe_library_remedy(*symbol.how, *symbol.library);
  return seen;
}

Answer symbols_are_resolved(const Facts& facts) {
  const auto fault = find_load_fault(facts, LoadFaultKind::symbol);
  if (!fault) return {};
  if (fault->of_torch != nullptr) return {.seen = {lacking_in_torch(facts, *fault)}};
  const UnresolvedSymbol& first = fault->loading->unresolved.front();
  if (first.library) return {.seen = {lacking_in_library(facts, *fault, first)}};
  const char* const elsewhere = is_in_installed_release(*facts.inventory, first)
                                    ? ": this release of torch has it in a library that it does not link, or in "
                                      "another build, as for CUDA"
                                    : "";
  return {.seen = {{say("{}: {} needs {}, which nothing defines that is loaded with it{}{}{}{}", facts.torch,
                        describe_requirer(*fault->loading, first.needed_by), demangled(first.name),
                        make_words(elsewhere), make_words(explain_requirement(*facts.inventory)),
                        make_words(explain_absent(*facts.inventory)), and_others(*fault)),
                    fault->loading->path, install_absent(*facts.inventory)}}};
}

// Skips packages that do not load: other checks report these.
Answer torch_is_as_asked(const Facts& facts) {
  const Inventory& inventory = *facts.inventory;
  const std::string remedy = describe_torch_remedy(inventory);
  if (remedy.empty() || (inventory.loading && !find_unloadable(inventory).empty())) return {};
  return {.seen = {{.what = say("{} requires torch{}, and torch {} is installed", facts.torch,
                                *get_torch_requirement(inventory), *inventory.torch_beside),
                    .remedy = remedy}}};
}

// Skips packages that do not load: the check of the load fault names the library.
Answer libraries_are_the_packages_own(const Facts& facts) {
  const Inventory& inventory = *facts.inventory;
  if (!inventory.redirected || (inventory.loading && !find_unloadable(inventory).empty())) return {};
  Answer answer;
  for (const auto& library : *inventory.redirected) {
    answer.seen.push_back(
        {.what = say("{}: the library {} is taken from {} (found by {}), and not from {}", facts.torch, library.name,
                     library.taken, make_words(library.how), library.installed),
         .where = library.taken,
         .remedy = describe_library_remedy(library.how, library.taken)});
  }
  return answer;
}

// Judges only files that link torch: other files bring their own CUDA on purpose.
Answer check_shared_cuda(const Facts& facts) {
  const Inventory& inventory = *facts.inventory;
  const auto torch = local_cuda(inventory.torch_beside.value_or(""));
  if (!torch || (inventory.loading && !find_unloadable(inventory).empty())) return {};
  for (const auto& file : inventory.files) {
    const bool linked = std::ranges::any_of(file.needed, [](const std::string& name) {
      return name.starts_with("libtorch") || name.starts_with("libc10");
    });
    for (const auto& library : file.needed) {
      const auto major = parse_library_cuda(library);
      if (!linked || !major || *major == torch->major) continue;
      return {.seen = {{.what = say("{}: {} needs {}, and torch {} is built with CUDA {}", facts.torch,
                                    base_name(file.path), library, *inventory.torch_beside, torch->major),
                        .where = file.path,
                        .remedy = fmt::format("install the build of the package for CUDA {}, or a torch for CUDA {}",
                                              torch->major, *major)}}};
    }
  }
  return {};
}

Answer files_match_processor(const Facts& facts) {
  if (!facts.inventory->other_processor) return {};
  const OtherProcessor& other = *facts.inventory->other_processor;
  Seen seen{.where = other.first, .remedy = other.reinstall};
  if (other.expected == kMusl)
    seen.remedy =
        "install a musllinux wheel of the package, or build the package in this container; if no such wheel exists, as "
        "for torch, use a "
        "container with glibc, such as Debian";
  if (other.expected.find("Python") != other.expected.npos) {
    seen.what = say("{} is built for {}, and the environment has {}: Python does not find its modules", facts.torch,
                    make_words(other.processor), make_words(other.expected));
  } else if (other.whole) {
    seen.what = say("{} is built for {}, and {} for {}", facts.torch, other.processor, make_words(other.known_by),
                    other.expected);
  } else {
    const std::string more = other.files < 2 ? "" : fmt::format("; {} more of its files too", other.files - 1);
    seen.what = say("{}: {} cannot load: the file is for {}, and {} for {}{}", facts.torch, base_name(other.first),
                    other.processor, make_words(other.known_by), other.expected, make_words(more));
  }
  return {.seen = {std::move(seen)}};
}

// Reports folders of site-packages with machine code that no package recorded. Skips Debian's packages, which have no
// RECORD, and eggs, an older kind of package.
Answer files_belong_to_packages(const Facts& facts) {
  const Inventory& inventory = *facts.inventory;
  const bool ownerless =
      inventory.layout == "distribution" && !inventory.packages.empty() && inventory.packages.front().folder.empty();
  if (!ownerless || base_name(inventory.artifact) == "dist-packages") return {};
  std::vector<std::string> folders;
  int64_t files = 0;
  for (const auto& file : inventory.files) {
    const std::string folder = file.path.substr(0, file.path.find('/'));
    if (folder.ends_with(".egg")) continue;
    ++files;
    if (std::ranges::find(folders, folder) == folders.end()) folders.push_back(folder);
  }
  if (folders.empty()) return {};
  const std::string more = folders.size() > 3 ? fmt::format(" and {} more", folders.size() - 3) : "";
  const std::vector<std::string> first(folders.begin(), folders.begin() + std::min<size_t>(folders.size(), 3));
  return {
      .seen = {{.what = say("no installed package recorded {} {} with machine code in {}{}: a package left them, or "
                            "they were put there by hand",
                            files, select_by_number(files, "file", "files"), fmt::format("{}", fmt::join(first, ", ")),
                            make_words(more)),
                .where = inventory.files.front().path}}};
}

}  // namespace

Answer libraries_of_gpu_parts_are_found(const Facts& facts) {
  return check_missing_libraries(facts, Part::gpu);
}

std::vector<Check> loading_checks() {
  using enum Need;
  return {
      {.id = "PB161",
       .needs = {inventory, environment},
       .of_any = true,
       .remedy = "install the package that brings the library, or the build for the installed one",
       .ask = libraries_are_found},
      {.id = "PB162",
       .needs = {inventory, environment},
       .of_any = true,
       .remedy = "use a newer system or a newer copy of the library, or a build for an older one",
       .ask = versions_are_defined},
      {.id = "PB163",
       .needs = {inventory, environment},
       .of_any = true,
       .remedy = "install the build for the installed libraries",
       .ask = symbols_are_resolved},
      {.id = "PB164",
       .severity = Severity::warn,
       .needs = {inventory, environment},
       .of_any = true,
       .remedy = "install both at once, so that one installer chooses a pair",
       .ask = torch_is_as_asked},
      {.id = "PB165",
       .severity = Severity::warn,
       .needs = {inventory, environment},
       .of_any = true,
       .remedy = "install the build of the package for torch's CUDA: two CUDA runtimes in a process share no streams "
                 "or handles",
       .ask = check_shared_cuda},
      {.id = "PB166",
       .severity = Severity::note,
       .needs = {inventory, environment},
       .of_any = true,
       .remedy =
           "nothing to fix if you do not use the part of the package that needs the library; else install the library",
       .ask = libraries_of_parts_are_found},
      {.id = "PB178",
       .needs = {inventory, processors},
       .of_any = true,
       .is_cause = true,
       .remedy = "install the package again with the environment's own Python, on a machine with that processor",
       .ask = files_match_processor},
      {.id = "PB180",
       .severity = Severity::warn,
       .needs = {inventory, environment},
       .of_any = true,
       .remedy = "remove the folder from LD_LIBRARY_PATH or from the loader's configuration",
       .ask = libraries_are_the_packages_own},
      {.id = "PB179",
       .severity = Severity::note,
       .needs = {inventory, other},
       .of_any = true,
       .remedy = "install the package of these files again, so that its RECORD lists them, or remove the files",
       .ask = files_belong_to_packages},
  };
}

}  // namespace pbprobe
