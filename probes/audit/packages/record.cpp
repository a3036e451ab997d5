// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/audit/packages/record.hpp"

#include <algorithm>
#include <charconv>
#include <set>
#include <utility>

#include "core/base64.hpp"
#include "core/sha256.hpp"
#include "core/strings.hpp"

namespace pbprobe {
namespace {

constexpr std::string_view kSha256 = "sha256=";
constexpr size_t kFields = 3;

// Splits a line of CSV; a doubled quote in a quoted field is one quote. Returns nullopt if a quote has no end.
std::optional<std::vector<std::string>> split_csv_fields(std::string_view line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '"' && quoted && i + 1 < line.size() && line[i + 1] == '"') {
      fields.back() += line[++i];
    } else if (line[i] == '"') {
      quoted = !quoted;
    } else if (line[i] == ',' && !quoted) {
      fields.emplace_back();
    } else {
      fields.back() += line[i];
    }
  }
  if (quoted) return std::nullopt;
  return fields;
}

std::optional<uint64_t> parse_record_size(std::string_view text) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// RECORD cannot list its own digest, nor the digests of its signatures.
bool is_signature(std::string_view member) {
  return member.ends_with(".dist-info/RECORD") || member.ends_with(".dist-info/RECORD.jws") ||
         member.ends_with(".dist-info/RECORD.p7s");
}

}  // namespace

Record parse_record(std::string_view text) {
  Record record;
  size_t number = 0;
  for (std::string_view line : split_lines(text)) {
    ++number;
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty()) continue;
    auto fields = line.find('\0') == line.npos ? split_csv_fields(line) : std::nullopt;
    const bool sound = fields && fields->size() == kFields && !fields->front().empty() &&
                       ((*fields)[2].empty() || parse_record_size((*fields)[2]));
    if (sound) {
      record.files.push_back({std::move((*fields)[0]), std::move((*fields)[1]), parse_record_size((*fields)[2])});
    } else if (!record.fault) {
      record.fault = make_error(ErrorCode::malformed, "RECORD: line {} is not \"path,hash,bytes\"", number);
    }
  }
  return record;
}

std::string hex_of_record(std::string_view hash) {
  if (!hash.starts_with(kSha256)) return "";
  std::string text(hash.substr(kSha256.size()));
  std::ranges::replace(text, '-', '+');
  std::ranges::replace(text, '_', '/');
  text.resize((text.size() + 3) / 4 * 4, '=');
  const auto bytes = decode_base64(text);
  return bytes ? encode_hex({reinterpret_cast<const uint8_t*>(bytes->data()), bytes->size()}) : "";
}

RecordDifferences compare_members_with_record(const ZipArchive& archive,
                                              const std::map<std::string, std::string>& digests, const Record& record) {
  std::map<std::string, const ZipMember*, std::less<>> members;
  std::set<std::string> unread;
  for (const auto& member : archive.members) members.emplace(member.name, &member);
  for (const auto& member : archive.unread) unread.insert(member.name);
  RecordDifferences found;
  std::set<std::string> known;
  for (const auto& file : record.files) {
    known.insert(file.path);
    const auto member = members.find(file.path);
    if (member == members.end()) {
      if (!file.path.ends_with('/') && !unread.contains(file.path)) found.missing.push_back(file.path);
      continue;
    }
    const auto digest = digests.find(file.path);
    const std::string wanted = hex_of_record(file.hash);
    if (wanted.empty() && !is_signature(file.path)) found.unproven.push_back(file.path);
    const bool other_size = file.size_bytes && *file.size_bytes != member->second->size_bytes;
    // A member without a digest could not be unpacked.
    const bool other = !wanted.empty() && (digest == digests.end() || digest->second != wanted);
    if (other_size || other) found.changed.push_back(file.path);
  }
  for (const auto& [name, member] : members) {
    if (!is_signature(name) && !known.contains(name)) found.extra.push_back(name);
  }
  return found;
}

}  // namespace pbprobe
