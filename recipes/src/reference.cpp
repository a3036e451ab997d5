// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "recipes/src/reference.hpp"

#include <algorithm>

#include "core/json.hpp"
#include "core/major_minor.hpp"
#include "recipes/src/variant_facts.hpp"

namespace pbprobe {
namespace {

constexpr std::string_view kReferencesJson =
#include "reference_builds.inc"  // recipes/reference_builds.json as string literals (cmake/Embed.cmake)
    ;

// The switches of torch's build that the claimed variant turns off.
std::vector<std::string> switched_off(const Claim& claim) {
  std::vector<std::string> off;
  if (!looks_like_variant(claim.text)) return off;
  const auto variant = parse_variant(claim.text);
  if (!variant) return off;
  for (const auto& [name, value] : facts_of(*variant).environment) {
    if (value == "0") off.push_back(name);
  }
  return off;
}

}  // namespace

Result<ReferenceTable> parse_reference_table(std::string_view text) {
  PBPROBE_TRY(const auto json, parse_json(text));
  return from_json<ReferenceTable>(json);
}

const ReferenceTable& reference_table() {
  static const ReferenceTable table = embedded(parse_reference_table(kReferencesJson), "recipes/reference_builds.json");
  return table;
}

Reference reference_for(const Inventory& build, const Claim& claim, const ReferenceTable& table) {
  Reference reference;
  const auto version = parse_major_minor(build.torch_version.value_or(claim.torch.value_or("")));
  const std::string platform = build.platform.value_or("");
  for (const auto& row : table.builds) {
    if (!version || parse_major_minor(row.torch) != *version) continue;
    if (reference.build.code.empty() || row.platform == platform) reference.build = row;
  }
  const auto off = switched_off(claim);
  for (const auto& [part, kernels] : reference.build.parts) {
    if (std::find(off.begin(), off.end(), part) != off.end()) reference.left_out.push_back(part);
  }
  return reference;
}

}  // namespace pbprobe
