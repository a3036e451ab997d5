// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/audit/packages/processors.hpp"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include "core/c_library.hpp"
#include "core/facts/environment.hpp"
#include "core/open_file.hpp"
#include "probes/audit/containers/elf.hpp"
#include "probes/audit/loader/inside_root.hpp"
#include "probes/audit/loader/linked_object.hpp"
#include "probes/audit/packages/layout.hpp"
#include "probes/audit/packages/packages.hpp"

namespace pbprobe {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kInfo = ".dist-info";
constexpr const char* kByPython = "the environment's Python";

bool is_torch(const InstalledPackage& package) {
  const PackageText& text = package.layout.packages.front();
  return calls_itself_torch(text.folder, text.metadata);
}

// Returns the processor of the package's first library that has one.
std::string find_processor(const InstalledPackage& package) {
  for (const auto& item : package.layout.items) {
    if (!is_shared_object_name(item.disk.filename().string())) continue;
    if (std::string processor = processor_of_file(item.disk); !processor.empty()) return processor;
  }
  return {};
}

// Returns "ext/_C" for "ext/_C.cpython-311-aarch64-linux-gnu.so".
std::string strip_module_suffix(const std::string& path) {
  return path.substr(0, path.find('.', path.rfind('/') + 1));
}

bool is_imported(const Item& item) {
  const std::string name = item.disk.filename().string();
  const auto object = LinkedObject::open(item.disk);
  return object && std::ranges::any_of(kModuleEntries, [&](std::string_view begin) {
           const std::string entry = std::string(begin) + name.substr(0, name.find('.'));
           return object->resolves({.name = entry, .hash = compute_gnu_hash(entry)});
         });
}

bool is_opened_by_itself(const Item& item) {
  if (is_imported(item)) return true;
  const auto object = LinkedObject::open(item.disk);
  if (!object) return false;
  const auto& needed = object->dynamic().needed;
  return std::ranges::any_of(needed, [](const std::string& library) {
    return library.starts_with("libtorch") || library.starts_with("libc10");
  });
}

std::vector<std::string> list_wheel_tags(const InstalledPackage& package) {
  const auto wheel = package.layout.texts.find("WHEEL");
  if (!package.info.ends_with(kInfo) || wheel == package.layout.texts.end()) return {};
  return wheel_tags(wheel->second);
}

// A wheel for a platform has files to load there. A wheel for any platform, and conda's cross compilers, have files of
// all kinds as data.
bool has_platform_tag(const InstalledPackage& package) {
  const auto tags = list_wheel_tags(package);
  return std::ranges::any_of(tags, [](const std::string& tag) { return !tag.ends_with("-any"); });
}

bool is_for_musl_only(const InstalledPackage& package) {
  const auto tags = list_wheel_tags(package);
  return !tags.empty() &&
         std::ranges::all_of(tags, [](const std::string& tag) { return tag.find("-musllinux") != tag.npos; });
}

std::string c_library_of_file(const fs::path& path) {
  const auto object = LinkedObject::open(path);
  return object ? object->c_library() : "";
}

// Reports whether the root has gcompat, with which Alpine's loader accepts some of glibc's libraries.
bool has_both_c_libraries(const fs::path& root) {
  std::error_code error;
  return fs::exists(inside_root(root, root / "lib/libgcompat.so.0"), error) ||
         fs::exists(inside_root(root, root / "usr/lib/libgcompat.so.0"), error);
}

fs::path find_python(const InstalledPackages& installed, const fs::path& root) {
  for (const char* name : {"bin/python", "bin/python3"}) {
    fs::path path = inside_root(root, installed.environment / name);
    if (!processor_of_file(path).empty()) return path;
  }
  return {};
}

struct Expected {
  std::string kind;  // "x86_64", "musl"
  std::string known_by;
};

// Returns files of another kind that Python or the loader would open.
std::optional<OtherProcessor> find_other_kind(const InstalledPackage& package, const Expected& expected,
                                              std::string (*kind_of)(const fs::path&)) {
  std::vector<std::pair<const Item*, std::string>> others;
  std::set<std::string> own;  // stems of files for the environment's own kind
  std::set<std::string> needed;
  for (const auto& item : package.layout.items) {
    if (!is_shared_object_name(item.disk.filename().string())) continue;
    std::string kind = kind_of(item.disk);
    if (kind == expected.kind) own.insert(strip_module_suffix(item.path));
    if (!kind.empty() && kind != expected.kind) others.emplace_back(&item, std::move(kind));
  }
  if (others.empty()) return std::nullopt;
  for (const auto& item : package.layout.items) {
    if (!own.contains(strip_module_suffix(item.path))) continue;
    const auto object = LinkedObject::open(item.disk);
    if (object) needed.insert(object->dynamic().needed.begin(), object->dynamic().needed.end());
  }
  OtherProcessor found;
  found.expected = expected.kind;
  found.known_by = expected.known_by;
  found.whole = own.empty() && has_platform_tag(package);
  for (const auto& [item, kind] : others) {
    const bool stands_in = own.contains(strip_module_suffix(item->path));
    const bool opened = found.whole || needed.contains(item->disk.filename().string()) || is_opened_by_itself(*item);
    if (stands_in || !opened) continue;
    if (found.files++ > 0) continue;
    found.first = item->path;
    found.processor = kind;
  }
  return found.files > 0 ? std::optional(std::move(found)) : std::nullopt;
}

// Returns "311" for "python3.11", "313t" for "python3.13t".
std::string parse_python_tag(const fs::path& path) {
  constexpr std::string_view kBegin = "python3.";
  const std::string name = path.filename().string();
  const bool known = name.starts_with(kBegin) && name.size() > kBegin.size() &&
                     name.find_first_not_of("0123456789t", kBegin.size()) == name.npos;
  return known ? "3" + name.substr(kBegin.size()) : "";
}

std::string name_of_python(const std::string& tag) {
  if (tag.starts_with("pp")) return "PyPy 3." + tag.substr(3);
  const bool free = tag.ends_with('t');
  const std::string minor = tag.substr(1, tag.size() - (free ? 2 : 1));
  return fmt::format("{}Python 3.{}", free ? "free-threaded " : "", minor);
}

std::optional<OtherProcessor> find_other_python(const InstalledPackage& package, const std::string& tag) {
  OtherProcessor found;
  for (const auto& item : package.layout.items) {
    const std::string python = python_of_module(item.disk.filename().string());
    const std::string module = python.starts_with("cp") ? python.substr(2) : python;
    const bool taken = module == tag || imports_module("cp" + tag, python);
    if (taken || (module.empty() && is_opened_by_itself(item))) return std::nullopt;
    if (module.empty()) continue;
    if (!is_imported(item)) return std::nullopt;  // torch loads such a file by path, as for torchao
    if (found.files++ > 0) continue;
    found.processor = module == "abi3"    ? "a Python with the GIL (abi3)"
                      : module == "abi3t" ? "Python 3.15 and later (abi3t)"
                                          : name_of_python(module);
    found.first = item.path;
  }
  found.expected = name_of_python(tag);
  found.known_by = "the environment";
  found.whole = true;
  return found.files > 0 ? std::optional(std::move(found)) : std::nullopt;
}

// Returns the only processor that a text like "cp311-cp311-linux_x86_64" or "torch29-cu128-aarch64-linux" names, else
// "".
std::string find_named_processor(std::string_view text) {
  std::string found;
  for (const char* processor : {"x86_64", "aarch64"}) {
    if (text.find(processor) == text.npos) continue;
    if (!found.empty()) return "";
    found = processor;
  }
  return found;
}

Expected find_expected_processor(const ArtifactLayout& layout, const std::vector<File>& files) {
  for (const auto& file : files) {
    if (file.component == "libtorch" && file.machine) return {*file.machine, "libtorch"};
  }
  if (const auto wheel = layout.texts.find("WHEEL"); wheel != layout.texts.end()) {
    std::string tags;
    for (const auto& tag : wheel_tags(wheel->second)) tags += tag + " ";
    return {find_named_processor(tags), "its tag"};
  }
  if (layout.packages.empty()) return {};
  return {find_named_processor(layout.packages.front().folder), "its folder's name"};
}

// Returns "libq" for "spam/lib/aarch64/libq.so": files of one name in several folders are for several processors.
std::string find_file_stem(const std::string& path) {
  const std::string stem = strip_module_suffix(path);
  return stem.substr(stem.rfind('/') + 1);
}

// Reports whether Python imports the file, torch's process loads it, or another file needs it.
bool is_loaded(const File& file, const std::set<std::string>& needed) {
  const std::string name = fs::path(file.path).filename().string();
  const bool torch = file.links && file.links->torch_symbols.cxx + file.links->torch_symbols.stable > 0;
  const bool python = !python_of_module(name).empty() || (file.links && file.links->uses_python == true);
  return torch || python || file.component == "libtorch" || needed.contains(name);
}

// Returns the names of libraries that libtorch needs. The judge itself compares their processor with libtorch's
// processor.
std::set<std::string> find_needed_by_libtorch(const std::vector<File>& files) {
  std::set<std::string> needed;
  for (const auto& file : files) {
    if (file.component == "libtorch") needed.insert(file.needed.begin(), file.needed.end());
  }
  return needed;
}

}  // namespace

