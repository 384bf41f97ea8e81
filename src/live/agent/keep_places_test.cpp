// The lifecycle port on real folders, and on a bucket that is a function: what is seen, what is
// complete, what is copied, and what is never touched.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <map>

#include "core/base/digest.h"
#include "live/agent/keep_store.h"
#include "live/agent/keep_store_fixture.h"
#include "live/agent/lifecycle_places.h"
#include "live/agent/test_folder.h"
#include "live/s3/hash.h"

namespace orrery::agent {
namespace {

using storage::LifecycleActionKind;
using testing::ElementsAre;
using testing::HasSubstr;

std::string read_back(KeepStore& store, const std::string& id, const std::string& path) {
  const auto listing = store.list();
  if (!listing) return "unlisted";
  for (const KeptItem& item : listing->items) {
    const KeptFile* file = item.id == id ? item.file(path) : nullptr;
    if (!file) continue;
    const auto source = store.read(id, *file);
    if (!source) return "unreadable";
    std::string text;
    char piece[7];
    while (const auto got = (*source)(text.size(), piece)) {
      if (*got == 0) return text;
      text.append(piece, *got);
    }
    return "gave up";
  }
  return "absent";
}

std::vector<std::string> names_in(KeepStore& store) {
  std::vector<std::string> names;
  const auto listing = store.list();
  EXPECT_TRUE(listing);
  for (const KeptItem& item : listing->items) {
    for (const KeptFile& file : item.files) names.push_back(item.id + ':' + file.path);
  }
  for (const KeptFile& file : listing->beside) names.push_back(file.path);
  return names;
}

TEST(KeepFolder, holds_trees_and_shows_them_in_order) {
  const TestFolder folder;
  const auto store = folder_store(folder.at("run"));
  EXPECT_THAT(names_in(*store), ElementsAre()) << "not there yet is empty";
  ASSERT_TRUE(put_item(*store, "step-2", {{"b/deep/x", "deep"}, {"a", ""}}));
  ASSERT_TRUE(put_item(*store, "step-10", {{"a", std::string(3 << 20, 'l')}}));
  folder.write("run/latest.txt", "10");
  ASSERT_EQ(::symlink("step-2", folder.at("run/link").c_str()), 0);
  EXPECT_THAT(names_in(*store),
              ElementsAre("step-10:a", "step-2:a", "step-2:b/deep/x", "latest.txt"))
      << "a link is no item and no file";
  EXPECT_EQ(read_back(*store, "step-2", "b/deep/x"), "deep");
  EXPECT_EQ(read_back(*store, "step-10", "a"), std::string(3 << 20, 'l'));
  // Its stamp changes with its bytes, though their number is the same.
  const auto stamp = [&] { return store->list()->items.back().file("b/deep/x")->stamp; };
  const std::string before = stamp();
  EXPECT_EQ(stamp(), before);
  folder.write("run/step-2/b/deep/x", "DEEP");
  EXPECT_NE(stamp(), before);
  // Written twice within a second.
  const auto at_nanosecond = [&](long nanosecond) {
    const timespec times[2] = {{1'700'000'000, nanosecond}, {1'700'000'000, nanosecond}};
    EXPECT_EQ(::utimensat(AT_FDCWD, folder.at("run/step-2/b/deep/x").c_str(), times, 0), 0);
    return stamp();
  };
  const std::string early = at_nanosecond(1000);
  EXPECT_NE(at_nanosecond(2000), early);
  EXPECT_EQ(at_nanosecond(1000), early);
  folder.write("run/step-2/b/deep/x", "DEEP");
  const Seconds written = store->list()->items.back().file("b/deep/x")->written;
  EXPECT_NEAR(written.base(), static_cast<double>(std::time(nullptr)), 60);
  EXPECT_EQ(store->read("step-2", {.path = "gone"}).error().front().code, "lifecycle.folder");
}

TEST(KeepFolder, a_copy_appears_whole_and_never_over_an_item) {
  const TestFolder folder;
  const auto store = folder_store(folder.at("run"));
  ASSERT_TRUE(store->begin("step-1"));
  ASSERT_TRUE(put_file(*store, "step-1", "sub/a", "old"));
  EXPECT_THAT(names_in(*store), ElementsAre()) << "nothing is seen before it is finished";
  // Killed here, it begins anew.
  ASSERT_TRUE(store->begin("step-1"));
  ASSERT_TRUE(put_file(*store, "step-1", "b", "new"));
  EXPECT_FALSE(store->write("step-1", "c", 10, net::source_of("short")));
  ASSERT_TRUE(store->finish("step-1"));
  EXPECT_THAT(names_in(*store), ElementsAre("step-1:b"));
  EXPECT_FALSE(put_item(*store, "step-1", {{"b", "other"}}));
  EXPECT_EQ(read_back(*store, "step-1", "b"), "new");
  store->give_up("step-1");
  EXPECT_FALSE(std::filesystem::exists(folder.at("run/.orrery-incoming/step-1")));
}

TEST(KeepFolder, what_is_set_aside_can_be_moved_back_by_hand_or_removed) {
  const TestFolder folder;
  const auto store = folder_store(folder.at("run"));
  ASSERT_TRUE(put_item(*store, "step-1", {{"a", "x"}, {"sub/b", "y"}}));
  const KeptItem item = store->list()->items.front();
  ASSERT_TRUE(store->set_aside(item, "step-1.T1"));
  auto listing = store->list();
  EXPECT_TRUE(listing->items.empty());
  ASSERT_EQ(listing->aside.size(), 1U);
  EXPECT_EQ(listing->aside[0].item, item) << "id, files and stamps are as before";
  std::filesystem::rename(folder.at("run/.orrery-trash/step-1.T1"), folder.at("run/step-1"));
  EXPECT_EQ(store->list()->items.front(), item);
  // Another one by now stays where it is.
  folder.write("run/step-1/a", "changed");
  EXPECT_FALSE(store->set_aside(item, "step-1.T2"));
  ASSERT_EQ(store->list()->items.size(), 1U);
  ASSERT_TRUE(store->set_aside(store->list()->items.front(), "step-1.T3"));
  // ... and so it is with a removal.
  KeptAside aside = store->list()->aside.front();
  folder.write("run/.orrery-trash/step-1.T3/more", "z");
  EXPECT_FALSE(store->purge(aside));
  EXPECT_TRUE(std::filesystem::exists(folder.at("run/.orrery-trash/step-1.T3/sub/b")));
  ASSERT_TRUE(store->purge(store->list()->aside.front()));
  EXPECT_TRUE(store->list()->aside.empty());
  EXPECT_FALSE(std::filesystem::exists(folder.at("run/.orrery-trash/step-1.T3")));
}

TEST(KeepFolder, shows_items_by_name_whatever_order_the_file_system_has) {
  const TestFolder folder;
  const auto store = folder_store(folder.at("run"));
  std::vector<std::string> wanted;
  for (int i = 0; i < 24; ++i) wanted.push_back("step-" + std::to_string(100 + i));
  for (int i = 0; i < 24; ++i) {
    folder.write("run/" + wanted[static_cast<std::size_t>(i * 7 % 24)] + "/a", "x");
  }
  const auto listing = store->list();
  ASSERT_TRUE(listing);
  std::vector<std::string> shown;
  for (const KeptItem& item : listing->items) shown.push_back(item.id);
  EXPECT_EQ(shown, wanted);
}

// A store that holds objects in a map, asked as the network would.
struct MapStore {
  std::map<std::string, std::string> objects;  // by key
  int parts = 0;

