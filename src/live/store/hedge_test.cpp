// Reads of drives that have become slow: the policy as a function, and its driver on simulated
// drives.
#include "live/drives/hedge.h"

#include <gtest/gtest.h>

#include "live/drives/simulated_drive_fixture.h"
#include "live/store/blob.h"

namespace orrery::store {
namespace {

using namespace std::chrono_literals;

TEST(SeenTimes, give_a_share_to_a_factor_of_two) {
  drives::SeenTimes seen;
  EXPECT_EQ(seen.within(0.95), 0us);
  for (int i = 0; i < 95; ++i) seen.add(100us);
  for (int i = 0; i < 5; ++i) seen.add(10ms);
  EXPECT_EQ(seen.within(0.95), 128us);
  EXPECT_EQ(seen.within(0.96), 16384us);
  seen.add(drives::Micros{-5});  // a clock that was set back
  EXPECT_EQ(seen.within(0.001), 1us);
}

TEST(SeenTimes, forget_what_is_long_past) {
  drives::SeenTimes seen;
  for (int i = 0; i < 4000; ++i) seen.add(10ms);
  for (int i = 0; i < 40'000; ++i) seen.add(100us);
  EXPECT_EQ(seen.within(0.95), 128us);
}

TEST(Hedge, a_drive_is_suspect_after_a_slow_read_and_until_it_was_quick_for_a_while) {
  const drives::HedgeRule rule;
  drives::SeenTimes seen;
  for (int i = 0; i < 100; ++i) seen.add(200us);
  EXPECT_FALSE(drives::trust_after(rule, seen, {}, 19ms).suspect) << "nobody minds so little";
  drives::DriveTrust trust = drives::trust_after(rule, seen, {}, 20ms);
  EXPECT_TRUE(trust.suspect);
  for (int i = 1; i < rule.forgiven; ++i) {
    trust = drives::trust_after(rule, seen, trust, 1ms);
    EXPECT_TRUE(trust.suspect) << i;
  }
  EXPECT_TRUE(drives::trust_after(rule, seen, trust, 50ms).suspect);
  EXPECT_EQ(drives::trust_after(rule, seen, trust, 50ms).quick, 0) << "it begins again";
  EXPECT_FALSE(drives::trust_after(rule, seen, trust, 1ms).suspect);
}

TEST(Hedge, what_is_usual_is_not_slow) {
  const drives::HedgeRule rule;
  drives::SeenTimes disks;
  for (int i = 0; i < 100; ++i) disks.add(12ms);
  EXPECT_FALSE(drives::trust_after(rule, disks, {}, 60ms).suspect);
  EXPECT_TRUE(drives::trust_after(rule, disks, {}, 70ms).suspect);
}

TEST(Hedge, others_are_asked_after_p95_and_for_so_many_reads_at_once) {
  const drives::HedgeRule rule;
  drives::SeenTimes seen;
  const drives::DriveTrust suspect{.suspect = true};
  EXPECT_EQ(drives::hedge_delay(rule, seen, {}, 0), std::nullopt);
  EXPECT_EQ(drives::hedge_delay(rule, seen, suspect, 0), rule.delay_min);
  for (int i = 0; i < 100; ++i) seen.add(5ms);
  EXPECT_EQ(drives::hedge_delay(rule, seen, suspect, rule.at_once_max - 1), 8192us);
  EXPECT_EQ(drives::hedge_delay(rule, seen, suspect, rule.at_once_max), std::nullopt);
}

struct SlowShelf {
  std::vector<std::unique_ptr<drives::SimulatedDrive>> drives;
  DriveSet set;
  Tier tier{"hot", {}, {}};
  std::string bytes = std::string(5 * kBlockBytes, 'h');
  KeyRing keys = {};
  drives::Hedger hedger;  // last: it may still read

  // On a busy machine a thread may wait for its turn longer than a drive that is quick takes.
  explicit SlowShelf(drives::ShardPlan plan, drives::HedgeRule rule = {.slow_min = 150ms})
      : hedger(rule) {
    tier.plan = plan;
    for (int i = 0; i < plan.total(); ++i) {
      drives.push_back(std::make_unique<drives::SimulatedDrive>());
      tier.drives.push_back("d" + std::to_string(i));
      set[tier.drives.back()] = drives.back().get();
    }
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 31 >> 3);
  }
  rows::Blob write() {
    BlobWriter writer(set, tier, "0000000100000000000000aa", 0, keys);
    EXPECT_TRUE(writer.append(bytes));
    auto blob = writer.finish();
    EXPECT_TRUE(blob);
    return *blob;
  }
  // All of it, and how long it took.
  std::chrono::milliseconds read(const rows::Blob& blob) {
    const auto begun = std::chrono::steady_clock::now();
    BlobReader reader(set, blob, keys, &hedger);
    std::string got(bytes.size(), '\0');
    const auto done = reader.read(0, got);
    EXPECT_TRUE(done && *done == bytes.size());
    EXPECT_EQ(got, bytes);
    EXPECT_TRUE(reader.damaged().empty()) << "slow is not damaged";
    return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() -
                                                                 begun);
  }
};

TEST(Hedger, a_slow_drive_is_read_around_once_it_is_known) {
  for (const drives::ShardPlan plan :
       {drives::ShardPlan{1, 1}, drives::ShardPlan{2, 1}, drives::ShardPlan{4, 2}}) {
    for (const bool enciphered : {false, true}) {
      SlowShelf shelf(plan);
      if (enciphered) shelf.keys = {"one", {{"one", std::string(32, 'k')}}};
      const rows::Blob blob = shelf.write();
      for (int i = 0; i < 20; ++i) shelf.read(blob);
      EXPECT_EQ(shelf.hedger.counts().asked, 0u);
      shelf.drives[0]->slow_ms = 400;
      EXPECT_GE(shelf.read(blob), 400ms) << "the first is waited for";
      EXPECT_EQ(shelf.hedger.counts().suspects, 1);
      const int before = shelf.drives[0]->reads;
      EXPECT_LT(shelf.read(blob), 390ms);
      for (int i = 0; i < 2000 && shelf.drives[0]->reads == before; ++i) {
        std::this_thread::sleep_for(1ms);
      }
      EXPECT_GT(shelf.drives[0]->reads, before) << "it is asked all the same";
      EXPECT_GT(shelf.hedger.counts().asked, 0u);
      EXPECT_EQ(shelf.hedger.counts().won, shelf.hedger.counts().asked);
    }
  }
}

// Two of four are slow: the other two are asked, and neither of the slow ones for the other's sake.
TEST(Hedger, a_slow_drive_is_not_asked_in_another_ones_stead) {
  SlowShelf shelf({2, 2});
  const rows::Blob blob = shelf.write();
  for (int i = 0; i < 20; ++i) shelf.read(blob);
  shelf.drives[0]->slow_ms = 300;
  shelf.drives[1]->slow_ms = 300;
  for (int i = 0; i < 3 && shelf.hedger.counts().suspects < 2; ++i) shelf.read(blob);
  ASSERT_EQ(shelf.hedger.counts().suspects, 2);
  EXPECT_LT(shelf.read(blob), 290ms);
}

TEST(Hedger, a_drive_that_is_quick_again_is_trusted_again) {
  SlowShelf shelf({1, 1});
  const rows::Blob blob = shelf.write();
  for (int i = 0; i < 20; ++i) shelf.read(blob);
  shelf.drives[0]->slow_ms = 200;
  shelf.read(blob);
  ASSERT_EQ(shelf.hedger.counts().suspects, 1);
  shelf.drives[0]->slow_ms = 0;
  for (int i = 0; i < 400 && shelf.hedger.counts().suspects > 0; ++i) {
    shelf.read(blob);
    std::this_thread::sleep_for(1ms);
  }
  EXPECT_EQ(shelf.hedger.counts().suspects, 0);
}

TEST(Hedger, where_the_others_are_gone_the_slow_one_is_waited_for) {
  SlowShelf shelf({1, 1});
  const rows::Blob blob = shelf.write();
  for (int i = 0; i < 20; ++i) shelf.read(blob);
  shelf.drives[0]->slow_ms = 200;
  shelf.read(blob);
  const std::uint64_t won = shelf.hedger.counts().won;
  shelf.drives[1]->broken = true;
  BlobReader reader(shelf.set, blob, {}, &shelf.hedger);
  std::string got(shelf.bytes.size(), '\0');
  EXPECT_TRUE(reader.read(0, got));
  EXPECT_EQ(got, shelf.bytes);
  EXPECT_EQ(shelf.hedger.counts().won, won);
}

TEST(Hedger, a_wrong_answer_of_the_slow_drive_does_not_win) {
  SlowShelf shelf({1, 1}, {.delay_min = 10s, .slow_min = 150ms});
  const rows::Blob blob = shelf.write();
  for (int i = 0; i < 20; ++i) shelf.read(blob);
  shelf.drives[0]->slow_ms = 200;
  shelf.read(blob);
  shelf.drives[0]->slow_ms = 0;
  for (auto& [name, content] : shelf.drives[0]->files()) content->bytes[100] ^= 1;
  BlobReader reader(shelf.set, blob, {}, &shelf.hedger);
  std::string got(shelf.bytes.size(), '\0');
  EXPECT_TRUE(reader.read(0, got));
  EXPECT_EQ(got, shelf.bytes);
  EXPECT_EQ(reader.damaged(), std::set<int>{0});
}

TEST(Hedger, so_many_reads_at_once_and_no_more) {
  drives::Hedger hedger({.at_once_max = 2});
  for (int i = 0; i < 20; ++i) hedger.note("d", 100us);
  hedger.note("d", 1s);
  std::atomic<bool> hold = true;
  const auto waits = [&hold]() -> drives::SlowRead::Result {
    while (hold) std::this_thread::sleep_for(1ms);
    return {std::string("done")};
  };
  EXPECT_FALSE(hedger.begin("other", waits)) << "it is not suspect";
  const auto one = hedger.begin("d", waits);
  const auto two = hedger.begin("d", waits);
  ASSERT_TRUE(one && two);
  EXPECT_FALSE(hedger.begin("d", waits));
  EXPECT_FALSE(one->read->is_done());
  hold = false;
  EXPECT_EQ(one->read->wait().bytes, "done");
  EXPECT_EQ(two->read->wait().bytes, "done");
}

}  // namespace
}  // namespace orrery::store
