// Places that fail at any one of the calls that an action makes: the fault is passed on as it was,
// and nothing is called good that was not done.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <optional>

#include "live/agent/lifecycle_places.h"

namespace orrery::agent {
namespace {

using storage::LifecycleActionKind;
using testing::ElementsAre;

// Calls of all places, in their order; the one with the number `fails` (from 1) does.
struct CallLog {
  std::vector<std::string> calls;
  std::size_t fails = 0;

  Result<void> called(const std::string& what) {
    calls.push_back(what);
    if (calls.size() != fails) return {};
    return fail({.code = "store.broken", .what = what + " failed"});
  }
};

// Items in memory; a file's stamp is its text.
class MemoryStore final : public KeepStore {
 public:
  using Files = std::map<std::string, std::string>;
  struct State {
    std::map<std::string, Files> items;
    std::map<std::string, Files> begun;
    Files beside;
    std::uint64_t hidden = 0;      // bytes at the end of each file that a listing does not show
    bool is_silent = false;        // reads give nothing
    std::size_t piece_max = 1000;  // of one read
  };

  MemoryStore(std::string name, State& state, CallLog& log)
      : name_(std::move(name)), state_(state), log_(log) {}

  Result<KeptListing> list() override {
    if (auto good = log_.called("list " + name_); !good) return std::unexpected(good.error());
    KeptListing listing;
    for (const auto& [id, files] : state_.items) {
      listing.items.push_back({.id = id, .files = shown(files)});
    }
    listing.beside = shown(state_.beside);
    return listing;
  }
  Result<net::BodySource> read(const std::string& id, const KeptFile& file) override {
    if (auto good = log_.called("read " + name_ + ' ' + file.path); !good) {
      return std::unexpected(good.error());
    }
    const Files& files = id.empty() ? state_.beside : state_.items[id];
    const std::string text = files.contains(file.path) ? files.at(file.path) : "";
    return [this, text](std::uint64_t at, std::span<char> into) -> std::optional<std::size_t> {
      if (state_.is_silent) return std::nullopt;
      const std::string piece = text.substr(std::min<std::size_t>(at, text.size()),
                                            std::min(into.size(), state_.piece_max));
      std::ranges::copy(piece, into.data());
      return piece.size();
    };
  }
  Result<void> hold() override { return {}; }
  void release() override {}
  Result<void> begin(const std::string& id) override {
    state_.begun[id].clear();
    return log_.called("begin " + name_);
  }
  Result<void> write(const std::string& id, const std::string& path, std::uint64_t bytes,
                     const net::BodySource& source) override {
    if (auto good = log_.called("write " + name_ + ' ' + path); !good) return good;
    std::string text(bytes, '\0');
    for (std::size_t done = 0; done < bytes;) {
      const auto got = source(done, std::span(text).subspan(done));
      if (!got || *got == 0) return fail({.code = "store.source", .what = path + " ended early"});
      done += *got;
    }
    state_.begun[id][path] = text;
    return {};
  }
  Result<void> finish(const std::string& id) override {
    if (auto good = log_.called("finish " + name_); !good) return good;
    state_.items[id] = state_.begun[id];
    return {};
  }
  void give_up(const std::string& id) override { state_.begun.erase(id); }
  Result<void> set_aside(const KeptItem& item, const std::string&) override {
    if (auto good = log_.called("set aside " + name_); !good) return good;
    state_.items.erase(item.id);
    return {};
  }
  Result<void> purge(const KeptAside&) override { return log_.called("purge " + name_); }

 private:
  std::vector<KeptFile> shown(const Files& files) const {
    std::vector<KeptFile> out;
    for (const auto& [path, text] : files) {
      out.push_back({.path = path,
                     .bytes = text.size() - std::min<std::uint64_t>(state_.hidden, text.size()),
                     .stamp = text,
                     .written = seconds(500)});
    }
    return out;
  }

