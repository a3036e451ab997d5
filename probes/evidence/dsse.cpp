// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/evidence/dsse.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>

#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include "core/base64.hpp"
#include "core/json.hpp"
#include "core/open_file.hpp"
#include "core/program.hpp"
#include "core/sha256.hpp"
#include "core/temp_folder.hpp"

namespace pbprobe {
namespace {

struct FreeKey {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};
struct FreeContext {
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};
struct FreeMemory {
  void operator()(BIO* memory) const { BIO_free(memory); }
};
using Key = std::unique_ptr<EVP_PKEY, FreeKey>;
using Context = std::unique_ptr<EVP_MD_CTX, FreeContext>;
using Memory = std::unique_ptr<BIO, FreeMemory>;

const uint8_t* get_bytes(std::string_view text) {
  return reinterpret_cast<const uint8_t*>(text.data());
}

int passphrase(char* buffer, int size, int, void*) {
  const char* given = std::getenv(kPassphrase);
  const size_t length = given == nullptr ? 0 : std::strlen(given);
  if (length == 0 || length > static_cast<size_t>(size)) return -1;
  std::memcpy(buffer, given, length);
  return static_cast<int>(length);
}

bool is_ed25519(const EVP_PKEY* key) {
  return EVP_PKEY_get_base_id(key) == EVP_PKEY_ED25519;
}

// Reports whether cosign and the Sigstore libraries can verify signatures of this kind of key.
bool is_known_kind(const EVP_PKEY* key) {
  return is_ed25519(key) || (EVP_PKEY_get_base_id(key) == EVP_PKEY_EC && EVP_PKEY_get_bits(key) == 256);
}

const EVP_MD* choose_digest(const EVP_PKEY* key) {
  return is_ed25519(key) ? nullptr : EVP_sha256();  // Ed25519 includes its own digest
}

enum class Half { secret, open };

Error no_key(const std::filesystem::path& path, Half half, bool of_cosign, bool encrypted) {
  if (of_cosign)
    return make_error(ErrorCode::usage,
                      "{}: only cosign can read this private key: use --sign cosign.pub, and --signer COMMAND for the "
                      "program that holds the key; or import an encrypted PEM into both",
                      path.string());
  if (half == Half::secret && encrypted)
    return make_error(
        ErrorCode::usage, "{}: the key is encrypted, and {} in the environment variable {}", path.string(),
        std::getenv(kPassphrase) == nullptr ? "there is no passphrase" : "the passphrase is wrong", kPassphrase);
  return make_error(
      ErrorCode::usage, "{}: no {} key in PEM: {}", path.string(), half == Half::secret ? "private" : "public",
      half == Half::secret ? "openssl genpkey -algorithm ed25519 -out KEY" : "openssl pkey -in KEY -pubout -out PUB");
}

Result<Key> read_key(const std::filesystem::path& path, Half half) {
  constexpr uint64_t kMaxKeyBytes = 1 << 20;
  PBPROBE_TRY(std::string text, read_whole_file(path, kMaxKeyBytes), "the key");
  const Memory memory(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
  Key key(half == Half::secret ? PEM_read_bio_PrivateKey(memory.get(), nullptr, passphrase, nullptr)
                               : PEM_read_bio_PUBKEY(memory.get(), nullptr, passphrase, nullptr));
  const bool of_cosign = text.find("ENCRYPTED SIGSTORE PRIVATE KEY") != text.npos ||
                         text.find("ENCRYPTED COSIGN PRIVATE KEY") != text.npos;
  const bool encrypted = text.find("ENCRYPTED") != text.npos;
  if (half == Half::secret) OPENSSL_cleanse(text.data(), text.size());
  if (key == nullptr) return no_key(path, half, of_cosign, encrypted);
  if (!is_known_kind(key.get()))
    return make_error(ErrorCode::unsupported,
                      "{}: the key is neither Ed25519 nor ECDSA P-256: openssl genpkey -algorithm ed25519",
                      path.string());
  return key;
}

// Returns the public key as SubjectPublicKeyInfo, equal to the output of `openssl pkey -pubin -outform DER`.
std::string encode_der(EVP_PKEY* key) {
  const int length = i2d_PUBKEY(key, nullptr);
  std::vector<uint8_t> der(static_cast<size_t>(std::max(length, 0)));
  uint8_t* end = der.data();
  if (!der.empty()) i2d_PUBKEY(key, &end);
  return {reinterpret_cast<const char*>(der.data()), der.size()};
}

std::string key_id(std::string_view der) {
  return compute_sha256(der);
}

Result<Key> decode_key(std::string_view der) {
  const uint8_t* begin = get_bytes(der);
  Key key(d2i_PUBKEY(nullptr, &begin, static_cast<long>(der.size())));
  if (key == nullptr || !is_known_kind(key.get()) || encode_der(key.get()) != der)
    return make_error(ErrorCode::malformed, "publicKey: the key is neither Ed25519 nor ECDSA P-256");
  return key;
}

// A private key's file has both halves.
Result<Key> read_either_half(const std::filesystem::path& path) {
  auto open = read_key(path, Half::open);
  if (open) return open;
  auto secret = read_key(path, Half::secret);
  const bool is_key = secret || secret.error().code == ErrorCode::unsupported;
  return is_key ? std::move(secret) : std::move(open);
}

Result<std::string> decoded(std::string_view text, std::string_view what) {
  auto bytes = decode_base64(text);
  if (!bytes) return make_error(ErrorCode::malformed, "{}: not base64", what);
  return std::move(*bytes);
}

struct Envelope {
  std::string payload;
  std::string key;         // key id
  std::string public_key;  // DER
  std::string signature;
};

std::string write_envelope(const Envelope& envelope) {
  Json signature{{"keyid", envelope.key},
                 {"publicKey", encode_base64(envelope.public_key)},
                 {"sig", encode_base64(envelope.signature)}};
  const Json json{{"payloadType", kStatementType},
                  {"payload", encode_base64(envelope.payload)},
                  {"signatures", Json::array({std::move(signature)})}};
  return json.dump(2) + "\n";
}

Result<std::string> read_text_member(const Json& json, const char* key) {
  const auto found = json.find(key);
  if (found == json.end() || !found->is_string()) return make_error(ErrorCode::malformed, "{}: expected a string", key);
  return found->get<std::string>();
}

Result<Envelope> read_envelope(std::string_view text) {
  PBPROBE_TRY(const Json json, parse_json(text));
  if (!json.is_object()) return make_error(ErrorCode::malformed, "not an envelope");
  const auto signatures = json.find("signatures");
  if (signatures == json.end() || !signatures->is_array() || signatures->size() != 1 || !(*signatures)[0].is_object())
    return make_error(ErrorCode::malformed, "signatures: expected exactly one");
  PBPROBE_TRY(const std::string payload, read_text_member(json, "payload"));
  PBPROBE_TRY(const std::string signature, read_text_member((*signatures)[0], "sig"));
  Envelope envelope;
  PBPROBE_TRY(envelope.key, read_text_member((*signatures)[0], "keyid"));
  PBPROBE_TRY(envelope.payload, decoded(payload, "payload"));
  PBPROBE_TRY(envelope.signature, decoded(signature, "sig"));
  PBPROBE_TRY(const std::string public_key, read_text_member((*signatures)[0], "publicKey"));
  PBPROBE_TRY(envelope.public_key, decoded(public_key, "publicKey"));
  const std::string again = write_envelope(envelope);
  if (again != text) {
    const auto differs = std::mismatch(again.begin(), again.end(), text.begin(), text.end()).first - again.begin();
    return make_error(ErrorCode::malformed, "byte {} of the envelope differs from the form that pbprobe writes",
                      differs);
  }
  return envelope;
}

bool is_signature(std::string_view signature, std::string_view message, EVP_PKEY* key) {
  const Context context(EVP_MD_CTX_new());
  return EVP_DigestVerifyInit(context.get(), nullptr, choose_digest(key), nullptr, key) == 1 &&
         EVP_DigestVerify(context.get(), get_bytes(signature), signature.size(), get_bytes(message), message.size()) ==
             1;
}

Result<std::string> signed_by_key(std::string_view message, EVP_PKEY* key, const std::filesystem::path& file) {
  const Context context(EVP_MD_CTX_new());
  size_t length = 0;
  std::string signature;
  const bool ready = EVP_DigestSignInit(context.get(), nullptr, choose_digest(key), nullptr, key) == 1 &&
                     EVP_DigestSign(context.get(), nullptr, &length, get_bytes(message), message.size()) == 1;
  if (ready) signature.resize(length);
  if (!ready || EVP_DigestSign(context.get(), reinterpret_cast<uint8_t*>(signature.data()), &length, get_bytes(message),
                               message.size()) != 1)
    return make_error(ErrorCode::unsupported, "{}: OpenSSL could not sign with this key", file.string());
  signature.resize(length);
  return signature;
}

// Removes the line ends that programs append to printed text.
std::string trim_line_end(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  return text;
}

Result<std::string> signed_by_command(std::string_view message, EVP_PKEY* key, const Signer& signer) {
  constexpr double kMaxSeconds = 120;
  PBPROBE_TRY(const TempFolder folder, TempFolder::make());
  const std::string file = folder.path() / "to-sign";
  std::ofstream stream(file, std::ios::binary);
  if (!stream.write(message.data(), static_cast<std::streamsize>(message.size())).flush())
    return make_error(ErrorCode::unreadable, "{} cannot be written", file);
  PBPROBE_TRY(const ProgramOutput output,
              run_program({.arguments = {"sh", "-c", signer.command + " \"$1\"", "sh", file}, .seconds = kMaxSeconds}),
              "--signer {}", signer.command);
  if (output.exit_code != 0)
    return make_error(ErrorCode::failed_child, "--signer {}: exit code {}: {}", signer.command, output.exit_code,
                      trim_line_end(output.err));
  if (is_signature(output.out, message, key)) return output.out;
  const auto bytes = decode_base64(trim_line_end(output.out));
  if (bytes && is_signature(*bytes, message, key)) return *bytes;
  return make_error(ErrorCode::failed_child, "--signer {}: the output is not a signature by the key of {}",
                    signer.command, signer.key.string());
}

}  // namespace

std::string pre_authentication_encoding(std::string_view type, std::string_view payload) {
  return fmt::format("DSSEv1 {} {} {} {}", type.size(), type, payload.size(), payload);
}

Result<void> check_signer(const Signer& signer) {
  PBPROBE_TRY(const Key key, read_key(signer.key, signer.command.empty() ? Half::secret : Half::open));
  return {};
}

Result<std::string> sign_envelope(std::string_view payload, const Signer& signer) {
  const std::string message = pre_authentication_encoding(kStatementType, payload);
  PBPROBE_TRY(const Key key, read_key(signer.key, signer.command.empty() ? Half::secret : Half::open));
  Envelope envelope{.payload = std::string(payload), .public_key = encode_der(key.get())};
  envelope.key = key_id(envelope.public_key);
  if (signer.command.empty()) {
    PBPROBE_TRY(envelope.signature, signed_by_key(message, key.get(), signer.key));
  } else {
    PBPROBE_TRY(envelope.signature, signed_by_command(message, key.get(), signer));
  }
  return write_envelope(envelope);
}

Result<std::string> sigstore_bundle(std::string_view text) {
  PBPROBE_TRY(const Envelope envelope, read_envelope(text));
  const Json signature{{"keyid", envelope.key}, {"sig", encode_base64(envelope.signature)}};
  const Json bundle{{"mediaType", "application/vnd.dev.sigstore.bundle.v0.3+json"},
                    {"verificationMaterial", {{"publicKey", {{"hint", envelope.key}}}, {"tlogEntries", Json::array()}}},
                    {"dsseEnvelope",
                     {{"payload", encode_base64(envelope.payload)},
                      {"payloadType", kStatementType},
                      {"signatures", Json::array({signature})}}}};
  return bundle.dump(2) + "\n";
}

Result<OpenedEnvelope> open_envelope(std::string_view text, const std::vector<std::filesystem::path>& keys) {
  PBPROBE_TRY(const Envelope envelope, read_envelope(text));
  if (key_id(envelope.public_key) != envelope.key)
    return make_error(ErrorCode::malformed, "the envelope's keyid does not match its publicKey");
  Key key;
  for (const auto& path : keys) {
    PBPROBE_TRY(Key given, read_either_half(path));
    if (key_id(encode_der(given.get())) == envelope.key) key = std::move(given);
  }
  const bool trusted = key != nullptr;
  if (!trusted && !keys.empty())
    return make_error(ErrorCode::malformed, "the envelope was signed with key {}, which is not the key in {}",
                      envelope.key, keys.size() == 1 ? keys.front().string() : "any of the files given");
  if (!trusted) {
    PBPROBE_TRY(key, decode_key(envelope.public_key));
  }
  const std::string message = pre_authentication_encoding(kStatementType, envelope.payload);
  const bool sound = is_signature(envelope.signature, message, key.get());
  if (!sound)
    return make_error(ErrorCode::malformed, "the signature does not match the payload: one of them was changed");
  return OpenedEnvelope{.payload = envelope.payload, .key = envelope.key, .trusted = trusted};
}

}  // namespace pbprobe
