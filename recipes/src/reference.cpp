// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "recipes/src/reference.hpp"

#include "core/json.hpp"
#include "core/major_minor.hpp"

namespace pbprobe {
namespace {

constexpr std::string_view kReferencesJson =
#include "reference_builds.inc"  // recipes/reference_builds.json as string literals (cmake/Embed.cmake)
    ;

}  // namespace

Result<ReferenceTable> parse_reference_table(std::string_view text) {
  PBPROBE_TRY(const auto json, parse_json(text));
  return from_json<ReferenceTable>(json);
}

const ReferenceTable& reference_table() {
  static const ReferenceTable table = embedded(parse_reference_table(kReferencesJson), "recipes/reference_builds.json");
  return table;
}

ReferenceBuild reference_for(const Inventory& build, const Claim& claim, const ReferenceTable& table) {
  const auto version = parse_major_minor(build.torch_version.value_or(claim.torch.value_or("")));
  const std::string platform = build.platform.value_or("");
  ReferenceBuild reference;
  for (const auto& row : table.builds) {
    if (!version || parse_major_minor(row.torch) != *version) continue;
    if (reference.code.empty() || row.platform == platform) reference = row;
  }
  return reference;
}

}  // namespace pbprobe
