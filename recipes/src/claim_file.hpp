// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Claim files: what each library of a package is to hold, and of which nothing is claimed.
#pragma once

#include <filesystem>
#include <string_view>

#include "core/facts/claim.hpp"
#include "core/json.hpp"
#include "core/result.hpp"

namespace pbprobe {

// Lines of text, JSON as docs/claims.schema.json describes it, or the metadata.json of a Hugging Face kernel; `path` is
// what that one's folder tells, and what errors name. Errors: malformed, naming the line or the key.
[[nodiscard]] Result<Claim> parse_claim_file(std::string_view text, const std::filesystem::path& path);

// What `--claim` says of the whole, and a claim file of parts of it. Errors: usage, where both speak of the whole.
[[nodiscard]] Result<Claim> join_claims(const Claim& whole, Claim file);

// docs/claims.schema.json.
[[nodiscard]] Json claim_file_schema();

}  // namespace pbprobe
