// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Parses claims: the properties that a build must deliver.
#pragma once

#include <filesystem>
#include <string_view>

#include "core/facts/claim.hpp"
#include "core/json.hpp"
#include "core/result.hpp"
#include "recipes/src/variant.hpp"

namespace pbprobe {

// Parses the name of a variant, which is an exact claim, or a list (sm90,avx512,cuda=13.0,torch=2.10.0,python=3.13,
// blas=openblas), which is an at-least claim, or exact with the word "only". Errors: usage, with the wrong word and the
// allowed ones, also for impossible claims (sm121 with an x86 ISA, sm61 with CUDA 13.0).
[[nodiscard]] Result<Claim> parse_claim(std::string_view text, const Matrix& m = matrix());

// Makes the exact claim of a variant.
[[nodiscard]] Claim make_variant_claim(const Variant& variant, const Matrix& m = matrix());

// Parses a claim file: text lines, JSON (docs/claims.schema.json), or metadata.json of a Hugging Face kernel, whose
// folder in `path` names torch and CUDA. Errors: malformed, with `path` and the line or key.
[[nodiscard]] Result<Claim> parse_claim_file(std::string_view text, const std::filesystem::path& path);

// Joins the claim of --claim with the claims of a claim file. Errors: usage, if both claim the whole package.
[[nodiscard]] Result<Claim> join_claims(const Claim& whole, Claim file);

// Returns docs/claims.schema.json.
[[nodiscard]] Json claim_file_schema();

}  // namespace pbprobe
