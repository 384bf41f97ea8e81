#include "live/s3/hash.h"

#include <openssl/evp.h>

#include "core/base/digest.h"

namespace orrery::s3 {
namespace {

constexpr std::size_t kBlock = 64;  // block size of SHA-256

// Fetched once. Given any other handle, OpenSSL 3 looks the algorithm up by its name on every use,
// which takes longer than hashing a request.
const EVP_MD* method_of(HashKind kind) {
  static const EVP_MD* const sha256 = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  static const EVP_MD* const sha1 = EVP_MD_fetch(nullptr, "SHA1", nullptr);
  static const EVP_MD* const md5 = EVP_MD_fetch(nullptr, "MD5", nullptr);
  if (kind == HashKind::sha256) return sha256;
  return kind == HashKind::sha1 ? sha1 : md5;
}

std::string digest(HashKind kind, std::string_view bytes) {
  Hash hash(kind);
  hash.add(bytes);
  return hash.finish();
}

}  // namespace

struct Hash::Parts {
  struct End {
    void operator()(EVP_MD_CTX* made) const { EVP_MD_CTX_free(made); }
  };
  std::unique_ptr<EVP_MD_CTX, End> context{EVP_MD_CTX_new()};
};

Hash::Hash(HashKind kind) : parts_(std::make_unique<Parts>()) {
  EVP_DigestInit_ex(parts_->context.get(), method_of(kind), nullptr);
}
Hash::~Hash() = default;
Hash::Hash(Hash&&) noexcept = default;
Hash& Hash::operator=(Hash&&) noexcept = default;

void Hash::add(std::string_view bytes) {
  EVP_DigestUpdate(parts_->context.get(), bytes.data(), bytes.size());
}

std::string Hash::finish() {
  unsigned char raw[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  EVP_DigestFinal_ex(parts_->context.get(), raw, &size);
  return {reinterpret_cast<const char*>(raw), size};
}

std::string sha256_hex(std::string_view bytes) { return to_hex(digest(HashKind::sha256, bytes)); }
std::string md5(std::string_view bytes) { return digest(HashKind::md5, bytes); }

// RFC 2104, 2.
std::string hmac_sha256(std::string_view key, std::string_view bytes) {
  const std::string hashed = key.size() > kBlock ? digest(HashKind::sha256, key) : std::string();
  if (!hashed.empty()) key = hashed;
  const auto padded = [key](char with) {
    std::string block(kBlock, with);
    for (std::size_t i = 0; i < key.size(); ++i) block[i] = static_cast<char>(key[i] ^ with);
    return block;
  };
  Hash inner(HashKind::sha256);
  inner.add(padded(0x36));
  inner.add(bytes);
  return digest(HashKind::sha256, padded(0x5c) + inner.finish());
}

}  // namespace orrery::s3
