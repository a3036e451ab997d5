// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// What a process would have loaded, by the rules of glibc's ld.so, or of musl's. Nothing is run.
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
// Shared objects that were read already, by their paths: for many processes.
class ObjectStore {
 public:
  // Null: it cannot be read; `problem` has the sentence.
  struct Entry {
    std::shared_ptr<const LinkedObject> object;
    std::string problem;
    std::pair<uint64_t, uint64_t> file;  // device and inode
  };
  [[nodiscard]] const Entry& at(const std::filesystem::path& path);
  // What paths and their links begin at; empty: this system's.
  void set_root(std::filesystem::path root) { root_ = std::move(root); }
  // Closes what no process holds: each open one costs a file descriptor.
  void close_unused();

 private:
  std::map<std::string, Entry> entries_;
  std::filesystem::path root_;
};

// Where the loader looks beside RPATH and RUNPATH.
struct LoaderFolders {
  uint16_t machine = 0;
  std::filesystem::path root;            // of another system, to which all others belong; empty: this one
  std::vector<std::string> environment;  // of LD_LIBRARY_PATH
  LoaderCache cache;
  std::vector<std::string> defaults;
  std::filesystem::path musl;  // its loader, which is its libc too; empty: glibc's rules hold
};

// Of a program that this loader ("/lib64/ld-linux-x86-64.so.2") starts. Nix's reads no cache, and knows its own folder;
// musl's has a list of folders in /etc.
[[nodiscard]] LoaderFolders loader_folders(uint16_t machine, const std::string& interpreter,
                                           const std::string& library_path, const std::filesystem::path& root = {});

struct LoadedObject {
  std::filesystem::path path;
  std::string how;  // "DT_RPATH of …", "LD_LIBRARY_PATH"; empty: opened by its path
  std::shared_ptr<const LinkedObject> object;
  std::pair<uint64_t, uint64_t> file;
  std::set<std::string> names;  // that it is known by, its SONAME beside them
  bool mapped = false;          // its dependencies were looked for
  std::vector<const LoadedObject*> dependencies;
  const LoadedObject* loader = nullptr;
};

class Process {
 public:
  Process(ObjectStore& store, const LoaderFolders& folders) : store_(&store), folders_(&folders) {}

  // As the program, or by dlopen() with RTLD_NOW. What of it is new is relocated; `global`: as with RTLD_GLOBAL.
  Loading open(const std::filesystem::path& path, bool global);

  struct Place {
    std::filesystem::path path;
    std::string how;  // "LD_LIBRARY_PATH", "DT_RUNPATH of …"
  };
  // Returns the file that dlopen() of `name` by `by` takes; nullopt if the loader finds none.
  [[nodiscard]] std::optional<Place> find_for_dlopen(const std::string& name, const LoadedObject& by);

  // Whether a library of this name is loaded.
  [[nodiscard]] const LoadedObject* find(const std::string& name) const;
  [[nodiscard]] const std::vector<std::shared_ptr<LoadedObject>>& objects() const { return objects_; }

 private:
  LoadedObject* map(const Place& place, const LoadedObject* loader, std::string& problem);
  LoadedObject* need(const std::string& name, const LoadedObject& by, Loading& loading);
  [[nodiscard]] std::optional<Place> search(const std::string& name, const LoadedObject& by);
  [[nodiscard]] std::optional<Place> search_by_musl(const std::string& name, const LoadedObject& by);
  [[nodiscard]] std::optional<Place> search_in(const std::string& name, const std::vector<std::string>& folders,
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
