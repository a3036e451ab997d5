// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// recipes/reference_builds.json, embedded at build time: the contents of public torch builds. A judged build is
// compared with the public build of its version.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "core/facts/claim.hpp"
#include "core/facts/inventory.hpp"
#include "core/facts/reference.hpp"
#include "core/result.hpp"

namespace pbprobe {

struct ReferenceTable {
  std::vector<ReferenceBuild> builds;
};

[[nodiscard]] const ReferenceTable& reference_table();

// Parses the table. Errors: malformed, with the key.
[[nodiscard]] Result<ReferenceTable> parse_reference_table(std::string_view text);

// Returns the public build to compare with a build of this version and claim; empty if the table lacks the version.
[[nodiscard]] ReferenceBuild reference_for(const Inventory& build, const Claim& claim,
                                           const ReferenceTable& table = reference_table());

template <class Visitor, SameAs<ReferenceTable> T>
void fields(Visitor& visit, T& table) {
  visit.constant("schema", "pbprobe.reference_builds/1");
  visit("builds", table.builds, "oldest first");
}

}  // namespace pbprobe
