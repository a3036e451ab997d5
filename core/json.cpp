// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "core/json.hpp"

#include <algorithm>
#include <functional>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

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

// Writes a character as JSON escapes; a character beyond U+FFFF becomes a surrogate pair.
std::string escape(uint32_t code) {
  if (code < 0x10000) return fmt::format("\\u{:04x}", code);
  code -= 0x10000;
  return fmt::format("\\u{:04x}\\u{:04x}", 0xD800 + (code >> 10), 0xDC00 + (code & 0x3FF));
}

// Finds duplicate keys in an object. Readers disagree on which value counts, so that duplicates are rejected. Compares
// decoded keys: "\u0061" equals "a".
class DuplicateKeyFinder {
 public:
  bool operator()(int, Json::parse_event_t event, const Json& value) {
    using Event = Json::parse_event_t;
    if (event == Event::object_start) objects_.emplace_back();
    if (event == Event::object_end) objects_.pop_back();
    if (event == Event::key) add_key(value.get_ref<const std::string&>());
    return true;
  }
  [[nodiscard]] const std::string& twice() const { return twice_; }

 private:
  struct Object {
    std::set<std::string> keys;
    std::string last;
  };

  void add_key(const std::string& key) {
    objects_.back().last = key;
    if (objects_.back().keys.insert(key).second || !twice_.empty()) return;
    for (const auto& object : objects_) twice_ += (twice_.empty() ? "" : ".") + object.last;
    if (twice_.empty()) twice_ = "\"\"";
  }

  std::vector<Object> objects_;  // currently open objects
  std::string twice_;            // path of the first repeated key: "severity.PB205"
};

constexpr size_t kSchemaWidth = 120;

// Writes `json` on one line if it fits between `indent` and the maximum width, else one element per line.
std::string lay_out(const Json& json, size_t indent) {
  if (!json.is_structured() || json.empty()) return json.dump();
  std::vector<std::string> parts;
  size_t width = indent + 2;
  bool plain = true;
  for (const auto& [key, value] : json.items()) {
    parts.push_back((json.is_object() ? Json(key).dump() + ": " : "") + lay_out(value, indent + 2));
    width += parts.back().size() + 2;
    plain = plain && parts.back().find('\n') == std::string::npos;
  }
  const bool on_one_line = plain && width <= kSchemaWidth;
  const std::string gap = on_one_line ? "" : "\n" + std::string(indent + 2, ' ');
  const std::string end = on_one_line ? "" : "\n" + std::string(indent, ' ');
  return (json.is_object() ? "{" : "[") + gap + fmt::format("{}", fmt::join(parts, on_one_line ? ", " : "," + gap)) +
         end + (json.is_object() ? "}" : "]");
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

std::string dump_schema(const Json& schema) {
  return lay_out(schema, 0) + "\n";
}

Result<Json> parse_json(std::string_view text) {
  if (too_deep(text)) return make_error(ErrorCode::malformed, "JSON nests deeper than {} levels", kMaxDepth);
  DuplicateKeyFinder keys;
  try {
    Json json = Json::parse(text, std::ref(keys));
    if (keys.twice().empty()) return json;
    return make_error(ErrorCode::malformed, "{}: the key appears twice: keep one", keys.twice());
  } catch (const Json::exception& e) {
    // "[json.exception.parse_error.101] parse error at line 1, column 2: syntax error …; last read: '#'": keeps only
    // the position and the last token.
    std::string_view what = e.what();
    if (const auto end = what.find("] "); end != std::string_view::npos) what.remove_prefix(end + 2);
    constexpr std::string_view kPlace = "parse error at ";
    if (what.starts_with(kPlace) && what.find(": ") != what.npos) {
      const std::string_view place = what.substr(kPlace.size(), what.find(": ") - kPlace.size());
      return make_error(ErrorCode::malformed, "{} is not JSON", place);
    }
    return make_error(ErrorCode::malformed, "{}", what);
  }
}

namespace {

std::optional<std::string> unknown_key(const Json& given, const Json& known, const std::string& path) {
  if (given.is_object() && known.is_object()) {
    for (const auto& [key, value] : given.items()) {
      const std::string here = path.empty() ? key : path + "." + key;
      const auto same = known.find(key);
      if (same == known.end()) return here;
      if (auto below = unknown_key(value, *same, here)) return below;
    }
  }
  if (given.is_array() && known.is_array()) {
    for (size_t i = 0; i < given.size() && i < known.size(); ++i) {
      if (auto below = unknown_key(given[i], known[i], fmt::format("{}[{}]", path, i))) return below;
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> unknown_key(const Json& given, const Json& known) {
  return unknown_key(given, known, "");
}

void allow_no_other_keys(Json& schema) {
  if (schema.is_array()) {
    for (auto& element : schema) allow_no_other_keys(element);
  }
  if (!schema.is_object()) return;
  for (auto& [key, value] : schema.items()) allow_no_other_keys(value);
  const auto properties = schema.find("properties");
  if (properties != schema.end() && properties->is_object()) schema["additionalProperties"] = false;
}

}  // namespace pbprobe
