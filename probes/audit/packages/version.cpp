// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/audit/packages/version.hpp"

#include <algorithm>
#include <array>
#include <cctype>

#include "core/strings.hpp"

namespace pbprobe {
namespace {

std::optional<std::string> quoted(std::string_view text) {
  text = trim(text);
  if (text.size() < 2 || (text[0] != '\'' && text[0] != '"')) return std::nullopt;
  const size_t end = text.find(text[0], 1);
  if (end == std::string_view::npos) return std::nullopt;
  return std::string(text.substr(1, end - 1));
}

// Returns "13.0" for "2.11.0+cu130": the last digit is the minor version.
std::optional<std::string> cuda_of_version(std::string_view version) {
  const size_t mark = version.find("+cu");
  if (mark == std::string_view::npos) return std::nullopt;
  const std::string_view digits = version.substr(mark + 3);
  const bool number = std::ranges::all_of(digits, [](unsigned char c) { return std::isdigit(c) != 0; });
  if (!number || digits.size() < 2) return std::nullopt;
  return std::string(digits.substr(0, digits.size() - 1)) + "." + digits.back();
}

const std::string* find_text(const std::map<std::string, std::string>& texts, const char* name) {
  const auto found = texts.find(name);
  return found == texts.end() ? nullptr : &found->second;
}

std::optional<std::string> cmake_version(std::string_view text) {
  constexpr std::string_view kSet = "set(PACKAGE_VERSION";
  const size_t found = text.find(kSet);
  if (found == std::string_view::npos) return std::nullopt;
  return quoted(text.substr(found + kSet.size()));
}

// Returns why a text states no version. `where`: the searched name.
std::optional<std::string> find_version_fault(std::string_view text, std::string_view where,
                                              const std::optional<std::string>& version) {
  if (text.find('\0') != std::string_view::npos) return "holds NUL bytes, so it is not text";
  if (!version) return fmt::format("it assigns no quoted text to {}", where);
  if (version->empty()) return fmt::format("its {} is empty", where);
  if (std::isdigit(static_cast<unsigned char>(version->front())) == 0)
    return fmt::format("its {} is \"{}\", which is not a version", where, *version);
  return std::nullopt;
}

// Reads the assignments of version.py. A name that is None or not assigned has no version.
Result<std::optional<std::string>> read_version_py(const std::string& text, Versions& versions) {
  std::optional<std::string> torch;
  if (text.find('\0') != std::string::npos) return torch;
  PBPROBE_TRY(const auto assignments, read_assignments(text), "version.py");
  for (const auto& assignment : assignments) {
    const auto take = [&](std::string_view name, const char* of, std::optional<std::string>& value) {
      if (assignment.name != name) return;
      value = assignment.is_text ? std::optional(assignment.text) : std::nullopt;
      versions.stated.push_back({.of = of,
                                 .where = fmt::format("torch/version.py:{}", assignment.line),
                                 .stated = value.value_or("no text")});
    };
    take("__version__", "torch", torch);
    take("cuda", "CUDA", versions.cuda);
    take("git_version", "commit", versions.git);
  }
  return torch;
}

}  // namespace

Versions read_versions(const std::map<std::string, std::string>& texts) {
  Versions versions;
  const auto take = [&](const char* name, std::string_view where, std::optional<std::string> version) {
    if (auto fault = find_version_fault(*find_text(texts, name), where, version)) {
      versions.problems.push_back(make_error(ErrorCode::malformed, "{}: {}", name, *fault));
    } else if (!versions.torch) {
      versions.torch = std::move(version);
    }
  };
  if (const auto* text = find_text(texts, "version.py")) {
    auto torch = read_version_py(*text, versions);
    if (torch) {
      take("version.py", "__version__", std::move(*torch));
    } else {
      versions.problems.push_back(torch.error());
    }
    if (versions.torch) return versions;
  }
  if (const auto* text = find_text(texts, "build-version")) take("build-version", "version", std::string(trim(*text)));
  if (const auto* text = find_text(texts, "build-hash")) versions.git = trim(*text);
  if (const auto* text = find_text(texts, "TorchConfigVersion.cmake"))
    take("TorchConfigVersion.cmake", "PACKAGE_VERSION", cmake_version(*text));
  if (versions.torch && !versions.cuda) versions.cuda = cuda_of_version(*versions.torch);
  return versions;
}

namespace {

enum class Kind { name, number, text, sign, end };  // `end`: end of a statement

struct Token {
  Kind kind = Kind::end;
  std::string text;
  size_t line = 0;
};

bool begins_name(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_' || (static_cast<unsigned char>(c) & 0x80U) != 0;
}

bool continues_name(char c) {
  return begins_name(c) || std::isdigit(static_cast<unsigned char>(c)) != 0;
}

Error only_known_when_run(size_t line) {
  return make_error(
      ErrorCode::malformed,
      "line {}: the statement is more than an assignment of a constant, so its value is known only when Python runs it",
      line);
}

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  Result<std::vector<Token>> run() {
    while (at_ < text_.size()) {
      if (auto step = next(); !step) return step.error();
    }
    if (depth_ != 0) return only_known_when_run(line_);
    add(Kind::end, "");
    return std::move(tokens_);
  }

