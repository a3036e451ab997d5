// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/pipeline/foreign.hpp"

#include <gnu/libc-version.h>
#include <link.h>

#include <fmt/ranges.h>

#include "core/major_minor.hpp"
#include "core/open_file.hpp"
#include "core/program.hpp"
#include "core/strings.hpp"
#include "probes/pipeline/python.hpp"

namespace pbprobe {
namespace {

namespace fs = std::filesystem;

#if defined(__x86_64__)
constexpr std::string_view kLoader = "ld-linux-x86-64.so.2";
constexpr std::string_view kCached = ",x86-64";  // mark of this architecture in the output of ldconfig
#elif defined(__aarch64__)
constexpr std::string_view kLoader = "ld-linux-aarch64.so.1";
constexpr std::string_view kCached = ",AArch64";
#endif
constexpr std::string_view kLibcuda = "libcuda.so.1";

bool is_there(const fs::path& path) {
  std::error_code error;
  return fs::exists(path, error);
}

// Finds a library by the run paths of libtorch's own files.
std::optional<fs::path> find_library(const Inventory& inventory, std::string_view name) {
  std::error_code error;
  for (const auto& file : inventory.files) {
    if (file.component != "libtorch" || !file.links) continue;
    for (const auto& dependency : file.links->dependencies) {
      if (dependency.name != name || !dependency.path || !dependency.by) continue;
      const fs::path path = fs::path(*dependency.path).is_absolute() ? fs::path(*dependency.path)
                                                                     : fs::path(inventory.artifact) / *dependency.path;
      return fs::absolute(path, error).lexically_normal();
    }
  }
  return std::nullopt;
}

// The C++ libraries that this very process runs with: a foreign loader does not search this machine's folders.
std::vector<fs::path> own_cxx_libraries() {
  std::vector<fs::path> found;
  dl_iterate_phdr(
      [](dl_phdr_info* object, size_t, void* list) {
        const fs::path path = object->dlpi_name;
        const std::string name = path.filename().string();
        if (name.starts_with("libstdc++.so") || name.starts_with("libgcc_s.so"))
          static_cast<std::vector<fs::path>*>(list)->push_back(path);
        return 0;
      },
      &found);
  return found;
}

// Parses "libcuda.so.1 (libc6,x86-64) => /usr/lib/x86_64-linux-gnu/libcuda.so.1". Uses only the driver's files, because
// their folder also contains this machine's libc.
std::vector<fs::path> driver_files(const std::string& ldconfig) {
  std::vector<fs::path> files;
  for (const std::string_view line : split_lines(ldconfig)) {
    const size_t begin = line.find_first_not_of(" \t");
    const size_t arrow = line.find(" => ");
    if (begin == std::string::npos || arrow == std::string::npos || line.find(kCached) > arrow) continue;
    const std::string_view name = line.substr(begin);
    if (name.starts_with("libcuda.so") || name.starts_with("libnvidia-")) files.emplace_back(line.substr(arrow + 4));
  }
  return files;
}

void link_into(const fs::path& folder, const std::vector<fs::path>& files) {
  std::error_code error;  // ignored: the loader takes the first of two files with one name
  for (const auto& file : files) fs::create_symlink(file, folder / file.filename(), error);
}

// Reports whether this torch finds libcuda without pbprobe's help.
bool finds_libcuda(const DriverPlaces& places) {
  if (is_there(places.opengl_driver / kLibcuda) || places.env("LD_FLOXLIB_FILES_PATH")) return true;
  const std::string folders = places.env("LD_LIBRARY_PATH").value_or("");
  for (const std::string_view folder : split(folders, ':')) {
    if (!folder.empty() && is_there(fs::path(folder) / kLibcuda)) return true;
  }
  return false;
}

}  // namespace

DriverPlaces system_driver_places() {
  DriverPlaces places;
  places.ldconfig = [] {
    for (const char* program : {"/sbin/ldconfig", "ldconfig"}) {  // not on every user's PATH
      const auto reported = run_program({.arguments = {program, "-p"}});
      if (reported.ok()) return reported->out;
    }
    return std::string();
  };
  places.env = system_env();
  return places;
}

std::optional<std::string> read_glibc_version(const fs::path& libc) {
  constexpr uint64_t kMaxLibcBytes = 256ULL << 20;  // includes debug information
  const auto text = read_whole_file(libc, kMaxLibcBytes);
  const std::string bytes = text ? *text : "";
  constexpr std::string_view kBanner = "GNU C Library (";
  constexpr std::string_view kRelease = "release version ";
  const size_t banner = bytes.find(kBanner);
  if (banner == std::string::npos) return std::nullopt;
  const size_t release = bytes.find(kRelease, banner);
  if (release == std::string::npos || release - banner > 200) return std::nullopt;
  const size_t begin = release + kRelease.size();
  std::string version = bytes.substr(begin, bytes.find_first_not_of("0123456789.", begin) - begin);
  while (version.ends_with('.')) version.pop_back();
  if (version.empty()) return std::nullopt;
  return version;
}

Result<std::optional<ForeignClosure>> find_foreign_closure(const Inventory& inventory, const std::string& own_glibc,
                                                           const DriverPlaces& places) {
  const auto libc = find_library(inventory, "libc.so.6");
  if (!libc) return std::optional<ForeignClosure>();
  const auto version = read_glibc_version(*libc);
  if (!version || parse_major_minor(*version) <= parse_major_minor(own_glibc)) return std::optional<ForeignClosure>();
  const fs::path loader = libc->parent_path() / kLoader;
  if (!is_there(loader))
    return make_error(
        ErrorCode::not_found,
        "this libtorch uses {} (glibc {}; this machine has {}), but its loader {} is missing: give the whole closure",
        libc->string(), *version, own_glibc, kLoader);

  PBPROBE_TRY(TempFolder links, TempFolder::make());
  std::vector<std::string> folders{libc->parent_path().string()};
  const auto cxx = find_library(inventory, "libstdc++.so.6");
  if (cxx) folders.push_back(cxx->parent_path().string());
  const bool opengl = is_there(places.opengl_driver / kLibcuda);
  const auto files = opengl ? std::vector<fs::path>() : driver_files(places.ldconfig());
  if (opengl) folders.push_back(places.opengl_driver.string());
  link_into(links.path(), files);
  if (!cxx) link_into(links.path(), own_cxx_libraries());
  folders.push_back(links.path().string());

  ForeignLoader reported{.path = loader.string(), .glibc = *version, .finds_libcuda = finds_libcuda(places)};
  if (opengl) reported.driver = places.opengl_driver.string();
  if (!files.empty()) reported.driver = "ldconfig";
  return std::optional(ForeignClosure{{loader.string(), "--library-path", fmt::format("{}", fmt::join(folders, ":"))},
                                      std::move(reported),
                                      std::move(links)});
}

fs::path resolve_program(const fs::path& program) {
  std::error_code error;
  return program.empty() ? fs::read_symlink("/proc/self/exe", error) : program;
}

ChildLimits make_child_limits(const fs::path& program, const std::optional<ForeignClosure>& foreign) {
  ChildLimits limits;
  if (foreign) {
    limits.program = foreign->words;
    limits.program.push_back(resolve_program(program).string());
  } else if (!program.empty()) {
    limits.program = {program.string()};
  }
  return limits;
}

void record_foreign_loader(const std::optional<ForeignClosure>& foreign, Measurements& measurements) {
  if (!foreign || !measurements.libtorch) return;
  measurements.libtorch->loader = foreign->loader;
  measurements.notes.push_back(
      fmt::format("libtorch has its own glibc {} (this machine has {}), and pbprobe started it by its loader {}",
                  foreign->loader.glibc, gnu_get_libc_version(), foreign->loader.path));
}

}  // namespace pbprobe
