// Every call of every action fails once: the fault is returned, and nothing counts as done that was
// not done.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <optional>

#include "live/agent/lifecycle_places.h"

namespace orrery::agent::lifecycle_places_faults_tests {
namespace {

using storage::LifecycleActionKind;
using testing::ElementsAre;
using testing::HasSubstr;

// The calls of all places, in order. Call number `fails` (from 1) fails.
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
    bool is_silent = false;        // reads return no bytes
    std::size_t piece_max = 1000;  // limit of one read
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
  Result<void> begin(const std::string& id, unsigned) override {
    state_.begun[id].clear();
    return log_.called("begin " + name_);
  }
  Result<void> write(const std::string& id, const std::string& path, std::uint64_t bytes,
                     const net::BodySource& source) override {
    if (auto good = log_.called("write " + name_ + ' ' + path); !good) return good;
    std::string text(bytes, '\0');
    for (std::size_t done = 0; done < bytes;) {
      const auto got = source(done, std::span(text).subspan(done));
      if (!got || *got == 0) return fail({.code = "store.source", .what = path + " ended before"});
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

class LifecyclePlacesFaults : public testing::Test {
 protected:
  LifecyclePlacesFaults() {
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
  // Returns the fault of the action when its first call fails, then when its second does, and so
  // on. `prepare` restores the places before each attempt.
  template <class Prepare>
  std::vector<std::string> faults_of(storage::LifecycleAction action, const Prepare& prepare) {
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

TEST_F(LifecyclePlacesFaults, verify_passes_every_fault_on) {
  EXPECT_THAT(
      faults_of({.kind = LifecycleActionKind::verify, .item = "s-1", .place = "hot"}, [] {}),
      ElementsAre("list hot failed", "read hot .metadata failed", "read hot w failed",
                  "list hot failed"));
  // The framework's own files are read again: the index, the length of a header, and the header.
  const std::string head = R"({"a":{"data_offsets":[0,3]}})";
  hot.items["s-1"] = {{"m.safetensors", std::string("\x1c\0\0\0\0\0\0\0", 8) + head + "abc"},
                      {"x.safetensors.index.json", R"({"weight_map":{"a":"m.safetensors"}})"}};
  EXPECT_THAT(
      faults_of({.kind = LifecycleActionKind::verify, .item = "s-1", .place = "hot"}, [] {}),
      ElementsAre("list hot failed", "read hot m.safetensors failed",
                  "read hot x.safetensors.index.json failed", "read hot m.safetensors failed",
                  "read hot m.safetensors failed", "read hot x.safetensors.index.json failed",
                  "list hot failed"));
}

TEST_F(LifecyclePlacesFaults, copy_passes_every_fault_on_and_shows_nothing) {
  const storage::LifecycleAction copy{.kind = LifecycleActionKind::copy,
                                      .item = "s-1",
                                      .place = "cold",
                                      .from = "hot",
                                      .needs = {{"s-2", "hot", ""}}};
  EXPECT_THAT(
      faults_of(copy,
                [&] {
                  EXPECT_FALSE(cold.items.contains("s-1"));
                  cold.items.clear();
                }),
      ElementsAre("list hot failed", "list hot failed", "list cold failed", "begin cold failed",
                  "read hot .metadata failed", "write cold .metadata failed", "read hot w failed",
                  "write cold w failed", "list hot failed", "write cold .orrery-copy.json failed",
                  "finish cold failed"));
  EXPECT_TRUE(cold.items.contains("s-1")) << "without a fault it succeeds";
}

TEST_F(LifecyclePlacesFaults, removal_passes_every_fault_on) {
  EXPECT_THAT(
      faults_of(
          {.kind = LifecycleActionKind::remove, .item = "s-1", .place = "hot", .aside = "s-1.T1"},
          [&] { hot.items["s-1"] = {{".metadata", "m"}, {"w", "weights"}}; }),
      ElementsAre("list hot failed", "set aside hot failed"));
}

TEST_F(LifecyclePlacesFaults, place_that_cannot_be_listed_is_away_and_the_others_are_seen) {
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

TEST_F(LifecyclePlacesFaults, file_that_cannot_be_read_or_changed_its_length_is_named) {
  LifecyclePlaces at = places();
  const storage::LifecycleAction verify{.kind = LifecycleActionKind::verify,
                                        .item = "s-1",
                                        .place = "hot",
                                        .stamp = stamp_at(at, "hot", "s-1")};
  hot.is_silent = true;
  EXPECT_THAT(said(at.act(verify)), HasSubstr(".metadata"));
  hot.is_silent = false;
  hot.piece_max = 0;
  EXPECT_THAT(said(at.act(verify)), HasSubstr(".metadata"));
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
  EXPECT_THAT(said(at.act(grown)), testing::StartsWith("w "));
}

TEST_F(LifecyclePlacesFaults, interrupt_stops_an_action_between_two_pieces) {
  bool stops = false;
  LifecyclePlaces at = places([&] { return stops; });
  const storage::LifecycleAction verify{.kind = LifecycleActionKind::verify,
                                        .item = "s-1",
                                        .place = "hot",
                                        .stamp = stamp_at(at, "hot", "s-1")};
  const storage::LifecycleAction copy{
      .kind = LifecycleActionKind::copy, .item = "s-1", .place = "cold", .from = "hot"};
  stops = true;
  EXPECT_FALSE(at.act(verify));
  EXPECT_FALSE(at.act(copy));
  EXPECT_FALSE(cold.items.contains("s-1"));
  stops = false;
  EXPECT_EQ(said(at.act(copy)), "good");
}

// Ten seconds after the last write.
TEST_F(LifecyclePlacesFaults, item_is_complete_after_its_quiet_time) {
  const auto complete_at = [&](double time) {
    now = seconds(time);
    LifecyclePlaces at = places();
    at.look();
    const auto look = at.look();
    return look->items.front().copies.front().complete;
  };
  EXPECT_FALSE(complete_at(509.75));
  EXPECT_TRUE(complete_at(510));
}

TEST_F(LifecyclePlacesFaults, tracker_may_end_in_blanks_and_an_unreadable_one_finishes_nothing) {
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
}  // namespace orrery::agent::lifecycle_places_faults_tests
