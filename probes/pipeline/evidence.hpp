// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Evidence of a gate: written by complete runs alone, read again, and joined.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "core/facts/report.hpp"
#include "core/result.hpp"

namespace pbprobe {

struct EvidenceRequest {
  std::filesystem::path folder;              // not there yet
  std::optional<std::filesystem::path> key;  // PEM with an Ed25519 private key; none: unsigned
};

// Whether folder and key can be used: asked before the work begins.
[[nodiscard]] Result<void> check_evidence(const EvidenceRequest& request);

// Errors: unsupported where there is nothing to attest (the run was not complete, no digests), unreadable.
[[nodiscard]] Result<void> write_evidence(const Report& report, const EvidenceRequest& request);

// The report of an evidence folder, whose verdict was computed again from its facts; those of each run that
// it joins, too. Errors: malformed where they come out differently, or where a file is not the one that the statement
// names.
[[nodiscard]] Result<Report> read_evidence(const std::filesystem::path& folder);

// Reports of gates that ran on several machines, or folders of evidence: one report with all of them and the verdict
// that they give together, each claim at the highest level that one of them proved. What was joined before is taken
// apart again. Errors: usage (fewer than two), malformed where claims or digests of subjects differ.
[[nodiscard]] Result<Report> join_evidence(const std::vector<std::filesystem::path>& inputs,
                                           std::optional<Level> require);

// Errors: malformed, naming the first file that is not what was signed.
[[nodiscard]] Result<void> verify_evidence(const std::filesystem::path& folder,
                                           const std::filesystem::path& public_key);

}  // namespace pbprobe
