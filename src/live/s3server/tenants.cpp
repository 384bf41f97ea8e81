#include "live/s3server/tenants.h"

#include <fmt/core.h>

#include <array>
#include <mutex>

#include "live/s3/cipher.h"
#include "live/s3/hash.h"
#include "live/store/blob.h"

namespace orrery::s3server {
namespace {

constexpr std::size_t kSaltBytes = 16;
// Number of blobs to try with a key that has no check value; some of them may be damaged.
constexpr int kTriedMost = 16;

s3::BlockCipher cipher_of(const std::string& master, std::string_view access_key,
                          std::string_view salt) {
  std::string name("tenant\0", 7);
  name.append(salt).append(access_key);
  return {master, name};
}

std::string check_value(const std::string& master) {
  return s3::hmac_sha256(master, "orrery-key-check");
}

Answer<void> each_tenant(Metadata& metadata,
                         const std::function<void(std::string_view key, const Tenant&)>& take) {
  const std::string base = rows::row::tenant("");
  const auto cursor = metadata.cursor();
  for (cursor->seek(base); cursor->valid() && cursor->key().starts_with(base); cursor->next()) {
    if (const auto tenant = decode_tenant(cursor->value())) take(cursor->key(), *tenant);
  }
  if (auto state = cursor->state(); !state) return refused(state.error());
  return {};
}

// The result of trying to decrypt some of the data that was encrypted under this id.
enum class Trial { nothing_there, opens, does_not_open, cannot_be_read };

Answer<Trial> try_key(Store& store, const std::string& id) {
  Trial trial = Trial::nothing_there;
  int tried = 0;
  const auto cursor = store.metadata().cursor();
  const std::string base = rows::row::blob("");
  for (cursor->seek(base); cursor->valid() && cursor->key().starts_with(base) && tried < kTriedMost;
       cursor->next()) {
    auto blob = decode_blob(cursor->value());
    if (!blob || blob->key_id != id || blob->size == 0) continue;
    ++tried;
    store::BlobReader reader(store.setting().drives, std::move(*blob), store.setting().keys);
    std::array<char, 1> first{};
    const auto got = reader.read(0, first);
    if (got) return Trial::opens;
    if (got.error().kind == PortFault::corrupt) trial = Trial::does_not_open;
    if (trial == Trial::nothing_there) trial = Trial::cannot_be_read;
  }
  if (auto state = cursor->state(); !state) return refused(state.error());
  return trial;
}

std::unexpected<Diagnostics> wrong_key(const std::string& folder, const std::string& id,
                                       const std::string& why) {
  return fail(
      {.code = "store.key",
       .place = {folder},
       .what =
           "the key '" + id + "' is not the key that this store was encrypted with under this id",
       .why = why,
       .fix = "give the correct digits for '" + id + "', or give the new key a different id"});
}

std::unexpected<Diagnostics> keys_fault(const std::string& folder, const Refused& why) {
  return fail({.code = "store.open",
               .place = {folder},
               .what = "the store's keys cannot be checked: " + why.code + ' ' + why.message,
               .why = {},
               .fix = {}});
}

}  // namespace

std::string tenant_row(const Tenant& tenant, const KeyRing& keys, std::string_view random) {
  Tenant to = tenant;
  to.sealed.clear();
  to.key_id.clear();
  const auto master = keys.keys.find(keys.current);
  if (keys.current.empty() || master == keys.keys.end()) return encode(to);
  const std::string salt(random.substr(0, kSaltBytes));
  to.key_id = keys.current;
  to.sealed = salt + cipher_of(master->second, to.access_key, salt).seal(0, 0, to.secret_key);
  return encode(to);
}

std::optional<Tenant> opened_tenant(const Tenant& in_row, const KeyRing& keys) {
  if (in_row.sealed.empty()) return in_row;
  const auto master = keys.keys.find(in_row.key_id);
  if (master == keys.keys.end() || in_row.sealed.size() < kSaltBytes) return std::nullopt;
  const std::string_view salt = std::string_view(in_row.sealed).substr(0, kSaltBytes);
  auto secret = cipher_of(master->second, in_row.access_key, salt)
                    .open(0, 0, std::string_view(in_row.sealed).substr(kSaltBytes));
  if (!secret) return std::nullopt;
  Tenant to = in_row;
  to.secret_key = std::move(*secret);
  return to;
}

Answer<std::optional<Tenant>> TenantBook::find(std::string_view access_key) {
  const auto found = store_.metadata().get(rows::row::tenant(access_key));
  if (!found) return refused(found.error());
  if (!*found) return std::nullopt;
  {
    const std::shared_lock lock(mutex_);
    const auto at = opened_.find(access_key);
    if (at != opened_.end() && at->second.row == **found) return at->second.tenant;
  }
  const auto in_row = decode_tenant(**found);
  if (!in_row || in_row->sealed.empty()) return in_row;
  auto tenant = opened_tenant(*in_row, store_.setting().keys);
  if (!tenant) {
    return refused("InternalError", "the secret of " + in_row->id + " is encrypted with the key " +
                                        in_row->key_id + ", which cannot decrypt it");
  }
  const std::unique_lock lock(mutex_);
  opened_.insert_or_assign(std::string(access_key), Entry{**found, *tenant});
  return tenant;
}

Answer<TenantsSet> set_tenants(Store& store, const TenantWish& wish) {
  TenantsSet set;
  Commit commit;
  const KeyRing& keys = store.setting().keys;
  const auto row_of = [&](const Tenant& tenant) {
    return tenant_row(tenant, keys, store.setting().random_bytes(kSaltBytes));
  };
  const auto take = [&](std::string_view key, const Tenant& tenant) {
    const bool first = tenant.id == kFirstTenant;
    if (wish.named && !first) {
      commit.changes.push_back({std::string(key), std::nullopt});
      return;
    }
    set.quotas[tenant.id] = tenant.quota_bytes;
    if (!first) set.stayed.push_back(tenant.id);
    if (!wish.seals || keys.current.empty() || tenant.key_id == keys.current) return;
    const auto opened = opened_tenant(tenant, keys);
    opened ? ++set.sealed : ++set.unread;
    if (opened) commit.changes.push_back({std::string(key), row_of(*opened)});
  };
  if (auto good = each_tenant(store.metadata(), take); !good) return std::unexpected(good.error());
  for (const Tenant& tenant : wish.named.value_or(std::vector<Tenant>{})) {
    commit.changes.push_back({rows::row::tenant(tenant.access_key), row_of(tenant)});
    set.quotas[tenant.id] = tenant.quota_bytes;
  }
  if (commit.changes.empty()) return set;
  if (const auto done = store.metadata().commit(commit); !done) return refused(done.error());
  return set;
}

Result<void> check_known_keys(rows::Metadata& metadata, const KeyRing& keys,
                              const std::string& folder) {
  const auto last = metadata.get(kKeyRow);
  if (!last) return keys_fault(folder, refusal_of(last.error()));
  if (*last && !keys.keys.contains(**last)) {
    return fail({.code = "store.key",
                 .place = {folder},
                 .what = "the store is encrypted with the key " + **last + ", which was not given",
                 .why = "existing data could not be read, and new data would be stored unencrypted",
                 .fix = "name it with --key-file or --key-command"});
  }
  for (const auto& [id, master] : keys.keys) {
    const auto known = metadata.get(rows::row::key_check(id));
    if (!known) return keys_fault(folder, refusal_of(known.error()));
    if (!*known || **known == check_value(master)) continue;
    return wrong_key(folder, id,
                     "what is there could not be read with it, and what is put would "
                     "be lost once the right key is back");
  }
  return {};
}

Result<void> check_master_keys(Store& store, const std::string& folder) {
  if (auto good = check_known_keys(store.metadata(), store.setting().keys, folder); !good) {
    return good;
  }
  Commit commit;
  for (const auto& [id, master] : store.setting().keys.keys) {
    const std::string value = check_value(master);
    const auto known = store.metadata().get(rows::row::key_check(id));
    if (!known) return keys_fault(folder, refusal_of(known.error()));
    if (*known) continue;
    // The store was encrypted by a version of the program that stored no check values.
    const auto trial = try_key(store, id);
    if (!trial) return keys_fault(folder, trial.error());
    if (*trial == Trial::does_not_open) {
      return wrong_key(folder, id, "it cannot decrypt the data that was encrypted under this id");
    }
    if (*trial == Trial::cannot_be_read)
      continue;  // the drives are missing; the next run tries
                 // again
    commit.changes.push_back({rows::row::key_check(id), value});
  }
  if (commit.changes.empty()) return {};
  if (const auto done = store.metadata().commit(commit); !done) {
    return keys_fault(folder, refusal_of(done.error()));
  }
  return {};
}

}  // namespace orrery::s3server