  net::Reply answer(const net::Question& q) {
    const std::string base = "http://store/pail/";
    const std::string key = q.url.substr(std::min(q.url.size(), base.size()),
                                         q.url.find('?') - std::min(q.url.size(), base.size()));
    net::Reply reply;
    reply.status = 200;
    std::string body;
    std::string piece(1 << 20, '\0');
    while (q.source) {
      const auto got = q.source(body.size(), piece);
      if (!got || *got == 0) break;
      body.append(piece, 0, *got);
    }
    if (q.method == "PUT" && q.url.find("partNumber") != q.url.npos) ++parts;
    const bool is_new = net::header_of(q.headers, "If-None-Match") == "*";
    if (q.method == "PUT" && is_new && objects.contains(key)) {
      reply.status = 412;
    } else if (q.method == "HEAD") {
      reply.status = objects.contains(key) ? 200 : 404;
      if (reply.status == 200) {
        reply.headers = {{"etag", to_hex(s3::md5(objects[key]))},
                         {"content-length", std::to_string(objects[key].size())}};
      }
    } else if (q.method == "PUT") {
      reply.headers = {{"etag", to_hex(s3::md5(body))}};
      if (q.url.find('?') == q.url.npos) objects[key] = body;
    } else if (q.method == "DELETE") {
      objects.erase(key);
    } else if (q.method == "POST" && q.url.ends_with("uploads=")) {
      reply.body =
          "<InitiateMultipartUploadResult><UploadId>u</UploadId>"
          "</InitiateMultipartUploadResult>";
    } else if (q.method == "POST") {
      reply.body = "<CompleteMultipartUploadResult/>";
    } else if (q.url.find("list-type=2") != q.url.npos) {
      reply.body = "<ListBucketResult>";
      for (const auto& [name, bytes] : objects) {
        reply.body += "<Contents><Key>" + name + "</Key><Size>" + std::to_string(bytes.size()) +
                      "</Size><ETag>" + to_hex(s3::md5(bytes)) + "</ETag></Contents>";
      }
      reply.body += "</ListBucketResult>";
    } else if (objects.contains(key)) {
      const std::string range(net::header_of(q.headers, "Range"));
      const std::uint64_t from = std::stoull(range.substr(6));
      const std::uint64_t last = std::stoull(range.substr(range.find('-') + 1));
      const std::string bytes = objects.at(key).substr(from, last - from + 1);
      reply.status = 206;
      reply.headers = {{"content-range", "bytes " + std::to_string(from) + '-' +
                                             std::to_string(from + bytes.size() - 1) + "/9"}};
      q.take(reply, bytes);
    } else {
      reply.status = 404;
    }
    return reply;
  }
};

TEST(KeepBucket, holds_the_same_below_its_prefix) {
  MapStore map;
  const auto client = std::make_shared<s3::Client>(
      s3::Config{.endpoint = "http://store",
                 .bucket = "pail",
                 .credentials = {"a", "s", ""},
                 .retry = {.attempts_max = 1}},
      [&map](const net::Question& q) { return map.answer(q); }, [](double) {},
      [] { return std::string("20130524T000000Z"); });
  const auto store = bucket_store(client, "run");
  const auto put = [&](const std::string& id, const std::string& path, const std::string& text) {
    return store->write(id, path, text.size(), net::source_of(text));
  };
  ASSERT_TRUE(store->begin("step-2"));
  EXPECT_TRUE(store->list()->items.front().files.empty());
  ASSERT_TRUE(put("step-2", "b/x", "deep"));
  ASSERT_TRUE(put("step-2", "a", "aa"));
  EXPECT_TRUE(store->list()->items.front().begun);
  ASSERT_TRUE(store->finish("step-2"));
  EXPECT_FALSE(store->list()->items.front().begun);
  map.objects["run/latest.txt"] = "2";
  EXPECT_TRUE(map.objects.contains("run/step-2/b/x"));
  map.objects["run/step-3/"] = "";  // what some tools put for a folder
  EXPECT_THAT(names_in(*store), ElementsAre("step-2:a", "step-2:b/x", "latest.txt"));
  EXPECT_EQ(read_back(*store, "step-2", "b/x"), "deep");
  // An object that has become shorter since it was listed is not taken for the whole.
  char piece[9];
  const auto longer = store->read("step-2", {.path = "b/x", .bytes = 9});
  ASSERT_TRUE(longer);
  EXPECT_FALSE((*longer)(0, piece));
  const auto stamp = [&] { return store->list()->items.front().file("a")->stamp; };
  const std::string before = stamp();
  ASSERT_TRUE(put("step-2", "a", "AA"));
  EXPECT_NE(stamp(), before) << "as many bytes, and others";
  EXPECT_FALSE(store->write("step-2", "a", 10, net::source_of("short")));
  // Set aside: hidden, every object where it was; the object that hides it brings it back.
  const KeptItem item = store->list()->items.front();
  ASSERT_TRUE(store->set_aside(item, "step-2.T1"));
  EXPECT_TRUE(store->list()->items.empty());
  ASSERT_EQ(store->list()->aside.size(), 1U);
  EXPECT_EQ(store->list()->aside[0].item, item);
  EXPECT_EQ(map.objects.count("run/step-2/a"), 1U);
  ASSERT_EQ(map.objects.erase("run/.orrery-trash/step-2.T1"), 1U);
  EXPECT_EQ(store->list()->items.front(), item);
  ASSERT_TRUE(store->set_aside(item, "step-2.T2"));
  const KeptAside aside = store->list()->aside.front();
  map.objects["run/step-2/a"] = "others";
  EXPECT_FALSE(store->purge(aside)) << "another object than the one that was listed";
  EXPECT_EQ(map.objects.at("run/step-2/a"), "others");
  ASSERT_TRUE(store->purge(store->list()->aside.front()));
  EXPECT_TRUE(store->list()->items.empty() && store->list()->aside.empty());
  EXPECT_EQ(map.objects.count("run/step-2/a"), 0U);
  EXPECT_EQ(map.objects.count("run/latest.txt"), 1U);
  // Beyond 64 MiB in parts of 32.
  const std::string large((64 << 20) + 1, 'l');
  ASSERT_TRUE(put("step-4", "large", large));
  EXPECT_EQ(map.parts, 3);
}

struct Watch {
  std::function<void()> on_read;
};

class WatchedStore final : public PassingStore {
 public:
  WatchedStore(std::unique_ptr<KeepStore> store, Watch& watch)
      : PassingStore(std::move(store)), watch_(watch) {}
  Result<net::BodySource> read(const std::string& id, const KeptFile& file) override {
    if (watch_.on_read) watch_.on_read();
    return PassingStore::read(id, file);
  }

