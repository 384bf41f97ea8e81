// What the rules of tiers, caches and checkpoints compare, at their bounds, and say.
#include <gtest/gtest.h>

#include "core/base/units.h"
#include "layers/storage/cache.h"
#include "plan/review/lab_fixture.h"
#include "plan/rules/edits.h"
#include "plan/rules/findings_fixture.h"

namespace orrery::rules {
namespace {

// 127 nodes of eight are 1,016 accelerators, 3.97 units of 256; the lowest level of the guidance
// of RA-11333-001 is 10 GB/s of reads and 5 of writes a unit up to four units' 40 and 20.
TEST(TierRules, GuidanceOfScalableUnits) {
  const review::Review r = review::edited_review(
      "superpod-h100", {{"storage[0].read", "30 GB/s"}, {"storage[0].write", "12 GB/s"}});
  const auto all = findings_by(r, "storage.unit-guidance");
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].what.find("Tier 'hot' reads 30 GB/s; SuperPOD H100 guidance for 1016 "), 0U)
      << all[0].what;
  EXPECT_EQ(all[1].what.find("Tier 'hot' writes 12 GB/s; SuperPOD H100 guidance for 1016 "), 0U)
      << all[1].what;
  EXPECT_EQ(all[0].why,
            "Below the lowest published level, loading and checkpoints are likely to idle the "
            "accelerators.");
  ASSERT_TRUE(all[0].edit && all[1].edit);
  EXPECT_EQ(all[0].edit->path, "storage[0].read");
  EXPECT_EQ(all[1].edit->path, "storage[0].write");
  EXPECT_EQ(all[0].fix, "Raise read to " + all[0].edit->value + ".");
  EXPECT_EQ(all[0].place.line, place_of(r.design(), "storage[0].read").line);
  EXPECT_TRUE(findings_by(review::lab_review("superpod-h100"), "storage.unit-guidance").empty());
  EXPECT_TRUE(findings_by(review::lab_review("small-lab"), "storage.unit-guidance").empty())
      << "a handful of nodes";
}

TEST(TierRules, GuidanceOfGb200IsANote) {
  const review::Review& r = review::lab_review("superpod-gb200");
  const Finding f = only_finding(r, "storage.gb200-guidance");
  EXPECT_EQ(f.what, "GB200 storage guidance is 2.25 times lower per accelerator than H100's.");
  EXPECT_EQ(f.why,
            "A scalable unit grew from 256 to 576 accelerators while its 125 GB/s stayed "
            "(RA-11338-001).");
  EXPECT_EQ(f.fix, "Size storage from the workload's own demand, not from the guidance alone.");
  EXPECT_EQ(f.place.line, place_of(r.design(), "storage[0]").line);
  EXPECT_TRUE(findings_by(review::lab_review("superpod-h100"), "storage.gb200-guidance").empty());
}

// A cache of half the data: LRU hits less than the half that pinning gives.
TEST(TierRules, LruUnderShuffledEpochs) {
  review::Review r =
      review::edited_review("av-vision", {{"storage[0].policy", "lru"},
                                          {"storage[0].capacity", "100 TB"},
                                          {"workloads[0].train.dataset.tier", "lake"}});
  const review::TrainView& t = r.trains.at(0);
  const design::TierIndex tier = t.feed.tier->index;
  const auto said = [&](double share) {
    const double lru = hit_rate(catalog::EvictionPolicy::lru, storage::EpochOrder::shuffled, share);
    return "' evicts by LRU under shuffled epochs of '" + t.label +
           "': " + show(lru, figures::Unit::ratio) + " of the reads hit; pinning would give " +
           show(share, figures::Unit::ratio) + ".";
  };
  r.used[tier] = terabytes(200);
  const Finding half = only_finding(r, "storage.lru-shuffled");
  EXPECT_NE(half.what.find(said(0.5)), std::string::npos) << half.what;
  EXPECT_EQ(half.why, "With every item read once an epoch, LRU evicts just what comes back next.");
  EXPECT_EQ(half.fix, "policy: pin");
  EXPECT_EQ(edit_of(half), "storage[0].policy = pin");
  r.used[tier] = terabytes(125);
  EXPECT_NE(only_finding(r, "storage.lru-shuffled").what.find(said(0.8)), std::string::npos);
  r.used[tier] = Bytes();
  EXPECT_NE(only_finding(r, "storage.lru-shuffled").what.find(said(0.5)), std::string::npos)
      << "of a size that nobody says, half";
  r.used[tier] = terabytes(100);
  EXPECT_TRUE(findings_by(r, "storage.lru-shuffled").empty()) << "all of it is there";
  r.used[tier] = terabytes(200);
  r.trains[0].feed.known = false;
  EXPECT_TRUE(findings_by(r, "storage.lru-shuffled").empty());
}

