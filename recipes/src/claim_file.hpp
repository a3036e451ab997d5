// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Claim files: the required contents of each library of a package, and the libraries without a claim.
#pragma once

#include <filesystem>
#include <string_view>

#include "core/facts/claim.hpp"
#include "core/json.hpp"
#include "core/result.hpp"

namespace pbprobe {

// Parses a claim file: text lines, JSON (docs/claims.schema.json), or metadata.json of a Hugging Face kernel, whose
// folder in `path` names torch and CUDA. Errors: malformed, with `path` and the line or key.
[[nodiscard]] Result<Claim> parse_claim_file(std::string_view text, const std::filesystem::path& path);

// Joins the claim of --claim with the claims of a claim file. Errors: usage, if both claim the whole package.
[[nodiscard]] Result<Claim> join_claims(const Claim& whole, Claim file);

// Returns docs/claims.schema.json.
[[nodiscard]] Json claim_file_schema();

}  // namespace pbprobe
