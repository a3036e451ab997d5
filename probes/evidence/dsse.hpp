// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// DSSE envelopes (https://github.com/secure-systems-lab/dsse) signed with Ed25519 or ECDSA P-256, by OpenSSL or by a
// program that holds the key.
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

// Of the environment: what opens an encrypted private key. Nobody is asked, for nobody sits before a gate.
inline constexpr const char* kPassphrase = "PBPROBE_KEY_PASSWORD";

struct Signer {
  std::filesystem::path key;  // PEM: the private half; with a command the public one
  std::string command;        // by the shell, with the path of what is to be signed behind it; it prints the signature,
                              // as bytes or in base64
};

// The envelope's JSON. Errors: unreadable, malformed, usage (no such key), unsupported (a key of another kind),
// not_found, limit, failed_child (the command, or its signature is not of this key).
[[nodiscard]] Result<std::string> sign_envelope(std::string_view payload, const Signer& signer);

// Whether a key can sign: asked before the work begins.
[[nodiscard]] Result<void> check_signer(const Signer& signer);

// A Sigstore bundle (v0.3) of an envelope, for cosign and sigstore's libraries; its key is named, and brought by who
// verifies. Error: malformed.
[[nodiscard]] Result<std::string> sigstore_bundle(std::string_view envelope);

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
