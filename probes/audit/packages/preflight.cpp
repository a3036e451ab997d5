// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/audit/packages/preflight.hpp"

#include <pwd.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/open_file.hpp"
#include "probes/audit/containers/bytes.hpp"
#include "probes/audit/containers/elf.hpp"
#include "probes/audit/containers/mapped_file.hpp"
#include "probes/audit/loader/process.hpp"
#include "probes/audit/packages/constants.hpp"

namespace pbprobe {
namespace {

namespace fs = std::filesystem;

constexpr const char* kDriverLibrary = "libcuda.so.1";

std::vector<std::string> split_text(const std::string& text, char separator) {
  std::vector<std::string> parts;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(separator, at), text.size());
    if (end > at) parts.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

bool is_there(const fs::path& path) {
  std::error_code error;
  return fs::exists(path, error);
}

// Returns the environment around site-packages, else the folder itself.
fs::path environment_around(const fs::path& packages) {
  const bool of_python = packages.parent_path().filename().string().starts_with("python3");
  return of_python ? packages.parent_path().parent_path().parent_path() : packages;
}

class CompileToolFinder {
 public:
  CompileToolFinder(const fs::path& packages, const PreflightSources& sources)
      : sources_(sources), packages_(packages), nvidia_(packages / "triton/backends/nvidia") {
    // Nix's copy runs no ldconfig, and older copies link by another name.
    const auto driver = read_whole_file(nvidia_ / "driver.py");
    if (driver) driver_source_ = *driver;
  }

  [[nodiscard]] Preflight look() const {
    Preflight preflight;
    preflight.cxx_compiler = compiler("CXX", {"g++"});
    preflight.python_header = python_header();
    preflight.caches = {inductor_cache(), driver_cache()};
    if (driver_source_.empty()) return preflight;
    preflight.c_compiler = compiler("CC", {"gcc", "clang"});
    preflight.driver = driver();
    for (const char* name : {"ptxas", "ptxas-blackwell"}) preflight.ptxas.push_back(ptxas(name));
    preflight.caches.insert(preflight.caches.begin(), triton_cache());
    return preflight;
  }

 private:
  [[nodiscard]] std::optional<std::string> variable(const char* name) const { return sources_.variable(name); }
  [[nodiscard]] fs::path rooted(const std::string& path) const { return sources_.root + path; }

  [[nodiscard]] std::optional<std::string> search_path(const std::string& name) const {
    if (name.find('/') != name.npos) return starts(name) ? std::nullopt : std::optional(name);
    for (const auto& folder : split_text(variable("PATH").value_or(""), ':')) {
      if (!starts(fs::path(folder) / name)) return folder + "/" + name;
    }
    return std::nullopt;
  }

  // Returns why a program does not start; nullopt if it starts.
  [[nodiscard]] static std::optional<std::string> starts(const fs::path& path) {
    std::error_code error;
    if (fs::is_directory(path, error)) return "it is a folder";
    if (access(path.c_str(), X_OK) == 0) return std::nullopt;
    return std::strerror(errno);
  }

  // Triton takes CC as one path. TorchInductor splits CXX into words, as a shell does.
  [[nodiscard]] CalledCompiler compiler(const char* name, const std::vector<const char*>& else_called) const {
    CalledCompiler found;
    if (const auto named = variable(name)) {
      const bool words = std::string_view(name) == "CXX";
      found.variable = name;
      found.called = words && search_path(*named) == std::nullopt ? named->substr(0, named->find(' ')) : *named;
      found.path = search_path(found.called);
      return found;
    }
    for (const char* called : else_called) {
      found.called += (found.called.empty() ? "" : " or ") + std::string(called);
      if (!found.path) found.path = search_path(called);
    }
    return found;
  }

  // Finds Python.h as sysconfig does, for the interpreter that the environment was made from.
  [[nodiscard]] std::optional<PythonHeader> python_header() const {
    const fs::path environment = environment_around(packages_);
    std::error_code error;
    for (const char* name : {"bin/python", "bin/python3"}) {
      const fs::path python = fs::canonical(environment / name, error);
      if (error) continue;
      fs::path base = python.parent_path().parent_path();
      std::string version = packages_.parent_path().filename().string();  // "python3.11"
      if (!version.starts_with("python3.")) version = python.filename().string();
      if (!version.starts_with("python3.")) return std::nullopt;
      if (base == fs::canonical(environment, error)) base = read_python_home(environment).value_or(base);
      const fs::path header = base / "include" / version / "Python.h";
      return PythonHeader{.path = header.string(), .there = is_there(header)};
    }
    return std::nullopt;
  }