TEST(TierRules, SavesThatDrainTooSlowly) {
  review::Review r =
      review::edited_review("superpod-h100", {{"workloads[0].train.checkpoint.every", "30 min"}});
  jobs::SavePlan& k = *r.trains[0].checkpoint;
  ASSERT_TRUE(k.interval_given && k.async);
  k.interval = minutes(30);
  k.drain.total = minutes(30);
  EXPECT_TRUE(findings_by(r, "storage.drain-interval").empty());
  k.drain.total = minutes(40);
  k.drain.wall = storage::Wall::metadata;
  k.stall.wait = minutes(10);
  expect_said(r, only_finding(r, "storage.drain-interval"),
              {.path = "workloads[0].train.checkpoint.every",
               .what = "'pretrain' saves every 30 min, but a save takes 40 min to drain.",
               .why = "The next save waits for the last one: a stall of 10 min each time, bound by "
                      "metadata.",
               .fix = "Save every 40 min or more, or relieve the metadata.",
               .edit = "workloads[0].train.checkpoint.every = auto"});
  k.async = false;
  EXPECT_TRUE(findings_by(r, "storage.drain-interval").empty());
}

TEST(TierRules, SavesThatAreNeverSafe) {
  review::Review r = review::lab_review("superpod-h100");
  review::TrainView& t = r.trains[0];
  t.failure.mtbf = hours(5);
  t.checkpoint->drain.total = hours(5);
  EXPECT_TRUE(findings_by(r, "storage.never-safe").empty());
  t.checkpoint->drain.total = hours(6);
  t.checkpoint->drain.wall = storage::Wall::commit;
  expect_said(
      r, only_finding(r, "storage.never-safe"),
      {.path = "workloads[0].train.checkpoint.to",
       .what = "A save of 'pretrain' takes 6 h until it is safe on 'hot'; hosts fail every "
               "5 h.",
       .why = "The run is thrown back before any save of it is whole: it makes no progress.",
       .fix = "Relieve the commit barrier, or save on another tier."});
  // A save of 36 TB within a fiftieth of five hours: 360 s.
  t.checkpoint->drain.wall = storage::Wall::server_bandwidth;
  t.checkpoint->size = terabytes(36);
  const Finding f = only_finding(r, "storage.never-safe");
  EXPECT_EQ(edit_of(f), "storage[0].write = 100 GB/s");
  EXPECT_EQ(f.fix, "Write 100 GB/s to tier 'hot'.");
  t.checkpoint->safe = nullptr;
  EXPECT_TRUE(findings_by(r, "storage.never-safe").empty());
}

// 50 GB/s that take 1.95 times as long as they may: 1.95 x 1.1 of it are 107.25.
TEST(TierRules, CopiesThatPileUp) {
  review::Review r = review::lab_review("superpod-h100");
  ASSERT_EQ(r.trains[0].checkpoint->later.size(), 1U);
  jobs::LaterCopy& c = r.trains[0].checkpoint->later[0];
  c.every = hours(2);
  c.takes = hours(2);
  EXPECT_TRUE(findings_by(r, "storage.later-copies").empty());
  c.takes = hours(3.9);
  expect_said(r, only_finding(r, "storage.later-copies"),
              {.path = "workloads[0].train.checkpoint.to",
               .what = "A copy of 'pretrain' to tier 'cold' takes 3.9 h; one is due every 2 h.",
               .why = "Copies pile up on the tier before, and the last of a run is never there.",
               .fix = "Write faster there, or keep milestones alone on it.",
               .edit = "storage[1].write = 110 GB/s"});
}

// 200,000 events a second of 1,500 bytes are 0.3 GB/s.
TEST(TierRules, EventsFasterThanTheirTier) {
  const auto writes = [](const char* rate) {
    return review::edited_review("recommender", {{"storage[0].write", rate}});
  };
  const review::Review r = writes("0.25 GB/s");
  const auto all = findings_by(r, "storage.features");
  ASSERT_GE(all.size(), 1U);
  EXPECT_EQ(all[0].what, "Events of 'retrain' come at 300 MB/s; tier 'hot' writes 250 MB/s.");
  EXPECT_EQ(all[0].why, "What is not written is lost, or waits for ever.");
  EXPECT_EQ(all[0].fix, "Write faster there, or store less of each event.");
  EXPECT_EQ(edit_of(all[0]), "storage[0].write = 330 MB/s");
  EXPECT_TRUE(findings_by(writes("0.31 GB/s"), "storage.features").empty());
  review::Review none = r;
  none.trains[0].infeasible = "no";
  EXPECT_TRUE(findings_by(none, "storage.features").empty());
}