 private:
  void add(Kind kind, std::string text) { tokens_.push_back({kind, std::move(text), line_}); }
  [[nodiscard]] char peek(size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }

  Result<void> next() {
    const char c = peek();
    const bool at_start = at_ != continued_at_ && (at_ == 0 || text_[at_ - 1] == '\n');
    if (c == '\n') return end_line();
    if (c == '#') return skip_comment();
    if (c == ' ' || c == '\t' || c == '\r' || c == '\f') {
      at_ = std::min(text_.find_first_not_of(" \t\r\f", at_), text_.size());
      // Indented code belongs to a statement that decides whether it runs.
      const bool blank = at_ == text_.size() || peek() == '\n' || peek() == '#';
      if (at_start && depth_ == 0 && !blank) return only_known_when_run(line_);
      return {};
    }
    if (c == '\\' && (peek(1) == '\n' || (peek(1) == '\r' && peek(2) == '\n'))) {
      at_ = text_.find('\n', at_) + 1;
      continued_at_ = at_;
      line_ += 1;
      return {};
    }
    if (c == '\'' || c == '"') return read_text();
    if (begins_name(c)) return read_name();
    if (std::isdigit(static_cast<unsigned char>(c)) != 0) return read_number();
    return read_sign();
  }

  Result<void> end_line() {
    if (depth_ == 0) add(Kind::end, "");
    at_ += 1;
    line_ += 1;
    return {};
  }

  Result<void> skip_comment() {
    at_ = std::min(text_.find('\n', at_), text_.size());
    return {};
  }

  Result<void> read_name() {
    const size_t begin = at_;
    while (continues_name(peek())) at_ += 1;
    add(Kind::name, std::string(text_.substr(begin, at_ - begin)));
    // Only running the module would show r'…', b'…' and f'…'.
    return peek() == '\'' || peek() == '"' ? Result<void>(only_known_when_run(line_)) : Result<void>();
  }

  Result<void> read_number() {
    const size_t begin = at_;
    while (continues_name(peek()) || peek() == '.') at_ += 1;
    add(Kind::number, std::string(text_.substr(begin, at_ - begin)));
    return {};
  }

  Result<void> read_text() {
    const std::string_view rest = text_.substr(at_);
    const std::string mark(rest.substr(0, 3) == std::string(3, rest[0]) ? 3 : 1, rest[0]);
    const size_t first = line_;
    const size_t begin = at_ + mark.size();
    for (size_t i = begin; i < text_.size(); ++i) {
      if (text_[i] == '\\') return only_known_when_run(line_);
      if (text_[i] == '\n') {
        if (mark.size() == 1) break;
        line_ += 1;
      }
      if (text_.substr(i, mark.size()) != mark) continue;
      tokens_.push_back({Kind::text, std::string(text_.substr(begin, i - begin)), first});
      at_ = i + mark.size();
      return {};
    }
    return make_error(ErrorCode::malformed, "line {}: the string literal does not end", first);
  }

