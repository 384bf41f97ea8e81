// The tenants who may access the store, as rows of the metadata, and the master keys that the store
// knows.
//
// If the store has a master key, the row of a tenant holds the secret encrypted with it
// (AES-256-GCM of s3/cipher.h, with a key per row: access key and 16 random bytes), so the files of
// the metadata reveal no secret. Without a master key the secret is stored unencrypted, protected
// only by the modes of the files.
//
// For every master key that was ever given, the rows have a check value, HMAC-SHA256(key,
// "orrery-key-check"). Another key under the same id is refused before anything is encrypted with
// it.
#pragma once

#include <shared_mutex>

#include "core/base/diagnostic.h"
#include "live/s3server/names.h"

namespace orrery::s3server {

inline constexpr std::string_view kFirstTenant = "main";

// Returns the tenant's row; its secret is encrypted with the ring's current key if there is one.
std::string tenant_row(const Tenant& tenant, const KeyRing& keys, std::string_view random);
// Returns the tenant with its secret; nullopt if its key is not in the ring, or is wrong.
std::optional<Tenant> opened_tenant(const Tenant& in_row, const KeyRing& keys);

// Decrypts each row once: this takes a few microseconds, which would slow down small requests.
class TenantBook {
 public:
  explicit TenantBook(Store& store) : store_(store) {}
  Answer<std::optional<Tenant>> find(std::string_view access_key);

 private:
  struct Entry {
    std::string row;
    Tenant tenant;
  };
  Store& store_;
  std::shared_mutex mutex_;
  std::map<std::string, Entry, std::less<>> opened_;  // by access key; only tenants whose secret
                                                      // was encrypted
};

struct TenantWish {
  std::optional<std::vector<Tenant>> named = {};  // tenants besides the first; nullopt: unchanged
  bool seals = false;  // encrypt secrets that are not encrypted with the current key
};
struct TenantsSet {
  std::map<std::string, std::uint64_t> quotas = {};  // by tenant
  std::vector<std::string> stayed = {};  // not named any more, but with unchanged access
  std::size_t sealed = 0;                // number of tenants whose secrets were encrypted again
  std::size_t unread = 0;                // number of tenants whose secrets cannot be decrypted
};
// Removes the rows of tenants that are no longer named, and writes those of the named ones.
Answer<TenantsSet> set_tenants(Store& store, const TenantWish& wish);

// Returns "store.key" if the key that data was encrypted with last is not in the ring, or if a key
// of the ring differs from its check value. Only reads.
Result<void> check_known_keys(rows::Metadata& metadata, const KeyRing& keys,
                              const std::string& folder);
// The row with the id of the key that data was encrypted with last.
inline constexpr std::string_view kKeyRow = "nkey";

// Compares the given keys with the check values in the rows, or, if a key has none yet, with data
// encrypted under it ("store.key"); stores the values of new keys.
Result<void> check_master_keys(Store& store, const std::string& folder);

}  // namespace orrery::s3server