TEST(TierRules, AModelOlderThanPromised) {
  review::Review r = review::lab_review("recommender");  // a day and the run, of 30 hours
  r.trains[0].run_time = hours(6);
  EXPECT_TRUE(findings_by(r, "storage.features").empty());
  r.trains[0].run_time = hours(8);
  expect_said(
      r, only_finding(r, "storage.features"),
      {.path = "workloads[0].train.features.freshness",
       .what = "An event reaches the model of 'retrain' after " + brief(hours(32)) + " at worst; " +
               brief(hours(30)) + " is asked for.",
       .why = "It waits for the next run, " + brief(hours(24)) + " at worst, and for its end, 8 h.",
       .fix = "Train more often, or on more machines."});
}

TEST(TierRules, CheckpointsThatStayOnTheNodes) {
  review::Review r = review::lab_review("superpod-h100");
  r.trains[0].checkpoint->safe = nullptr;
  r.trains[0].failure.mtbf = hours(7);
  const Finding one = only_finding(r, "storage.local-only");
  EXPECT_EQ(one.what, "Checkpoints of 'pretrain' stay on the nodes that wrote them (1 copy each).");
  EXPECT_EQ(one.why, "A host fails every 7 h; with it goes a shard of every checkpoint.");
  EXPECT_EQ(one.fix,
            "Add a shared tier to `to`, e.g. [node-nvme, hot], and declare one where there is "
            "none.");
  EXPECT_TRUE(one.edit);
  review::Review two =
      review::edited_review("superpod-h100", {{"workloads[0].train.checkpoint.replicas", "2"}});
  two.trains[0].checkpoint->safe = nullptr;
  EXPECT_EQ(only_finding(two, "storage.local-only").what,
            "Checkpoints of 'pretrain' stay on the nodes that wrote them (2 copies each).");
  two.trains[0].checkpoint.reset();
  EXPECT_TRUE(findings_by(two, "storage.local-only").empty());
}

TEST(TierRules, ALongRunIsSavedSomewhere) {
  review::Review r =
      review::edited_review("superpod-h100", {{"workloads[0].train.checkpoint", ""}});
  review::TrainView& t = r.trains[0];
  t.units = t.raw_rate() * 3600;  // an hour of work
  t.failure.mtbf = hours(5.1);
  EXPECT_TRUE(findings_by(r, "storage.checkpoint-target").empty()) << "less than a fifth of it";
  t.failure.mtbf = hours(4.9);
  expect_said(
      r, only_finding(r, "storage.checkpoint-target"),
      {.path = "workloads[0].train.checkpoint",
       .what = "'pretrain' works 1 h without checkpoints on hosts that fail every 4.9 h.",
       .why = "Every failure loses the whole run so far.",
       .fix = "checkpoint: { every: auto, to: [hot], keep: { hot: 3 } }, with a hot tier in "
              "`storage`.",
       .edit = "workloads[0].train.checkpoint = { every: auto, to: [hot], keep: { hot: 3 } "
               "}"});
  t.infeasible = "no";
  EXPECT_TRUE(findings_by(r, "storage.checkpoint-target").empty());
  review::Review declared = review::lab_review("superpod-h100");
  EXPECT_TRUE(findings_by(declared, "storage.checkpoint-target").empty());
  declared.trains[0].checkpoint.reset();
  EXPECT_EQ(only_finding(declared, "storage.checkpoint-target").what,
            "No tier of the design takes the checkpoints of 'pretrain'.");
}

TEST(TierRules, DrivesThatTheNodesLack) {
  const review::Review r =
      review::edited_review("superpod-h100", {{"fleet[0].custom", "{ local_nvme: 0 TB }"}});
  expect_said(r, only_finding(r, "storage.node-drives"),
              {.path = "workloads[0].train",
               .what = "'pretrain' counts on tier 'node-nvme', and the nodes of fleet 'train' have "
                       "no drives.",
               .why = "What is on no drive is neither saved nor read; the review leaves it out.",
               .fix = "Buy drives for the nodes, 30 TB in each, or name a shared tier.",
               .edit = "fleet[0].custom.local_nvme = 30 TB"});
  EXPECT_TRUE(findings_by(review::lab_review("superpod-h100"), "storage.node-drives").empty());
}

