// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/audit/packages/optional_parts.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "core/base_name.hpp"
#include "core/list_folder.hpp"
#include "core/open_file.hpp"
#include "probes/audit/packages/record.hpp"

namespace pbprobe {
namespace {

namespace fs = std::filesystem;

// Sub-libraries of cuDNN 8 and 9 by NVIDIA's backend guide, and the one of NVRTC.
constexpr std::array<std::string_view, 14> kDocumentedParts{"libcudnn_adv",       "libcudnn_adv_infer",
                                                            "libcudnn_adv_train", "libcudnn_cnn",
                                                            "libcudnn_cnn_infer", "libcudnn_cnn_train",
                                                            "libcudnn_ops",       "libcudnn_ops_infer",
                                                            "libcudnn_ops_train", "libcudnn_graph",
                                                            "libcudnn_heuristic", "libcudnn_engines_precompiled",
                                                            "libnvrtc-builtins",  "libcudnn_engines_runtime_compiled"};

std::string_view get_stem(std::string_view name) {
  return name.substr(0, name.find(".so"));
}

bool is_part(std::string_view name) {
  return name.starts_with("libcudnn_") || name.starts_with("libnvrtc-builtins");
}

bool is_missing_part(const Dependency& opened) {
  return opened.provider == Provider::unresolved && is_part(opened.name);
}

bool is_documented(std::string_view name) {
  return std::find(kDocumentedParts.begin(), kDocumentedParts.end(), get_stem(name)) != kDocumentedParts.end();
}

// Returns the stems of all parts that the package of `file` installed; nullopt if no RECORD lists the file.
std::optional<std::set<std::string>> find_recorded_parts(const std::string& file, const fs::path& packages) {
  std::error_code error;
  for (const auto& entry : list_folder(packages, error)) {
    const std::string name = entry.path.filename().string();
    if (!name.starts_with("nvidia") || !name.ends_with(".dist-info")) continue;
    const auto text = read_whole_file(entry.path / "RECORD");
    if (!text) continue;
    const Record record = parse_record(*text);
    std::set<std::string> parts;
    bool owns_file = false;
    for (const auto& recorded : record.files) {
      owns_file = owns_file || recorded.path == file;
      const std::string_view base = base_name(recorded.path);
      if (is_part(base)) parts.emplace(get_stem(base));
    }
    if (owns_file && !record.fault) return parts;
  }
  return std::nullopt;
}

}  // namespace

void remove_optional_parts(std::vector<File>& files, const fs::path& packages) {
  for (auto& file : files) {
    if (!file.links || !file.links->opened) continue;
    auto& opened = *file.links->opened;
    if (std::none_of(opened.begin(), opened.end(), is_missing_part)) continue;
    const auto recorded = packages.empty() ? std::nullopt : find_recorded_parts(file.path, packages);
    std::erase_if(opened, [&](const Dependency& one) {
      if (!is_missing_part(one)) return false;
      return recorded ? !recorded->contains(std::string(get_stem(one.name))) : !is_documented(one.name);
    });
  }
}

}  // namespace pbprobe
