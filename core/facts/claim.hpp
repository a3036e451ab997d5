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

// What is claimed of the files that a pattern of a claim file names.
struct FileClaim {
  std::string files;             // "vllm/_moe_C*.so"
  std::vector<std::string> sms;  // machine code: "sm_90", "sm_90a"
  std::vector<std::string> ptx;  // "compute_120"
  std::optional<std::string> cuda;
  std::optional<std::string> torch;
  std::optional<std::string> python;
};

// Files of which nothing is claimed.
struct IgnoredFiles {
  std::string files;
  std::string reason;
};

struct Claim {
  std::string text;                  // as given: a variant's name or a list
  bool exact = false;                // nothing but this, as a variant's name claims it
  std::vector<std::string> targets;  // ids
  std::optional<std::string> cuda;   // "13.0"
  std::optional<std::string> torch;  // "2.10.0"
  std::optional<std::string> python;
  std::optional<std::string> blas;
  std::optional<std::vector<FileClaim>> files;       // of a file the last that names it; null: no claim file
  std::optional<std::vector<IgnoredFiles>> ignored;  // null: likewise
};

template <class Visitor, SameAs<FileClaim> T>
void fields(Visitor& visit, T& claim) {
  visit("files", claim.files, "a pattern of paths, or of names where it has no slash");
  visit("sms", claim.sms, "machine code that each of them holds; with a suffix, exactly that");
  visit("ptx", claim.ptx, "PTX that each of them holds");
  visit("cuda", claim.cuda, "version, \"13.0\"");
  visit("torch", claim.torch, "version, \"2.10\"");
  visit("python", claim.python, "version, \"3.13\"");
}

template <class Visitor, SameAs<IgnoredFiles> T>
void fields(Visitor& visit, T& ignored) {
  visit("files", ignored.files, "a pattern of paths, or of names where it has no slash");
  visit("reason", ignored.reason, "why nothing is claimed of them");
}

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
  visit("files", claim.files, "what a claim file says of single files: the last that names one counts; null: none");
  visit("ignored", claim.ignored, "files of which nothing is claimed; null: none");
}

}  // namespace pbprobe