TEST(TierRules, ATierHoldsWhatIsKeptOnIt) {
  review::Review r = review::lab_review("superpod-h100");
  r.used[design::TierIndex(0)] = petabytes(2);
  EXPECT_TRUE(findings_by(r, "storage.capacity").empty());
  r.used[design::TierIndex(0)] = petabytes(2.5);
  expect_said(r, only_finding(r, "storage.capacity"),
              {.path = "storage[0].capacity",
               .what = "Tier 'hot' must hold 2.5 PB but has 2 PB.",
               .why = "Data sets and kept checkpoints together; without a `keep` rule a run keeps "
                      "all it saves.",
               .fix = "Add capacity, or a keep rule such as keep: { hot: 3, cold: milestones }.",
               .edit = "storage[0].capacity = 2.8 PB"});
}

TEST(TierRules, SamplesInFilesOfTheirOwn) {
  review::Review r =
      review::edited_review("av-vision", {{"workloads[0].train.dataset.format", "files"}});
  review::TrainView& t = r.trains[0];
  t.feed.loader.limit = storage::LoaderLimit::storage;
  t.feed.loader.utilisation = 0.625;
  t.feed.sample = kilobytes(150);
  expect_said(
      r, only_finding(r, "storage.small-files"),
      {.path = "workloads[0].train.dataset.format",
       .what = "'" + t.label +
               "' reads one file of 150 kB a sample and waits for them: "
               "62.5 % of the step is left.",
       .why = "Each request pays the first-byte time and a metadata operation; a shard pays "
              "once for thousands.",
       .fix = "Pack the samples: format: shards.",
       .edit = "workloads[0].train.dataset.format = shards"});
  t.feed.loader.limit = storage::LoaderLimit::decode;
  EXPECT_TRUE(findings_by(r, "storage.small-files").empty());
  review::Review shards = review::lab_review("av-vision");
  shards.trains[0].feed.loader.limit = storage::LoaderLimit::storage;
  EXPECT_TRUE(findings_by(shards, "storage.small-files").empty());
}

TEST(TierRules, AcceleratorsThatStarve) {
  review::Review r = review::lab_review("medical-imaging");
  review::TrainView& t = r.trains[0];
  t.feed.loader.utilisation = 0.8;
  EXPECT_TRUE(findings_by(r, "storage.starving").empty());
  t.feed.loader.utilisation = 0.79;
  t.feed.loader.limit = storage::LoaderLimit::device_copy;
  t.feed.wanted = gbytes_per_s(44);
  expect_said(
      r, only_finding(r, "storage.starving"),
      {.path = "workloads[0].train.dataset",
       .what = "'segmentation' waits for data: accelerators work 79 % of the time, bound by "
               "device copy.",
       .why = "The job asks for 44 GB/s; tier 'hot' reads 40 GB/s.",
       .fix = "Read faster: more servers, a cache tier with policy pin, or larger objects."});
  t.feed.loader.limit = storage::LoaderLimit::decode;
  EXPECT_EQ(only_finding(r, "storage.starving").fix,
            "Give the loaders more cores, decode on the accelerator, or store decoded samples.");
  t.feed.known = false;
  EXPECT_TRUE(findings_by(r, "storage.starving").empty());
}

// 40 GB/s that should be 60 are raised by the half; streams, requests and servers likewise.
TEST(TierEdits, WidenWhatHoldsTheLoaderBack) {
  review::Review r = review::lab_review("medical-imaging");
  review::TrainView& t = r.trains[0];
  t.feed.loader.limit = storage::LoaderLimit::storage;
  t.accelerators = 64;
  t.feed.wanted = gbytes_per_s(60);
  t.feed.fetch.rate = gbytes_per_s(40.0 / 64);
  t.feed.fetch.limit = storage::FetchLimit::server;
  EXPECT_EQ(edit_of(edit_feed(r, t)), "storage[0].read = 60 GB/s");
  t.feed.fetch.limit = storage::FetchLimit::streams;
  const int streams = t.feed.tier->client_streams;
  EXPECT_EQ(edit_of(edit_feed(r, t)),
            "storage[0].client_streams = " + std::to_string((streams * 3 + 1) / 2));
  t.feed.fetch.limit = storage::FetchLimit::requests;
  t.feed.by_themselves = 0;
  EXPECT_EQ(edit_of(edit_feed(r, t)), "storage[0].metadata.servers = 3") << "of two";
  t.feed.by_themselves = 0.1;
  EXPECT_EQ(edit_of(edit_feed(r, t)), "storage[0].servers = 6") << "of four";
  t.feed.wanted = gbytes_per_s(40) * 2500.5;
  EXPECT_EQ(edit_of(edit_feed(r, t)), "none") << "nobody builds ten thousand servers";
  t.feed.wanted = gbytes_per_s(40) * 2500;
  EXPECT_EQ(edit_of(edit_feed(r, t)), "storage[0].servers = 10000");
  t.feed.fetch.limit = storage::FetchLimit::client;
  EXPECT_EQ(edit_of(edit_feed(r, t)), "none");
  t.feed.loader.limit = storage::LoaderLimit::compute;
  EXPECT_EQ(edit_of(edit_feed(r, t)), "none");
}

