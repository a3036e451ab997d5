// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "core/json.hpp"

#include <algorithm>

#include "core/printable.hpp"

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

// As JSON writes a character beyond U+FFFF: a pair.
std::string escape(uint32_t code) {
  if (code < 0x10000) return fmt::format("\\u{:04x}", code);
  code -= 0x10000;
  return fmt::format("\\u{:04x}\\u{:04x}", 0xD800 + (code >> 10), 0xDC00 + (code & 0x3FF));
}

}  // namespace

std::string dump_json(const Json& json, int indent) {
  const std::string plain = json.dump(indent, ' ', false, Json::error_handler_t::replace);
  std::string out;
  out.reserve(plain.size());
  for (std::string_view rest = plain; !rest.empty();) {
    const auto character = rest.substr(0, std::max<size_t>(character_size(rest), 1));
    if (static_cast<uint8_t>(character[0]) < 0x7F || is_shown(character)) {  // JSON itself escapes lower controls
      out += character;
    } else {
      out += escape(code_point(character));
    }
    rest.remove_prefix(character.size());
  }
  return out;
}

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
