// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Variant: one combination that can be built, named like its recipe: pytorch-python313-cuda13_0-sm121-armv9.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "recipes/src/matrix.hpp"

namespace pbprobe {

struct Variant {
  std::string line;                // "cuda13_0"; for a CPU-only variant the default line
  std::string python;              // "313"
  std::optional<std::string> gpu;  // "sm121"; nullopt for a CPU-only variant
  std::string cpu;                 // "armv9"

  friend bool operator==(const Variant&, const Variant&) = default;
};

// Formats "pytorch-python313-cuda13_0-sm121-armv9" or "pytorch-python313-cpu-avx2", without dots, which would break
// attribute paths.
[[nodiscard]] std::string variant_name(const Variant& variant);

// Formats "pytorch210-python313-cuda13_0-sm121-armv9".
[[nodiscard]] std::string variant_pname(const Variant& variant, const Matrix& m = matrix());

// Parses a name or a pname of a variant in the matrix. Errors: usage, with the wrong part and the allowed values.
[[nodiscard]] Result<Variant> parse_variant(std::string_view name, const Matrix& m = matrix());

// Reports whether to parse `text` as a variant name.
[[nodiscard]] bool looks_like_variant(std::string_view text);

// Returns the Nix systems of a variant.
[[nodiscard]] std::vector<std::string> variant_platforms(const Variant& variant);

// Returns every variant of a line in the order of the matrix, CPU-only variants last.
[[nodiscard]] std::vector<Variant> line_variants(const MatrixLine& line, std::string_view python);

struct VariantFilter {
  std::optional<std::string> line;  // "all" for every line; nullopt for the default line
  std::optional<std::string> gpu;   // "sm121", or "cpu" for CPU-only variants
  std::optional<std::string> cpu;
  std::optional<std::string> python;
};

// Returns the matching variants; empty without a match. Errors: usage, for an unknown line, SM, ISA or Python.
[[nodiscard]] Result<std::vector<Variant>> list_variants(const VariantFilter& filter, const Matrix& m = matrix());

// Converts "313" to "3.13".
[[nodiscard]] std::string python_version(std::string_view python);

}  // namespace pbprobe