  // Reads "home = /opt/python/bin" of a virtual environment with a copy of the interpreter.
  [[nodiscard]] static std::optional<fs::path> read_python_home(const fs::path& environment) {
    const auto config = read_whole_file(environment / "pyvenv.cfg");
    if (!config) return std::nullopt;
    for (const auto& line : split_text(*config, '\n')) {
      const size_t mark = line.find('=');
      if (mark == line.npos || line.substr(0, line.find_last_not_of(" \t", mark - 1) + 1) != "home") continue;
      const size_t begin = line.find_first_not_of(" \t", mark + 1);
      const size_t end = line.find_last_not_of(" \t\r");
      if (begin != line.npos) return fs::path(line.substr(begin, end - begin + 1)).parent_path();
    }
    return std::nullopt;
  }

  // Follows libcuda_dirs() of triton/backends/nvidia/driver.py.
  [[nodiscard]] LinkedDriver driver() const {
    LinkedDriver driver;
    driver.name = driver_source_.find("libraries = ['cuda']") == std::string::npos ? kDriverLibrary : "libcuda.so";
    if (const auto folder = variable("TRITON_LIBCUDA_PATH")) {
      driver.variable = "TRITON_LIBCUDA_PATH";
      driver.folders = {*folder};
    } else if (driver_source_.find("/sbin/ldconfig") != std::string::npos) {
      driver.ldconfig = "/sbin/ldconfig";
      driver.ldconfig_there = !starts(rooted(*driver.ldconfig));
      if (driver.ldconfig_there) driver.folders = folders_of_driver();
    }
    for (const auto& folder : driver.folders) {
      const fs::path path = fs::path(folder) / driver.name;
      if (!driver.path && is_there(rooted(path.string()))) driver.path = path.string();
    }
    return driver;
  }

  [[nodiscard]] std::vector<std::string> folders_of_driver() const {
    std::vector<std::string> folders;
    const auto text = read_whole_file(rooted("/etc/ld.so.cache"));
    if (text) {
#if defined(__aarch64__)
      constexpr uint16_t kMachine = EM_AARCH64;
#else
      constexpr uint16_t kMachine = EM_X86_64;
#endif
      const Bytes bytes({reinterpret_cast<const uint8_t*>(text->data()), text->size()}, "/etc/ld.so.cache");
      const auto cache = parse_loader_cache(bytes, kMachine);
      const auto [first, last] = cache.equal_range(kDriverLibrary);
      for (auto at = first; at != last; ++at) folders.push_back(fs::path(at->second).parent_path().string());
    }
    if (!folders.empty()) return folders;
    for (const auto& folder : split_text(variable("LD_LIBRARY_PATH").value_or(""), ':')) {
      if (is_there(rooted(folder) / kDriverLibrary)) folders.push_back(folder);
    }
    return folders;
  }

  // Follows env_nvidia_tool of triton/knobs.py: takes Triton's own ptxas if the named path is missing.
  [[nodiscard]] CalledPtxas ptxas(const std::string& name) const {
    CalledPtxas tool{.name = name, .path = (nvidia_ / "bin" / name).string()};
    const char* const key = name == "ptxas" ? "TRITON_PTXAS_PATH" : "TRITON_PTXAS_BLACKWELL_PATH";
    if (const auto named = variable(key)) {
      tool.variable = key;
      const auto there = search_path(*named);
      if (there || is_there(*named)) {
        tool.path = there.value_or(*named);
      } else {
        tool.ignored = *named;
      }
    }
    tool.problem = starts(tool.path);
    if (tool.problem) return tool;
    const auto mapping = map_file(tool.path);
    const auto elf = mapping ? read_elf(Bytes(mapping->bytes(), tool.path)) : Result<Elf>(mapping.error());
    auto compiler = elf ? read_compiler(*elf) : Result<Compiler>(elf.error());
    if (compiler && !compiler->knows.empty()) tool.compiler = std::move(*compiler);
    return tool;
  }

  [[nodiscard]] CompiledCache triton_cache() const {
    if (const auto folder = variable("TRITON_CACHE_DIR")) return cache("Triton", *folder, "TRITON_CACHE_DIR", true);
    const auto home = variable("TRITON_HOME");
    return cache("Triton", home.value_or(this->home()) + "/.triton/cache", home ? "TRITON_HOME" : "TRITON_CACHE_DIR",
                 true);
  }

