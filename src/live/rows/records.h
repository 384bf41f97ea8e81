// The records of the store (buckets, versions of objects, uploads in parts, and the blobs that hold
// their bytes) and the rows of the metadata that hold them.
//
//   b BUCKET                        a bucket
//   o BUCKET 0 KEY                  the newest version of a key, a delete marker among them
//   v BUCKET 0 KEY 0 ~STAMP         the versions before it, newest first
//   u BUCKET 0 KEY 0 UPLOAD         an upload in parts
//   p UPLOAD 0 NUMBER               a part of it
//   s BLOB                          a blob: where its shards are, or its bytes if they are few
//   g BLOB                          a blob that nothing refers to: its shards are to be removed
//   t ACCESS-KEY                    a tenant
//   e EPOCH                         a run of a gateway; blobs are named by the run that wrote them
//   n NAME                          single facts: the store's id, the last epoch, the id of the key
//                                   for new blobs, for each master key a value that tells it from
//                                   another, the time that the store was well (sweep.h)
// (the first letter is a byte of the row's key, 0 a zero byte, ~STAMP eight bytes of the
// complement.) A version names its blobs and a blob its shards, so a blob can move without a
// version knowing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "live/drives/erasure.h"
#include "live/net/message.h"

namespace orrery::rows {

using net::HeaderList;
using TimeMs = std::int64_t;  // since 1970, UTC

struct ShardPlace {
  std::string drive;  // empty: not written, or lost
  std::uint64_t revision = 0;
};

struct Blob {
  std::string id;
  std::uint64_t size = 0;
  std::string tier;
  drives::ShardPlan plan = {};
  std::uint64_t block_bytes = 0;
  std::vector<ShardPlace> shards = {};
  std::string key_id = {};  // id of the master key that encrypts it; empty: not encrypted
  // The bytes of a small blob, stored like a block of a shard, with its checksum. Such a blob has
  // no shards.
  std::string held = {};
};

// A range of an object: the whole object, or one part of a multipart upload.
struct Extent {
  std::string blob;  // empty if there are no bytes
  std::uint64_t size = 0;
  std::string etag;
  std::string checksum;
};

// A further copy of an object's bytes in another tier. It is written, verified once, and is then
// either the copy that is read or the one about to be removed (tier_places.h).
struct TierCopy {
  std::string tier;
  std::vector<Extent> extents = {};
  bool checked = false;  // read back and found intact
};

struct Checksum {
  std::string algorithm;  // "CRC32", "CRC32C", "CRC64NVME", "SHA1", "SHA256"; empty: none
  std::string value;      // base64
  std::string kind;       // "FULL_OBJECT" or "COMPOSITE"
};

struct Retention {
  std::string mode;  // "GOVERNANCE", "COMPLIANCE"; empty: none
  TimeMs until_ms = 0;
};

struct Version {
  std::uint64_t stamp = 0;  // orders the versions of a key
  std::string id;           // "null" if versioning was off
  bool marker = false;      // a delete marker
  std::uint64_t size = 0;
  std::string etag;  // without quotes
  TimeMs modified_ms = 0;
  std::string owner;
  std::string storage_class;
  std::string acl;          // the name of a canned ACL
  HeaderList headers = {};  // Content-Type and similar headers, returned as they were sent
  HeaderList user = {};     // x-amz-meta-*, without the prefix
  HeaderList tags = {};
  Checksum checksum = {};
  Retention retention = {};
  bool legal_hold = false;
  bool multipart = false;
  std::string upload = {};  // upload that made the version, so that a completion can be repeated
  std::vector<Extent> extents = {};
  std::string tier = {};              // tier that is read; empty: the tier of the storage class
  std::vector<TierCopy> copies = {};  // copies in other tiers
  TimeMs restored_until_ms = 0;       // end of a requested copy in the first tier
};
// Returns the extents of the version and of its copies.
std::vector<Extent> all_extents(const Version& version);

enum class Versioning { off, on, suspended };

struct Bucket {
  std::string name;
  std::string owner;
  TimeMs created_ms = 0;
  Versioning versioning = Versioning::off;
  std::string acl = "private";
  bool locks = false;     // object lock; cannot be switched off
  std::string lock_mode;  // mode of the default retention
  std::uint64_t lock_days = 0;
  std::uint64_t lock_years = 0;
  HeaderList tags = {};
  HeaderList documents = {};  // lifecycle, policy, cors, ...: as they were sent
};

struct Upload {
  std::string id;
  std::string bucket;
  std::string key;
  TimeMs started_ms = 0;
  Version draft = {};  // the future object, without its bytes
};

struct Part {
  std::uint64_t number = 0;
  TimeMs modified_ms = 0;
  Extent extent = {};
};

struct Tenant {
  std::string access_key;
  std::string secret_key;
  std::string id;  // id of the owner, as shown in answers
  std::string name;
  std::uint64_t quota_bytes = 0;  // 0: no quota
  // The encrypted secret and the id of its master key, if the store has one; the row then has no
  // secret_key. An earlier version of the program cannot read such a row, so it refuses the tenant.
  std::string sealed = {};
  std::string key_id = {};
};

std::string encode(const Blob& blob);
std::string encode(const Version& version);
std::string encode(const Bucket& bucket);
std::string encode(const Upload& upload);
std::string encode(const Part& part);
std::string encode(const Tenant& tenant);
// Return nullopt if the bytes are not such a record.
std::optional<Blob> decode_blob(std::string_view bytes);
std::optional<Version> decode_version(std::string_view bytes);
std::optional<Bucket> decode_bucket(std::string_view bytes);
std::optional<Upload> decode_upload(std::string_view bytes);
std::optional<Part> decode_part(std::string_view bytes);
std::optional<Tenant> decode_tenant(std::string_view bytes);

namespace row {
std::string bucket(std::string_view name);
std::string object(std::string_view bucket, std::string_view key);
std::string objects(std::string_view bucket);  // sorts before the first object of the bucket
std::string version(std::string_view bucket, std::string_view key, std::uint64_t stamp);
std::string versions(std::string_view bucket, std::string_view key);  // sorts before the newest
                                                                      // version
std::string upload(std::string_view bucket, std::string_view key, std::string_view id);
std::string uploads(std::string_view bucket);
std::string part(std::string_view upload, std::uint64_t number);
std::string parts(std::string_view upload);
std::string blob(std::string_view id);
std::string garbage(std::string_view id);
std::string tenant(std::string_view access_key);
std::string epoch(std::uint64_t number);
std::string key_check(std::string_view key_id);
std::string fact(std::string_view name);
}  // namespace row

}  // namespace orrery::rows
