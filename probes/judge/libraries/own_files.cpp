// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Checks that libtorch's files are complete, have their own names, and are found by the loader.
#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "core/facts/environment.hpp"
#include "core/search_rules.hpp"
#include "core/strings.hpp"
#include "probes/judge/libraries/library_packages.hpp"
#include "probes/judge/libraries/needed_files.hpp"
#include "probes/judge/subjects.hpp"

namespace pbprobe {
namespace {

bool is_libtorch_file(std::string_view name) {
  constexpr std::array<std::string_view, 4> kBegins{"libtorch", "libc10", "libcaffe2", "libshm"};
  return std::ranges::any_of(kBegins, [&](std::string_view begin) { return name.starts_with(begin); });
}

// Reports whether the artifact has a link to nowhere of this name: it should bring the library along.
bool is_broken_link(const Inventory& inventory, const std::string& name) {
  const auto links = inventory.broken_links.value_or(std::vector<std::string>());
  return std::ranges::any_of(links, [&](const std::string& link) { return base_name(link) == name; });
}

// Reports whether no file of the artifact has the name of this libtorch file. The loader looks for file names, not for
// DT_SONAMEs. Other checks report an artifact without libtorch_cpu.so or libtorch_cuda.so.
bool is_missing_part(const Inventory& inventory, const Dependency& dependency) {
  if (dependency.provider != Provider::unresolved) return false;
  if (is_broken_link(inventory, dependency.name)) return true;
  if (!is_libtorch_file(dependency.name)) return false;
  const bool large = dependency.name == kLibtorchCpu || dependency.name == kLibtorchCuda;
  if (large && file_named(inventory, dependency.name) == nullptr) return false;
  return std::ranges::none_of(inventory.files,
                              [&](const File& file) { return base_name(file.path) == dependency.name; });
}

// Returns the libraries that a process has loaded after it imported torch/_C.
std::set<std::string_view> names_after_import(const Inventory& inventory) {
  std::map<std::string_view, const File*> by_path;
  std::vector<const File*> loaded;
  for (const auto& file : inventory.files) {
    by_path[file.path] = &file;
    if (is_own(inventory, file) && base_name(file.path).starts_with("_C.")) loaded.push_back(&file);
  }
  std::set<std::string_view> names;
  for (size_t i = 0; i < loaded.size(); ++i) {
    for (const auto& dependency : list_dependencies(*loaded[i])) {
      const auto found = dependency.path ? by_path.find(*dependency.path) : by_path.end();
      if (dependency.provider != Provider::unresolved && names.insert(dependency.name).second && found != by_path.end())
        loaded.push_back(found->second);
    }
  }
  return names;
}

// Reports whether the artifact has this libtorch file, but the loader does not find the file: an RPATH or RUNPATH is
// wrong.
bool is_unreachable(const Inventory& inventory, const Dependency& dependency,
                    const std::set<std::string_view>& loaded) {
  if (dependency.provider != Provider::unresolved || loaded.contains(dependency.name)) return false;
  return std::ranges::any_of(inventory.files, [&](const File& file) {
    return is_own(inventory, file) && base_name(file.path) == dependency.name;
  });
}

// Returns "libcublas" for "libcublas.so.13".
std::string_view library_stem(std::string_view soname) {
  return soname.substr(0, soname.find(".so"));
}

// Reports whether the audit saw all libraries of the artifact. It does not see those outside of a wheel, beside a
// single file, or in other Debian packages.
bool is_whole(const Inventory& inventory) {
  return inventory.layout == "site-packages" || inventory.layout == "libtorch" || inventory.layout == "nix";
}

// Returns the command that installs the package of a library beside an installed torch; nullopt if pip did not install
// torch, or the library's package is not known.
std::optional<std::string> install_missing(const Inventory& inventory, const std::string& library) {
  if (inventory.layout != "site-packages" || inventory.packages.empty() || !inventory.packages.front().version)
    return std::nullopt;
  const auto cuda = parse_major_minor(inventory.cuda_version.value_or(""));
  return make_install_command(find_packages({library}, cuda ? std::optional(cuda->major) : std::nullopt),
                              *inventory.packages.front().version);
}

Answer closure_resolves(const Facts& facts) {
  Answer answer;
  // PB103 reports an artifact without libtorch.
  if (!is_whole(*facts.inventory) || file_named(*facts.inventory, kLibtorchCpu) == nullptr) return answer;
  std::map<std::string, const File*> missing;  // first file that needs the library, by library name
  for (const File* file : collect_closure(*facts.inventory)) {
    for (const auto& dependency : list_dependencies(*file)) {
      const bool of_libtorch = is_missing_part(*facts.inventory, dependency) ||
                               (is_own(*facts.inventory, *file) && is_unreachable(*facts.inventory, dependency, {}));
      const bool searched = dependency.by != kNotSearched;
      if (dependency.provider == Provider::unresolved && searched && !of_libtorch)
        missing.emplace(dependency.name, file);
    }
  }
  for (const auto& [name, file] : missing) {
    answer.seen.push_back(
        {.what = say("{} needs {}, which neither its RPATH nor the system's folders hold", base_name(file->path), name),
         .where = file->path,
         .remedy = install_missing(*facts.inventory, name)});
  }
  return answer;
}

Answer libtorch_is_complete(const Facts& facts) {
  const Inventory& inventory = *facts.inventory;
  Answer answer;
  if (file_named(inventory, "libtorch_cpu.so") == nullptr) return answer;  // PB103
  std::map<std::string, std::pair<const File*, bool>> missing;  // first file, and whether it needs or opens the library
  for (const auto& file : inventory.files) {
    if (!is_own(inventory, file)) continue;
    for (const auto& needed : list_dependencies(file))
      if (is_missing_part(inventory, needed)) missing.emplace(needed.name, std::pair(&file, true));
    for (const auto& opened : list_opened(file))
      if (is_missing_part(inventory, opened)) missing.emplace(opened.name, std::pair(&file, false));
  }
  const auto loaded = names_after_import(inventory);
  for (const auto& file : inventory.files) {
    if (!is_own(inventory, file)) continue;
    for (const auto& needed : list_dependencies(file)) {
      if (is_unreachable(inventory, needed, loaded))
        answer.seen.push_back(
            {.what =
                 say("{} needs {}, which is in none of the folders of its RPATH", base_name(file.path), needed.name),
             .where = file.path,
             .remedy = "link it with an RPATH of $ORIGIN (torch/_C: $ORIGIN/lib), as torch's build does"});
    }
  }
  for (const auto& [name, by] : missing) {
    answer.seen.push_back(
        {by.second ? say("{} needs {}, a file of libtorch that is missing", base_name(by.first->path), name)
                   : say("{} opens {}, a file of libtorch that is missing", base_name(by.first->path), name),
         by.first->path});
  }
  return answer;
}

// Returns ".13" of "libcublas.so.13", "" of "libcublas.so".
std::string_view library_version(std::string_view name) {
  const size_t at = name.find(".so");
  return at == name.npos ? std::string_view() : name.substr(at + std::string_view(".so").size());
}

// Reports whether one version continues the other: "libcublas.so.13.1.0" has the DT_SONAME "libcublas.so.13".
bool is_same_version(std::string_view one, std::string_view other) {
  if (one.size() < other.size()) std::swap(one, other);
  return other.empty() || one == other || one.starts_with(std::string(other) + ".");
}

// Reports whether a library is of another version than its file name says. The loader finds libraries by the file name,
// and their symbols by the version that the DT_SONAME belongs to.
bool has_name_of_other_version(const File& file) {
  const auto name = base_name(file.path);
  return file.soname && library_stem(*file.soname) == library_stem(name) &&
         !is_same_version(library_version(name), library_version(*file.soname));
}

std::string_view cut_file_name(std::string_view path) {
  return path.substr(0, path.find_last_of('/') + 1);
}

// Reports libtorch files that are in two folders with different contents: the first RPATH decides which file is loaded.
// Skips glibc-hwcaps, which has variants of one library for several CPUs.
void find_shadowed_files(const Inventory& inventory, Answer& answer) {
  std::map<std::string_view, const File*> by_stem;
  for (const auto& file : inventory.files) {
    const auto name = base_name(file.path);
    if (!is_own(inventory, file) || !name.starts_with("lib") || file.path.find("glibc-hwcaps/") != file.path.npos)
      continue;
    const auto [first, added] = by_stem.emplace(library_stem(name), &file);  // a link may hide its version
    const File& other = *first->second;
    const bool same = file.sha256 && other.sha256 ? file.sha256 == other.sha256 : file.size_bytes == other.size_bytes;
    if (added || same || cut_file_name(other.path) == cut_file_name(file.path)) continue;
    answer.seen.push_back({.what = say("{} is in {} and in {}, with different contents: the loader takes the copy "
                                       "whose folder comes first in an RPATH",
                                       name, cut_file_name(other.path), cut_file_name(file.path)),
                           .where = file.path,
                           .remedy = "remove the copy that the build does not intend"});
  }
}

Answer names_are_their_own(const Facts& facts) {
  std::set<std::string_view> stems;
  std::set<std::string_view> modules;  // complete names, because other packages have a _C too
  for (const auto& file : facts.inventory->files) {
    const auto name = base_name(file.path);
    if (!is_own(*facts.inventory, file)) continue;
    if (name.starts_with("lib"))
      stems.insert(library_stem(name));
    else
      modules.insert(name);
  }
  Answer answer;
  find_shadowed_files(*facts.inventory, answer);
  for (const auto& file : facts.inventory->files) {
    if (!file.soname) continue;
    const auto name = base_name(file.path);
    if (has_name_of_other_version(file))
      answer.seen.push_back(
          {fmt::format("the file name is {}, and its DT_SONAME says {}", name, *file.soname), file.path});
    if (!is_own(*facts.inventory, file)) continue;
    const bool of_another =
        stems.contains(library_stem(*file.soname)) && library_stem(*file.soname) != library_stem(name);
    if (!of_another && !(name.starts_with("lib") && modules.contains(*file.soname))) continue;
    answer.seen.push_back(
        {fmt::format("the file name is {}, and its DT_SONAME says {}", name, *file.soname), file.path});
  }
  return answer;
}

// Returns "cp312" for "libpython3.12.so.1.0"; "" for other libraries.
std::string python_of_library(std::string_view name) {
  constexpr std::string_view kBegin = "libpython3.";
  if (!name.starts_with(kBegin)) return "";
  const std::string_view rest = name.substr(kBegin.size());
  const std::string minor(rest.substr(0, rest.find(".so")));
  return minor.empty() || !is_digit(minor.front()) ? "" : "cp3" + minor;  // "libpython3.so" has the stable ABI
}

// Returns "cp312" if all tags of the package are for this Python alone, else "".
std::string find_python_of_tags(const Inventory& inventory) {
  std::string python;
  for (const auto& tag : inventory.wheel_tags.value_or(std::vector<std::string>())) {
    const std::string one = tag.substr(0, tag.find('-'));
    if (!tag.starts_with(one + "-" + one) || (!python.empty() && one != python)) return "";
    python = one;
  }
  return python;
}

// The loader opens a path in DT_NEEDED unchanged, on any machine. A second libpython is a second interpreter.
Answer needed_names_fit(const Facts& facts) {
  Answer answer;
  for (const auto& file : facts.inventory->files) {
    std::string python = python_of_module(base_name(file.path));
    if (python.empty() && is_own(*facts.inventory, file)) python = facts.inventory->python_abi.value_or("");
    if (python.empty()) python = find_python_of_tags(*facts.inventory);
    for (const auto& name : file.needed) {
      const std::string library = python_of_library(name);
      if (name.find('/') != name.npos)
        answer.seen.push_back(
            {say("{} needs {}: the loader opens that path on every machine", base_name(file.path), name), file.path,
             "link the library by its name instead of a path: patchelf --replace-needed PATH NAME FILE"});
      else if (!library.empty() && (python.starts_with("cp") || python.starts_with("abi3")) && library != python)
        answer.seen.push_back(
            {say("{} is for {}, and needs {}", base_name(file.path), python, name), file.path,
             "build the file with the Python that its name states; extension modules need no libpython"});
    }
  }
  return answer;
}

}  // namespace

std::vector<Check> own_files_checks() {
  using enum Need;
  return {
      {.id = "PB115",
       .severity = Severity::warn,
       .needs = {inventory, whole},
       .searches_system = true,
       .remedy = "install the package that contains the library, or add its folder to LD_LIBRARY_PATH",
       .ask = closure_resolves},
      {.id = "PB140",
       .needs = {inventory, whole},
       .remedy = "install this torch again, or look at the step that installs its libraries: its files belong together",
       .ask = libtorch_is_complete},
      {.id = "PB149",
       .needs = {inventory, whole},
       .remedy = "install this torch again: files were swapped, or one was copied over another",
       .ask = names_are_their_own},
      {.id = "PB183",
       .needs = {inventory},
       .of_any = true,
       .remedy = "link the file again, by library names instead of paths, and with the Python that its name states",
       .ask = needed_names_fit},
  };
}

}  // namespace pbprobe