  [[nodiscard]] CompiledCache inductor_cache() const {
    constexpr const char* kName = "TORCHINDUCTOR_CACHE_DIR";
    if (const auto folder = variable(kName)) return cache("TorchInductor", *folder, kName, true);
    std::optional<std::string> user;
    for (const char* name : {"LOGNAME", "USER", "LNAME", "USERNAME"}) {
      if (!user) user = variable(name);
    }
    if (!user) user = sources_.user;
    if (!user)
      return {.of = "TorchInductor",
              .path = "",
              .variable = kName,
              .problem = fmt::format(
                  "the name of the cache folder contains the user's name, and user {} has none: set USER", getuid())};
    return cache("TorchInductor", temporary_folder() + "/torchinductor_" + *user, kName, true);
  }

  [[nodiscard]] CompiledCache driver_cache() const {
    const auto folder = variable("CUDA_CACHE_PATH");
    return cache("CUDA driver", folder.value_or(home() + "/.nv/ComputeCache"), "CUDA_CACHE_PATH", false);
  }

  // Follows Python's tempfile.
  [[nodiscard]] std::string temporary_folder() const {
    std::vector<std::string> folders;
    for (const char* name : {"TMPDIR", "TEMP", "TMP"}) {
      if (const auto folder = variable(name)) folders.push_back(*folder);
    }
    for (const char* folder : {"/tmp", "/var/tmp", "/usr/tmp"}) folders.push_back(rooted(folder).string());
    for (const auto& folder : folders) {
      if (is_there(folder) && !why_not_kept(folder, false)) return folder;
    }
    return folders.front();
  }

  [[nodiscard]] std::string home() const {
    if (const auto home = variable("HOME")) return *home;
    const passwd* const entry = getpwuid(getuid());
    return entry != nullptr && entry->pw_dir != nullptr ? entry->pw_dir : "~";  // os.path.expanduser keeps "~" too
  }

  [[nodiscard]] static CompiledCache cache(const char* of, const std::string& path, const char* variable, bool loads) {
    return {.of = of, .path = path, .variable = variable, .problem = why_not_kept(path, loads)};
  }

  // `loads`: the program loads shared objects from the folder. A missing folder is created in its parent.
  [[nodiscard]] static std::optional<std::string> why_not_kept(const fs::path& path, bool loads) {
    std::error_code error;
    fs::path there = fs::absolute(path, error);
    while (there.has_relative_path() && fs::symlink_status(there, error).type() == fs::file_type::not_found)
      there = there.parent_path();
    const std::string name = there == path ? "it" : there.string();
    if (!fs::is_directory(there, error)) return name + " is no folder";
    struct statvfs system {};
    if (statvfs(there.c_str(), &system) == 0) {
      if ((system.f_flag & ST_RDONLY) != 0) return name + " is on a read-only file system";
      if (loads && (system.f_flag & ST_NOEXEC) != 0)
        return name + " is on a file system that is mounted with noexec, so that no library is loaded from it";
      if (system.f_blocks > 0 && system.f_bavail == 0) return "no space is left on the file system of the cache folder";
    }
    if (access(there.c_str(), W_OK | X_OK) == 0) return std::nullopt;
    return fmt::format("this user may not write to {}", name);
  }

  const PreflightSources& sources_;
  fs::path packages_;
  fs::path nvidia_;
  std::string driver_source_;  // "" without Triton
};

}  // namespace

PreflightSources preflight_sources() {
  PreflightSources sources;
  sources.variable = [](const char* name) -> std::optional<std::string> {
    const char* value = std::getenv(name);
    return value != nullptr && *value != '\0' ? std::optional<std::string>(value) : std::nullopt;
  };
  const passwd* const entry = getpwuid(getuid());
  if (entry != nullptr && entry->pw_name != nullptr) sources.user = entry->pw_name;
  return sources;
}

std::optional<fs::path> find_packages_folder(const Inventory& inventory) {
  if (inventory.layout != "site-packages" && inventory.layout != "nix") return std::nullopt;
  std::vector<fs::path> folders{inventory.artifact, fs::path(inventory.artifact).parent_path()};
  if (inventory.libtorch_dir) folders.push_back(fs::path(*inventory.libtorch_dir).parent_path().parent_path());
  for (const auto& folder : folders) {
    if (is_there(folder / "torch/__init__.py")) return folder;
  }
  return std::nullopt;
}

Preflight find_compile_tools(const fs::path& packages, const PreflightSources& sources) {
  std::error_code error;
  const fs::path real = fs::canonical(packages, error);
  return CompileToolFinder(error ? packages : real, sources).look();
}

}  // namespace pbprobe
