// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Checks the folders in which libtorch's files make ld.so look for libraries. Accepts folders of the artifact, its
// environment, the Nix store, the system and CUDA.
#include <algorithm>
#include <array>
#include <filesystem>

#include "probes/judge/subjects.hpp"

namespace pbprobe {
namespace {

// Levels from site-packages to the environment that holds lib/python3.13. XPU wheels and conda packages look there.
constexpr int kFoldersAbove = 3;

bool is_in(std::string_view path, std::string_view folder) {
  return path.starts_with(folder) && (path.size() == folder.size() || path[folder.size()] == '/');
}

template <size_t N>
bool is_in_any(std::string_view path, const std::array<std::string_view, N>& folders) {
  return std::ranges::any_of(folders, [&](std::string_view folder) { return is_in(path, folder); });
}

std::vector<std::string> list_search_folders(const File& file) {
  std::vector<std::string> folders = file.rpath;
  folders.insert(folders.end(), file.runpath.begin(), file.runpath.end());
  return folders;
}

bool is_relative_to_file(std::string_view folder) {
  return folder.starts_with("$ORIGIN") || folder.starts_with("${ORIGIN}");
}

// Reports whether Nix, pip or torch's own build uses such a build folder.
bool is_build_folder(std::string_view folder) {
  constexpr std::array<std::string_view, 4> kBegins{"/build/", "/tmp/nix-build-", "/nix/var/nix/builds/", "/tmp/pip-"};
  const auto begins = [&](std::string_view begin) { return folder.starts_with(begin); };
  return std::ranges::any_of(kBegins, begins) || folder.find("/build/lib") != std::string_view::npos;
}

// Reports whether the folder is in a Nix or Guix store, or in the store of the artifact.
bool is_in_store(const Inventory& inventory, std::string_view folder) {
  constexpr std::array<std::string_view, 3> kStores{"/nix/store", "/gnu/store", "/run/opengl-driver"};
  if (is_in_any(folder, kStores)) return true;
  if (!inventory.store_closure) return false;
  const auto& paths = inventory.store_closure->paths;
  const auto& outputs = inventory.store_closure->outputs;
  const std::string_view known = !paths.empty()     ? std::string_view(paths.front().path)
                                 : !outputs.empty() ? std::string_view(outputs.front())
                                                    : std::string_view();
  return !known.empty() && is_in(folder, known.substr(0, known.rfind('/')));
}

// Returns the folder that holds lib/python3.13, a libtorch or a checkout; "" for a wheel.
std::string find_environment_folder(const Inventory& inventory) {
  std::string_view folder = inventory.libtorch_dir ? std::string_view(*inventory.libtorch_dir) : std::string_view();
  for (const std::string_view python : {"/lib/python3", "/lib64/python3"}) {
    if (const size_t at = folder.find(python); at != std::string_view::npos) return std::string(folder.substr(0, at));
  }
  for (const std::string_view end : {"/torch/lib", "/lib"}) {
    if (folder.ends_with(end)) return std::string(folder.substr(0, folder.size() - end.size()));
  }
  return std::string(folder);
}

bool is_own_place(const Inventory& inventory, std::string_view folder) {
  const std::string environment = find_environment_folder(inventory);
  return (!environment.empty() && is_in(folder, environment)) || is_in_store(inventory, folder);
}

// Counts the levels that "$ORIGIN/../…" climbs above the root of the artifact's paths.
int climbs(const File& file, std::string_view folder) {
  const size_t end = folder.find('/');
  const std::string rest(end == std::string_view::npos ? std::string_view() : folder.substr(end + 1));
  const auto path = (std::filesystem::path(file.path).parent_path() / rest).lexically_normal();
  return static_cast<int>(std::ranges::count(path, std::filesystem::path("..")));
}

// Returns why any user can put a library into the folder; "" if no other user can.
std::string why_open(const Inventory& inventory, const std::string& folder) {
  constexpr std::array<std::string_view, 3> kShared{"/tmp", "/var/tmp", "/dev/shm"};
  // glibc takes an empty entry between others for the working folder. It ignores a single empty entry.
  if (folder.empty()) return "which means the folder that the program is started in";
  if (is_relative_to_file(folder)) return "";
  if (!folder.starts_with('/')) return "which begins where the program is started";
  const std::string path = std::filesystem::path(folder).lexically_normal().string();
  if (is_own_place(inventory, path)) return "";
  const auto& open = inventory.open_folders;
  const bool seen = open && std::find(open->begin(), open->end(), folder) != open->end();
  return seen || is_in_any(path, kShared) ? "which every user may write to" : "";
}

enum class Place { known, installed, elsewhere };

Place classify_folder(const Inventory& inventory, const File& file, const std::string& folder) {
  constexpr std::array<std::string_view, 4> kSystem{"/lib", "/lib64", "/usr/lib", "/usr/lib64"};
  constexpr std::array<std::string_view, 2> kInstalled{"/usr/local", "/opt"};
  if (is_relative_to_file(folder)) {
    const bool known = inventory.layout != "file" && inventory.layout != "nix";
    return known && climbs(file, folder) > kFoldersAbove ? Place::elsewhere : Place::known;
  }
  const std::string path = std::filesystem::path(folder).lexically_normal().string();
  if (is_own_place(inventory, path) || is_in_any(path, kSystem)) return Place::known;
  if (!is_in_any(path, kInstalled)) return Place::elsewhere;
  return path.find("/cuda") != std::string::npos ? Place::known : Place::installed;
}

// Reports whether PB133 or PB137 reports the folder.
bool is_reported(const Inventory& inventory, const std::string& folder) {
  return is_build_folder(folder) || !why_open(inventory, folder).empty();
}

Answer ask_places(const Facts& facts, Place place, std::string_view what) {
  Answer answer;
  for (const auto& file : facts.inventory->files) {
    if (!is_own(*facts.inventory, file)) continue;
    for (const auto& folder : list_search_folders(file)) {
      if (is_reported(*facts.inventory, folder) || classify_folder(*facts.inventory, file, folder) != place) continue;
      answer.seen.push_back(
          {say("{} looks for libraries in {}, {}", base_name(file.path), folder, make_words(what)), file.path});
      break;
    }
  }
  return answer;
}

Answer build_folder_is_forgotten(const Facts& facts) {
  Answer answer;
  for (const auto& file : facts.inventory->files) {
    if (!is_own(*facts.inventory, file)) continue;
    const auto folders = list_search_folders(file);
    const auto found = std::ranges::find_if(folders, is_build_folder);
    if (found == folders.end()) continue;
    answer.seen.push_back(
        {say("{} looks for libraries in {}, its build folder", base_name(file.path), *found), file.path});
  }
  return answer;
}

Answer runpaths_are_nobodys_else(const Facts& facts) {
  Answer answer;
  const Inventory& inventory = *facts.inventory;
  for (const auto& file : inventory.files) {
    if (!is_own(inventory, file)) continue;  // libcusparseLt has "$ORIGIN:", which only NVIDIA can fix
    for (const auto& folder : list_search_folders(file)) {
      if (facts.claim != nullptr && is_build_folder(folder)) continue;  // PB133
      const std::string why = why_open(inventory, folder);
      if (why.empty()) continue;
      answer.seen.push_back({say("{} looks for libraries in {}, {}", base_name(file.path),
                                 folder.empty() ? "\"\"" : folder, make_words(why)),
                             file.path});
      break;
    }
  }
  return answer;
}

Answer runpaths_are_installed(const Facts& facts) {
  return ask_places(facts, Place::elsewhere, "which is no place for installed software");
}

Answer runpaths_are_known(const Facts& facts) {
  if (facts.inventory->store_closure) return {};  // PB129 reports libraries outside of the closure
  return ask_places(facts, Place::installed, "which belongs neither to its package, nor to the system, nor to CUDA");
}

}  // namespace

std::vector<Check> runpaths_checks() {
  using enum Need;
  return {
      {.id = "PB133",
       .needs = {claim, inventory},
       .remedy = "install the file by the build's own install step, or set the RUNPATH by patchelf: on another machine "
                 "that folder is missing, or another user owns it",
       .ask = build_folder_is_forgotten},
      {.id = "PB137",
       .needs = {inventory},
       .remedy = "set the RUNPATH to $ORIGIN and to folders of the package: patchelf --set-rpath '$ORIGIN' FILE",
       .ask = runpaths_are_nobodys_else},
      {.id = "PB138",
       .needs = {claim, inventory},
       .remedy = "set the RUNPATH to $ORIGIN and to folders of the package: another machine lacks that folder, or "
                 "another user owns it",
       .ask = runpaths_are_installed},
      {.id = "PB139",
       .severity = Severity::note,
       .needs = {claim, inventory},
       .remedy =
           "ship the libraries that the file needs from that folder, or make sure that each machine has the folder",
       .ask = runpaths_are_known},
  };
}

}  // namespace pbprobe
