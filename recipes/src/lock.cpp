// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "recipes/src/lock.hpp"

#include <array>
#include <cstdint>
#include <cstdio>
#include <map>

#include "recipes/src/matrix.hpp"

namespace pbprobe {
namespace {

// Text of the matrix, edited in place to keep its layout. Searches keys only in the part of their line.
class Editor {
 public:
  explicit Editor(std::string text) : text_(std::move(text)) {}

  [[nodiscard]] const std::string& text() const { return text_; }

  // Replaces the value of the first `key` after `anchor`; "" means after the id of the line.
  [[nodiscard]] Result<void> set(std::string_view line, std::string_view anchor, std::string_view key,
                                 const std::string& value) {
    auto at = find_after(0, fmt::format("\"id\": \"{}\"", line));
    if (!anchor.empty() && at != std::string::npos) at = find_after(at, fmt::format("\"{}\":", anchor));
    if (at != std::string::npos) at = find_after(at, fmt::format("\"{}\": ", key));
    if (at == std::string::npos)
      return make_error(ErrorCode::malformed, "{}.{} of line {} was not found in the text of the matrix", anchor, key,
                        line);
    const auto end = text_.find_first_of(",\n}", at);
    text_.replace(at, end - at, value);
    return {};
  }

 private:
  [[nodiscard]] size_t find_after(size_t from, const std::string& word) const {
    const auto at = text_.find(word, from);
    return at == std::string::npos ? at : at + word.size();
  }