std::optional<OtherProcessor> find_other_processor(const ArtifactLayout& layout, const std::vector<File>& files) {
  const Expected expected = find_expected_processor(layout, files);
  if (expected.kind.empty()) return std::nullopt;
  std::set<std::string> own;  // stems of the libraries for the right processor
  std::set<std::string> own_names;
  std::set<std::string> needed;
  const std::set<std::string> of_libtorch = find_needed_by_libtorch(files);
  for (const auto& file : files) {
    if (file.machine != expected.kind) continue;
    own.insert(strip_module_suffix(file.path));
    own_names.insert(find_file_stem(file.path));
    needed.insert(file.needed.begin(), file.needed.end());
  }
  // All files of a wheel are of one package. Beside an installed torch are files of others, which may be data.
  const bool one_package = layout.wheel != nullptr || layout.kind == "distribution";
  OtherProcessor found{.expected = expected.kind, .known_by = expected.known_by, .whole = own.empty()};
  for (const auto& file : files) {
    const std::string processor = file.machine.value_or("");
    if (processor.empty() || processor == expected.kind || processor == machine_name(kMachineCuda)) continue;
    if (file.component == "libtorch" || of_libtorch.contains(fs::path(file.path).filename().string())) continue;
    const bool loaded = found.whole || is_loaded(file, needed);
    const bool stands_in = loaded ? own.contains(strip_module_suffix(file.path))
                                  : !one_package || own_names.contains(find_file_stem(file.path));
    if (stands_in) continue;
    if (found.files++ > 0) continue;
    found.first = file.path;
    found.processor = processor;
  }
  return found.files > 0 ? std::optional(std::move(found)) : std::nullopt;
}

