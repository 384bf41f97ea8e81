// The lifecycle port on real folders: what is seen, what counts as complete, what is copied, and
// what is never touched.
#include "live/agent/lifecycle_places.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <ctime>
#include <filesystem>
#include <map>

#include "live/agent/checkpoint_format.h"
#include "live/agent/keep_store_fixture.h"
#include "live/agent/test_folder.h"
#include "live/s3/hash.h"

namespace orrery::agent::lifecycle_places_tests {
namespace {

using storage::LifecycleActionKind;
using testing::HasSubstr;

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

class LifecyclePlacesTest : public testing::Test {
 protected:
  void open(LivePlacesOptions options = {}) {
    options.run = "llama";
    options.clock = [this] { return now; };
    std::vector<LivePlace> all;
    watched.clear();
    for (const std::string name : {"hot", "cold", "far"}) {
      all.push_back({name, name == "hot",
                     std::make_unique<WatchedStore>(folder_store(folder.at(name)), watched[name])});
    }
    places = std::make_unique<LifecyclePlaces>(std::move(all), std::move(options));
  }
  // Saves a checkpoint as a trainer does; `whole` also writes the file that marks it as finished.
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
  // "good", or the reason for refusing it.
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

TEST_F(LifecyclePlacesTest, checkpoint_is_complete_when_its_writer_ended_it_and_it_is_quiet) {
  open();
  save("step-1");
  save("step-2", false);
  EXPECT_FALSE(copy_at("step-1", "hot").complete) << "first look";
  EXPECT_TRUE(copy_at("step-1", "hot").complete);
  EXPECT_FALSE(copy_at("step-2", "hot").complete);
  EXPECT_EQ(copy_at("step-1", "hot").size, bytes(8)) << "7 bytes of weights, 1 of metadata";
  folder.write("hot/step-1/data/0.bin", "WEIGHTS and more");
  EXPECT_FALSE(copy_at("step-1", "hot").complete) << "changed since the last look";
  EXPECT_TRUE(copy_at("step-1", "hot").complete);
  now = seconds(static_cast<double>(std::time(nullptr)) + 1);
  EXPECT_FALSE(copy_at("step-1", "hot").complete) << "written a moment ago";
  // The newest file counts, not the last one by name.
  age(folder.at("hot/step-1/data/0.bin"));
  EXPECT_NEAR(copy_at("step-1", "hot").written.base(), static_cast<double>(std::time(nullptr)), 60);
  // An empty folder is not an item; marker files do not change a stamp.
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
  EXPECT_EQ(look.items[0].copies[0].stamp, before);
}

// A tracker of this size is not read.
TEST_F(LifecyclePlacesTest, tracker_beyond_64_mib_finishes_nothing) {
  open();
  const std::string tracker = "hot/" + std::string(kMegatronTracker);
  folder.write("hot/iter_0000001/data.bin", "w");
  folder.write(tracker, "1\n");
  looked();
  EXPECT_TRUE(copy_at("iter_0000001", "hot").complete);
  std::filesystem::resize_file(folder.at(tracker), (std::uintmax_t{64} << 20) + 1);
  looked();
  EXPECT_FALSE(copy_at("iter_0000001", "hot").complete);
}

// Reads the source as an upload with retries does: at these offsets.
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

// Seven bytes in pieces of two, one of them read twice; then with a gap.
TEST_F(LifecyclePlacesTest, digest_counts_every_byte_once_and_a_gap_fails_the_copy) {
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

TEST_F(LifecyclePlacesTest, copy_has_the_bytes_the_marks_and_a_manifest) {
  open();
  save("step-1");
  folder.write("hot/step-1/.orrery-hold", "");
  folder.write("hot/step-1/empty", "");
  age(folder.at("hot/step-1/data/0.bin"));
  age(folder.at("hot/step-1/.metadata"));
  age(folder.at("hot/step-1/empty"));
  EXPECT_EQ(acted(action(LifecycleActionKind::copy, "step-1", "cold")), "good");
  EXPECT_TRUE(copy_at("step-1", "cold").complete);
  EXPECT_EQ(copy_at("step-1", "cold").size, bytes(8)) << "without the manifest";
  EXPECT_EQ(looked().items[0].made.base(), 1'600'000'000.5);
  EXPECT_TRUE(looked().items[0].held);
  const auto hot = places->act(action(LifecycleActionKind::verify, "step-1", "hot"));
  const auto cold = places->act(action(LifecycleActionKind::verify, "step-1", "cold"));
  ASSERT_TRUE(hot && cold);
  EXPECT_EQ(hot->digest, cold->digest);
  EXPECT_EQ(cold->stamp, copy_at("step-1", "cold").stamp);
  EXPECT_EQ(cold->sound, true);
  // The digest is that of the list of files, sizes and digests.
  const auto line = [](const std::string& path, const std::string& text) {
    return path + '\n' + std::to_string(text.size()) + '\n' + s3::sha256_hex(text) + '\n';
  };
  EXPECT_EQ(hot->digest, s3::sha256_hex(line(".metadata", "m") + line("data/0.bin", "weights") +
                                        line("empty", "")));
  // One byte differs.
  folder.write("cold/step-1/data/0.bin", "wEights");
  EXPECT_EQ(places->act(action(LifecycleActionKind::verify, "step-1", "cold"))->sound, false);
  // When it is copied again, the whole bad copy is set aside.
  folder.write("cold/step-1/left over", "x");
  auto blind = action(LifecycleActionKind::copy, "step-1", "cold");
  blind.replaces.clear();
  EXPECT_THAT(acted(blind), HasSubstr("already exists at cold"));
  const auto again = action(LifecycleActionKind::copy, "step-1", "cold");
  EXPECT_EQ(acted(again), "good");
  EXPECT_TRUE(
      std::filesystem::exists(folder.at("cold/.orrery-trash/" + again.aside + "/left over")));
  EXPECT_FALSE(std::filesystem::exists(folder.at("cold/step-1/left over")));
  EXPECT_EQ(places->act(action(LifecycleActionKind::verify, "step-1", "cold"))->sound, true);
  // Nothing is copied to a place that a trainer writes to.
  std::filesystem::remove_all(folder.at("hot/step-1"));
  auto back = action(LifecycleActionKind::copy, "step-1", "cold");
  back.from = "cold";
  back.place = "hot";
  EXPECT_THAT(acted(back), HasSubstr("copies nothing to this place"));
}

TEST_F(LifecyclePlacesTest, copy_of_a_copy_keeps_the_time_of_the_first) {
  open();
  save("step-1");
  age(folder.at("hot/step-1/data/0.bin"));
  age(folder.at("hot/step-1/.metadata"));
  EXPECT_EQ(acted(action(LifecycleActionKind::copy, "step-1", "cold")), "good");
  std::filesystem::remove_all(folder.at("hot/step-1"));
  auto on = action(LifecycleActionKind::copy, "step-1", "far");
  on.from = "cold";
  EXPECT_EQ(acted(on), "good");
  std::filesystem::remove_all(folder.at("cold/step-1"));
  EXPECT_EQ(looked().items.at(0).made.base(), 1'600'000'000.5);
  const auto read = places->act(action(LifecycleActionKind::verify, "step-1", "far"));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->sound, true);
  // The manifest of a later version is ignored: the files say when they were written.
  folder.write("far/step-1/.orrery-copy.json", R"({"orrery_copy":99,"made_s":5,"digest":"d"})");
  EXPECT_GT(looked().items.at(0).made.base(), 1'600'000'001.0);
}

TEST_F(LifecyclePlacesTest, unknown_places_and_absent_items_are_refused) {
  open();
  save("step-1");
  using enum LifecycleActionKind;
  const auto refused = [&](LifecycleActionKind kind, const char* from, const char* to) {
    const auto done = places->act({.kind = kind, .item = "step-1", .place = to, .from = from});
    return code_of(done) == "lifecycle.refused";
  };
  EXPECT_TRUE(refused(copy, "nowhere", "cold"));
  EXPECT_TRUE(refused(copy, "hot", "nowhere"));
  EXPECT_TRUE(refused(copy, "cold", "far")) << "it is not at cold";
  EXPECT_TRUE(refused(verify, "", "nowhere"));
  EXPECT_TRUE(refused(verify, "", "cold"));
  EXPECT_TRUE(refused(remove, "", "nowhere"));
  EXPECT_FALSE(refused(copy, "hot", "cold"));
}

TEST_F(LifecyclePlacesTest, item_that_changed_since_it_was_seen_is_left_alone) {
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
  EXPECT_THAT(acted(other), HasSubstr("replaced"));
  folder.write("hot/step-2/data/0.bin", "others now");
  EXPECT_THAT(acted(removal), HasSubstr("has changed"));
  removal.needs = {{"step-2", "hot", copy_at("step-2", "hot").stamp}};
  std::filesystem::remove(folder.at("hot/step-2/.metadata"));
  EXPECT_THAT(acted(removal), HasSubstr("has changed")) << "the copy is no longer complete";
  removal.needs = {{"step-2", "hot", copy_at("step-2", "hot").stamp}};
  EXPECT_THAT(acted(removal), HasSubstr("has changed")) << "the copy was incomplete when it was "
                                                           "seen";
  removal.needs = {{"step-7", "hot", "x"}};
  EXPECT_THAT(acted(removal), HasSubstr("is not at"));
  removal.needs.clear();
  EXPECT_EQ(acted(removal), "good");
  EXPECT_FALSE(std::filesystem::exists(folder.at("hot/step-1")));
  EXPECT_EQ(acted(removal), "good") << "it has already been removed";
  open({.only_read = true});
  EXPECT_THAT(acted(action(LifecycleActionKind::copy, "step-2", "cold")), HasSubstr("dry run"));
}

TEST_F(LifecyclePlacesTest, megatron_tracker_completes_iterations_and_protects_the_latest) {
  open();
  for (const char* id : {"iter_0000010", "iter_0000020"}) {
    folder.write(std::string("hot/") + id + "/mp_rank_00/model.pt", "w");
  }
  folder.write("hot/latest_checkpointed_iteration.txt", "10\n");
  looked();
  EXPECT_TRUE(copy_at("iter_0000010", "hot").complete);
  EXPECT_FALSE(copy_at("iter_0000020", "hot").complete)
      << "later than the iteration in the tracker";
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

TEST_F(LifecyclePlacesTest, file_that_contradicts_its_own_header_or_index_is_not_sound) {
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
  EXPECT_FALSE(sound(safetensors(header, 7), "")) << "truncated";
  EXPECT_FALSE(sound(safetensors(header, 9), ""));
  EXPECT_FALSE(sound("tiny", ""));
  EXPECT_FALSE(sound(safetensors(header, 0).substr(0, 20), ""));
  EXPECT_TRUE(sound(safetensors(header, 8), R"({"weight_map":{"a":"model-1-of-1.safetensors"}})"));
  EXPECT_FALSE(sound(safetensors(header, 8), R"({"weight_map":{"a":"model-2-of-2.safetensors"}})"));
}

// Whenever the agent is killed, the whole item is either in its place or in the trash.
TEST_F(LifecyclePlacesTest, removal_is_one_step_and_purge_a_second) {
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
  EXPECT_THAT(acted(purge), HasSubstr("is not at"));
  purge.needs.clear();
  EXPECT_EQ(acted(purge), "good");
  EXPECT_TRUE(looked().aside.empty());
  EXPECT_EQ(acted(purge), "good") << "it has already been removed";
}

TEST_F(LifecyclePlacesTest, item_that_changes_while_it_is_read_is_refused) {
  open();
  save("step-1");
  const auto reading = action(LifecycleActionKind::verify, "step-1", "hot");
  watched["hot"].on_read = [this] { folder.write("hot/step-1/data/1.bin", "more"); };
  EXPECT_THAT(acted(reading), HasSubstr("changed"));
}

}  // namespace
}  // namespace orrery::agent::lifecycle_places_tests
