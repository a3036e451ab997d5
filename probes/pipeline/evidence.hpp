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
  std::filesystem::path folder;              // folder that does not exist yet
  std::optional<std::filesystem::path> key;  // PEM file: the private key, or the public key if `signer` signs
  std::string signer;                        // program that signs (probes/evidence/dsse.hpp)
};

// Checks that folder and key can be used. Call before the work begins.
[[nodiscard]] Result<void> check_evidence(const EvidenceRequest& request);

// Writes the evidence folder. Errors: unsupported, if there is nothing to attest (incomplete run, facts from a
// document, no digests) or to sign (a joined run without a trusted signature); unreadable.
[[nodiscard]] Result<void> write_evidence(const Report& report, const EvidenceRequest& request);

// Keys that are trusted: PEM, of which the public half is enough.
using TrustedKeys = std::vector<std::filesystem::path>;

struct ReadEvidence {
  Report report;
  std::string key;       // id of the signing key; empty if not signed
  bool trusted = false;  // signed by a trusted key
};

// Reads an evidence folder and recomputes the verdicts from its facts, including joined runs. Checks a
// signature: without trusted keys against the public key in the envelope, otherwise against the trusted keys. Errors:
// malformed, if a verdict differs, or a file differs from the statement.
[[nodiscard]] Result<ReadEvidence> read_evidence(const std::filesystem::path& folder, const TrustedKeys& keys);

// Joins reports or evidence folders of gates that ran on several machines. The result has all runs and their joint
// verdict: each claim gets the highest level that a run proved. Joined inputs are split first. Checks signatures as
// read_evidence does. Errors: usage (fewer than two inputs), malformed, if claims or subject digests differ.
[[nodiscard]] Result<Report> join_evidence(const std::vector<std::filesystem::path>& inputs,
                                           std::optional<Level> require, const TrustedKeys& keys);

// Verifies that one of these keys signed the folder. With an artifact, also verifies that it has the digest of every
// subject and no other shared object. Errors: malformed, naming the first changed file, or each subject that differs or
// is missing.
[[nodiscard]] Result<void> verify_evidence(const std::filesystem::path& folder, const TrustedKeys& keys,
                                           const std::optional<std::filesystem::path>& artifact);

}  // namespace pbprobe
