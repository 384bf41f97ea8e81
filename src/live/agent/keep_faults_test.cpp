// What stands in the way of a folder's or a bucket's files, in the words in which it is told; and
// listings that come in pages.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>

#include "live/agent/keep_store.h"
#include "live/agent/keep_store_fixture.h"
#include "live/agent/lifecycle_places.h"
#include "live/agent/recover.h"
#include "live/agent/test_folder.h"

namespace orrery::agent {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

template <class T>
std::string fault_of(const Result<T>& result) {
  return result ? "good" : result.error().front().code + ": " + result.error().front().what;
}

Result<void> put(KeepStore& store, const std::string& path, const std::string& text) {
  return put_file(store, "s-1", path, text);
}

TEST(KeepFolderFaults, of_folders_that_cannot_be_listed) {
  const TestFolder folder;
  folder.write("file", "x");
  EXPECT_EQ(fault_of(folder_store(folder.at("file"))->list()),
            "lifecycle.folder: " + folder.at("file") + ": open: Not a directory");
  const std::string far = folder.at(std::string(300, 'x'));
  EXPECT_EQ(fault_of(folder_store(far)->list()),
            "lifecycle.folder: " + far + ": File name too long");
  EXPECT_EQ(fault_of(folder_store(folder.at("none"))->list()), "good");
}

TEST(KeepFolderFaults, of_files_that_cannot_be_written) {
  const TestFolder folder;
  const auto store = folder_store(folder.at("run"));
  ASSERT_TRUE(store->begin("s-1"));
  const std::string at = "lifecycle.folder: " + folder.at("run/.orrery-incoming/s-1/");
  ASSERT_TRUE(put(*store, "file", "x"));
  ASSERT_TRUE(put(*store, "folder/below", "x"));
  EXPECT_EQ(fault_of(put(*store, "file/a", "y")), at + "file: it is no folder, or a symbolic link");
  EXPECT_EQ(fault_of(put(*store, "folder", "y")), at + "folder: write: Is a directory");
  EXPECT_EQ(fault_of(store->write("s-1", "a", 9, net::source_of("short"))),
            at + "a: its source ended early");
  folder.write("run/s-1/folder/x", "x");
  const std::string there = "lifecycle.folder: " + folder.at("run/s-1/");
  EXPECT_EQ(fault_of(store->read("s-1", {.path = "gone"})),
            "lifecycle.folder: " + folder.at("run/s-1/gone") + ": open: No such file or directory");
  EXPECT_EQ(fault_of(store->read("s-1", {.path = "folder"})),
            there + "folder: it is no regular file");
}

// No file may grow beyond ten bytes: the disk is full.
TEST(KeepFolderFaults, of_a_disk_that_is_full) {
  const TestFolder folder;
  const auto store = folder_store(folder.at("run"));
  ASSERT_TRUE(store->begin("s-1"));
  rlimit before = {};
  ::getrlimit(RLIMIT_FSIZE, &before);
  rlimit ten = before;
  ten.rlim_cur = 10;
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  ::setrlimit(RLIMIT_FSIZE, &ten);
  const std::string fits = fault_of(put(*store, "ten", "0123456789"));
  const std::string full = fault_of(put(*store, "more", "0123456789a"));
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(fits, "good");
  EXPECT_EQ(full, "lifecycle.folder: " + folder.at("run/.orrery-incoming/s-1/more") +
                      ": write: File too large");
  EXPECT_TRUE(store->finish("s-1"));
  EXPECT_EQ(store->list()->items.at(0).files.size(), 1U)
      << "nothing of the one that failed is left";
}

std::unique_ptr<KeepStore> bucket_that(std::function<net::Reply(const net::Question&)> answers,
                                       const std::string& prefix) {
  return bucket_store(
      std::make_shared<s3::Client>(
          s3::Config{.endpoint = "http://store",
                     .bucket = "pail",
                     .credentials = {"a", "s", ""},
                     .retry = {.attempts_max = 1}},
          std::move(answers), [](double) {}, [] { return std::string("20130524T000000Z"); }),
      prefix);
}

TEST(KeepBucketFaults, are_told_with_the_stores_word) {
  const auto store = bucket_that(
      [](const net::Question&) {
        net::Reply reply;
        reply.status = 403;
        reply.body = "<Error><Code>AccessDenied</Code></Error>";
        return reply;
      },
      "run/");
  for (const std::string& said :
       {fault_of(store->list()), fault_of(store->begin("s-1")), fault_of(put(*store, "a", "x")),
        fault_of(
            store->write("s-1", "large", (std::uint64_t{64} << 20) + 1, net::source_of("x")))}) {
    EXPECT_THAT(said, testing::StartsWith("lifecycle.bucket: the store "));
  }
  EXPECT_EQ(fault_of(store->write("s-1", "a", 9, net::source_of("short"))),
            "lifecycle.bucket: run/s-1/a: its source ended early");
  for (const char* path : {"../a", "/a", "a//b", "a/./b", ""}) {
    EXPECT_THAT(fault_of(put(*store, path, "x")), HasSubstr("the path ")) << path;
  }
}

// Two pages, out of order; a listing has all of both, sorted, with the stamp of each object.
TEST(KeepBucketFaults, a_listing_comes_in_pages) {
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

// Of a read beyond the end nothing is asked.
TEST(KeepBucketFaults, a_source_ends_where_its_file_does) {
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

// A manifest that is no object says nothing of its copy, which is there all the same.
TEST(ManifestFaults, what_is_no_manifest_is_passed_over) {
  const TestFolder folder;
  for (const char* text :
       {"[1]", "7", "\"x\"", "{", "", "{\"orrery_copy\":2,\"made_s\":5,\"files\":[]}"}) {
    folder.write("cold/s-1/w", "weights");
    folder.write("cold/s-1/.orrery-copy.json", text);
    std::vector<LivePlace> all;
    all.push_back({"cold", false, folder_store(folder.at("cold"))});
    LifecyclePlaces places(std::move(all), {.run = "r", .clock = [] { return seconds(5); }});
    const auto look = places.look();
    ASSERT_TRUE(look) << text;
    ASSERT_EQ(look->items.size(), 1U) << text;
    EXPECT_GT(look->items[0].made, seconds(1e9)) << text;
    EXPECT_EQ(look->items[0].copies[0].size, bytes(7)) << text;
  }
}

// One node fails after another; each look is written by what changed, after a cut by all there is.
TEST(RecoverJournalled, a_look_after_a_cut_is_whole) {
  struct Port final : failure::RecoveryPort {
    Result<failure::ClusterLook> look() override { return seen; }
    Result<void> act(const failure::RecoveryAction&) override { return {}; }
    Seconds now() const override { return seen.now; }
    failure::ClusterLook seen{.now = seconds(1000),
                              .controller_since = seconds(10),
                              .jobs = {},
                              .nodes = {{.name = "n1"}, {.name = "n2"}, {.name = "n3"}}};
  } port;
  std::vector<std::string> lines;
  RecoverAgent agent(port,
                     [&](const std::vector<std::string>& more) -> Result<void> {
                       lines.insert(lines.end(), more.begin(), more.end());
                       return {};
                     },
                     {}, {});
  const auto look_of_tick = [&] {
    lines.clear();
    EXPECT_TRUE(agent.tick());
    return lines.empty() ? std::string() : lines.front();
  };
  EXPECT_THAT(look_of_tick(), HasSubstr("\"whole\":true"));
  port.seen.now = seconds(1010);
  port.seen.nodes[0].down = true;
  EXPECT_THAT(look_of_tick(), testing::AllOf(HasSubstr("\"n1\""), Not(HasSubstr("\"n2\"")),
                                             Not(HasSubstr("whole"))));
  agent.journal_was_cut();
  port.seen.now = seconds(1020);
  port.seen.nodes[1].down = true;
  EXPECT_THAT(look_of_tick(), testing::AllOf(HasSubstr("\"n1\""), HasSubstr("\"n2\""),
                                             HasSubstr("\"n3\""), HasSubstr("\"whole\":true")));
}

}  // namespace
}  // namespace orrery::agent
