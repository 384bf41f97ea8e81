#include "live/rows/records.h"

#include "live/rows/codec.h"

namespace orrery::rows {
namespace {

// The first byte of a tenant whose secret is encrypted, instead of kRecordVersion.
constexpr char kSealedTenant = 2;

void put_pairs(RecordWriter& to, unsigned tag, const HeaderList& pairs) {
  for (const auto& [name, value] : pairs) to.put_each(tag, pair_field(name, value));
}

std::string encode_extent(const Extent& extent) {
  RecordWriter to;
  to.put(1, extent.blob);
  to.put(2, extent.size);
  to.put(3, extent.etag);
  to.put(4, extent.checksum);
  return to.finish();
}

Extent decode_extent(std::string_view bytes) {
  Extent extent;
  read_record(bytes, [&](unsigned tag, std::string_view value) {
    if (tag == 1) extent.blob = value;
    if (tag == 2) extent.size = number_of(value);
    if (tag == 3) extent.etag = value;
    if (tag == 4) extent.checksum = value;
  });
  return extent;
}

std::string encode_copy(const TierCopy& copy) {
  RecordWriter to;
  to.put(1, copy.tier);
  for (const Extent& extent : copy.extents) to.put_each(2, encode_extent(extent));
  to.put(3, static_cast<std::uint64_t>(copy.checked));
  return to.finish();
}

TierCopy decode_copy(std::string_view bytes) {
  TierCopy copy;
  read_record(bytes, [&](unsigned tag, std::string_view value) {
    if (tag == 1) copy.tier = value;
    if (tag == 2) copy.extents.push_back(decode_extent(value));
    if (tag == 3) copy.checked = number_of(value) != 0;
  });
  return copy;
}

}  // namespace

std::string encode(const Blob& blob) {
  RecordWriter to;
  to.put(1, blob.id);
  to.put(2, blob.size);
  to.put(3, blob.tier);
  to.put(4, static_cast<std::uint64_t>(blob.plan.data));
  to.put(5, static_cast<std::uint64_t>(blob.plan.parity));
  to.put(6, blob.block_bytes);
  for (const ShardPlace& shard : blob.shards) {
    to.put_each(7, pair_field(shard.drive, big_endian(shard.revision)));
  }
  to.put(8, blob.key_id);
  to.put(9, blob.held);
  return to.finish();
}

std::optional<Blob> decode_blob(std::string_view bytes) {
  Blob blob;
  const bool good = read_record(bytes, [&](unsigned tag, std::string_view value) {
    if (tag == 1) blob.id = value;
    if (tag == 2) blob.size = number_of(value);
    if (tag == 3) blob.tier = value;
    if (tag == 4) blob.plan.data = static_cast<int>(number_of(value));
    if (tag == 5) blob.plan.parity = static_cast<int>(number_of(value));
    if (tag == 6) blob.block_bytes = number_of(value);
    if (tag == 8) blob.key_id = value;
    if (tag == 9) blob.held = value;
    if (tag == 7) {
      const auto [drive, revision] = pair_of(value);
      blob.shards.push_back({drive, from_big_endian(revision)});
    }
  });
  const auto total = static_cast<std::size_t>(blob.plan.total());
  const bool sound = good && blob.plan.data > 0 && blob.plan.total() <= drives::kShardsMax &&
                     blob.block_bytes > 0 && blob.shards.size() == (blob.held.empty() ? total : 0);
  if (!sound) return std::nullopt;
  return blob;
}

std::vector<Extent> all_extents(const Version& version) {
  std::vector<Extent> all = version.extents;
  for (const TierCopy& copy : version.copies) {
    all.insert(all.end(), copy.extents.begin(), copy.extents.end());
  }
  return all;
}

std::string encode(const Version& version) {
  RecordWriter to;
  to.put(1, version.stamp);
  to.put(2, version.id);
  to.put(3, static_cast<std::uint64_t>(version.marker));
  to.put(4, version.size);
  to.put(5, version.etag);
  to.put(6, static_cast<std::uint64_t>(version.modified_ms));
  to.put(7, version.owner);
  to.put(8, version.storage_class);
  to.put(9, version.acl);
  put_pairs(to, 10, version.headers);
  put_pairs(to, 11, version.user);
  put_pairs(to, 12, version.tags);
  to.put(13, version.checksum.algorithm);
  to.put(14, version.checksum.value);
  to.put(15, version.checksum.kind);
  to.put(16, version.retention.mode);
  to.put(17, static_cast<std::uint64_t>(version.retention.until_ms));
  to.put(18, static_cast<std::uint64_t>(version.legal_hold));
  to.put(19, static_cast<std::uint64_t>(version.multipart));
  for (const Extent& extent : version.extents) to.put_each(20, encode_extent(extent));
  to.put(21, version.upload);
  to.put(22, version.tier);
  for (const TierCopy& copy : version.copies) to.put_each(23, encode_copy(copy));
  to.put(24, static_cast<std::uint64_t>(version.restored_until_ms));
  return to.finish();
}

std::optional<Version> decode_version(std::string_view bytes) {
  Version v;
  const bool good = read_record(bytes, [&](unsigned tag, std::string_view value) {
    if (tag == 1) v.stamp = number_of(value);
    if (tag == 2) v.id = value;
    if (tag == 3) v.marker = number_of(value) != 0;
    if (tag == 4) v.size = number_of(value);
    if (tag == 5) v.etag = value;
    if (tag == 6) v.modified_ms = static_cast<TimeMs>(number_of(value));
    if (tag == 7) v.owner = value;
    if (tag == 8) v.storage_class = value;
    if (tag == 9) v.acl = value;
    if (tag == 10) v.headers.push_back(pair_of(value));
    if (tag == 11) v.user.push_back(pair_of(value));
    if (tag == 12) v.tags.push_back(pair_of(value));
    if (tag == 13) v.checksum.algorithm = value;
    if (tag == 14) v.checksum.value = value;
    if (tag == 15) v.checksum.kind = value;
    if (tag == 16) v.retention.mode = value;
    if (tag == 17) v.retention.until_ms = static_cast<TimeMs>(number_of(value));
    if (tag == 18) v.legal_hold = number_of(value) != 0;
    if (tag == 19) v.multipart = number_of(value) != 0;
    if (tag == 20) v.extents.push_back(decode_extent(value));
    if (tag == 21) v.upload = value;
    if (tag == 22) v.tier = value;
    if (tag == 23) v.copies.push_back(decode_copy(value));
    if (tag == 24) v.restored_until_ms = static_cast<TimeMs>(number_of(value));
  });
  if (!good) return std::nullopt;
  return v;
}

std::string encode(const Bucket& bucket) {
  RecordWriter to;
  to.put(1, bucket.name);
  to.put(2, bucket.owner);
  to.put(3, static_cast<std::uint64_t>(bucket.created_ms));
  to.put(4, static_cast<std::uint64_t>(bucket.versioning));
  to.put(5, bucket.acl);
  to.put(6, static_cast<std::uint64_t>(bucket.locks));
  to.put(7, bucket.lock_mode);
  to.put(8, bucket.lock_days);
  to.put(9, bucket.lock_years);
  put_pairs(to, 10, bucket.tags);
  put_pairs(to, 11, bucket.documents);
  return to.finish();
}

std::optional<Bucket> decode_bucket(std::string_view bytes) {
  Bucket b;
  const bool good = read_record(bytes, [&](unsigned tag, std::string_view value) {
    if (tag == 1) b.name = value;
    if (tag == 2) b.owner = value;
    if (tag == 3) b.created_ms = static_cast<TimeMs>(number_of(value));
    if (tag == 4) b.versioning = static_cast<Versioning>(number_of(value) % 3);
    if (tag == 5) b.acl = value;
    if (tag == 6) b.locks = number_of(value) != 0;
    if (tag == 7) b.lock_mode = value;
    if (tag == 8) b.lock_days = number_of(value);
    if (tag == 9) b.lock_years = number_of(value);
    if (tag == 10) b.tags.push_back(pair_of(value));
    if (tag == 11) b.documents.push_back(pair_of(value));
  });
  if (!good) return std::nullopt;
  return b;
}

std::string encode(const Upload& upload) {
  RecordWriter to;
  to.put(1, upload.id);
  to.put(2, upload.bucket);
  to.put(3, upload.key);
  to.put(4, static_cast<std::uint64_t>(upload.started_ms));
  to.put(5, encode(upload.draft));
  return to.finish();
}

std::optional<Upload> decode_upload(std::string_view bytes) {
  Upload u;
  bool drafted = false;
  const bool good = read_record(bytes, [&](unsigned tag, std::string_view value) {
    if (tag == 1) u.id = value;
    if (tag == 2) u.bucket = value;
    if (tag == 3) u.key = value;
    if (tag == 4) u.started_ms = static_cast<TimeMs>(number_of(value));
    if (tag != 5) return;
    auto draft = decode_version(value);
    drafted = draft.has_value();
    if (draft) u.draft = std::move(*draft);
  });
  if (!good || !drafted) return std::nullopt;
  return u;
}

std::string encode(const Part& part) {
  RecordWriter to;
  to.put(1, part.number);
  to.put(2, static_cast<std::uint64_t>(part.modified_ms));
  to.put(3, encode_extent(part.extent));
  return to.finish();
}

std::optional<Part> decode_part(std::string_view bytes) {
  Part part;
  const bool good = read_record(bytes, [&](unsigned tag, std::string_view value) {
    if (tag == 1) part.number = number_of(value);
    if (tag == 2) part.modified_ms = static_cast<TimeMs>(number_of(value));
    if (tag == 3) part.extent = decode_extent(value);
  });
  if (!good) return std::nullopt;
  return part;
}

std::string encode(const Tenant& tenant) {
  RecordWriter to;
  const bool sealed = !tenant.sealed.empty();
  to.put(1, tenant.access_key);
  to.put(2, sealed ? std::string() : tenant.secret_key);
  to.put(3, tenant.id);
  to.put(4, tenant.name);
  to.put(5, tenant.quota_bytes);
  to.put(6, tenant.sealed);
  to.put(7, tenant.key_id);
  std::string bytes = to.finish();
  if (sealed) bytes.front() = kSealedTenant;
  return bytes;
}

std::optional<Tenant> decode_tenant(std::string_view bytes) {
  Tenant t;
  const bool sealed = !bytes.empty() && bytes.front() == kSealedTenant;
  std::string record(bytes);
  if (sealed) record.front() = static_cast<char>(kRecordVersion);
  const bool good = read_record(record, [&](unsigned tag, std::string_view value) {
    if (tag == 1) t.access_key = value;
    if (tag == 2) t.secret_key = value;
    if (tag == 3) t.id = value;
    if (tag == 4) t.name = value;
    if (tag == 5) t.quota_bytes = number_of(value);
    if (tag == 6) t.sealed = value;
    if (tag == 7) t.key_id = value;
  });
  // Without its secret, the tenant could sign in with an empty one.
  if (!good || sealed == t.sealed.empty()) return std::nullopt;
  return t;
}

namespace row {
namespace {

constexpr char kZero = '\0';

std::string of(char kind, std::string_view first) { return kind + std::string(first); }
std::string of(char kind, std::string_view first, std::string_view second) {
  return of(kind, first) + kZero + std::string(second);
}

}  // namespace

std::string bucket(std::string_view name) { return of('b', name); }
std::string object(std::string_view b, std::string_view key) { return of('o', b, key); }
std::string objects(std::string_view b) { return of('o', b, ""); }
std::string versions(std::string_view b, std::string_view key) { return of('v', b, key) + kZero; }
std::string version(std::string_view b, std::string_view key, std::uint64_t stamp) {
  return versions(b, key) + big_endian(~stamp);
}
std::string uploads(std::string_view b) { return of('u', b, ""); }
std::string upload(std::string_view b, std::string_view key, std::string_view id) {
  return of('u', b, key) + kZero + std::string(id);
}
std::string parts(std::string_view upload) { return of('p', upload, ""); }
std::string part(std::string_view upload, std::uint64_t number) {
  return parts(upload) + big_endian(number);
}
std::string blob(std::string_view id) { return of('s', id); }
std::string garbage(std::string_view id) { return of('g', id); }
std::string tenant(std::string_view access_key) { return of('t', access_key); }
std::string epoch(std::uint64_t number) { return of('e', big_endian(number)); }
std::string key_check(std::string_view key_id) { return "nkeycheck " + std::string(key_id); }
std::string fact(std::string_view name) { return of('n', name); }

}  // namespace row
}  // namespace orrery::rows
