// A bucket as a place: what it lists, how copies and removals become visible, and its faults.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "live/agent/keep_store_fixture.h"

namespace orrery::agent::keep_bucket_tests {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::unique_ptr<KeepStore> bucket_that(net::Ask answers, const std::string& prefix) {
  return bucket_store(MemoryBucket::client_of(std::move(answers)), prefix);
}

class KeepBucket : public testing::Test {
 protected:
  Result<void> put(const std::string& id, const std::string& path, const std::string& text) {
    return put_file(*store, id, path, text);
  }
  KeptItem first() { return store->list()->items.front(); }

  MemoryBucket bucket;
  std::unique_ptr<KeepStore> store = bucket_store(bucket.client(), "run");
};

TEST_F(KeepBucket, items_lie_below_the_prefix_and_are_begun_until_finished) {
  ASSERT_TRUE(store->begin("step-2", 0755));
  EXPECT_TRUE(first().files.empty());
  ASSERT_TRUE(put("step-2", "b/x", "deep"));
  ASSERT_TRUE(put("step-2", "a", "aa"));
  EXPECT_TRUE(first().begun);
  ASSERT_TRUE(store->finish("step-2"));
  EXPECT_FALSE(first().begun);
  EXPECT_TRUE(bucket.objects.contains("run/step-2/b/x"));
  bucket.objects["run/latest.txt"] = "2";
  bucket.objects["run/step-3/"] = "";  // some tools create such an object for a folder
  EXPECT_THAT(names_in(*store), ElementsAre("step-2:a", "step-2:b/x", "latest.txt"));
  EXPECT_EQ(read_back(*store, "step-2", "b/x"), "deep");
}

// Another agent's place below the prefix is none of ours.
TEST_F(KeepBucket, item_that_holds_a_place_is_odd) {
  bucket.objects["run/cold/.orrery-lease/0000000001"] = "host h\n";
  bucket.objects["run/cold/step-1/model.safetensors.index.json"] = "{}";
  EXPECT_THAT(first().odd, HasSubstr("place of its own"));
}

TEST_F(KeepBucket, stamp_changes_with_the_bytes) {
  ASSERT_TRUE(put_item(*store, "step-2", {{"a", "aa"}}));
  const std::string before = first().file("a")->stamp;
  EXPECT_EQ(first().file("a")->stamp, before);
  ASSERT_TRUE(put("step-2", "a", "AA"));
  EXPECT_NE(first().file("a")->stamp, before);
}

TEST_F(KeepBucket, object_that_became_shorter_is_not_read_as_the_whole) {
  ASSERT_TRUE(put_item(*store, "step-2", {{"a", "deep"}}));
  const auto longer = store->read("step-2", {.path = "a", .bytes = 9});
  ASSERT_TRUE(longer);
  char piece[9];
  EXPECT_FALSE((*longer)(0, piece));
}

// One object hides the item. The item's own objects stay in place.
TEST_F(KeepBucket, item_set_aside_is_hidden_and_comes_back_with_the_hiding_object) {
  ASSERT_TRUE(put_item(*store, "step-2", {{"a", "aa"}, {"b/x", "deep"}}));
  const KeptItem item = first();
  ASSERT_TRUE(store->set_aside(item, "step-2.T1"));
  EXPECT_TRUE(store->list()->items.empty());
  ASSERT_EQ(store->list()->aside.size(), 1U);
  EXPECT_EQ(store->list()->aside[0].item, item);
  EXPECT_EQ(bucket.objects.count("run/step-2/a"), 1U);
  ASSERT_EQ(bucket.objects.erase("run/.orrery-trash/step-2.T1"), 1U);
  EXPECT_EQ(first(), item);
}

TEST_F(KeepBucket, purge_removes_only_the_objects_that_were_listed) {
  bucket.objects["run/latest.txt"] = "2";
  ASSERT_TRUE(put_item(*store, "step-2", {{"a", "aa"}, {"b/x", "deep"}}));
  ASSERT_TRUE(store->set_aside(first(), "step-2.T2"));
  const KeptAside aside = store->list()->aside.front();
  bucket.objects["run/step-2/a"] = "others";
  EXPECT_FALSE(store->purge(aside));
  EXPECT_EQ(bucket.objects.at("run/step-2/a"), "others");
  ASSERT_TRUE(store->purge(store->list()->aside.front()));
  EXPECT_TRUE(store->list()->items.empty() && store->list()->aside.empty());
  EXPECT_EQ(bucket.objects.count("run/step-2/a"), 0U);
  EXPECT_EQ(bucket.objects.count("run/latest.txt"), 1U);
}

TEST_F(KeepBucket, files_beyond_64_mib_go_in_parts_of_32) {
  ASSERT_TRUE(put("step-4", "large", std::string((64 << 20) + 1, 'l')));
  EXPECT_EQ(bucket.parts, 3);
}

TEST_F(KeepBucket, faults_have_the_code_of_the_bucket) {
  const auto refusing = bucket_that(
      [](const net::Question&) {
        net::Reply reply;
        reply.status = 403;
        reply.body = "<Error><Code>AccessDenied</Code></Error>";
        return reply;
      },
      "run/");
  EXPECT_EQ(code_of(refusing->list()), "lifecycle.bucket");
  EXPECT_EQ(code_of(refusing->begin("s-1", 0755)), "lifecycle.bucket");
  EXPECT_EQ(code_of(put_file(*refusing, "s-1", "a", "x")), "lifecycle.bucket");
  EXPECT_EQ(
      code_of(refusing->write("s-1", "large", (std::uint64_t{64} << 20) + 1, net::source_of("x"))),
      "lifecycle.bucket");
  const auto early = store->write("s-1", "a", 9, net::source_of("short"));
  EXPECT_EQ(code_of(early), "lifecycle.bucket");
  EXPECT_THAT(early.error().front().what, HasSubstr("run/s-1/a"));
  for (const char* path : {"../a", "/a", "a//b", "a/./b", ""}) {
    EXPECT_FALSE(put("s-1", path, "x")) << path;
  }
}

// Two pages, in the wrong order.
TEST(KeepBucketPages, listing_joins_its_pages_and_sorts_them) {
  std::vector<std::string> asked;
  const auto store = bucket_that(
      [&](const net::Question& q) {
        asked.push_back(q.url);
        net::Reply reply;
        reply.status = 200;
        const auto object = [](const std::string& key, const std::string& size) {
          return "<Contents><Key>" + key + "</Key><Size>" + size + "</Size><ETag>\"e" + size +
                 "\"</ETag></Contents>";
        };
        const bool second = q.url.find("continuation-token=more") != q.url.npos;
        reply.body = second
                         ? "<ListBucketResult>" + object("s-2/b", "7") + object("s-1/a", "3") +
                               "</ListBucketResult>"
                         : "<ListBucketResult><IsTruncated>true</IsTruncated>"
                           "<NextContinuationToken>more</NextContinuationToken>" +
                               object("s-2/c", "5") + object("beside", "2") + "</ListBucketResult>";
        return reply;
      },
      "");
  const auto listing = store->list();
  ASSERT_TRUE(listing) << to_text(listing.error());
  EXPECT_EQ(asked.size(), 2U);
  std::vector<std::string> files;
  for (const KeptItem& item : listing->items) {
    for (const KeptFile& file : item.files) {
      files.push_back(item.id + ' ' + file.path + ' ' + std::to_string(file.bytes));
    }
  }
  EXPECT_THAT(files, ElementsAre("s-1 a 3", "s-2 b 7", "s-2 c 5"));
  ASSERT_EQ(listing->beside.size(), 1U);
  EXPECT_EQ(listing->beside[0].path, "beside");
  EXPECT_EQ(listing->beside[0].bytes, 2U);
  EXPECT_THAT(listing->beside[0].stamp, testing::EndsWith(".2"));
  EXPECT_THAT(listing->beside[0].stamp, HasSubstr("e2"));
}

TEST(KeepBucketPages, read_beyond_the_end_sends_no_request) {
  int asked = 0;
  const auto store = bucket_that(
      [&](const net::Question& q) {
        ++asked;
        net::Reply reply;
        reply.status = 206;
        reply.headers = {{"content-range", "bytes 2-3/4"}};
        q.take(reply, "cd");
        return reply;
      },
      "run");
  const auto source = store->read("s-1", {.path = "a", .bytes = 4});
  ASSERT_TRUE(source);
  char piece[9];
  EXPECT_EQ((*source)(4, piece), 0U);
  EXPECT_EQ(asked, 0);
  EXPECT_EQ((*source)(2, piece), 2U);
  EXPECT_EQ(std::string(piece, 2), "cd");
  EXPECT_EQ(asked, 1);
}

}  // namespace
}  // namespace orrery::agent::keep_bucket_tests