 private:
  Watch& watch_;
};

class LivePlacesTest : public testing::Test {
 protected:
  void open(LivePlacesOptions options = {}) {
    options.run = "llama";
    options.clock = [this] { return now; };
    std::vector<LivePlace> all;
    watched.clear();
    for (const std::string name : {"hot", "cold"}) {
      all.push_back({name, name == "hot",
                     std::make_unique<WatchedStore>(folder_store(folder.at(name)), watched[name])});
    }
    places = std::make_unique<LifecyclePlaces>(std::move(all), std::move(options));
  }
  // A trainer's checkpoint, the file that ends it last.
  void save(const std::string& id, bool whole = true, const std::string& text = "weights") {
    folder.write("hot/" + id + "/data/0.bin", text);
    if (whole) folder.write("hot/" + id + "/.metadata", "m");
  }
  storage::LifecycleLook looked() {
    const auto look = places->look();
    EXPECT_TRUE(look);
    return look.value_or(storage::LifecycleLook{});
  }
  storage::CopyView copy_at(const std::string& id, const std::string& place) {
    for (const storage::ItemView& item : looked().items) {
      if (item.id != id) continue;
      for (const storage::CopyView& copy : item.copies) {
        if (copy.place == place) return copy;
      }
    }
    return {};
  }
  storage::LifecycleAction action(LifecycleActionKind kind, const std::string& id,
                                  const std::string& place) {
    storage::LifecycleAction a{.kind = kind, .item = id, .place = place};
    a.stamp = copy_at(id, place).stamp;
    if (kind == LifecycleActionKind::copy) a.from = "hot";
    if (kind == LifecycleActionKind::copy) a.replaces = a.stamp;
    a.aside = id + ".T" + std::to_string(++named);
    return a;
  }
  std::string acted(const storage::LifecycleAction& a) {
    const auto done = places->act(a);
    return done ? "good" : done.error().front().what;
  }
  static void age(const std::string& path) {
    const timespec times[2] = {{1'600'000'000, 0}, {1'600'000'000, 500'000'000}};
    ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
  }