  std::string text_;
};

std::string json_string(const std::string& value) {
  return "\"" + value + "\"";
}

std::string insert_rev(std::string url, const std::string& rev) {
  constexpr std::string_view kPlace = "{rev}";
  if (const auto at = url.find(kPlace); at != std::string::npos) url.replace(at, kPlace.size(), rev);
  return url;
}

bool is_commit(std::string_view rev) {
  return rev.size() == 40 && rev.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

Result<void> move_pin(Editor& editor, const MatrixLine& line, const LockRequest& request, const Fetch& fetch,
                      std::vector<std::string>& changed) {
  const auto& rev = *request.rev;
  if (!is_commit(rev))
    return make_error(ErrorCode::usage, "\"{}\" is not a commit of nixpkgs: give all its 40 hexadecimal digits", rev);
  if (!request.fill)
    return make_error(ErrorCode::usage, "nixpkgs {} has no hash yet: add --fill on a machine with a network", rev);
  PBPROBE_TRY(const auto hash, fetch(insert_rev(request.pin_url, rev)), "nixpkgs {}", rev);
  PBPROBE_CHECK(editor.set(line.id, "pin", "rev", json_string(rev)));
  PBPROBE_CHECK(editor.set(line.id, "pin", "hash", json_string(hash)));
  changed.push_back(fmt::format("{}: nixpkgs {} → {}, {}", line.id, line.pin.rev, rev, hash));
  return {};
}

Result<void> move_torch(Editor& editor, const MatrixLine& line, const LockRequest& request,
                        std::vector<std::string>& changed) {
  const auto& torch = *request.torch;
  if (!is_version(torch, 3, 3)) return make_error(ErrorCode::usage, "\"{}\" is not a version such as 2.10.0", torch);
  if (!line.source)
    return make_error(ErrorCode::usage,
                      "{} builds the torch of its pin, {}: give it a source in recipes/matrix.json first", line.id,
                      line.pin.torch);
  if (!request.source_hash)
    return make_error(ErrorCode::usage,
                      "the source of torch {} has no hash yet: its submodules are in no tarball, so build once with "
                      "hash = lib.fakeHash, and give what Nix prints with --source-hash",
                      torch);
  PBPROBE_CHECK(editor.set(line.id, "", "torch", json_string(torch)));
  if (line.pname_prefix != "pytorch") {
    const auto minor_end = torch.find('.', torch.find('.') + 1);
    auto digits = torch.substr(0, minor_end);
    digits.erase(digits.find('.'), 1);
    PBPROBE_CHECK(editor.set(line.id, "", "pname_prefix", json_string("pytorch" + digits)));
  }
  PBPROBE_CHECK(editor.set(line.id, "source", "tag", json_string("v" + torch)));
  PBPROBE_CHECK(editor.set(line.id, "source", "hash", json_string(*request.source_hash)));
  changed.push_back(fmt::format("{}: torch {} → {}, {}", line.id, line.torch, torch, *request.source_hash));
  return {};
}

Result<void> fill_pins(Editor& editor, const Matrix& m, const LockRequest& request, const Fetch& fetch,
                       std::vector<std::string>& changed) {
  std::map<std::string, std::string> fetched;  // lines may share a pin
  for (const auto& line : m.lines) {
    if (line.pin.hash) continue;
    auto known = fetched.find(line.pin.rev);
    if (known == fetched.end()) {
      PBPROBE_TRY(auto hash, fetch(insert_rev(request.pin_url, line.pin.rev)), "nixpkgs {}", line.pin.rev);
      known = fetched.emplace(line.pin.rev, std::move(hash)).first;
    }
    PBPROBE_CHECK(editor.set(line.id, "pin", "hash", json_string(known->second)));
    changed.push_back(fmt::format("{}: nixpkgs {} is {}", line.id, line.pin.rev, known->second));
  }
  return {};
}

struct Ran {
  std::string output;
  int exit_code = 0;
};

// Runs a shell command. Requires that outside data in `command` passed is_plain().
Ran run(const std::string& command) {
  Ran ran;
  std::FILE* pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) return {"", -1};
  std::array<char, 4096> buffer{};
  while (const auto size = std::fread(buffer.data(), 1, buffer.size(), pipe)) ran.output.append(buffer.data(), size);
  ran.exit_code = ::pclose(pipe);
  while (ran.output.ends_with('\n')) ran.output.pop_back();
  return ran;
}

bool is_plain(std::string_view url) {
  return url.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789:/._-+%") ==
         std::string_view::npos;
}

}  // namespace

Result<Locked> lock_matrix(std::string_view text, const LockRequest& request, const Fetch& fetch) {
  PBPROBE_TRY(const auto before, parse_matrix(text), "recipes/matrix.json");
  Editor editor{std::string(text)};
  Locked locked;
  if (request.rev || request.torch) {
    const auto* line = before.find_line(request.line.value_or(before.default_line));
    if (line == nullptr) return make_error(ErrorCode::usage, "unknown line \"{}\"", *request.line);
    if (request.rev) PBPROBE_CHECK(move_pin(editor, *line, request, fetch, locked.changed));
    if (request.torch) PBPROBE_CHECK(move_torch(editor, *line, request, locked.changed));
  }
  if (request.fill) {
    PBPROBE_TRY(const auto m, parse_matrix(editor.text()), "after the change");
    PBPROBE_CHECK(fill_pins(editor, m, request, fetch, locked.changed));
  }
  PBPROBE_TRY(const auto after, parse_matrix(editor.text()), "after the change");
  locked.text = editor.text();
  return locked;
}

Result<std::string> fetch_by_nix(const std::string& url) {
  if (!is_plain(url)) return make_error(ErrorCode::usage, "{}: a URL with characters that no pin has", url);
  if (run("command -v nix-prefetch-url").exit_code != 0)
    return make_error(ErrorCode::unsupported, "nix-prefetch-url is not installed: install Nix (Debian: nix-bin)");
  const auto base32 = run("nix-prefetch-url --unpack --type sha256 '" + url + "'");
  if (base32.exit_code != 0 || base32.output.empty())
    return make_error(ErrorCode::failed_child, "nix-prefetch-url --unpack {} failed: its message is above", url);
  if (!is_plain(base32.output))
    return make_error(ErrorCode::failed_child, "nix-prefetch-url answered \"{}\", which is not a hash", base32.output);
  const auto hex = run("nix-hash --type sha256 --to-base16 '" + base32.output + "'");
  if (hex.exit_code != 0 || hex.output.size() != 64)
    return make_error(ErrorCode::failed_child, "nix-hash --to-base16 {} answered \"{}\"", base32.output, hex.output);
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string sri = "sha256-";
  uint32_t bits = 0;
  int count = 0;
  for (size_t i = 0; i < hex.output.size(); i += 2) {
    bits = bits << 8 | static_cast<uint32_t>(std::stoul(hex.output.substr(i, 2), nullptr, 16));
    for (count += 8; count >= 6; count -= 6) sri += kDigits[bits >> (count - 6) & 63];
  }
  if (count > 0) sri += kDigits[bits << (6 - count) & 63];
  return sri + "=";
}

}  // namespace pbprobe
