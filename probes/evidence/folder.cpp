// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/evidence/folder.hpp"

#include <fcntl.h>
#include <stdlib.h>  // mkdtemp
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <span>

#include "core/json.hpp"
#include "core/list_folder.hpp"
#include "core/open_file.hpp"
#include "core/printable.hpp"
#include "core/program.hpp"
#include "core/retry_on_eintr.hpp"
#include "core/sha256.hpp"
#include "core/temp_folder.hpp"
#include "probes/evidence/dsse.hpp"

namespace pbprobe {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 3> kDigested{kReportFile, kJunitFile, kSarifFile};

Error cannot_write(const fs::path& what, const std::string& why) {
  return make_error(ErrorCode::unreadable, "{} cannot be written: {}: name a new folder in one of yours", what.string(),
                    why);
}

// On disk before the folder gets its name.
Result<void> write_file(const fs::path& file, std::string_view text) {
  const int descriptor = ::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (descriptor < 0) return cannot_write(file, std::strerror(errno));
  const bool whole = write_whole(descriptor, text) && ::fsync(descriptor) == 0;
  const int why = errno;
  ::close(descriptor);
  if (!whole) return cannot_write(file, std::strerror(why));
  return {};
}

Result<void> fill(const fs::path& partial, const fs::path& folder, const EvidenceFiles& files) {
  for (const auto& [name, text] : files) PBPROBE_CHECK(write_file(partial / name, text));
  // mkdtemp makes the folder accessible to its owner only.
  if (::chmod(partial.c_str(), 0755) != 0) return cannot_write(partial, std::strerror(errno));
  if (::rename(partial.c_str(), folder.c_str()) != 0) return cannot_write(folder, std::strerror(errno));
  return {};
}

bool is_known(std::string_view name) {
  return std::ranges::find(kDigested, name) != kDigested.end() || name == kStatementFile || name == kEnvelopeFile ||
         name == kBundleFile;
}

// Returns the digest of a file that the statement records.
std::string digest_stated(const Json& statement, std::string_view file) {
  const Json none = Json::array();
  const auto predicate = statement.find("predicate");
  if (predicate == statement.end() || !predicate->is_object()) return "nothing";
  for (const auto& descriptor : predicate->value("configuration", none)) {
    if (!descriptor.is_object() || descriptor.value("name", Json()) != file) continue;
    const Json digest = descriptor.value("digest", Json::object());
    const auto stated = digest.is_object() ? digest.find("sha256") : digest.end();
    if (digest.is_object() && stated != digest.end() && stated->is_string()) return stated->get<std::string>();
  }
  return "nothing";
}

Result<void> check_digests(const EvidenceFiles& files) {
  PBPROBE_TRY(const Json statement, parse_json(files.at(kStatementFile)), "{}", kStatementFile);
  if (!statement.is_object()) return make_error(ErrorCode::malformed, "{}: not a statement", kStatementFile);
  for (const std::string_view name : kDigested) {
    const std::string is = compute_sha256(files.at(std::string(name)));
    const std::string stated = digest_stated(statement, name);
    if (is != stated)
      return make_error(ErrorCode::malformed, "{}: the file was changed: its sha256 is {}, but the statement has {}",
                        name, is, stated);
  }
  return {};
}

// Checks that the Sigstore bundle has the contents of the envelope.
Result<void> check_bundle(const EvidenceFiles& files) {
  const auto bundle = files.find(kBundleFile);
  if (bundle == files.end()) return {};
  const auto envelope = files.find(kEnvelopeFile);
  if (envelope == files.end())
    return make_error(ErrorCode::malformed, "{}: {}, from which this file was made, is missing", kBundleFile,
                      kEnvelopeFile);
  PBPROBE_TRY(const std::string made, sigstore_bundle(envelope->second), "{}", kEnvelopeFile);
  if (made != bundle->second)
    return make_error(ErrorCode::malformed, "{}: does not match {}", kBundleFile, kEnvelopeFile);
  return {};
}

Result<void> check_payload(const std::string& statement, const std::string& payload) {
  if (statement == payload) return {};
  const auto differs =
      std::mismatch(statement.begin(), statement.end(), payload.begin(), payload.end()).first - statement.begin();
  return make_error(ErrorCode::malformed, "{}: byte {} differs from the signed statement", kStatementFile, differs);
}

}  // namespace

Result<void> check_new_folder(const fs::path& folder) {
  std::error_code error;
  const bool there = fs::exists(fs::symlink_status(folder, error));
  if (there && !(fs::is_directory(fs::symlink_status(folder, error)) && fs::is_empty(folder, error)))
    return make_error(ErrorCode::usage, "{} exists: evidence needs a new folder", folder.string());
  return {};
}

