// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "core/json.hpp"

namespace pbprobe {
namespace {

constexpr int kMaxDepth = 64;

// nlohmann's parser recurses no deeper than its input nests, so the depth is refused before it is parsed.
bool too_deep(std::string_view text) {
  int depth = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') {
        ++i;
      } else if (c == '"') {
        in_string = false;
      }
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      if (++depth > kMaxDepth) return true;
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
  return false;
}

}  // namespace

Result<Json> parse_json(std::string_view text) {
  if (too_deep(text)) return make_error(ErrorCode::malformed, "JSON nests deeper than {} levels", kMaxDepth);
  try {
    return Json::parse(text);
  } catch (const Json::exception& e) {
    // "[json.exception.parse_error.101] parse error at line 1, column 2: …": the identifier is of no use to a user.
    std::string_view what = e.what();
    if (const auto end = what.find("] "); end != std::string_view::npos) what.remove_prefix(end + 2);
    return make_error(ErrorCode::malformed, "{}", what);
  }
}

}  // namespace pbprobe
