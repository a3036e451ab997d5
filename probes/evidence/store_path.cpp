// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/evidence/store_path.hpp"

#include <array>
#include <span>

#include "core/program.hpp"
#include "core/sha256.hpp"

namespace pbprobe {
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
