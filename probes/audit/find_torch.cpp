// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include <sstream>
#include <string>
#include <system_error>

#include "core/open_file.hpp"
#include "probes/audit/audit.hpp"
#include "probes/audit/packages/layout.hpp"
#include "probes/audit/packages/linked_torch.hpp"

namespace pbprobe {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMostTextBytes = 1 << 20;

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
  const auto linked = linked_torch(root);
  return linked ? std::optional(linked->torch) : std::nullopt;
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
