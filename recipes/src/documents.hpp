// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Documents about the matrix, for people and for CI. Each number comes from the data.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/json.hpp"
#include "recipes/src/variant.hpp"

namespace pbprobe {

// Renders docs/variants.md. stand_in: text of docs/matrix.md, with the result of each recipe in the stand-in nixpkgs.
[[nodiscard]] std::string variants_markdown(std::string_view stand_in, const Matrix& m = matrix());

// Renders `recipes list`: one name on each line.
[[nodiscard]] std::string list_text(const std::vector<Variant>& variants);
[[nodiscard]] Json list_json(const std::vector<Variant>& variants, const Matrix& m = matrix());

// Returns {"include": [{"name", "line", "sm", "isa", "python", "system", "runner"}]} for strategy.matrix of GitHub.
[[nodiscard]] Json github_matrix(const std::vector<Variant>& variants);

}  // namespace pbprobe