Result<void> write_folder(const fs::path& folder, const EvidenceFiles& files) {
  PBPROBE_CHECK(check_new_folder(folder));
  fs::path plain = folder;
  while (!plain.empty() && !plain.has_filename()) plain = plain.parent_path();  // "evidence/"
  std::string partial = plain.string() + ".partial-XXXXXX";
  if (::mkdtemp(partial.data()) == nullptr) return cannot_write(folder, std::strerror(errno));
  const IncompletePathRegistration unfinished(partial);
  auto written = fill(partial, plain, files);
  if (!written) remove_folder(partial);
  return written;
}

Result<EvidenceFiles> read_folder(const fs::path& folder) {
  std::error_code error;
  EvidenceFiles files;
  for (const auto& entry : list_folder(folder, error)) {
    const std::string name = entry.path.filename().string();
    if (!is_known(name) || entry.type != fs::file_type::regular)
      return make_error(ErrorCode::malformed,
                        "{}: {} is not a part of evidence: name the folder that `pbprobe gate --evidence` wrote",
                        folder.string(), printable(name));
    PBPROBE_TRY(files[name], read_whole_file(entry.path));
  }
  if (error)
    return make_error(ErrorCode::not_found, "{}: {}: name the folder that `pbprobe gate --evidence` wrote",
                      folder.string(), error.message());
  for (const std::string_view name : {kReportFile, kJunitFile, kSarifFile, kStatementFile}) {
    if (!files.contains(std::string(name)))
      return make_error(ErrorCode::malformed, "{}: {} is missing", folder.string(), name);
  }
  return files;
}

Result<Signature> check_files(const EvidenceFiles& files, const std::vector<fs::path>& keys) {
  Signature signature;
  if (const auto envelope = files.find(kEnvelopeFile); envelope != files.end()) {
    PBPROBE_TRY(const OpenedEnvelope opened, open_envelope(envelope->second, keys), "{}", kEnvelopeFile);
    PBPROBE_CHECK(check_payload(files.at(kStatementFile), opened.payload));
    signature = {.key = opened.key, .trusted = opened.trusted};
  }
  PBPROBE_CHECK(check_bundle(files));
  PBPROBE_CHECK(check_digests(files));
  return signature;
}

Result<StatedSubjects> read_subjects(const EvidenceFiles& files) {
  PBPROBE_TRY(const Json statement, parse_json(files.at(kStatementFile)), "{}", kStatementFile);
  if (!statement.is_object()) return make_error(ErrorCode::malformed, "{}: not a statement", kStatementFile);
  StatedSubjects subjects;
  for (const auto& subject : statement.value("subject", Json::array())) {
    const bool formed = subject.is_object() && subject.contains("name") && subject["name"].is_string() &&
                        subject.contains("digest") && subject["digest"].is_object();
    if (!formed) return make_error(ErrorCode::malformed, "{}: a subject lacks its name or its digest", kStatementFile);
    auto& digests = subjects[subject["name"].get<std::string>()];
    for (const auto& [algorithm, digest] : subject["digest"].items())
      digests[algorithm] = digest.is_string() ? digest.get<std::string>() : "";
  }
  return subjects;
}

namespace {

std::optional<std::string> query_hash(const std::string& path) {
  auto ran = run_program({.arguments = {"nix-store", "-q", "--hash", path}});
  if (!ran || ran->exit_code != 0) return std::nullopt;
  while (ran->out.ends_with('\n')) ran->out.pop_back();
  return std::move(ran->out);
}

}  // namespace

std::optional<std::string> decode_nix32(std::string_view digits) {
  constexpr std::string_view kAlphabet = "0123456789abcdfghijklmnpqrsvwxyz";
  constexpr size_t kDigits = 52;
  std::array<uint8_t, 33> bytes{};  // the last byte receives bits that must be zero
  if (digits.size() != kDigits) return std::nullopt;
  for (size_t n = 0; n < kDigits; ++n) {
    const size_t digit = kAlphabet.find(digits[kDigits - 1 - n]);
    if (digit == std::string_view::npos) return std::nullopt;
    const size_t shifted = digit << (n * 5 % 8);
    bytes[n * 5 / 8] = static_cast<uint8_t>(bytes[n * 5 / 8] | (shifted & 255));
    if (shifted > 255) bytes[n * 5 / 8 + 1] = static_cast<uint8_t>(bytes[n * 5 / 8 + 1] | (shifted >> 8));
  }
  if (bytes.back() != 0) return std::nullopt;
  return encode_hex(std::span(bytes).first(32));
}

Result<NarHash> read_nar_hash(const std::string& path) {
  const auto stated = query_hash(path);
  constexpr std::string_view kKind = "sha256:";
  const auto hex = stated && stated->starts_with(kKind) ? decode_nix32(std::string_view(*stated).substr(kKind.size()))
                                                        : std::nullopt;
  if (!hex)
    return make_error(
        ErrorCode::failed_child,
        "{}: `nix-store -q --hash` does not report the NAR hash{}, which evidence of a build in the store needs", path,
        stated ? ", it says \"" + *stated + "\"" : "");
  return NarHash{*stated, *hex};
}

}  // namespace pbprobe
