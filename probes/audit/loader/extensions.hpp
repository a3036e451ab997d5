// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Which files of an environment Python would import, and whether the loader would take them.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/facts/environment.hpp"
#include "core/facts/inventory.hpp"
#include "core/facts/loading.hpp"
#include "probes/audit/loader/preloaded.hpp"
#include "probes/audit/loader/process.hpp"
#include "probes/audit/packages/distributions.hpp"

namespace pbprobe {

class Extensions {
 public:
  // `library_path`: LD_LIBRARY_PATH, as whoever imports them has it. `root`: of another system that they are installed
  // in; empty: this one.
  // `path`: packages of each folder on sys.path; it has to outlive this object.
  Extensions(const std::vector<InstalledPackages>& path, const std::string& library_path,
             std::filesystem::path root = {});

  // Its extension modules for this Python, what links torch (torch is imported before), and libraries that it opens
  // itself. Null: the environment has no interpreter of its own for (in no other root) this machine. What is linked
  // with another C library than the interpreter is left out.
  [[nodiscard]] std::optional<std::vector<Loading>> of(const InstalledPackage& package, const std::vector<File>& files);

  // Returns CUDA's libraries that torch's process takes from elsewhere than from the packages on sys.path; nullopt if
  // `package` is not torch, or no process was followed.
  [[nodiscard]] std::optional<std::vector<RedirectedLibrary>> find_redirected(const InstalledPackage& package);

  // Libraries that torch's process has loaded and that lie in more than one place.
  [[nodiscard]] std::vector<SharedLibrary> shared_libraries() const;

  [[nodiscard]] std::optional<std::string> interpreter() const;
  // Why nothing is followed though an interpreter is there: a library that it needs itself; empty: no such thing.
  [[nodiscard]] const std::string& not_started() const { return not_started_; }

  // A process that has imported torch; null: none was followed.
  [[nodiscard]] const Process* with_torch() const { return with_torch_ ? &*with_torch_ : nullptr; }
  [[nodiscard]] const std::filesystem::path& torch_module() const { return torch_module_; }  // empty: there is none
  // Whether a file of another package links torch, and is not for another Python.
  [[nodiscard]] bool needs_torch(const Item& item);
  [[nodiscard]] std::pair<Loading, Process> open_after_torch(const InstalledPackage& package, const Item& item);
  // "vllm._C" of "vllm/_C.abi3.so"; null: it has no PyInit_.
  [[nodiscard]] std::optional<std::string> module_of(const Item& item);
  [[nodiscard]] bool is_module(const std::filesystem::path& path);

 private:
  void find_interpreter();
  void find_libraries(const std::string& machine);
  void load_torch();
  void open_dependencies();
  void keep_fault(Loading loading);
  [[nodiscard]] std::vector<std::filesystem::path> find_preloads(const std::filesystem::path& first, PreloadTime time);
  [[nodiscard]] bool is_torch_file(const std::filesystem::path& path) const;
  [[nodiscard]] bool is_decided(const InstalledPackage& package, const File& file, Loading& loading) const;
  [[nodiscard]] bool is_for_this_python(const std::string& name) const;
  [[nodiscard]] bool is_extension(const std::filesystem::path& path);
  [[nodiscard]] bool is_of_other_c_library(const std::filesystem::path& path);
  [[nodiscard]] bool links_torch(const File& file) const;
  [[nodiscard]] bool exports(const std::filesystem::path& path, const std::string& name);
  std::pair<Loading, Process> load(const InstalledPackage& package, const std::string& path, const Process& before);
  void take_siblings(const InstalledPackage& package, Loading& loading);
  void take_torch(const std::filesystem::path& path, Loading& loading);

  const std::vector<InstalledPackages>& path_;
  std::filesystem::path root_;
  std::map<std::string, std::vector<std::filesystem::path>> libraries_;  // of all packages, by file name
  std::map<std::string, std::filesystem::path> others_;                  // the same, built for another processor
  std::filesystem::path python_;                                         // empty: none
  std::string c_library_;                                                // of it: "musl"
  std::string not_started_;
  std::string tag_;  // "cpython-311"; empty: not known
  ObjectStore store_;
  LoaderFolders folders_;
  std::optional<Process> plain_;       // Python, with what torch loads first; null: not followed
  std::optional<Process> with_torch_;  // torch._C too
  std::filesystem::path torch_;        // its folder; empty: none
  std::vector<Loading> start_faults_;  // of libtorch_global_deps.so and of what torch opens by path
  std::filesystem::path torch_module_;
};

}  // namespace pbprobe
