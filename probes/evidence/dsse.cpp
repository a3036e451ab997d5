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
        ErrorCode::malformed, "{}: it holds no {} key in PEM without a passphrase: {}", path.string(),
        half == Half::secret ? "private" : "public",
        half == Half::secret ? "openssl genpkey -algorithm ed25519 -out KEY" : "openssl pkey -in KEY -pubout -out PUB");
  if (EVP_PKEY_get_base_id(key.get()) != EVP_PKEY_ED25519)
    return make_error(ErrorCode::unsupported, "{}: the key is no Ed25519 key: openssl genpkey -algorithm ed25519",
                      path.string());
  return key;
}

// SHA-256 of the public half as SubjectPublicKeyInfo, as `openssl pkey -pubin -outform DER | sha256sum` tells it.
std::string key_id(EVP_PKEY* key) {
  const int length = i2d_PUBKEY(key, nullptr);
  std::vector<uint8_t> der(static_cast<size_t>(std::max(length, 0)));
  uint8_t* end = der.data();
  if (!der.empty()) i2d_PUBKEY(key, &end);
  return sha256_of(std::span<const uint8_t>(der));
}

std::string base64_of(std::string_view bytes) {
  std::string text(4 * ((bytes.size() + 2) / 3) + 1, '\0');
  const int length =
      EVP_EncodeBlock(reinterpret_cast<uint8_t*>(text.data()), data_of(bytes), static_cast<int>(bytes.size()));
  text.resize(static_cast<size_t>(length));
  return text;
}

Result<std::string> from_base64(const std::string& text, std::string_view what) {
  std::string bytes(3 * (text.size() / 4) + 3, '\0');
  const int length =
      EVP_DecodeBlock(reinterpret_cast<uint8_t*>(bytes.data()), data_of(text), static_cast<int>(text.size()));
  if (length < 0 || text.size() % 4 != 0) return make_error(ErrorCode::malformed, "{}: it is no base64", what);
  // Padding is counted as zero bytes.
  const auto padding = std::count(text.end() - std::min<std::ptrdiff_t>(2, std::ssize(text)), text.end(), '=');
  bytes.resize(static_cast<size_t>(length - padding));
  return bytes;
}

std::string envelope_text(std::string_view payload, const std::string& key, std::string_view signature) {
  const Json envelope{{"payloadType", kStatementType},
                      {"payload", base64_of(payload)},
                      {"signatures", Json::array({{{"keyid", key}, {"sig", base64_of(signature)}}})}};
  return envelope.dump(2) + "\n";
}

struct Envelope {
  std::string payload;
  std::string key;
  std::string signature;
};

Result<std::string> text_at(const Json& json, const char* key) {
  const auto found = json.find(key);
  if (found == json.end() || !found->is_string())
    return make_error(ErrorCode::malformed, "{}: a text is expected there", key);
  return found->get<std::string>();
}

Result<Envelope> read_envelope(std::string_view text) {
  PBPROBE_TRY(const Json json, parse_json(text));
  if (!json.is_object()) return make_error(ErrorCode::malformed, "it is no envelope");
  const auto signatures = json.find("signatures");
  if (signatures == json.end() || !signatures->is_array() || signatures->size() != 1 || !(*signatures)[0].is_object())
    return make_error(ErrorCode::malformed, "signatures: exactly one is expected");
  PBPROBE_TRY(const std::string payload, text_at(json, "payload"));
  PBPROBE_TRY(const std::string signature, text_at((*signatures)[0], "sig"));
  Envelope envelope;
  PBPROBE_TRY(envelope.key, text_at((*signatures)[0], "keyid"));
  PBPROBE_TRY(envelope.payload, from_base64(payload, "payload"));
  PBPROBE_TRY(envelope.signature, from_base64(signature, "sig"));
  const std::string again = envelope_text(envelope.payload, envelope.key, envelope.signature);
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
  return envelope_text(payload, key_id(secret.get()), {reinterpret_cast<const char*>(signature.data()), length});
}

Result<std::string> open_envelope(std::string_view text, const std::filesystem::path& public_key) {
  PBPROBE_TRY(const Key key, read_key(public_key, Half::open));
  PBPROBE_TRY(const Envelope envelope, read_envelope(text));
  if (envelope.key != key_id(key.get()))
    return make_error(ErrorCode::malformed, "keyid: it was signed by {}, and {} is {}", envelope.key,
                      public_key.string(), key_id(key.get()));
  const std::string message = pre_authentication_encoding(kStatementType, envelope.payload);
  const Context context(EVP_MD_CTX_new());
  const bool sound = EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, key.get()) == 1 &&
                     EVP_DigestVerify(context.get(), data_of(envelope.signature), envelope.signature.size(),
                                      data_of(message), message.size()) == 1;
  if (!sound)
    return make_error(ErrorCode::malformed, "the signature does not fit the payload: one of them was changed");
  return envelope.payload;
}

}  // namespace pbprobe
