// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/audit/packages/record.hpp"

#include <charconv>

namespace pbprobe {
namespace {

constexpr size_t kFields = 3;

// The fields of one line of CSV; a quote in a quoted one is written twice. Null: a quote has no end.
std::optional<std::vector<std::string>> fields_of(std::string_view line) {
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

std::optional<uint64_t> number_in(std::string_view text) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace

Record parse_record(std::string_view text) {
  Record record;
  size_t number = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line = text.substr(at, end - at);
    at = end + 1;
    ++number;
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty()) continue;
    auto fields = line.find('\0') == line.npos ? fields_of(line) : std::nullopt;
    const bool sound = fields && fields->size() == kFields && !fields->front().empty() &&
                       ((*fields)[2].empty() || number_in((*fields)[2]));
    if (sound) {
      record.files.push_back({std::move((*fields)[0]), std::move((*fields)[1]), number_in((*fields)[2])});
    } else if (!record.fault) {
      record.fault = make_error(ErrorCode::malformed, "RECORD: line {} is not \"path,hash,bytes\"", number);
    }
  }
  return record;
}

}  // namespace pbprobe
