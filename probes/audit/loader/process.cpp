// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/audit/loader/process.hpp"

#include <elf.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

#include "core/open_file.hpp"
#include "probes/audit/loader/inside_root.hpp"
#include "probes/audit/packages/closure.hpp"

namespace pbprobe {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostObjects = 2000;

std::vector<std::string> split_folders(const std::string& list) {
  std::vector<std::string> folders;
  for (size_t at = 0; at < list.size();) {
    const size_t end = std::min(list.find_first_of(":;", at), list.size());
    folders.push_back(list.substr(at, end - at));
    at = end + 1;
  }
  return folders;
}

std::vector<std::string> folders_of_musl(const fs::path& root, uint16_t machine) {
  const auto list = read_whole_file(inside_root(root, fmt::format("/etc/ld-musl-{}.path", machine_name(machine))));
  std::string text = list ? *list : "/lib:/usr/local/lib:/usr/lib";
  std::ranges::replace(text, '\n', ':');
  return split_folders(text);
}

// Reports whether musl's loader provides the library itself, for any file of this name: "libm.so.6",
// "libc.musl-x86_64.so.1".
bool is_musl_library(std::string_view name) {
  constexpr std::array<std::string_view, 7> kOwn{"c.", "pthread.", "rt.", "m.", "dl.", "util.", "xnet."};
  return name.starts_with("lib") &&
         std::ranges::any_of(kOwn, [&](std::string_view begin) { return name.substr(3).starts_with(begin); });
}

bool contains(const std::vector<const LoadedObject*>& list, const LoadedObject* object) {
  return std::ranges::find(list, object) != list.end();
}

// Returns the rule by which the loader found a library; nullopt if the library was opened by its path.
std::optional<std::string> get_rule(const LoadedObject& object) {
  return object.how.empty() ? std::nullopt : std::optional(object.how);
}

}  // namespace

const ObjectStore::Entry& ObjectStore::at(const fs::path& path) {
  const auto [found, fresh] = entries_.try_emplace(path.string());
  Entry& entry = found->second;
  if (!fresh) return entry;
  const fs::path inside = inside_root(root_, path);
  struct stat status {};
  if (stat(inside.c_str(), &status) == 0) entry.file = {status.st_dev, status.st_ino};
  auto object = LinkedObject::open(inside);
  if (object) {
    entry.object = std::make_shared<const LinkedObject>(std::move(*object));
  } else {
    entry.problem = object.error().message;
  }
  return entry;
}

void ObjectStore::close_unused() {
  std::erase_if(entries_, [](const auto& entry) { return entry.second.object.use_count() < 2; });
}

LoaderFolders loader_folders(uint16_t machine, const std::string& interpreter, const std::string& library_path,
                             const fs::path& root) {
  LoaderFolders folders{.machine = machine, .root = root};
  if (root.empty()) folders.environment = split_folders(library_path);  // the environment of another system is unknown
  if (interpreter.starts_with("/nix/store/")) {
    folders.defaults = {fs::path(interpreter).parent_path().string()};
    return folders;
  }
  if (interpreter.find("/ld-musl-") != interpreter.npos) {
    folders.musl = interpreter;
    folders.defaults = folders_of_musl(root, machine);
    return folders;
  }
  folders.cache = loader_cache(inside_root(root, "/etc/ld.so.cache"), machine);
  folders.defaults = system_folders(machine_name(machine));
  if (!root.empty()) folders.defaults.insert(folders.defaults.end(), {"/lib64", "/usr/lib64", "/lib", "/usr/lib"});
  return folders;
}

const LoadedObject* Process::find(const std::string& name) const {
  const bool by_soname = folders_->musl.empty();
  for (const auto& object : objects_) {
    if (object->names.contains(name) || (by_soname && object->object->dynamic().soname == name)) return object.get();
  }
  return nullptr;
}

