// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <sstream>
#include <string>
#include <system_error>

#include "core/open_file.hpp"
#include "probes/audit/audit.hpp"
#include "probes/audit/layout.hpp"
#include "probes/audit/walk.hpp"

namespace pbprobe {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMostTextBytes = 1 << 20;

// Lines of *.pth files that are folders: editable installs. Lines that Python would execute are not read.
std::optional<fs::path> torch_of_pth(const fs::path& packages) {
  for (const auto& name : names_in(packages)) {
    if (!name.ends_with(".pth")) continue;
    const auto text = read_whole_file(packages / name, kMostTextBytes);
    std::istringstream file(text ? *text : "");
    for (std::string line; std::getline(file, line);) {
      if (line.empty() || line.starts_with("#") || line.starts_with("import")) continue;
      if (auto torch = torch_folder(packages / line)) return torch;
    }
  }
  return std::nullopt;
}

std::vector<fs::path> site_packages_of(const fs::path& root) {
  std::vector<fs::path> folders{root};
  for (const char* lib : {"lib", "lib64", "local/lib"}) {
    for (const auto& python : names_in(root / lib)) {
      if (!python.starts_with("python3")) continue;
      folders.push_back(root / lib / python / "site-packages");
      folders.push_back(root / lib / python / "dist-packages");
    }
  }
  return folders;
}

// A virtual environment that sees the packages of the Python that it was made from: "home = /usr/bin".
std::optional<fs::path> base_of_environment(const fs::path& root) {
  const auto text = read_whole_file(root / "pyvenv.cfg", kMostTextBytes);
  std::istringstream file(text ? *text : "");
  std::optional<fs::path> home;
  bool sees_base = false;
  for (std::string line; std::getline(file, line);) {
    const size_t equals = line.find(" = ");
    if (equals == std::string::npos) continue;
    const std::string key = line.substr(0, equals);
    const std::string value = line.substr(equals + 3);
    if (key == "home") home = fs::path(value).parent_path();
    if (key == "include-system-site-packages") sees_base = value == "true";
  }
  return sees_base ? home : std::nullopt;
}

std::optional<fs::path> torch_of(const fs::path& root) {
  if (auto torch = torch_folder(root)) return torch;
  for (const auto& packages : site_packages_of(root)) {
    if (auto torch = torch_of_pth(packages)) return torch;
  }
  return std::nullopt;
}

}  // namespace

Result<fs::path> find_torch(const std::vector<fs::path>& roots) {
  std::string looked;
  for (const auto& root : roots) {
    auto torch = torch_of(root);
    if (const auto base = base_of_environment(root); !torch && base) torch = torch_of(*base);
    std::error_code error;
    if (torch) return fs::absolute(*torch, error).lexically_normal();
    looked += (looked.empty() ? "" : ", ") + root.string();
  }
  return make_error(
      ErrorCode::not_found,
      "no torch found; looked in {}: activate an environment that has one, or give the path of an artifact",
      looked.empty() ? "no folder at all" : looked);
}

}  // namespace pbprobe
