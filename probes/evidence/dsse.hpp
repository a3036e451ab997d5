// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// DSSE envelopes (https://github.com/secure-systems-lab/dsse) signed with Ed25519, by OpenSSL.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"

namespace pbprobe {

inline constexpr std::string_view kStatementType = "application/vnd.in-toto+json";

// "DSSEv1 <length of type> <type> <length of payload> <payload>": the bytes that are signed.
[[nodiscard]] std::string pre_authentication_encoding(std::string_view type, std::string_view payload);

// The envelope's JSON. `key` is a PEM file with an Ed25519 private key, without a passphrase. Errors: unreadable,
// malformed, unsupported (a key of another kind).
[[nodiscard]] Result<std::string> sign_envelope(std::string_view payload, const std::filesystem::path& key);

// Whether a key can sign: asked before the work begins.
[[nodiscard]] Result<void> check_signing_key(const std::filesystem::path& key);

struct OpenedEnvelope {
  std::string payload;
  std::string key;       // the id of the key that signed it
  bool trusted = false;  // it is one of those that were given
};

// The payload of an envelope, whose signature is checked by the one of these keys (PEM, of either half) that it names,
// or by the public key that it brings where none is given: that much tells that nothing was changed, not who signed it.
// Its bytes must be the very ones that sign_envelope writes, so that nothing in them goes unchecked. Errors: malformed,
// which says where; unreadable, unsupported (a key).
[[nodiscard]] Result<OpenedEnvelope> open_envelope(std::string_view envelope,
                                                   const std::vector<std::filesystem::path>& keys);

}  // namespace pbprobe