  TestFolder folder;
  int named = 0;
  Seconds now = seconds(static_cast<double>(std::time(nullptr)) + 3600);
  std::map<std::string, Watch> watched;
  std::unique_ptr<LifecyclePlaces> places;
};

TEST_F(LivePlacesTest, a_checkpoint_is_finished_when_its_writer_says_so_and_is_quiet) {
  open();
  save("step-1");
  save("step-2", false);
  EXPECT_FALSE(copy_at("step-1", "hot").complete) << "seen for the first time";
  EXPECT_TRUE(copy_at("step-1", "hot").complete);
  EXPECT_FALSE(copy_at("step-2", "hot").complete);
  EXPECT_EQ(copy_at("step-1", "hot").size, bytes(8)) << "7 of weights, 1 of metadata";
  folder.write("hot/step-1/data/0.bin", "WEIGHTS and more");
  EXPECT_FALSE(copy_at("step-1", "hot").complete) << "it changed since the look before";
  EXPECT_TRUE(copy_at("step-1", "hot").complete);
  now = seconds(static_cast<double>(std::time(nullptr)) + 1);
  EXPECT_FALSE(copy_at("step-1", "hot").complete) << "written to a moment ago";
  // The latest of its files says when it was written, not the last by name.
  age(folder.at("hot/step-1/data/0.bin"));
  EXPECT_NEAR(copy_at("step-1", "hot").written.base(), static_cast<double>(std::time(nullptr)), 60);
  // An empty folder is nothing; marks are of no run's bytes.
  std::filesystem::create_directories(folder.at("hot/step-9"));
  now += hours(1);
  const std::string before = copy_at("step-1", "hot").stamp;
  folder.write("hot/step-1/.orrery-milestone", "");
  folder.write("hot/step-1/.orrery-hold", "");
  const auto look = looked();
  ASSERT_EQ(look.items.size(), 2u);
  EXPECT_EQ(look.items[0].id, "step-1");
  EXPECT_EQ(look.items[0].run, "llama");
  EXPECT_EQ(look.items[0].step, 1);
  EXPECT_TRUE(look.items[0].milestone);
  EXPECT_TRUE(look.items[0].held);
  EXPECT_FALSE(look.items[1].milestone || look.items[1].held);
  EXPECT_EQ(look.items[0].copies[0].stamp, before) << "a mark changes nothing that was read";
}

// A store that reads what it is to write as an upload with retries does.
class RetryingStore final : public PassingStore {
 public:
  RetryingStore(std::unique_ptr<KeepStore> store, std::vector<std::uint64_t> offsets)
      : PassingStore(std::move(store)), offsets_(std::move(offsets)) {}
  Result<void> write(const std::string& id, const std::string& path, std::uint64_t bytes,
                     const net::BodySource& source) override {
    if (bytes > 100) return PassingStore::write(id, path, bytes, source);  // the manifest
    std::string text(bytes, '?');
    for (const std::uint64_t at : offsets_) {
      if (at < bytes) source(at, std::span(text).subspan(at, std::min<std::size_t>(2, bytes - at)));
    }
    return PassingStore::write(id, path, bytes, net::source_of(text));
  }

