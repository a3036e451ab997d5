// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/audit/host_code/cpu_features.hpp"

namespace pbprobe {

std::span<const std::string_view> feature_names(std::string_view machine) {
  if (machine == "x86_64") return kX86Features;
  if (machine == "aarch64") return kAarch64Features;
  return {};
}

std::vector<std::string> list_feature_names(FeatureSet set, std::span<const std::string_view> names) {
  std::vector<std::string> found;
  for (size_t i = 0; i < names.size(); ++i) {
    if (((set >> i) & 1U) != 0) found.emplace_back(names[i]);
  }
  return found;
}

}  // namespace pbprobe
