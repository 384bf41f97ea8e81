#include "live/rows/records.h"

#include <gtest/gtest.h>

#include <set>

#include "live/rows/codec.h"

namespace orrery::rows {
namespace {

Extent extent_with(const std::string& blob, std::uint64_t size) {
  return {.blob = blob, .size = size, .etag = "e" + blob, .checksum = "c" + blob};
}

// Every field has a different value, so that a dropped or swapped field is noticed.
Version whole_version() {
  return {.stamp = 0x0102030405060708,
          .id = "id",
          .marker = true,
          .size = 0xfedcba9876543210,
          .etag = "etag",
          .modified_ms = 1'700'000'000'123,
          .owner = "owner",
          .storage_class = "GLACIER",
          .acl = "public-read",
          .headers = {{"Content-Type", "text/plain"}, {"Expires", ""}},
          .user = {{"who", "me"}, {"", "unnamed"}},
          .tags = {{"a", "1"}, {"b", std::string("\0x", 2)}},
          .checksum = {"CRC32C", "value", "FULL_OBJECT"},
          .retention = {"COMPLIANCE", 1'800'000'000'456},
          .legal_hold = true,
          .multipart = true,
          .upload = "upload",
          .extents = {extent_with("x", 1), extent_with("y", 0x100)},
          .tier = "cold",
          .copies = {{"hot", {extent_with("z", 7)}, true}, {"warm", {}, false}},
          .restored_until_ms = 1'900'000'000'789};
}

void expect_same(const Extent& a, const Extent& b) {
  EXPECT_EQ(a.blob, b.blob);
  EXPECT_EQ(a.size, b.size);
  EXPECT_EQ(a.etag, b.etag);
  EXPECT_EQ(a.checksum, b.checksum);
}

TEST(Records, a_version_is_read_as_written) {
  const Version v = whole_version();
  const auto read = decode_version(encode(v));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->stamp, v.stamp);
  EXPECT_EQ(read->id, v.id);
  EXPECT_EQ(read->marker, v.marker);
  EXPECT_EQ(read->size, v.size);
  EXPECT_EQ(read->etag, v.etag);
  EXPECT_EQ(read->modified_ms, v.modified_ms);
  EXPECT_EQ(read->owner, v.owner);
  EXPECT_EQ(read->storage_class, v.storage_class);
  EXPECT_EQ(read->acl, v.acl);
  EXPECT_EQ(read->headers, v.headers);
  EXPECT_EQ(read->user, v.user);
  EXPECT_EQ(read->tags, v.tags);
  EXPECT_EQ(read->checksum.algorithm, v.checksum.algorithm);
  EXPECT_EQ(read->checksum.value, v.checksum.value);
  EXPECT_EQ(read->checksum.kind, v.checksum.kind);
  EXPECT_EQ(read->retention.mode, v.retention.mode);
  EXPECT_EQ(read->retention.until_ms, v.retention.until_ms);
  EXPECT_EQ(read->legal_hold, v.legal_hold);
  EXPECT_EQ(read->multipart, v.multipart);
  EXPECT_EQ(read->upload, v.upload);
  EXPECT_EQ(read->tier, v.tier);
  EXPECT_EQ(read->restored_until_ms, v.restored_until_ms);
  ASSERT_EQ(read->extents.size(), 2u);
  expect_same(read->extents[0], v.extents[0]);
  expect_same(read->extents[1], v.extents[1]);
  ASSERT_EQ(read->copies.size(), 2u);
  EXPECT_EQ(read->copies[0].tier, "hot");
  EXPECT_TRUE(read->copies[0].checked);
  expect_same(read->copies[0].extents.at(0), v.copies[0].extents[0]);
  EXPECT_EQ(read->copies[1].tier, "warm");
  EXPECT_FALSE(read->copies[1].checked);
  EXPECT_EQ(all_extents(v).size(), 3u) << "its own extents and those of its copies";
  const auto bare = decode_version(encode(Version{}));
  ASSERT_TRUE(bare);
  EXPECT_FALSE(bare->marker || bare->legal_hold || bare->multipart);
  EXPECT_EQ(bare->stamp + bare->size, 0u);
  EXPECT_TRUE(bare->extents.empty() && bare->copies.empty() && bare->headers.empty());
}

TEST(Records, a_torn_version_is_never_taken_for_the_whole) {
  const std::string bytes = encode(whole_version());
  for (std::size_t cut = 0; cut < bytes.size(); ++cut) {
    const auto torn = decode_version(std::string_view(bytes).substr(0, cut));
    if (torn) {
      EXPECT_NE(encode(*torn), bytes);
    }
  }
}

TEST(Records, buckets_uploads_parts_and_tenants_are_read_as_written) {
  for (const Versioning versioning : {Versioning::off, Versioning::on, Versioning::suspended}) {
    const Bucket b{.name = "pail",
                   .owner = "main",
                   .created_ms = 1'600'000'000'001,
                   .versioning = versioning,
                   .acl = "public-read",
                   .locks = true,
                   .lock_mode = "GOVERNANCE",
                   .lock_days = 30,
                   .lock_years = 2,
                   .tags = {{"k", "v"}},
                   .documents = {{"lifecycle", "<x/>"}, {"policy", "{}"}}};
    const auto read = decode_bucket(encode(b));
    ASSERT_TRUE(read);
    EXPECT_EQ(read->name, "pail");
    EXPECT_EQ(read->owner, "main");
    EXPECT_EQ(read->created_ms, b.created_ms);
    EXPECT_EQ(read->versioning, versioning);
    EXPECT_EQ(read->acl, "public-read");
    EXPECT_TRUE(read->locks);
    EXPECT_EQ(read->lock_mode, "GOVERNANCE");
    EXPECT_EQ(read->lock_days, 30u);
    EXPECT_EQ(read->lock_years, 2u);
    EXPECT_EQ(read->tags, b.tags);
    EXPECT_EQ(read->documents, b.documents);
  }
  const Upload u{
      .id = "u", .bucket = "pail", .key = "k", .started_ms = 77, .draft = whole_version()};
  const auto upload = decode_upload(encode(u));
  ASSERT_TRUE(upload);
  EXPECT_EQ(upload->id + upload->bucket + upload->key, "upailk");
  EXPECT_EQ(upload->started_ms, 77);
  EXPECT_EQ(encode(upload->draft), encode(u.draft));
  RecordWriter without;
  without.put(1, std::string_view("u"));
  EXPECT_FALSE(decode_upload(without.finish())) << "an upload has a draft";
  const auto part = decode_part(encode(Part{5, 99, extent_with("p", 12)}));
  ASSERT_TRUE(part);
  EXPECT_EQ(part->number, 5u);
  EXPECT_EQ(part->modified_ms, 99);
  expect_same(part->extent, extent_with("p", 12));
  const auto tenant = decode_tenant(encode(Tenant{"AK", "secret", "id", "name", 123'456'789'012}));
  ASSERT_TRUE(tenant);
  EXPECT_EQ(tenant->access_key + tenant->secret_key + tenant->id + tenant->name, "AKsecretidname");
  EXPECT_EQ(tenant->quota_bytes, 123'456'789'012u);
  // If the secret is encrypted, the row does not contain it, and an earlier version of the program
  // cannot read the row: it would accept an empty secret.
  const Tenant sealed{"AK", "secret", "id", "name", 0, "s e a l e d", "k1"};
  const std::string row = encode(sealed);
  EXPECT_EQ(row.find("secret"), row.npos);
  EXPECT_FALSE(read_record(row, [](unsigned, std::string_view) {}));
  const auto again = decode_tenant(row);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->secret_key, "");
  EXPECT_EQ(again->sealed + again->key_id, "s e a l e dk1");
  std::string torn = row;
  torn.front() = static_cast<char>(kRecordVersion);
  EXPECT_FALSE(decode_tenant(torn)) << "a row without any secret is not a tenant";
}

TEST(Records, a_blob_must_have_a_place_for_every_shard) {
  const Blob b{.id = "blob",
               .size = 1000,
               .tier = "hot",
               .plan = {2, 1},
               .block_bytes = 65536,
               .shards = {{"d0", 0}, {"d1", 0x1122334455667788}, {"", 3}},
               .key_id = "key"};
  const auto read = decode_blob(encode(b));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->id, "blob");
  EXPECT_EQ(read->size, 1000u);
  EXPECT_EQ(read->tier, "hot");
  EXPECT_EQ(read->plan, b.plan);
  EXPECT_EQ(read->block_bytes, 65536u);
  EXPECT_EQ(read->key_id, "key");
  ASSERT_EQ(read->shards.size(), 3u);
  EXPECT_EQ(read->shards[1].drive, "d1");
  EXPECT_EQ(read->shards[1].revision, 0x1122334455667788u);
  EXPECT_EQ(read->shards[2].drive, "");
  Blob wrong = b;
  wrong.shards.pop_back();
  EXPECT_FALSE(decode_blob(encode(wrong)));
  wrong = b;
  wrong.block_bytes = 0;  // would divide by zero
  EXPECT_FALSE(decode_blob(encode(wrong)));
  wrong = b;
  wrong.plan = {0, 3};
  EXPECT_FALSE(decode_blob(encode(wrong)));
  wrong = b;
  wrong.plan = {drives::kShardsMax, 1};
  wrong.shards.resize(drives::kShardsMax + 1);
  EXPECT_FALSE(decode_blob(encode(wrong)));
  wrong = b;
  wrong.held = "bytes and their checksum";  // it has shards
  EXPECT_FALSE(decode_blob(encode(wrong)));
  wrong.shards.clear();
  EXPECT_EQ(decode_blob(encode(wrong))->held, wrong.held);
}

// Versions sort newest first; names with a common beginning stay separate.
TEST(Records, keys_sort_in_the_order_of_walks) {
  EXPECT_LT(row::version("b", "k", 9), row::version("b", "k", 8));
  EXPECT_TRUE(row::version("b", "k", 9).starts_with(row::versions("b", "k")));
  EXPECT_FALSE(row::version("b", "kk", 9).starts_with(row::versions("b", "k")));
  EXPECT_TRUE(row::object("b", "k").starts_with(row::objects("b")));
  EXPECT_FALSE(row::object("bb", "k").starts_with(row::objects("b")));
  EXPECT_LT(row::part("u", 9), row::part("u", 10));
  EXPECT_LT(row::part("u", 255), row::part("u", 256));
  EXPECT_TRUE(row::part("u", 1).starts_with(row::parts("u")));
  EXPECT_FALSE(row::part("uu", 1).starts_with(row::parts("u")));
  EXPECT_TRUE(row::upload("b", "k", "u").starts_with(row::uploads("b")));
  const std::string all[] = {
      row::bucket("x"),           row::object("x", "x"), row::version("x", "x", 0),
      row::upload("x", "x", "x"), row::part("x", 0),     row::blob("x"),
      row::garbage("x"),          row::tenant("x"),      row::epoch(0)};
  std::set<char> kinds;
  for (const std::string& row : all) kinds.insert(row.front());
  EXPECT_EQ(kinds.size(), std::size(all));
}

}  // namespace
}  // namespace orrery::rows
