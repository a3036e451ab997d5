// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// recipes/reference_builds.json: what the public builds of torch hold, embedded at build time. A build that is judged
// is held beside that of its own version.
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

// Errors: malformed, with the key.
[[nodiscard]] Result<ReferenceTable> parse_reference_table(std::string_view text);

// What a build of this version, claimed to be this, is held beside. Where the table has no such version it is empty:
// nothing is known.
[[nodiscard]] ReferenceBuild reference_for(const Inventory& build, const Claim& claim,
                                           const ReferenceTable& table = reference_table());

template <class Visitor, SameAs<ReferenceTable> T>
void fields(Visitor& visit, T& table) {
  visit.constant("schema", "pbprobe.reference_builds/1");
  visit("builds", table.builds, "oldest first");
}

}  // namespace pbprobe
