// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Checks of a wheel's metadata against its name and members: the rules of pip and uv, and the promises of its tags.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/facts/inventory.hpp"
#include "core/result.hpp"
#include "probes/audit/loader/symbol_table.hpp"
#include "probes/audit/packages/layout.hpp"

namespace pbprobe {

// Digests of a wheel's members by name. The digest of a missing name is not compared.
using MemberDigests = std::map<std::string, std::string>;

// Computes the digests of the members that `files` does not have.
[[nodiscard]] MemberDigests digest_members(const Wheel& wheel, const std::vector<File>& files, unsigned threads);

// Returns a sentence for each fault of the wheel `file_name`; none if an installer takes it and it keeps its promises.
// Ignores a name that is not NAME-VERSION-PYTHON-ABI-PLATFORM.whl: the file was renamed.
[[nodiscard]] std::vector<std::string> find_wheel_faults(const std::string& file_name, const ArtifactLayout& layout,
                                                         const std::vector<File>& files, const MemberDigests& digests,
                                                         const SymbolTables& tables);

inline const std::string kVariantFile = "variant.json";

// Parses variant.json. Errors: malformed; also for a number of variants other than one, which only an index has.
[[nodiscard]] Result<WheelVariant> parse_variant_json(std::string_view text);

}  // namespace pbprobe
