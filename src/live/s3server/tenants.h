// Who may ask: the tenants in the rows of the metadata, and the master keys that the store knows.
//
// Where the store has a master key, a tenant's secret stands in its row sealed under it
// (AES-256-GCM of s3/cipher.h, under a key of the row's own: access key and 16 random bytes), so
// that whoever can read the files of the metadata has no tenant's secret. Without a master key it
// stands there in the clear, and only the modes of the files keep it.
//
// For every master key that was ever given the rows have a check value, HMAC-SHA256(key,
// "orrery-key-check"): another key under the same id is refused before anything is sealed with it.
#pragma once

#include <shared_mutex>

#include "core/base/diagnostic.h"
#include "live/s3server/names.h"

namespace orrery::s3server {

inline constexpr std::string_view kFirstTenant = "main";

// The tenant's row, its secret sealed with the ring's current key where there is one.
std::string tenant_row(const Tenant& tenant, const KeyRing& keys, std::string_view random);
// The tenant with its secret; nullopt where its key is not in the ring, or is another.
std::optional<Tenant> opened_tenant(const Tenant& in_row, const KeyRing& keys);

// Opens rows once: a sealed one costs a few microseconds, which a small request would notice.
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
  std::map<std::string, Entry, std::less<>> opened_;  // by access key; only those that were sealed
};

struct TenantWish {
  std::optional<std::vector<Tenant>> named = {};  // besides the first; none: as they were
  bool seals = false;                             // secrets that are not sealed as they should be
};
struct TenantsSet {
  std::map<std::string, std::uint64_t> quotas = {};  // by tenant
  std::vector<std::string> stayed = {};              // besides the first, though nobody named them
  std::size_t sealed = 0;  // whose secrets stood in the clear or under another key
  std::size_t unread = 0;  // whose secrets cannot be opened
};
// Removes the rows of those who are not named any more, writes those of the named ones.
Answer<TenantsSet> set_tenants(Store& store, const TenantWish& wish);

// Holds the given keys against the check values in the rows, and against what was enciphered with
// them where a key has none yet ("store.key"); notes the values of keys that are new.
Result<void> check_master_keys(Store& store, const std::string& folder);

}  // namespace orrery::s3server
