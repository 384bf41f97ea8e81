// Places of a lifecycle and ticks of a recovery, where names are unknown or nothing is to be done.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>
#include <filesystem>

#include "live/agent/checkpoint_format.h"
#include "live/agent/keep_store.h"
#include "live/agent/lifecycle_places.h"
#include "live/agent/recover.h"
#include "live/agent/test_folder.h"

namespace orrery::agent {
namespace {

using storage::LifecycleActionKind;

struct ThreePlaces {
  TestFolder folder;
  Seconds now = seconds(static_cast<double>(std::time(nullptr)) + 3600);
  std::unique_ptr<LifecyclePlaces> places = [this] {
    std::vector<LivePlace> all;
    for (const std::string name : {"hot", "cold", "far"}) {
      all.push_back({name, name == "hot", folder_store(folder.at(name))});
    }
    return std::make_unique<LifecyclePlaces>(
        std::move(all),
        LivePlacesOptions{.run = "r", .marker = {}, .clock = [this] { return now; }, .stop = {}});
  }();

  ThreePlaces() {
    folder.write("hot/step-5/data.bin", "weights");
    folder.write("hot/step-5/.metadata", "m");
  }
  std::string stamp(const std::string& place) const {
    const auto seen = places->look();
    for (const storage::ItemView& item : seen->items) {
      for (const storage::CopyView& copy : item.copies) {
        if (copy.place == place) return copy.stamp;
      }
    }
    return "none";
  }
  Result<storage::LifecycleOutcome> act(LifecycleActionKind kind, const std::string& place,
                                        const std::string& from = "") const {
    return places->act({.kind = kind,
                        .item = "step-5",
                        .place = place,
                        .from = from,
                        .stamp = kind == LifecycleActionKind::copy ? "" : stamp(place),
                        .aside = "step-5.T1"});
  }
};

TEST(PlacesDetails, places_that_are_not_there_are_refused_by_name) {
  const ThreePlaces three;
  const auto said = [](const Result<storage::LifecycleOutcome>& done) {
    return done ? std::string("done") : done.error().front().what;
  };
  EXPECT_EQ(said(three.act(LifecycleActionKind::copy, "cold", "nowhere")),
            "nothing is copied there");
  EXPECT_EQ(said(three.act(LifecycleActionKind::copy, "nowhere", "hot")),
            "there is no place nowhere");
  EXPECT_EQ(said(three.act(LifecycleActionKind::copy, "hot", "cold")), "nothing is copied there");
  EXPECT_EQ(said(three.act(LifecycleActionKind::verify, "nowhere")), "there is no place nowhere");
  EXPECT_EQ(said(three.act(LifecycleActionKind::remove, "nowhere")), "there is no place nowhere");
  EXPECT_EQ(said(three.act(LifecycleActionKind::verify, "cold")), "step-5 is not at cold");
  EXPECT_EQ(said(three.act(LifecycleActionKind::copy, "far", "cold")), "step-5 is not at cold");
}

// A manifest is of its own copy: it is written anew and counts in no digest.
TEST(PlacesDetails, a_copy_of_a_copy_is_as_sound_as_the_first) {
  const ThreePlaces three;
  const auto good = [](const Result<storage::LifecycleOutcome>& done) {
    return done && done->good;
  };
  EXPECT_TRUE(good(three.act(LifecycleActionKind::copy, "cold", "hot")));
  EXPECT_TRUE(good(three.act(LifecycleActionKind::copy, "far", "cold")));
  std::string digest;
  for (const char* place : {"hot", "cold", "far"}) {
    const auto verified = three.act(LifecycleActionKind::verify, place);
    ASSERT_TRUE(verified) << place << ": " << to_text(verified.error());
    EXPECT_TRUE(verified->good) << place;
    EXPECT_EQ(verified->sound, true) << place;
    EXPECT_EQ(verified->stamp, three.stamp(place)) << place;
    if (!digest.empty()) EXPECT_EQ(verified->digest, digest) << place;
    digest = verified->digest;
  }
  EXPECT_TRUE(good(three.act(LifecycleActionKind::remove, "far")));
  EXPECT_EQ(three.stamp("far"), "none");
  EXPECT_TRUE(good(three.act(LifecycleActionKind::remove, "far"))) << "gone is as good";
}

TEST(PlacesDetails, a_manifest_without_its_time_leaves_the_writer_s) {
  const ThreePlaces three;
  three.folder.write("cold/step-9/.orrery-copy.json", R"({"orrery_copy":1,"digest":7,"files":[]})");
  three.folder.write("cold/step-9/data.bin", "w");
  const auto look = three.places->look();
  ASSERT_TRUE(look);
  for (const storage::ItemView& item : look->items) {
    if (item.id != "step-9") continue;
    EXPECT_NEAR(item.made.base(), static_cast<double>(std::time(nullptr)), 60);
    EXPECT_TRUE(item.copies.at(0).complete);
    return;
  }
  FAIL() << "it is not seen";
}

// By a tracker that cannot be read nothing is finished.
TEST(PlacesDetails, a_tracker_too_long_to_be_one_finishes_nothing) {
  const ThreePlaces three;
  const std::string tracker = "hot/" + std::string(kMegatronTracker);
  const auto complete = [&] {
    bool whole = false;
    for (int look = 0; look < 2; ++look) {
      const auto seen = three.places->look();
      EXPECT_TRUE(seen);
      for (const storage::ItemView& item : seen->items) {
        if (item.id == "iter_0000001") whole = item.copies.at(0).complete;
      }
    }
    return whole;
  };
  three.folder.write("hot/iter_0000001/data.bin", "w");
  three.folder.write(tracker, "1\n");
  EXPECT_TRUE(complete());
  std::filesystem::resize_file(three.folder.at(tracker), (std::uintmax_t{64} << 20) + 1);
  EXPECT_FALSE(complete());
}

struct StillPort final : failure::RecoveryPort {
  Result<failure::ClusterLook> look() override { return seen; }
  Result<void> act(const failure::RecoveryAction&) override { return {}; }
  Seconds now() const override { return seen.now; }
  failure::ClusterLook seen{.now = seconds(1000)};
};

// Of a job that broke nodes itself nobody waits for anything.
TEST(RecoverDetails, jobs_wait_that_were_lost_and_not_blamed) {
  StillPort port;
  failure::RecoveryMemory memory;
  memory.since = seconds(1);
  for (const char* id : {"a", "b", "c"}) memory.jobs[id] = {};
  memory.jobs["a"].loss = failure::JobLoss{};
  memory.jobs["b"].loss = failure::JobLoss{};
  memory.jobs["b"].blamed = true;
  for (const char* id : {"a", "b", "c"}) {
    port.seen.jobs.push_back({.id = id, .phase = failure::JobPhase::pending});
  }
  RecoverAgent agent(
      port, [](const std::vector<std::string>&) { return Result<void>(); }, {}, memory);
  const auto report = agent.tick();
  ASSERT_TRUE(report) << to_text(report.error());
  int waiting = 0;
  for (const auto& [id, job] : agent.memory().jobs) waiting += job.loss && !job.blamed ? 1 : 0;
  EXPECT_EQ(waiting, 1);
  EXPECT_EQ(report->jobs_waiting, 1);
  EXPECT_EQ(report->at, seconds(1000));
  EXPECT_TRUE(ActionOutcome{}.good);
}

}  // namespace
}  // namespace orrery::agent
