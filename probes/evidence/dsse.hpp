// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// DSSE envelopes (https://github.com/secure-systems-lab/dsse) signed with Ed25519 or ECDSA P-256, by OpenSSL or by an
// external program.
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

// Environment variable with the passphrase of an encrypted private key. The program never prompts, because gates run
// unattended.
inline constexpr const char* kPassphrase = "PBPROBE_KEY_PASSWORD";

struct Signer {
  std::filesystem::path key;  // PEM file: the private key; with `command`, the public key
  std::string command;        // shell command; gets the path of the data, and prints the signature (bytes or base64)
};

// Signs `payload` and returns the envelope as JSON. Errors: unreadable, malformed, usage (no such key), unsupported
// (another kind of key), not_found, limit, failed_child (the command failed, or its signature does not match the key).
[[nodiscard]] Result<std::string> sign_envelope(std::string_view payload, const Signer& signer);

// Checks that the key file is readable and has a supported kind. Does not run Signer::command. Call before the work
// whose result will be signed. Errors: as for sign_envelope.
[[nodiscard]] Result<void> check_signer(const Signer& signer);

// A Sigstore bundle (v0.3) of an envelope, for cosign and sigstore's libraries; its key is named, and brought by who
// verifies. Error: malformed.
[[nodiscard]] Result<std::string> sigstore_bundle(std::string_view envelope);

struct OpenedEnvelope {
  std::string payload;
  std::string key;       // id of the signing key
  bool trusted = false;  // the key is one of the given keys
};

// Returns the payload of an envelope after checking its signature. Uses the key of `keys` (PEM, private or public) that
// the envelope names. Without keys, uses the public key in the envelope, which proves integrity but not the signer.
// Requires the exact bytes that sign_envelope writes, so that no byte remains unchecked. Errors: malformed, with the
// place, also if no key of `keys` signed the envelope; unreadable or unsupported, for a key.
[[nodiscard]] Result<OpenedEnvelope> open_envelope(std::string_view envelope,
                                                   const std::vector<std::filesystem::path>& keys);

}  // namespace pbprobe
