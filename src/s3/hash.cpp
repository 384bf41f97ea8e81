#include "s3/hash.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "base/digest.h"

namespace orrery::s3 {
namespace {

const EVP_MD* method_of(HashKind kind) {
  if (kind == HashKind::sha256) return EVP_sha256();
  return kind == HashKind::sha1 ? EVP_sha1() : EVP_md5();
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

std::string hmac_sha256(std::string_view key, std::string_view bytes) {
  unsigned char raw[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
       reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), raw, &size);
  return {reinterpret_cast<const char*>(raw), size};
}

}  // namespace orrery::s3
