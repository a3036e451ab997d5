// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Reads what somebody says that a build delivers.
#pragma once

#include <string_view>

#include "core/facts/claim.hpp"
#include "core/result.hpp"
#include "recipes/src/variant.hpp"

namespace pbprobe {

// A variant's name claims exactly; a list (sm90,avx512,cuda=13.0,torch=2.10.0,python=3.13,blas=openblas) claims at
// least, and exactly with the word "only" in it. Errors: usage, naming the word and what could stand there; also for
// what no build can be (sm121 with an x86 ISA, sm61 with CUDA 13.0).
[[nodiscard]] Result<Claim> parse_claim(std::string_view text, const Matrix& m = matrix());

// What a variant claims, exactly.
[[nodiscard]] Claim claim_of(const Variant& variant, const Matrix& m = matrix());

}  // namespace pbprobe