  Result<void> read_sign() {
    const char c = peek();
    if (std::string_view("([{").find(c) != std::string_view::npos) depth_ += 1;
    if (std::string_view(")]}").find(c) != std::string_view::npos && --depth_ < 0) return only_known_when_run(line_);
    if (c == ';' && depth_ == 0) {
      add(Kind::end, "");
    } else {
      add(Kind::sign, std::string(1, c));
    }
    at_ += 1;
    return {};
  }

  std::string_view text_;
  size_t at_ = 0;
  size_t continued_at_ = std::string_view::npos;  // begin of a line after a backslash
  size_t line_ = 1;
  int depth_ = 0;  // open brackets
  std::vector<Token> tokens_;
};

using Tokens = std::vector<Token>;

bool is(const Token& token, std::string_view text) {
  return token.kind != Kind::text && token.text == text;
}

bool all_match(const Tokens& tokens, size_t from, bool (*test)(const Token&)) {
  return std::all_of(tokens.begin() + static_cast<std::ptrdiff_t>(from), tokens.end(), test);
}

// Accepts "import x" and "from typing import Optional", but no import that binds an assigned name or all names.
bool is_import(const Tokens& statement) {
  const bool begins = is(statement[0], "import") || is(statement[0], "from");
  return begins && all_match(statement, 1, [](const Token& token) {
           constexpr std::array<std::string_view, 5> kOurs{"__version__", "cuda", "git_version", "*", "="};
           return std::ranges::none_of(kOurs, [&](std::string_view name) { return is(token, name); });
         });
}

bool is_constant(const Token& token) {
  constexpr std::array<std::string_view, 3> kNames{"None", "True", "False"};
  if (token.kind == Kind::name) return std::ranges::find(kNames, token.text) != kNames.end();
  return token.kind != Kind::sign || std::string_view("[](){},:-").find(token.text) != std::string_view::npos;
}

// Returns the value's place in "name = value" or "name: annotation = value"; nullopt for other statements.
std::optional<size_t> place_of_value(const Tokens& statement) {
  if (statement.size() < 2 || statement[0].kind != Kind::name) return std::nullopt;
  if (!is(statement[1], "=") && !is(statement[1], ":")) return std::nullopt;
  const auto equals = std::ranges::find_if(statement, [](const Token& token) { return is(token, "="); });
  return static_cast<size_t>(equals - statement.begin()) + 1;
}

// Accepts "Optional[str]", which calls and binds nothing.
bool is_plain_annotation(const Tokens& statement, size_t value) {
  for (size_t i = 2; i + 1 < value && i < statement.size(); ++i) {
    const Token& token = statement[i];
    if (token.kind == Kind::sign && std::string_view("[].,|").find(token.text) == std::string_view::npos) return false;
  }
  return true;
}

Result<void> read_statement(const Tokens& statement, std::vector<Assignment>& assignments) {
  const auto is_text = [](const Token& token) { return token.kind == Kind::text; };
  if (is_import(statement) || all_match(statement, 0, is_text)) return {};
  const auto value = place_of_value(statement);
  if (!value) return only_known_when_run(statement[0].line);
  if (!is_plain_annotation(statement, *value)) return only_known_when_run(statement[0].line);
  if (*value > statement.size()) return {};  // "name: annotation" assigns nothing
  if (*value == statement.size() || !all_match(statement, *value, is_constant))
    return only_known_when_run(statement[0].line);
  Assignment assignment{.name = statement[0].text, .line = statement[0].line};
  assignment.is_text = all_match(statement, *value, is_text);
  for (size_t i = *value; assignment.is_text && i < statement.size(); ++i) assignment.text += statement[i].text;
  assignments.push_back(std::move(assignment));
  return {};
}

}  // namespace

Result<std::vector<Assignment>> read_assignments(std::string_view module) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (module.starts_with(kByteOrderMark)) module.remove_prefix(kByteOrderMark.size());
  PBPROBE_TRY(const Tokens tokens, Lexer(module).run());
  std::vector<Assignment> assignments;
  Tokens statement;
  for (const auto& token : tokens) {
    if (token.kind != Kind::end) {
      statement.push_back(token);
      continue;
    }
    if (!statement.empty()) PBPROBE_CHECK(read_statement(statement, assignments));
    statement.clear();
  }
  return assignments;
}

}  // namespace pbprobe
