// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Claim: statement of what a variant or an artifact delivers.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/fields.hpp"

namespace pbprobe {

// Claim about the files that match one pattern of a claim file.
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
  std::string text;                  // variant name or list, unchanged
  bool exact = false;                // the artifact contains nothing else, as a variant name claims
  std::vector<std::string> targets;  // ids
  std::optional<std::string> cuda;   // "13.0"
  std::optional<std::string> torch;  // "2.10.0"
  std::optional<std::string> python;
  std::optional<std::string> blas;
  std::optional<std::vector<FileClaim>> files;  // the last entry that matches a file applies; null without a claim file
  std::optional<std::vector<IgnoredFiles>> ignored;  // files without a claim; null without a claim file
};

void fields(auto& visit, SameAs<FileClaim> auto& claim) {
  visit("files", claim.files, "pattern of paths, or of file names if it has no slash");
  visit("sms", claim.sms, "machine code in each file; with a suffix, exactly that SM");
  visit("ptx", claim.ptx, "PTX in each file");
  visit("cuda", claim.cuda, "version, \"13.0\"");
  visit("torch", claim.torch, "version, \"2.10\"");
  visit("python", claim.python, "version, \"3.13\"");
}

void fields(auto& visit, SameAs<IgnoredFiles> auto& ignored) {
  visit("files", ignored.files, "pattern of paths, or of file names if it has no slash");
  visit("reason", ignored.reason, "reason why nothing is claimed about them");
}

void fields(auto& visit, SameAs<Claim> auto& claim) {
  visit.constant("schema", "pbprobe.claim/1");
  visit("text", claim.text, "variant name or list, unchanged");
  visit("exact", claim.exact, "the artifact contains nothing else");
  visit("targets", claim.targets, "ids of the target table");
  visit("cuda", claim.cuda, "version, \"13.0\"");
  visit("torch", claim.torch, "version, \"2.10.0\"");
  visit("python", claim.python, "version, \"3.13\"");
  visit("blas", claim.blas, "library, \"openblas\" or \"mkl\"");
  visit("files", claim.files,
        "claims about single files; the last entry that matches a file applies; null without a claim file");
  visit("ignored", claim.ignored, "files without a claim; null without a claim file");
}

}  // namespace pbprobe
