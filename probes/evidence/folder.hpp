// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// A folder of evidence: there whole, or not at all.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "core/result.hpp"

namespace pbprobe {

using EvidenceFiles = std::map<std::string, std::string>;  // by name

inline constexpr const char* kReportFile = "report.json";
inline constexpr const char* kJunitFile = "junit.xml";
inline constexpr const char* kSarifFile = "pbprobe.sarif";
inline constexpr const char* kStatementFile = "statement.intoto.json";
inline constexpr const char* kEnvelopeFile = "statement.dsse.json";
inline constexpr const char* kBundleFile = "statement.sigstore.json";  // of the envelope; older evidence has none

// Whether the folder can be written: it is not there yet, or empty. Asked before the work begins.
[[nodiscard]] Result<void> check_new_folder(const std::filesystem::path& folder);

// Written beside it under another name, and renamed.
[[nodiscard]] Result<void> write_folder(const std::filesystem::path& folder, const EvidenceFiles& files);

// All files of the folder. Errors: not_found; malformed where something else lies there, or one is missing.
[[nodiscard]] Result<EvidenceFiles> read_folder(const std::filesystem::path& folder);

// Who signed what lies in a folder.
struct Signature {
  std::string key;       // the id of the key; empty: it is not signed
  bool trusted = false;  // by one of the keys that were given
};

// Holds every file against the statement, and the statement against its envelope where there is one, whose signature is
// checked as open_envelope does; the first that differs is named. Errors: malformed, unreadable.
[[nodiscard]] Result<Signature> check_files(const EvidenceFiles& files, const std::vector<std::filesystem::path>& keys);

// The names and digests of what the statement speaks of, by algorithm: {"torch/lib/libtorch.so": {"sha256": "…"}}.
using StatedSubjects = std::map<std::string, std::map<std::string, std::string>>;
[[nodiscard]] Result<StatedSubjects> subjects_in(const EvidenceFiles& files);

}  // namespace pbprobe