  std::string name_;
  State& state_;
  CallLog& log_;
};

class PlacesThatFail : public testing::Test {
 protected:
  PlacesThatFail() {
    hot.items["s-1"] = {{".metadata", "m"}, {"w", "weights"}};
    hot.items["s-2"] = {{".metadata", "m2"}, {"w", "others"}};
  }
  LifecyclePlaces places(std::function<bool()> stop = {}) {
    std::vector<LivePlace> all;
    all.push_back({"hot", true, std::make_unique<MemoryStore>("hot", hot, log)});
    all.push_back({"cold", false, std::make_unique<MemoryStore>("cold", cold, log)});
    return {std::move(all),
            {.run = "r",
             .quiet = seconds(10),
             .clock = [this] { return now; },
             .stop = std::move(stop)}};
  }
  std::string stamp_at(LifecyclePlaces& at, const std::string& place, const std::string& id) {
    const auto look = at.look();
    for (const storage::ItemView& item : look->items) {
      for (const storage::CopyView& copy : item.copies) {
        if (item.id == id && copy.place == place) return copy.stamp;
      }
    }
    return {};
  }
  static std::string said(const Result<storage::LifecycleOutcome>& done) {
    if (!done) return done.error().front().what;
    return done->good ? "good" : "not good";
  }
  // What is said when call after call of the action fails, from its first to its last; `prepare`
  // brings the places to where they were.
  template <class Prepare>
  std::vector<std::string> said_of_each(storage::LifecycleAction action, const Prepare& prepare) {
    std::vector<std::string> all;
    for (std::size_t n = 1; n < 50; ++n) {
      prepare();
      LifecyclePlaces at = places();
      action.stamp = stamp_at(at, action.place, action.item);
      for (storage::CopyNeed& need : action.needs) need.stamp = stamp_at(at, need.place, need.item);
      log.calls.clear();
      log.fails = n;
      const auto done = at.act(action);
      log.fails = 0;
      if (log.calls.size() < n) break;
      all.push_back(said(done));
      if (!done) EXPECT_EQ(done.error().front().code, "store.broken");
    }
    return all;
  }

