// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include <string>
#include <system_error>

#include "probes/audit/audit.hpp"
#include "probes/audit/packages/environments.hpp"
#include "probes/audit/packages/layout.hpp"

namespace pbprobe {
namespace {

namespace fs = std::filesystem;

std::optional<fs::path> find_torch_or_link(const fs::path& root) {
  if (auto torch = torch_folder(root)) return torch;
  const auto linked = linked_torch(root);
  return linked ? std::optional(linked->torch) : std::nullopt;
}

}  // namespace

Result<fs::path> find_torch(const std::vector<fs::path>& roots) {
  std::string looked;
  for (const auto& root : roots) {
    const auto torch = find_torch_or_link(root);
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
