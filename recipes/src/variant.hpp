// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Variant: one buildable combination, named as its recipe: pytorch-python313-cuda13_0-sm121-armv9.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "recipes/src/matrix.hpp"

namespace pbprobe {

struct Variant {
  std::string line;                // "cuda13_0"; a CPU-only variant belongs to the default line
  std::string python;              // "313"
  std::optional<std::string> gpu;  // "sm121"; null: CPU only
  std::string cpu;                 // "armv9"

  friend bool operator==(const Variant&, const Variant&) = default;
};

// "pytorch-python313-cuda13_0-sm121-armv9", "pytorch-python313-cpu-avx2": no dots, they break attribute paths.
[[nodiscard]] std::string variant_name(const Variant& variant);

// "pytorch210-python313-cuda13_0-sm121-armv9".
[[nodiscard]] std::string variant_pname(const Variant& variant, const Matrix& m = matrix());

// Reads a name or a pname, and accepts only what the matrix holds. Errors: usage, saying which part is wrong and what
// could stand there.
[[nodiscard]] Result<Variant> parse_variant(std::string_view name, const Matrix& m = matrix());

// Does it start as a variant's name does, so that it is to be read as one?
[[nodiscard]] bool looks_like_variant(std::string_view text);

// Nix systems that the variant is built for.
[[nodiscard]] std::vector<std::string> variant_platforms(const Variant& variant);

// Every variant of a line, in the matrix's order; CPU-only ones last.
[[nodiscard]] std::vector<Variant> line_variants(const MatrixLine& line, std::string_view python);

struct VariantFilter {
  std::optional<std::string> line;  // "all" for every line; null: the default line
  std::optional<std::string> gpu;   // "sm121", or "cpu" for CPU-only variants
  std::optional<std::string> cpu;
  std::optional<std::string> python;
};

// Errors: usage, for a line, SM, ISA or Python that the matrix does not know. No match is an empty list.
[[nodiscard]] Result<std::vector<Variant>> list_variants(const VariantFilter& filter, const Matrix& m = matrix());

// "313" → "3.13".
[[nodiscard]] std::string python_version(std::string_view python);

}  // namespace pbprobe
