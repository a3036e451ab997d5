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
  FIELD(std::string, files, "pattern of paths, or of file names if it has no slash");  // "vllm/_moe_C*.so"
  FIELD(std::vector<std::string>, sms, "machine code in each file; with a suffix, exactly that SM");
  FIELD(std::vector<std::string>, ptx, "PTX in each file");  // "compute_120"
  FIELD(std::optional<std::string>, cuda, "version, \"13.0\"");
  FIELD(std::optional<std::string>, torch, "version, \"2.10\"");
  FIELD(std::optional<std::string>, python, "version, \"3.13\"");
};

// Files of which nothing is claimed.
struct IgnoredFiles {
  FIELD(std::string, files, "pattern of paths, or of file names if it has no slash");
  FIELD(std::string, reason, "reason why nothing is claimed about them");
};

// Parsed claim of a build ("sm90,cuda=13.0,only"): what its name or --claim promises.
struct Claim {
  SCHEMA("pbprobe.claim/1");
  FIELD(std::string, text, "variant name or list, unchanged");
  FIELD(bool, exact, "the artifact contains nothing else") = false;
  FIELD(std::vector<std::string>, targets, "ids of the target table");
  FIELD(std::optional<std::string>, cuda, "version, \"13.0\"");
  FIELD(std::optional<std::string>, torch, "version, \"2.10.0\"");
  FIELD(std::optional<std::string>, python, "version, \"3.13\"");
  FIELD(std::optional<std::string>, blas, "library, \"openblas\" or \"mkl\"");
  FIELD(std::optional<std::vector<FileClaim>>, files,
        "claims about single files; the last entry that matches a file applies; null without a claim file");
  FIELD(std::optional<std::vector<IgnoredFiles>>, ignored, "files without a claim; null without a claim file");
};

}  // namespace pbprobe