std::string processor_of_file(const fs::path& path) {
  const auto bytes = read_start_of_file(path, sizeof(Elf64_Ehdr));
  Elf64_Ehdr header{};
  if (!bytes || bytes->size() < sizeof header || !bytes->starts_with(ELFMAG)) return {};
  std::memcpy(&header, bytes->data(), sizeof header);
  const bool known = header.e_machine == EM_X86_64 || header.e_machine == EM_AARCH64;
  return known && header.e_ident[EI_CLASS] == ELFCLASS64 ? machine_name(header.e_machine) : "";
}

Processors::Processors(const InstalledPackages& installed, const fs::path& root) {
  const fs::path python = find_python(installed, root);
  tag_ = parse_python_tag(installed.folder.parent_path());
  std::error_code error;
  if (tag_.empty()) tag_ = parse_python_tag(root.empty() ? fs::canonical(python, error) : python);
  if (!has_both_c_libraries(root)) c_library_ = c_library_of_file(python);
  std::map<std::string, int> packages;
  std::string torch;
  for (const auto& package : installed.packages) {
    const std::string processor = find_processor(package);
    if (processor.empty()) continue;
    ++packages[processor];
    if (is_torch(package)) torch = processor;
  }
  if (packages.empty()) return;
  const std::string own = processor_of_file(python);
  if (packages.contains(own)) {
    expected_ = own;
    known_by_ = kByPython;
  } else if (!torch.empty()) {
    expected_ = torch;
    known_by_ = "torch";
  } else {
    const auto most =
        std::ranges::max_element(packages, [](const auto& a, const auto& b) { return a.second < b.second; });
    const bool tie = packages.size() == 2 && packages.begin()->second == packages.rbegin()->second;
    expected_ = tie ? "" : most->first;
    known_by_ = "most packages";
  }
}

std::optional<OtherProcessor> Processors::other(const InstalledPackage& package) const {
  if (!expected_.empty()) {
    if (auto found = find_other_kind(package, {expected_, known_by_}, processor_of_file)) return found;
  }
  const bool asked = c_library_ == kMusl || (c_library_ == kGlibc && is_for_musl_only(package));
  if (asked) {
    if (auto found = find_other_kind(package, {c_library_, kByPython}, c_library_of_file)) return found;
  }
  return tag_.empty() || package.info.empty() ? std::nullopt : find_other_python(package, tag_);
}

}  // namespace pbprobe
