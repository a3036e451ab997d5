// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Libraries that a process would load, by the rules of ld.so of glibc or musl. Nothing is run.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/facts/loading.hpp"
#include "probes/audit/containers/bytes.hpp"
#include "probes/audit/loader/linked_object.hpp"

namespace pbprobe {

// Libraries of ld.so.cache by needed name, in the order of the loader. Omits copies for better CPUs, which export the
// same symbols. A damaged cache has its readable part.
using LoaderCache = std::multimap<std::string, std::string, std::less<>>;

[[nodiscard]] LoaderCache parse_loader_cache(const Bytes& file, uint16_t machine);

// Reads a cache file; returns an empty cache if the file is missing.
[[nodiscard]] LoaderCache loader_cache(const std::filesystem::path& file, uint16_t machine);
// Cache of parsed shared objects by path, shared between processes.
class ObjectStore {
 public:
  // `object` is null if the file is unreadable; `problem` then explains why.
  struct Entry {
    std::shared_ptr<const LinkedObject> object;
    std::string problem;
    std::pair<uint64_t, uint64_t> file;  // device and inode
  };
  [[nodiscard]] const Entry& at(const std::filesystem::path& path);
  // Sets the root of all paths and their links; "" for this system.
  void set_root(std::filesystem::path root) { root_ = std::move(root); }
  // Closes objects that no process uses: each open one costs a file descriptor.
  void close_unused();

 private:
  std::map<std::string, Entry> entries_;
  std::filesystem::path root_;
};

// Folders that the loader searches besides RPATH and RUNPATH.
struct LoaderFolders {
  uint16_t machine = 0;
  std::filesystem::path root;            // root of another system that the folders belong to; "" for this system
  std::vector<std::string> environment;  // from LD_LIBRARY_PATH
  LoaderCache cache;
  std::vector<std::string> defaults;
  std::filesystem::path musl;  // path of musl's loader, which is also its libc; "" for glibc
};

// Returns the folders for programs of this loader ("/lib64/ld-linux-x86-64.so.2"). Nix's loader reads no cache and has
// its own default folder; musl's loader reads a list of folders in /etc.
[[nodiscard]] LoaderFolders loader_folders(uint16_t machine, const std::string& interpreter,
                                           const std::string& library_path, const std::filesystem::path& root = {});

struct LoadedObject {
  std::filesystem::path path;
  std::string how;  // "DT_RPATH of …", "LD_LIBRARY_PATH"; "" if opened by path
  std::shared_ptr<const LinkedObject> object;
  std::pair<uint64_t, uint64_t> file;
  std::set<std::string> names;  // requested names and SONAME
  bool mapped = false;          // were its dependencies searched?
  std::vector<const LoadedObject*> dependencies;
  const LoadedObject* loader = nullptr;
};

// Simulated process: loads shared objects as ld.so does, from files alone, and records missing libraries and symbols.
class Process {
 public:
  Process(ObjectStore& store, const LoaderFolders& folders) : store_(&store), folders_(&folders) {}

  // Starts the program, or calls dlopen() with RTLD_NOW. Relocates new objects. `global`: RTLD_GLOBAL.
  Loading open(const std::filesystem::path& path, bool global);

  struct Place {
    std::filesystem::path path;
    std::string how;  // "LD_LIBRARY_PATH", "DT_RUNPATH of …"
  };
  // Returns the file that dlopen() of `name` by `by` takes; nullopt if the loader finds none.
  [[nodiscard]] std::optional<Place> find_for_dlopen(const std::string& name, const LoadedObject& by);

  // Returns the loaded library of this name, or null.
  [[nodiscard]] const LoadedObject* find(const std::string& name) const;
  [[nodiscard]] const std::vector<std::shared_ptr<LoadedObject>>& objects() const { return objects_; }

 private:
  LoadedObject* map(const Place& place, const LoadedObject* loader, std::string& problem);
  LoadedObject* need(const std::string& name, const LoadedObject& by, Loading& loading);
  [[nodiscard]] std::optional<Place> search(const std::string& name, const LoadedObject& by);
  [[nodiscard]] std::optional<Place> search_by_musl(const std::string& name, const LoadedObject& by);
  [[nodiscard]] std::optional<Place> search_folders(const std::string& name, const std::vector<std::string>& folders,
                                                    const LoadedObject& owner, const char* how);
  [[nodiscard]] bool is_usable(const std::filesystem::path& path);
  std::vector<const LoadedObject*> map_closure(LoadedObject& root, Loading& loading);
  void relocate(const LoadedObject& object, const std::vector<const LoadedObject*>& scope, Loading& loading) const;

  ObjectStore* store_;
  const LoaderFolders* folders_;
  std::vector<std::shared_ptr<LoadedObject>> objects_;
  std::vector<const LoadedObject*> global_;
};

}  // namespace pbprobe