// 128 studies of 400 ms on 64 accelerators in a step of 100 ms: eight cores for each.
TEST(TierEdits, CoresForTheLoader) {
  review::Review r = review::lab_review("medical-imaging");
  review::TrainView& t = r.trains[0];
  t.feed.loader.limit = storage::LoaderLimit::decode;
  t.accelerators = 64;
  t.feed.decode = milliseconds(400);
  t.step.step = milliseconds(100);
  EXPECT_EQ(edit_of(edit_feed(r, t)), "workloads[0].train.dataset.loader_cores = 8");
  t.step.step = milliseconds(57.2);  // 13.99 a device: 14 of 8 are 112
  EXPECT_EQ(edit_of(edit_feed(r, t)), "workloads[0].train.dataset.loader_cores = 14");
  t.step.step = milliseconds(57);
  EXPECT_EQ(edit_of(edit_feed(r, t)), "none") << "a host has 112";
}

TEST(TierEdits, RoomForWhatIsKept) {
  review::Review r =
      review::edited_review("superpod-h100", {{"workloads[0].train.checkpoint.keep", ""}});
  jobs::SavePlan& k = *r.trains[0].checkpoint;
  const machine::Tier& hot = r.tiers()[design::TierIndex(0)];
  ASSERT_EQ(k.safe, &hot);
  k.size = terabytes(10);
  k.kept_on_safe = petabytes(3);
  // Four saves in place of all of them: 3.9 - 3 + 0.04 PB are within the two.
  r.used[design::TierIndex(0)] = petabytes(3.9);
  EXPECT_EQ(edit_of(edit_capacity(r, hot)), "workloads[0].train.checkpoint.keep.hot = 3");
  r.used[design::TierIndex(0)] = petabytes(4.96);
  EXPECT_EQ(edit_of(edit_capacity(r, hot)), "workloads[0].train.checkpoint.keep.hot = 3");
  r.used[design::TierIndex(0)] = petabytes(4.97);
  EXPECT_EQ(edit_of(edit_capacity(r, hot)), "storage[0].capacity = 5.5 PB");
  const review::Review ruled = review::lab_review("superpod-h100");
  review::Review full = ruled;
  full.used[design::TierIndex(0)] = petabytes(3.05);
  EXPECT_EQ(edit_of(edit_capacity(full, full.tiers()[design::TierIndex(0)])),
            "storage[0].capacity = 3.4 PB");
  review::Review counted = review::edited_review("superpod-h100", {{"storage[0].capacity", ""}});
  counted.used[design::TierIndex(0)] = counted.tiers()[design::TierIndex(0)].capacity * 1.5;
  EXPECT_EQ(edit_of(edit_capacity(counted, counted.tiers()[design::TierIndex(0)])),
            "storage[0].servers = 27")
      << "1.65 times 16";
}

TEST(TierEdits, WhereToSave) {
  review::Review r = review::lab_review("superpod-h100");
  review::TrainView& t = r.trains[0];
  t.checkpoint->size = terabytes(1);
  EXPECT_EQ(edit_of(edit_save_target(r, t)),
            "workloads[0].train.checkpoint.to = [node-nvme, hot, cold, hot]");
  // Four saves more do not fit on the first: the next has room.
  r.used[design::TierIndex(0)] = petabytes(2) - terabytes(3.9);
  EXPECT_EQ(edit_of(edit_save_target(r, t)),
            "workloads[0].train.checkpoint.to = [node-nvme, hot, cold, cold]");
  r.used[design::TierIndex(0)] = petabytes(2) - terabytes(4);
  EXPECT_EQ(edit_of(edit_save_target(r, t)),
            "workloads[0].train.checkpoint.to = [node-nvme, hot, cold, hot]");
  r.used[design::TierIndex(0)] = petabytes(2);
  r.used[design::TierIndex(1)] = petabytes(20);
  EXPECT_EQ(edit_of(edit_save_target(r, t)),
            "workloads[0].train.checkpoint.to = [node-nvme, hot, cold, hot]")
      << "else the nearest";
  t.checkpoint.reset();
  EXPECT_EQ(edit_of(edit_save_target(r, t)), "workloads[0].train.checkpoint.to = [hot]");
}

}  // namespace
}  // namespace orrery::rules