  CallLog log;
  MemoryStore::State hot, cold;
  Seconds now = seconds(1000);
};

TEST_F(PlacesThatFail, a_reading_passes_each_fault_on) {
  EXPECT_THAT(
      said_of_each({.kind = LifecycleActionKind::verify, .item = "s-1", .place = "hot"}, [] {}),
      ElementsAre("list hot failed", "read hot .metadata failed", "read hot w failed",
                  "list hot failed"));
  // What a framework says of itself is read once more: the index, a header's length, the header.
  const std::string head = R"({"a":{"data_offsets":[0,3]}})";
  hot.items["s-1"] = {{"m.safetensors", std::string("\x1c\0\0\0\0\0\0\0", 8) + head + "abc"},
                      {"x.safetensors.index.json", R"({"weight_map":{"a":"m.safetensors"}})"}};
  EXPECT_THAT(
      said_of_each({.kind = LifecycleActionKind::verify, .item = "s-1", .place = "hot"}, [] {}),
      ElementsAre("list hot failed", "read hot m.safetensors failed",
                  "read hot x.safetensors.index.json failed", "read hot m.safetensors failed",
                  "read hot m.safetensors failed", "read hot x.safetensors.index.json failed",
                  "list hot failed"));
}

TEST_F(PlacesThatFail, a_copy_passes_each_fault_on_and_is_not_whole) {
  const storage::LifecycleAction copy{.kind = LifecycleActionKind::copy,
                                      .item = "s-1",
                                      .place = "cold",
                                      .from = "hot",
                                      .needs = {{"s-2", "hot", ""}}};
  EXPECT_THAT(
      said_of_each(copy,
                   [&] {
                     EXPECT_FALSE(cold.items.contains("s-1")) << "what failed is not seen";
                     cold.items.clear();
                   }),
      ElementsAre("list hot failed", "list hot failed", "list cold failed", "begin cold failed",
                  "read hot .metadata failed", "write cold .metadata failed", "read hot w failed",
                  "write cold w failed", "list hot failed", "write cold .orrery-copy.json failed",
                  "finish cold failed"));
  EXPECT_TRUE(cold.items.contains("s-1")) << "after them all it is carried out";
}

TEST_F(PlacesThatFail, a_removal_passes_each_fault_on) {
  EXPECT_THAT(
      said_of_each(
          {.kind = LifecycleActionKind::remove, .item = "s-1", .place = "hot", .aside = "s-1.T1"},
          [&] { hot.items["s-1"] = {{".metadata", "m"}, {"w", "weights"}}; }),
      ElementsAre("list hot failed", "set aside hot failed"));
}

TEST_F(PlacesThatFail, a_place_that_cannot_be_listed_is_away_and_the_others_are_seen) {
  LifecyclePlaces at = places();
  log.fails = 1;
  const auto look = at.look();
  ASSERT_TRUE(look);
  EXPECT_THAT(look->away, ElementsAre("hot"));
  EXPECT_EQ(look->now, seconds(1000));
  EXPECT_TRUE(look->items.empty());
  log.fails = 0;
  const auto whole = at.look();
  ASSERT_TRUE(whole);
  EXPECT_TRUE(whole->away.empty());
  EXPECT_EQ(whole->items.size(), 2U);
}

TEST_F(PlacesThatFail, files_that_give_nothing_or_more_than_they_showed_are_named) {
  LifecyclePlaces at = places();
  const storage::LifecycleAction verify{.kind = LifecycleActionKind::verify,
                                        .item = "s-1",
                                        .place = "hot",
                                        .stamp = stamp_at(at, "hot", "s-1")};
  hot.is_silent = true;
  EXPECT_EQ(said(at.act(verify)), ".metadata cannot be read");
  hot.is_silent = false;
  hot.piece_max = 0;
  EXPECT_EQ(said(at.act(verify)), ".metadata cannot be read");
  hot.piece_max = 3;
  const auto good = at.act(verify);
  EXPECT_EQ(said(good), "good") << "in pieces of three";
  hot.piece_max = 1000;
  EXPECT_EQ(at.act(verify)->digest, good->digest);
  hot.hidden = 1;
  hot.items["s-1"] = {{"w", "weights"}};
  const storage::LifecycleAction grown{.kind = LifecycleActionKind::verify,
                                       .item = "s-1",
                                       .place = "hot",
                                       .stamp = stamp_at(at, "hot", "s-1")};
  EXPECT_EQ(said(at.act(grown)), "w changed its length");
}

TEST_F(PlacesThatFail, a_person_who_stops_it_is_heard_between_pieces) {
  bool stops = false;
  LifecyclePlaces at = places([&] { return stops; });
  const std::string stamp = stamp_at(at, "hot", "s-1");
  stops = true;
  EXPECT_EQ(
      said(at.act(
          {.kind = LifecycleActionKind::verify, .item = "s-1", .place = "hot", .stamp = stamp})),
      "stopped");
  EXPECT_EQ(
      said(at.act(
          {.kind = LifecycleActionKind::copy, .item = "s-1", .place = "cold", .from = "hot"})),
      "stopped");
  EXPECT_FALSE(cold.items.contains("s-1"));
  stops = false;
  EXPECT_EQ(
      said(at.act(
          {.kind = LifecycleActionKind::copy, .item = "s-1", .place = "cold", .from = "hot"})),
      "good");
}

// Ten seconds without a write, the tenth of them included.
TEST_F(PlacesThatFail, an_item_is_finished_once_it_was_quiet_for_its_time) {
  const auto complete_at = [&](double time) {
    now = seconds(time);
    LifecyclePlaces at = places();
    at.look();
    const auto look = at.look();
    return look->items.front().copies.front().complete;
  };
  EXPECT_FALSE(complete_at(509.75));
  EXPECT_TRUE(complete_at(510));
  EXPECT_EQ(LivePlacesOptions{}.quiet, seconds(10));
  EXPECT_FALSE(LivePlacesOptions{}.only_read);
}

// A tracker that cannot be read finishes nothing; its number may end in blanks.
TEST_F(PlacesThatFail, a_tracker_is_read_with_what_it_ends_in) {
  hot.items = {{"iter_7", {{"w", "x"}}}, {"iter_8", {{"w", "x"}}}};
  const auto whole = [&](const std::string& tracker, bool is_silent = false) {
    hot.beside = {{"latest_checkpointed_iteration.txt", tracker}};
    hot.is_silent = is_silent;
    LifecyclePlaces at = places();
    at.look();
    const auto look = at.look();
    return look->items[0].copies[0].complete * 10 + look->items[1].copies[0].complete;
  };
  EXPECT_EQ(whole("7 \n \n"), 10);
  EXPECT_EQ(whole("8"), 11);
  EXPECT_EQ(whole("8", true), 0);
  EXPECT_EQ(whole("release"), 0);
}

}  // namespace
}  // namespace orrery::agent
