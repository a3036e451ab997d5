// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/evidence/dsse.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include "core/base64.hpp"
#include "core/json.hpp"
#include "core/open_file.hpp"
#include "core/sha256.hpp"

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

const uint8_t* data_of(std::string_view text) {
  return reinterpret_cast<const uint8_t*>(text.data());
}

// A key with a passphrase is refused, not asked for: nobody sits before a gate.
int no_passphrase(char*, int, int, void*) {
  return -1;
}

enum class Half { secret, open };

Result<Key> read_key(const std::filesystem::path& path, Half half) {
  constexpr uint64_t kMostKeyBytes = 1 << 20;
  PBPROBE_TRY(std::string text, read_whole_file(path, kMostKeyBytes), "the key");
  const Memory memory(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
  Key key(half == Half::secret ? PEM_read_bio_PrivateKey(memory.get(), nullptr, no_passphrase, nullptr)
                               : PEM_read_bio_PUBKEY(memory.get(), nullptr, no_passphrase, nullptr));
  if (half == Half::secret) OPENSSL_cleanse(text.data(), text.size());
  if (key == nullptr)
    return make_error(
        ErrorCode::usage, "{}: it holds no {} key in PEM without a passphrase: {}", path.string(),
        half == Half::secret ? "private" : "public",
        half == Half::secret ? "openssl genpkey -algorithm ed25519 -out KEY" : "openssl pkey -in KEY -pubout -out PUB");
  if (EVP_PKEY_get_base_id(key.get()) != EVP_PKEY_ED25519)
    return make_error(ErrorCode::unsupported, "{}: the key is not an Ed25519 key: openssl genpkey -algorithm ed25519",
                      path.string());
  return key;
}

// The public half as SubjectPublicKeyInfo: what `openssl pkey -pubin -outform DER` writes.
std::string der_of(EVP_PKEY* key) {
  const int length = i2d_PUBKEY(key, nullptr);
  std::vector<uint8_t> der(static_cast<size_t>(std::max(length, 0)));
  uint8_t* end = der.data();
  if (!der.empty()) i2d_PUBKEY(key, &end);
  return {reinterpret_cast<const char*>(der.data()), der.size()};
}

std::string key_id(std::string_view der) {
  return sha256_of(der);
}

Result<Key> key_of(std::string_view der) {
  const uint8_t* begin = data_of(der);
  Key key(d2i_PUBKEY(nullptr, &begin, static_cast<long>(der.size())));
  if (key == nullptr || EVP_PKEY_get_base_id(key.get()) != EVP_PKEY_ED25519 || der_of(key.get()) != der)
    return make_error(ErrorCode::malformed, "publicKey: it is not an Ed25519 key");
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
  auto bytes = from_base64(text);
  if (!bytes) return make_error(ErrorCode::malformed, "{}: it is not base64", what);
  return std::move(*bytes);
}

struct Envelope {
  std::string payload;
  std::string key;         // its id
  std::string public_key;  // DER
  std::string signature;
};

std::string text_of(const Envelope& envelope) {
  Json signature{
      {"keyid", envelope.key}, {"publicKey", base64_of(envelope.public_key)}, {"sig", base64_of(envelope.signature)}};
  const Json json{{"payloadType", kStatementType},
                  {"payload", base64_of(envelope.payload)},
                  {"signatures", Json::array({std::move(signature)})}};
  return json.dump(2) + "\n";
}

Result<std::string> text_at(const Json& json, const char* key) {
  const auto found = json.find(key);
  if (found == json.end() || !found->is_string())
    return make_error(ErrorCode::malformed, "{}: a text is expected there", key);
  return found->get<std::string>();
}

Result<Envelope> read_envelope(std::string_view text) {
  PBPROBE_TRY(const Json json, parse_json(text));
  if (!json.is_object()) return make_error(ErrorCode::malformed, "it is not an envelope");
  const auto signatures = json.find("signatures");
  if (signatures == json.end() || !signatures->is_array() || signatures->size() != 1 || !(*signatures)[0].is_object())
    return make_error(ErrorCode::malformed, "signatures: exactly one is expected");
  PBPROBE_TRY(const std::string payload, text_at(json, "payload"));
  PBPROBE_TRY(const std::string signature, text_at((*signatures)[0], "sig"));
  Envelope envelope;
  PBPROBE_TRY(envelope.key, text_at((*signatures)[0], "keyid"));
  PBPROBE_TRY(envelope.payload, decoded(payload, "payload"));
  PBPROBE_TRY(envelope.signature, decoded(signature, "sig"));
  PBPROBE_TRY(const std::string public_key, text_at((*signatures)[0], "publicKey"));
  PBPROBE_TRY(envelope.public_key, decoded(public_key, "publicKey"));
  const std::string again = text_of(envelope);
  if (again != text) {
    const auto differs = std::mismatch(again.begin(), again.end(), text.begin(), text.end()).first - again.begin();
    return make_error(ErrorCode::malformed, "byte {}: it is not as pbprobe writes it", differs);
  }
  return envelope;
}

}  // namespace

