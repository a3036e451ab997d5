// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Claim: what a variant or an artifact says that it delivers.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/fields.hpp"

namespace pbprobe {

struct Claim {
  std::string text;                  // as given: a variant's name or a list
  bool exact = false;                // nothing but this, as a variant's name claims it
  std::vector<std::string> targets;  // ids
  std::optional<std::string> cuda;   // "13.0"
  std::optional<std::string> torch;  // "2.10.0"
  std::optional<std::string> python;
  std::optional<std::string> blas;
};

template <class Visitor, SameAs<Claim> T>
void fields(Visitor& visit, T& claim) {
  visit.constant("schema", "pbprobe.claim/1");
  visit("text", claim.text, "as given: a variant's name or a list");
  visit("exact", claim.exact, "nothing but this");
  visit("targets", claim.targets, "ids of the target table");
  visit("cuda", claim.cuda, "version, \"13.0\"");
  visit("torch", claim.torch, "version, \"2.10.0\"");
  visit("python", claim.python, "version, \"3.13\"");
  visit("blas", claim.blas, "library, \"openblas\" or \"mkl\"");
}

}  // namespace pbprobe