 private:
  std::vector<std::uint64_t> offsets_;
};

// Seven bytes in pieces of two, one of them twice: the digest is that of the bytes. With a gap
// there is none, and the copy is not called whole.
TEST_F(LivePlacesTest, the_digest_of_a_copy_counts_every_byte_once) {
  const auto copied = [&](const std::string& to, const std::vector<std::uint64_t>& offsets) {
    std::vector<LivePlace> all;
    all.push_back({"hot", true, folder_store(folder.at("hot"))});
    all.push_back(
        {"cold", false, std::make_unique<RetryingStore>(folder_store(folder.at(to)), offsets)});
    places = std::make_unique<LifecyclePlaces>(
        std::move(all), LivePlacesOptions{.run = "llama", .clock = [this] { return now; }});
    return acted(action(LifecycleActionKind::copy, "step-1", "cold"));
  };
  save("step-1");
  EXPECT_EQ(copied("again", {0, 2, 2, 4, 6}), "good");
  const auto found = places->act(action(LifecycleActionKind::verify, "step-1", "cold"));
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->sound);
  EXPECT_THAT(copied("gap", {0, 2, 6}), HasSubstr("changed its length"));
  EXPECT_FALSE(copy_at("step-1", "cold").complete);
}

TEST_F(LivePlacesTest, a_copy_has_the_bytes_the_marks_and_a_manifest_that_proves_it) {
  open();
  save("step-1");
  folder.write("hot/step-1/.orrery-hold", "");
  folder.write("hot/step-1/empty", "");
  age(folder.at("hot/step-1/data/0.bin"));
  age(folder.at("hot/step-1/.metadata"));
  age(folder.at("hot/step-1/empty"));
  EXPECT_EQ(acted(action(LifecycleActionKind::copy, "step-1", "cold")), "good");
  EXPECT_TRUE(copy_at("step-1", "cold").complete);
  EXPECT_EQ(copy_at("step-1", "cold").size, bytes(8)) << "the manifest is not of the item";
  EXPECT_EQ(looked().items[0].made.base(), 1'600'000'000.5) << "when it was written, not copied";
  EXPECT_TRUE(looked().items[0].held);
  const auto hot = places->act(action(LifecycleActionKind::verify, "step-1", "hot"));
  const auto cold = places->act(action(LifecycleActionKind::verify, "step-1", "cold"));
  ASSERT_TRUE(hot && cold);
  EXPECT_EQ(hot->digest, cold->digest) << "the same item everywhere";
  EXPECT_EQ(cold->stamp, copy_at("step-1", "cold").stamp);
  EXPECT_EQ(cold->sound, true);
  // The digest is that of the list of files, sizes and contents.
  const auto line = [](const std::string& path, const std::string& text) {
    return path + '\n' + std::to_string(text.size()) + '\n' + s3::sha256_hex(text) + '\n';
  };
  EXPECT_EQ(hot->digest, s3::sha256_hex(line(".metadata", "m") + line("data/0.bin", "weights") +
                                        line("empty", "")));
  // A byte that turned, and a manifest of another.
  folder.write("cold/step-1/data/0.bin", "wEights");
  EXPECT_EQ(places->act(action(LifecycleActionKind::verify, "step-1", "cold"))->sound, false);
  // Copied again, the bad one is set aside as a whole.
  folder.write("cold/step-1/left over", "x");
  auto blind = action(LifecycleActionKind::copy, "step-1", "cold");
  blind.replaces.clear();
  EXPECT_THAT(acted(blind), HasSubstr("there is another step-1 at cold"));
  const auto again = action(LifecycleActionKind::copy, "step-1", "cold");
  EXPECT_EQ(acted(again), "good");
  EXPECT_TRUE(
      std::filesystem::exists(folder.at("cold/.orrery-trash/" + again.aside + "/left over")));
  EXPECT_FALSE(std::filesystem::exists(folder.at("cold/step-1/left over")));
  EXPECT_EQ(places->act(action(LifecycleActionKind::verify, "step-1", "cold"))->sound, true);
  // A copy of a copy was made when its first was.
  std::filesystem::remove_all(folder.at("hot/step-1"));
  auto back = action(LifecycleActionKind::copy, "step-1", "cold");
  back.from = "cold";
  back.place = "hot";
  EXPECT_THAT(acted(back), HasSubstr("nothing is copied there")) << "others write there";
}

// From place to place the time of the first writing goes along.
TEST_F(LivePlacesTest, a_copy_of_a_copy_was_made_when_the_first_was) {
  std::vector<LivePlace> all;
  for (const char* name : {"hot", "cold", "deep"}) {
    all.push_back({name, std::string_view(name) == "hot", folder_store(folder.at(name))});
  }
  places = std::make_unique<LifecyclePlaces>(
      std::move(all), LivePlacesOptions{.run = "llama", .clock = [this] { return now; }});
  save("step-1");
  age(folder.at("hot/step-1/data/0.bin"));
  age(folder.at("hot/step-1/.metadata"));
  EXPECT_EQ(acted(action(LifecycleActionKind::copy, "step-1", "cold")), "good");
  std::filesystem::remove_all(folder.at("hot/step-1"));
  auto on = action(LifecycleActionKind::copy, "step-1", "deep");
  on.from = "cold";
  EXPECT_EQ(acted(on), "good");
  std::filesystem::remove_all(folder.at("cold/step-1"));
  EXPECT_EQ(looked().items.at(0).made.base(), 1'600'000'000.5);
  // A manifest of a later agent is not believed: then the files say when they were written.
  folder.write("deep/step-1/.orrery-copy.json", R"({"orrery_copy":99,"made_s":5,"digest":"d"})");
  EXPECT_GT(looked().items.at(0).made.base(), 1'600'000'001.0);
}

TEST_F(LivePlacesTest, nothing_is_done_to_what_is_no_longer_what_was_seen) {
  open();
  save("step-1");
  save("step-2");
  looked();
  auto removal = action(LifecycleActionKind::remove, "step-1", "hot");
  removal.needs = {{"step-2", "hot", copy_at("step-2", "hot").stamp}};
  auto reading = action(LifecycleActionKind::verify, "step-1", "hot");
  reading.stamp = "another";
  EXPECT_THAT(acted(reading), HasSubstr("changed"));
  auto other = removal;
  other.stamp = "another";
  EXPECT_EQ(acted(other), "it is another copy now");
  folder.write("hot/step-2/data/0.bin", "others now");
  EXPECT_THAT(acted(removal), HasSubstr("no longer what it was"));
  removal.needs = {{"step-2", "hot", copy_at("step-2", "hot").stamp}};
  std::filesystem::remove(folder.at("hot/step-2/.metadata"));
  EXPECT_THAT(acted(removal), HasSubstr("no longer what it was")) << "not finished any more";
  removal.needs = {{"step-2", "hot", copy_at("step-2", "hot").stamp}};
  EXPECT_THAT(acted(removal), HasSubstr("no longer what it was")) << "what was seen is half a one";
  removal.needs = {{"step-7", "hot", "x"}};
  EXPECT_THAT(acted(removal), HasSubstr("is not at"));
  removal.needs.clear();
  EXPECT_EQ(acted(removal), "good");
  EXPECT_FALSE(std::filesystem::exists(folder.at("hot/step-1")));
  EXPECT_EQ(acted(removal), "good") << "gone already";
  open({.only_read = true});
  EXPECT_THAT(acted(action(LifecycleActionKind::copy, "step-2", "cold")), HasSubstr("dry run"));
}

TEST_F(LivePlacesTest, megatrons_tracker_says_what_is_whole_and_guards_the_latest) {
  open();
  for (const char* id : {"iter_0000010", "iter_0000020"}) {
    folder.write(std::string("hot/") + id + "/mp_rank_00/model.pt", "w");
  }
  folder.write("hot/latest_checkpointed_iteration.txt", "10\n");
  looked();
  EXPECT_TRUE(copy_at("iter_0000010", "hot").complete);
  EXPECT_FALSE(copy_at("iter_0000020", "hot").complete) << "beyond what the tracker names";
  EXPECT_THAT(acted(action(LifecycleActionKind::remove, "iter_0000010", "hot")),
              HasSubstr("tracker"));
  folder.write("hot/latest_checkpointed_iteration.txt", "20");
  EXPECT_EQ(acted(action(LifecycleActionKind::remove, "iter_0000010", "hot")), "good");
}

std::string safetensors(const std::string& header, std::size_t data) {
  std::string file;
  for (int i = 0; i < 8; ++i) file += static_cast<char>(header.size() >> (8 * i));
  return file + header + std::string(data, 'd');
}

TEST_F(LivePlacesTest, a_framework_file_that_contradicts_itself_is_not_sound) {
  open({.marker = "done"});
  const std::string header = R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
  const auto sound = [&](const std::string& model, const std::string& index) {
    std::filesystem::remove_all(folder.at("hot"));
    folder.write("hot/s-1/model-1-of-1.safetensors", model);
    if (!index.empty()) folder.write("hot/s-1/model.safetensors.index.json", index);
    folder.write("hot/s-1/done", "");
    const auto done = places->act(action(LifecycleActionKind::verify, "s-1", "hot"));
    return done && done->sound == true;
  };
  EXPECT_TRUE(sound(safetensors(header, 8), ""));
  EXPECT_FALSE(sound(safetensors(header, 7), "")) << "cut short";
  EXPECT_FALSE(sound(safetensors(header, 9), ""));
  EXPECT_FALSE(sound("tiny", ""));
  EXPECT_FALSE(sound(safetensors(header, 0).substr(0, 20), ""));
  EXPECT_TRUE(sound(safetensors(header, 8), R"({"weight_map":{"a":"model-1-of-1.safetensors"}})"));
  EXPECT_FALSE(sound(safetensors(header, 8), R"({"weight_map":{"a":"model-2-of-2.safetensors"}})"));
}

// Whatever a removal is killed at: the item is in its place whole, or in the trash whole.
TEST_F(LivePlacesTest, a_removal_is_one_step_and_touches_no_byte) {
  open();
  save("step-1");
  const auto removal = action(LifecycleActionKind::remove, "step-1", "hot");
  ASSERT_EQ(acted(removal), "good");
  EXPECT_FALSE(std::filesystem::exists(folder.at("hot/step-1")));
  EXPECT_TRUE(
      std::filesystem::exists(folder.at("hot/.orrery-trash/" + removal.aside + "/data/0.bin")));
  const auto look = looked();
  ASSERT_EQ(look.aside.size(), 1U);
  EXPECT_EQ(look.aside[0].item.id, "step-1");
  EXPECT_EQ(look.aside[0].stamp, removal.stamp);
  auto purge = removal;
  purge.kind = LifecycleActionKind::purge;
  purge.needs = {{"step-9", "cold", "x"}};
  EXPECT_THAT(acted(purge), HasSubstr("is not at")) << "what replaces it is looked for again";
  purge.needs.clear();
  EXPECT_EQ(acted(purge), "good");
  EXPECT_TRUE(looked().aside.empty());
  EXPECT_EQ(acted(purge), "good") << "gone already";
}

TEST_F(LivePlacesTest, what_changes_while_it_is_read_is_read_again_later) {
  open();
  save("step-1");
  const auto reading = action(LifecycleActionKind::verify, "step-1", "hot");
  watched["hot"].on_read = [this] { folder.write("hot/step-1/data/1.bin", "more"); };
  EXPECT_EQ(acted(reading), "it changed while it was read");
}

}  // namespace
}  // namespace orrery::agent