std::string pre_authentication_encoding(std::string_view type, std::string_view payload) {
  return fmt::format("DSSEv1 {} {} {} {}", type.size(), type, payload.size(), payload);
}

Result<void> check_signing_key(const std::filesystem::path& key) {
  PBPROBE_TRY(const Key secret, read_key(key, Half::secret));
  return {};
}

Result<std::string> sign_envelope(std::string_view payload, const std::filesystem::path& key) {
  PBPROBE_TRY(const Key secret, read_key(key, Half::secret));
  const std::string message = pre_authentication_encoding(kStatementType, payload);
  const Context context(EVP_MD_CTX_new());
  std::array<uint8_t, 64> signature{};
  size_t length = signature.size();
  const bool signed_it =
      EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, secret.get()) == 1 &&
      EVP_DigestSign(context.get(), signature.data(), &length, data_of(message), message.size()) == 1;
  if (!signed_it) return make_error(ErrorCode::unsupported, "{}: OpenSSL did not sign with it", key.string());
  Envelope envelope{.payload = std::string(payload), .public_key = der_of(secret.get())};
  envelope.key = key_id(envelope.public_key);
  envelope.signature.assign(reinterpret_cast<const char*>(signature.data()), length);
  return text_of(envelope);
}

Result<OpenedEnvelope> open_envelope(std::string_view text, const std::vector<std::filesystem::path>& keys) {
  PBPROBE_TRY(const Envelope envelope, read_envelope(text));
  if (key_id(envelope.public_key) != envelope.key)
    return make_error(ErrorCode::malformed, "keyid: it is not that of the public key beside it");
  Key key;
  for (const auto& path : keys) {
    PBPROBE_TRY(Key given, read_either_half(path));
    if (key_id(der_of(given.get())) == envelope.key) key = std::move(given);
  }
  const bool trusted = key != nullptr;
  if (!trusted && !keys.empty())
    return make_error(ErrorCode::malformed, "keyid: it was signed by {}, which is not the key of {}", envelope.key,
                      keys.size() == 1 ? keys.front().string() : "any of the files given");
  if (!trusted) {
    PBPROBE_TRY(key, key_of(envelope.public_key));
  }
  const std::string message = pre_authentication_encoding(kStatementType, envelope.payload);
  const Context context(EVP_MD_CTX_new());
  const bool sound = EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, key.get()) == 1 &&
                     EVP_DigestVerify(context.get(), data_of(envelope.signature), envelope.signature.size(),
                                      data_of(message), message.size()) == 1;
  if (!sound)
    return make_error(ErrorCode::malformed, "the signature does not fit the payload: one of them was changed");
  return OpenedEnvelope{.payload = envelope.payload, .key = envelope.key, .trusted = trusted};
}

}  // namespace pbprobe
