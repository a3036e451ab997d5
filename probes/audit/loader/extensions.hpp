// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Loads the extension modules of an environment by the loader's rules. Nothing is run.
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

// Simulates the loading of packages' extension modules into a Python process. Runs nothing.
class Extensions {
 public:
  // `library_path`: LD_LIBRARY_PATH of the importing process. `root`: root of another system that contains the
  // packages, or "". `path`: packages of each folder on sys.path; must outlive this object.
  Extensions(const std::vector<InstalledPackages>& path, const std::string& library_path,
             std::filesystem::path root = {});

  // Loads the extension modules for this Python, files that link torch (after torch), and libraries that the package
  // opens itself. Marks names in Links::opened as kUnopened. Omits files for another C library. Returns nullopt without
  // an interpreter that can run here or in `root`.
  [[nodiscard]] std::optional<std::vector<Loading>> of(const InstalledPackage& package, std::vector<File>& files);

  // Returns the CUDA libraries that the simulated process of torch takes from outside the packages on sys.path; nullopt
  // if `package` is not torch, or no import of torch could be simulated.
  [[nodiscard]] std::optional<std::vector<RedirectedLibrary>> find_redirected(const InstalledPackage& package);

  // Returns libraries that torch's process has loaded and that have copies elsewhere.
  [[nodiscard]] std::vector<SharedLibrary> shared_libraries() const;

  [[nodiscard]] std::optional<std::string> interpreter() const;
  // Returns the library that the interpreter itself lacks; "" if the interpreter starts.
  [[nodiscard]] const std::string& not_started() const { return not_started_; }

  // Returns a process that has imported torch; null if no import was followed.
  [[nodiscard]] const Process* torch_process() const { return with_torch_ ? &*with_torch_ : nullptr; }
  [[nodiscard]] const std::filesystem::path& torch_module() const { return torch_module_; }  // "" without torch._C
  // Reports whether a shared object outside the folder of torch links libtorch, and is for this Python and processor.
  [[nodiscard]] bool needs_torch(const Item& item);
  [[nodiscard]] std::pair<Loading, Process> open_after_torch(const InstalledPackage& package, const Item& item);
  // Returns "vllm._C" for "vllm/_C.abi3.so"; nullopt without PyInit_.
  [[nodiscard]] std::optional<std::string> find_module_name(const Item& item);
  [[nodiscard]] bool is_module(const std::filesystem::path& path);

 private:
  void find_interpreter();
  void find_libraries(const std::string& machine);
  void load_torch();
  void open_dependencies();
  void keep_fault(Loading loading);
  [[nodiscard]] std::vector<std::filesystem::path> find_preloads(const std::filesystem::path& first, PreloadTime time);
  [[nodiscard]] bool is_torch_file(const std::filesystem::path& path) const;
  [[nodiscard]] bool needs_other_cuda(const Loading& loading) const;
  [[nodiscard]] bool is_decided(const InstalledPackage& package, const File& file, Loading& loading) const;
  [[nodiscard]] bool is_for_this_python(const std::string& name) const;
  [[nodiscard]] bool is_extension(const std::filesystem::path& path);
  [[nodiscard]] bool needs_other_c_library(const std::filesystem::path& path);
  [[nodiscard]] bool links_torch(const File& file) const;
  [[nodiscard]] bool exports(const std::filesystem::path& path, const std::string& name);
  std::pair<Loading, Process> load(const InstalledPackage& package, const std::string& path, const Process& before);
  void mark_unopened(const InstalledPackage& package, std::vector<File>& files, const Loading& loading,
                     Process& process);
  void take_siblings(const InstalledPackage& package, Loading& loading);
  void take_torch(const InstalledPackage& package, const std::filesystem::path& path, Loading& loading);

  const std::vector<InstalledPackages>& path_;
  std::filesystem::path root_;
  std::map<std::string, std::vector<std::filesystem::path>> libraries_;  // paths by file name, from all packages
  std::map<std::string, std::filesystem::path> others_;  // paths by file name, built for another processor or C library
  std::filesystem::path python_;                         // interpreter; empty if not found
  std::string c_library_;                                // C library of the interpreter: "musl"
  std::string not_started_;
  std::string tag_;  // "cpython-311"; "" if unknown
  ObjectStore store_;
  LoaderFolders folders_;
  std::optional<Process> plain_;       // Python with torch's preloads; null if not followed
  std::optional<Process> with_torch_;  // torch._C too
  std::filesystem::path torch_;        // folder of torch; empty if not found
  std::vector<Loading> start_faults_;  // faults of libtorch_global_deps.so and of libraries that torch opens by path
  std::filesystem::path torch_module_;
};

}  // namespace pbprobe
