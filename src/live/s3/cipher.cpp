#include "live/s3/cipher.h"

#include <openssl/evp.h>

#include <memory>

#include "live/s3/hash.h"

namespace orrery::s3 {
namespace {

constexpr std::size_t kNonceBytes = 12;

struct EndCipher {
  void operator()(EVP_CIPHER_CTX* made) const { EVP_CIPHER_CTX_free(made); }
};
using Context = std::unique_ptr<EVP_CIPHER_CTX, EndCipher>;

std::string nonce_of(std::uint32_t shard, std::uint64_t block) {
  std::string nonce(kNonceBytes, '\0');
  for (std::size_t i = 0; i < 4; ++i) nonce[i] = static_cast<char>(shard >> (24 - 8 * i));
  for (std::size_t i = 0; i < 8; ++i) nonce[4 + i] = static_cast<char>(block >> (56 - 8 * i));
  return nonce;
}

const unsigned char* raw(std::string_view bytes) {
  return reinterpret_cast<const unsigned char*>(bytes.data());
}
unsigned char* raw(std::string& bytes) { return reinterpret_cast<unsigned char*>(bytes.data()); }

}  // namespace

BlockCipher::BlockCipher(std::string_view master_key, std::string_view name)
    : key_(hmac_sha256(master_key, std::string("orrery-blob\0", 12) + std::string(name))) {}

std::string BlockCipher::seal(std::uint32_t shard, std::uint64_t block,
                              std::string_view plain) const {
  const Context context(EVP_CIPHER_CTX_new());
  const std::string nonce = nonce_of(shard, block);
  std::string sealed(plain.size() + kSealBytes, '\0');
  int length = 0;
  EVP_EncryptInit_ex(context.get(), EVP_aes_256_gcm(), nullptr, raw(std::string_view(key_)),
                     raw(std::string_view(nonce)));
  EVP_EncryptUpdate(context.get(), raw(sealed), &length, raw(plain),
                    static_cast<int>(plain.size()));
  EVP_EncryptFinal_ex(context.get(), raw(sealed) + length, &length);
  EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_GCM_GET_TAG, static_cast<int>(kSealBytes),
                      sealed.data() + plain.size());
  return sealed;
}

std::optional<std::string> BlockCipher::open(std::uint32_t shard, std::uint64_t block,
                                             std::string_view sealed) const {
  if (sealed.size() < kSealBytes) return std::nullopt;
  const Context context(EVP_CIPHER_CTX_new());
  const std::string nonce = nonce_of(shard, block);
  const std::string_view body = sealed.substr(0, sealed.size() - kSealBytes);
  std::string tag(sealed.substr(body.size()));
  std::string plain(body.size(), '\0');
  int length = 0;
  EVP_DecryptInit_ex(context.get(), EVP_aes_256_gcm(), nullptr, raw(std::string_view(key_)),
                     raw(std::string_view(nonce)));
  EVP_DecryptUpdate(context.get(), raw(plain), &length, raw(body), static_cast<int>(body.size()));
  EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_GCM_SET_TAG, static_cast<int>(kSealBytes),
                      tag.data());
  unsigned char end[kSealBytes];
  if (EVP_DecryptFinal_ex(context.get(), end, &length) != 1) return std::nullopt;
  return plain;
}

}  // namespace orrery::s3
