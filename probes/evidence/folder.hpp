// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// A folder of evidence: there whole, or not at all.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "core/result.hpp"

namespace pbprobe {

using EvidenceFiles = std::map<std::string, std::string>;  // by name

inline constexpr const char* kReportFile = "report.json";
inline constexpr const char* kJunitFile = "junit.xml";
inline constexpr const char* kSarifFile = "pbprobe.sarif";
inline constexpr const char* kStatementFile = "statement.intoto.json";
inline constexpr const char* kEnvelopeFile = "statement.dsse.json";

// Whether the folder can be written: it is not there yet, or empty. Asked before the work begins.
[[nodiscard]] Result<void> check_new_folder(const std::filesystem::path& folder);

// Written beside it under another name, and renamed.
[[nodiscard]] Result<void> write_folder(const std::filesystem::path& folder, const EvidenceFiles& files);

// All files of the folder. Errors: not_found; malformed where something else lies there, or one is missing.
[[nodiscard]] Result<EvidenceFiles> read_folder(const std::filesystem::path& folder);

// Holds every file against the signed statement; the first that differs is named. Errors: malformed, unreadable.
[[nodiscard]] Result<void> verify_folder(const std::filesystem::path& folder, const std::filesystem::path& public_key);

// The same without a signature: the files against the statement that lies beside them.
[[nodiscard]] Result<void> check_digests(const EvidenceFiles& files);

}  // namespace pbprobe
