// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// What is written about the matrix for people and for CI; each number comes from the data.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/json.hpp"
#include "recipes/src/variant.hpp"

namespace pbprobe {

// docs/variants.md. stand_in: docs/matrix.md, which says what became of each recipe in the stand-in nixpkgs.
[[nodiscard]] std::string variants_markdown(std::string_view stand_in, const Matrix& m = matrix());

// `recipes list`: one name a line.
[[nodiscard]] std::string list_text(const std::vector<Variant>& variants);
[[nodiscard]] Json list_json(const std::vector<Variant>& variants, const Matrix& m = matrix());

// {"include": [{"name", "line", "sm", "isa", "python", "system", "runner"}]}, as GitHub's strategy.matrix takes it.
[[nodiscard]] Json github_matrix(const std::vector<Variant>& variants);

}  // namespace pbprobe
