// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Evidence of a gate: written only by complete runs, read again, and joined.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/facts/report.hpp"
#include "core/result.hpp"

namespace pbprobe {

struct EvidenceRequest {
  std::filesystem::path folder;              // not there yet
  std::optional<std::filesystem::path> key;  // PEM: the private half, or the public one where a program signs
  std::string signer;                        // that program (probes/evidence/dsse.hpp)
};

// Whether folder and key can be used: asked before the work begins.
[[nodiscard]] Result<void> check_evidence(const EvidenceRequest& request);

// Errors: unsupported where there is nothing to attest (the run was not complete, its facts were read from a document,
// no digests) or to sign (a run that was joined, and was not signed by a trusted key), unreadable.
[[nodiscard]] Result<void> write_evidence(const Report& report, const EvidenceRequest& request);

// Keys that are trusted: PEM, of which the public half is enough.
using TrustedKeys = std::vector<std::filesystem::path>;

struct ReadEvidence {
  Report report;
  std::string key;       // the id of the key that signed it; empty: none did
  bool trusted = false;  // it is one of the trusted ones
};

// The report of an evidence folder, whose verdict and gate were computed again from its facts; those of each run that
// it joins, too. A signature that is there is checked; without trusted keys by the public key that it brings, and where
// there are some it must be of one of them. Errors: malformed where the decisions come out differently, or where a file
// is not the one that the statement names.
[[nodiscard]] Result<ReadEvidence> read_evidence(const std::filesystem::path& folder, const TrustedKeys& keys);

// Reports of gates that ran on several machines, or folders of evidence: one report with all of them and the gate that
// they give together, each claim at the highest level that one of them proved. What was joined before is taken apart
// again. Signatures that are there are checked as by read_evidence. Errors: usage (fewer than two), malformed where
// claims or digests of subjects differ.
[[nodiscard]] Result<Report> join_evidence(const std::vector<std::filesystem::path>& inputs,
                                           std::optional<Level> require, const TrustedKeys& keys);

// Whether the folder is as one of these keys signed it, and, where an artifact is given, whether that one has the
// digest of every subject and no other shared object. Errors: malformed, naming the first file that is not what was
// signed, or each subject that differs or is missing.
[[nodiscard]] Result<void> verify_evidence(const std::filesystem::path& folder, const TrustedKeys& keys,
                                           const std::optional<std::filesystem::path>& artifact);

}  // namespace pbprobe
