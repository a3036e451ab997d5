// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Evidence folder. It is created completely or not at all.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"

namespace pbprobe {

using EvidenceFiles = std::map<std::string, std::string>;  // contents by file name

inline constexpr const char* kReportFile = "report.json";
inline constexpr const char* kJunitFile = "junit.xml";
inline constexpr const char* kSarifFile = "pbprobe.sarif";
inline constexpr const char* kStatementFile = "statement.intoto.json";
inline constexpr const char* kEnvelopeFile = "statement.dsse.json";
inline constexpr const char* kBundleFile =
    "statement.sigstore.json";  // made from the envelope; missing in older evidence

// Checks that the folder can be created: it must be missing or empty. Call before the work begins.
[[nodiscard]] Result<void> check_new_folder(const std::filesystem::path& folder);

// Writes the files to a temporary folder next to `folder`, then renames it.
[[nodiscard]] Result<void> write_folder(const std::filesystem::path& folder, const EvidenceFiles& files);

// Reads all files of the folder. Errors: not_found; malformed if the folder has another file, or lacks one.
[[nodiscard]] Result<EvidenceFiles> read_folder(const std::filesystem::path& folder);

// Signature of an evidence folder.
struct Signature {
  std::string key;       // id of the key; empty if not signed
  bool trusted = false;  // signed by one of the given keys
};

// Checks every file against the statement, and the statement against its signed envelope if there is one (see
// open_envelope). The error names the first difference. Errors: malformed, unreadable.
[[nodiscard]] Result<Signature> check_files(const EvidenceFiles& files, const std::vector<std::filesystem::path>& keys);

// Subjects of the statement with their digests by algorithm: {"torch/lib/libtorch.so": {"sha256": "…"}}.
using StatedSubjects = std::map<std::string, std::map<std::string, std::string>>;
[[nodiscard]] Result<StatedSubjects> read_subjects(const EvidenceFiles& files);

struct NarHash {
  std::string nix;  // "sha256:…", as printed by `nix-store -q --hash`
  std::string hex;  // the hash in hexadecimal digits
};

// Returns the NAR hash of a store path. Error: failed_child, if nix-store does not report it.
[[nodiscard]] Result<NarHash> read_nar_hash(const std::string& path);

// Converts 32 bytes in Nix's base 32 to hexadecimal digits; nullopt if `digits` is malformed.
[[nodiscard]] std::optional<std::string> decode_nix32(std::string_view digits);

}  // namespace pbprobe