// ld.so skips files of other machines.
bool Process::is_usable(const fs::path& path) {
  struct stat status {};
  if (stat(inside_root(folders_->root, path).c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return false;
  const auto& entry = store_->at(path);
  return entry.object == nullptr || entry.object->machine() == folders_->machine;
}

std::optional<Process::Place> Process::search_folders(const std::string& name, const std::vector<std::string>& folders,
                                                      const LoadedObject& owner, const char* how) {
  for (const auto& folder : folders) {
    const fs::path path =
        (fs::path(expand_origin(folder, owner.path.parent_path().string())) / name).lexically_normal();
    if (is_usable(path)) return Place{path, fmt::format("{} of {}", how, owner.path.string())};
  }
  return std::nullopt;
}

// Follows load_library of musl's ldso/dynlink.c: the environment is first, and both kinds of run paths are inherited.
std::optional<Process::Place> Process::search_by_musl(const std::string& name, const LoadedObject& by) {
  for (const auto& folder : folders_->environment) {
    const fs::path path = fs::path(folder) / name;
    if (is_usable(path)) return Place{path, "LD_LIBRARY_PATH"};
  }
  for (const LoadedObject* owner = &by; owner != nullptr; owner = owner->loader) {
    const auto& dynamic = owner->object->dynamic();
    const bool newer = !dynamic.runpath.empty();
    if (auto place =
            search_folders(name, newer ? dynamic.runpath : dynamic.rpath, *owner, newer ? "DT_RUNPATH" : "DT_RPATH"))
      return place;
  }
  for (const auto& folder : folders_->defaults) {
    const fs::path path = fs::path(folder) / name;
    if (is_usable(path)) return Place{path, "the system's default folders"};
  }
  return std::nullopt;
}

std::optional<Process::Place> Process::search(const std::string& name, const LoadedObject& by) {
  if (!folders_->musl.empty() && is_musl_library(name)) return Place{folders_->musl, "its own loader"};
  if (name.find('/') != name.npos) return is_usable(name) ? std::optional(Place{name, ""}) : std::nullopt;
  if (!folders_->musl.empty()) return search_by_musl(name, by);
  const auto& own = by.object->dynamic();
  if (own.runpath.empty()) {
    const LoadedObject* program = objects_.empty() ? nullptr : objects_.front().get();
    bool asked_program = false;
    for (const LoadedObject* owner = &by; owner != nullptr; owner = owner->loader) {
      asked_program = asked_program || owner == program;
      if (!owner->object->dynamic().runpath.empty()) continue;
      if (auto place = search_folders(name, owner->object->dynamic().rpath, *owner, "DT_RPATH")) return place;
    }
    if (!asked_program && program != nullptr && program->object->dynamic().runpath.empty()) {
      if (auto place = search_folders(name, program->object->dynamic().rpath, *program, "DT_RPATH")) return place;
    }
  }
  for (const auto& folder : folders_->environment) {
    const fs::path path = fs::path(folder.empty() ? "." : folder) / name;
    if (is_usable(path)) return Place{path, "LD_LIBRARY_PATH"};
  }
  if (auto place = search_folders(name, own.runpath, by, "DT_RUNPATH")) return place;
  if (by.object->avoids_default_folders()) return std::nullopt;
  const auto [first, last] = folders_->cache.equal_range(name);
  for (auto at = first; at != last; ++at) {
    if (is_usable(at->second)) return Place{at->second, "ld.so.cache"};
  }
  for (const auto& folder : folders_->defaults) {
    const fs::path path = fs::path(folder) / name;
    if (is_usable(path)) return Place{path, "the system's default folders"};
  }
  return std::nullopt;
}

std::optional<Process::Place> Process::find_for_dlopen(const std::string& name, const LoadedObject& by) {
  if (const LoadedObject* known = find(name)) return Place{known->path, known->how};
  return search(name, by);
}

LoadedObject* Process::map(const Place& place, const LoadedObject* loader, std::string& problem) {
  const auto& entry = store_->at(place.path);
  problem = entry.problem;
  if (entry.object == nullptr) return nullptr;
  for (const auto& object : objects_) {
    if (object->file == entry.file) return object.get();
  }
  auto loaded = std::make_shared<LoadedObject>();
  loaded->path = place.path;
  loaded->how = place.how;
  loaded->object = entry.object;
  loaded->file = entry.file;
  loaded->names = {place.path.string()};
  loaded->loader = loader;
  objects_.push_back(loaded);
  return loaded.get();
}

LoadedObject* Process::need(const std::string& name, const LoadedObject& by, Loading& loading) {
  if (const auto* known = find(name)) return const_cast<LoadedObject*>(known);
  const auto place = search(name, by);
  std::string problem;
  LoadedObject* object = place ? map(*place, &by, problem) : nullptr;
  if (object == nullptr) {
    loading.missing_libraries.push_back({name, by.path.string()});
    return nullptr;
  }
  object->names.insert(name);
  return object;
}

// Maps dependencies breadth first, as _dl_map_object_deps. The result includes objects that were loaded before.
std::vector<const LoadedObject*> Process::map_closure(LoadedObject& root, Loading& loading) {
  std::vector<const LoadedObject*> order{&root};
  for (size_t i = 0; i < order.size() && order.size() < kMostObjects; ++i) {
    auto& object = const_cast<LoadedObject&>(*order[i]);
    if (!std::exchange(object.mapped, true)) {
      for (const auto& name : object.object->dynamic().needed) {
        if (const LoadedObject* needed = need(name, object, loading)) object.dependencies.push_back(needed);
      }
    }
    for (const LoadedObject* needed : object.dependencies) {
      if (!contains(order, needed)) order.push_back(needed);
    }
  }
  return order;
}

void Process::relocate(const LoadedObject& object, const std::vector<const LoadedObject*>& scope,
                       Loading& loading) const {
  const bool musl = !folders_->musl.empty();  // musl ignores versions
  for (const auto& version : musl ? std::vector<NeededVersion>() : object.object->needed_versions()) {
    const LoadedObject* library = find(version.library);
    if (version.weak || library == nullptr || library->object->defines_version(version.version)) continue;
    loading.missing_versions.push_back(
        {version.version, library->path.string(), object.path.string(), get_rule(*library)});
  }
  const auto resolves = [&](const SymbolReference& reference) {
    return [&, musl](const LoadedObject* one) {
      return musl ? one->object->resolves_by_musl(reference) : one->object->resolves(reference);
    };
  };
  for (const auto& reference : object.object->references()) {
    if (reference.weak || std::ranges::any_of(global_, resolves(reference)) ||
        std::ranges::any_of(scope, resolves(reference)))
      continue;
    UnresolvedSymbol symbol{.name = std::string(reference.name), .needed_by = object.path.string()};
    if (reference.version != nullptr) {
      symbol.version = reference.version->version;
      if (const LoadedObject* library = find(reference.version->library)) {
        symbol.library = library->path.string();
        symbol.how = get_rule(*library);
      }
    }
    loading.unresolved.push_back(std::move(symbol));
  }
}

Loading Process::open(const fs::path& path, bool global) {
  Loading loading{.path = path.string()};
  const size_t before = objects_.size();
  std::string problem;
  LoadedObject* root = map({path, ""}, nullptr, problem);
  if (root == nullptr) return loading;  // the file's own package reports why
  const auto scope = map_closure(*root, loading);
  if (global || before == 0) {
    for (const LoadedObject* object : scope) {
      if (!contains(global_, object)) global_.push_back(object);
    }
  }
  for (size_t i = before; i < objects_.size(); ++i) relocate(*objects_[i], scope, loading);
  return loading;
}

namespace {

constexpr std::string_view kMagic = "glibc-ld.so.cache1.1";
constexpr uint64_t kHeaderBytes = 48;
constexpr uint64_t kEntryBytes = 24;
constexpr uint32_t kLibc6Elf = 3;
constexpr uint32_t kX86Libraries = 0x0300;
constexpr uint32_t kAarch64Libraries = 0x0a00;

// Returns the flags that ldconfig gives to libraries of `machine` (sysdeps/generic/ldconfig.h).
uint32_t get_ldconfig_flags(uint16_t machine) {
  return kLibc6Elf | (machine == EM_AARCH64 ? kAarch64Libraries : kX86Libraries);
}

}  // namespace

LoaderCache parse_loader_cache(const Bytes& file, uint16_t machine) {
  LoaderCache cache;
  const size_t magic = file.text().find(kMagic);  // a cache of the old format may precede the new one
  if (magic == std::string_view::npos) return cache;
  const auto rest = file.slice(magic, file.size() - magic, "cache");
  const auto count = rest ? rest->read<uint32_t>(kMagic.size(), "count") : Result<uint32_t>(rest.error());
  if (!count) return cache;
  for (uint64_t i = 0; i < *count; ++i) {
    const uint64_t at = kHeaderBytes + i * kEntryBytes;
    const auto flags = rest->read<uint32_t>(at, "flags");
    const auto key = rest->read<uint32_t>(at + 4, "name");
    const auto value = rest->read<uint32_t>(at + 8, "path");
    const auto capabilities = rest->read<uint64_t>(at + 16, "capabilities");
    if (!flags || !key || !value || !capabilities) return cache;
    if (*flags != get_ldconfig_flags(machine) || *capabilities != 0) continue;
    const auto name = rest->string(*key, "name");
    const auto path = rest->string(*value, "path");
    if (name && path) cache.emplace(*name, *path);
  }
  return cache;
}

LoaderCache loader_cache(const std::filesystem::path& file, uint16_t machine) {
  const auto text = read_whole_file(file);
  if (!text) return {};
  return parse_loader_cache(Bytes({reinterpret_cast<const uint8_t*>(text->data()), text->size()}, file.string()),
                            machine);
}

}  // namespace pbprobe
