#include <gtest/gtest.h>

#include "plan/review/lab_fixture.h"
#include "plan/rules/edits.h"
#include "plan/rules/findings_fixture.h"

namespace orrery::rules {
namespace {

// 40 GB/s that should be 60 are raised by half; streams, requests and servers likewise.
TEST(EditsStorage, feed_edit_widens_the_bottleneck) {
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
  EXPECT_EQ(edit_of(edit_feed(r, t)), "none") << "more than ten thousand servers";
  t.feed.wanted = gbytes_per_s(40) * 2500;
  EXPECT_EQ(edit_of(edit_feed(r, t)), "storage[0].servers = 10000");
  t.feed.fetch.limit = storage::FetchLimit::client;
  EXPECT_EQ(edit_of(edit_feed(r, t)), "none");
  t.feed.loader.limit = storage::LoaderLimit::compute;
  EXPECT_EQ(edit_of(edit_feed(r, t)), "none");
}

// 128 studies of 400 ms on 64 accelerators in a step of 100 ms: eight cores for each.
TEST(EditsStorage, loader_gets_enough_cores) {
  review::Review r = review::lab_review("medical-imaging");
  review::TrainView& t = r.trains[0];
  t.feed.loader.limit = storage::LoaderLimit::decode;
  t.accelerators = 64;
  t.feed.decode = milliseconds(400);
  t.step.step = milliseconds(100);
  EXPECT_EQ(edit_of(edit_feed(r, t)), "workloads[0].train.dataset.loader_cores = 8");
  t.step.step = milliseconds(57.2);  // 13.99 per device: 14 of 8 are 112
  EXPECT_EQ(edit_of(edit_feed(r, t)), "workloads[0].train.dataset.loader_cores = 14");
  t.step.step = milliseconds(57);
  EXPECT_EQ(edit_of(edit_feed(r, t)), "none") << "a host has 112";
}

TEST(EditsStorage, capacity_edit_keeps_fewer_saves_or_grows_the_tier) {
  review::Review r =
      review::edited_review("superpod-h100", {{"workloads[0].train.checkpoint.keep", ""}});
  jobs::SavePlan& k = *r.trains[0].checkpoint;
  const machine::Tier& hot = r.tiers()[design::TierIndex(0)];
  ASSERT_EQ(k.safe, &hot);
  k.size = terabytes(10);
  k.kept_on_safe = petabytes(3);
  // Keeping four saves instead of all: 3.9 - 3 + 0.04 PB are within the two.
  r.used[design::TierIndex(0)] = petabytes(3.9);
  EXPECT_EQ(edit_of(edit_capacity(r, hot)), "workloads[0].train.checkpoint.keep.hot = 3");
  r.used[design::TierIndex(0)] = petabytes(4.96);
  EXPECT_EQ(edit_of(edit_capacity(r, hot)), "workloads[0].train.checkpoint.keep.hot = 3");
  r.used[design::TierIndex(0)] = petabytes(4.97);
  EXPECT_EQ(edit_of(edit_capacity(r, hot)), "storage[0].capacity = 5.5 PB");
  const review::Review ruled = review::lab_review("superpod-h100");
  review::Review full = ruled;
  full.used[design::TierIndex(0)] = petabytes(3.05);
  EXPECT_EQ(edit_of(edit_capacity(full, full.tiers()[design::TierIndex(0)])), "storage[0].capacity = 3.4 PB");
  review::Review counted = review::edited_review("superpod-h100", {{"storage[0].capacity", ""}});
  counted.used[design::TierIndex(0)] = counted.tiers()[design::TierIndex(0)].capacity * 1.5;
  EXPECT_EQ(edit_of(edit_capacity(counted, counted.tiers()[design::TierIndex(0)])), "storage[0].servers = 27")
      << "1.65 times 16";
}

TEST(EditsStorage, save_target_is_the_first_tier_with_room) {
  review::Review r = review::lab_review("superpod-h100");
  review::TrainView& t = r.trains[0];
  t.checkpoint->size = terabytes(1);
  EXPECT_EQ(edit_of(edit_save_target(r, t)),
            "workloads[0].train.checkpoint.to = [node-nvme, hot, cold, hot]");
  // Four more saves do not fit on the first: the next has room.
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

// 3.9 PB on a tier of two, three of which are saves of 10 TB.
review::Review hoarding_run(const std::vector<design_text::Change>& changes) {
  review::Review r = review::edited_review("superpod-h100", changes);
  jobs::SavePlan& k = *r.trains.at(0).checkpoint;
  k.size = terabytes(10);
  k.kept_on_safe = petabytes(3);
  r.used[design::TierIndex(0)] = petabytes(3.9);
  return r;
}

TEST(EditsStorage, keep_rule_only_for_runs_that_keep_everything) {
  const auto edit = [](const review::Review& r) { return edit_of(edit_capacity(r, r.tiers()[design::TierIndex(0)])); };
  const std::string keep = "workloads[0].train.checkpoint.keep";
  EXPECT_EQ(edit(hoarding_run({{keep, ""}})), keep + ".hot = 3");
  EXPECT_EQ(edit(hoarding_run({})), "storage[0].capacity = 4.3 PB") << "it has a rule: 1.1 x 3.9";
  EXPECT_EQ(edit(hoarding_run({{keep, "{ cold: 2 }"}})), keep + ".hot = 3")
      << "a rule of another tier";
  review::Review elsewhere = hoarding_run({{keep, ""}});
  elsewhere.trains[0].checkpoint->safe = &elsewhere.tiers()[design::TierIndex(1)];
  EXPECT_EQ(edit(elsewhere), "storage[0].capacity = 4.3 PB");
  review::Review unsaved = hoarding_run({{keep, ""}});
  unsaved.trains[0].checkpoint.reset();
  EXPECT_EQ(edit(unsaved), "storage[0].capacity = 4.3 PB");
}

TEST(EditsStorage, keep_rule_needs_a_name_that_a_path_can_hold) {
  const auto edit = [](const char* name, const char* keep) {
    const std::string to = std::string("\"") + name + "\"";
    review::Review r = review::hand_review(
        "site: { region: usa }\nfleet: [{ name: f, node: dgx-h100, count: 2 }]\nstorage: [{ "
        "name: " +
        to +
        ", tier: hot, kind: parallel-fs, read: 9 GB/s, write: 9 GB/s, capacity: 2 PB "
        "}]\nworkloads: [{ train: { name: t, network: { params: 30M, forward: 4 GFLOP }, batch: "
        "640, samples: 1G, checkpoint: { every: 1 h, to: [" +
        to + "]" + keep + " } } }]\n");
    jobs::SavePlan& k = *r.trains.at(0).checkpoint;
    k.size = terabytes(10);
    k.kept_on_safe = petabytes(3);
    r.used[design::TierIndex(0)] = petabytes(3.9);
    return edit_of(edit_capacity(r, r.tiers()[design::TierIndex(0)]));
  };
  EXPECT_EQ(edit("fast_1-a", ""), "workloads[0].train.checkpoint.keep.fast_1-a = 3");
  EXPECT_EQ(edit("Fast One", ""), "storage[0].capacity = 4.3 PB") << "no path can hold that name";
  EXPECT_EQ(edit("fast", ", keep: { fast: 2 }"), "storage[0].capacity = 4.3 PB");
}

// Drives that came with the nodes are bought with them; those that are named have a capacity.
TEST(EditsStorage, drives_in_the_nodes_grow) {
  review::Review r = review::lab_review("superpod-h100");
  ASSERT_TRUE(r.tiers()[design::TierIndex(2)].implied);
  r.used[design::TierIndex(2)] = terabytes(40);
  const std::string edit = edit_of(edit_capacity(r, r.tiers()[design::TierIndex(2)]));
  EXPECT_EQ(edit, "fleet[0].custom.local_nvme = 44 TB");
  review::Review named = review::hand_review(
      "site: { region: usa }\nfleet: [{ name: f, node: dgx-h100, count: 2 }]\nstorage: [{ name: "
      "drives, tier: node-nvme, kind: local-nvme }]\n");
  named.used[design::TierIndex(0)] = terabytes(40);
  EXPECT_EQ(edit_of(edit_capacity(named, named.tiers()[design::TierIndex(0)])), "storage[0].capacity = 44 TB");
}

TEST(EditsStorage, write_rate_is_raised_if_it_is_given) {
  const auto edit = [](const std::vector<design_text::Change>& changes, storage::Wall wall) {
    review::Review r = review::edited_review("superpod-h100", changes);
    review::TrainView& t = r.trains.at(0);
    t.checkpoint->drain.wall = wall;
    t.checkpoint->size = terabytes(36);
    t.failure.mtbf = hours(5);
    return edit_of(edit_safe(t));
  };
  EXPECT_EQ(edit({}, storage::Wall::server_bandwidth), "storage[0].write = 100 GB/s");
  EXPECT_EQ(edit({}, storage::Wall::commit), "none");
  EXPECT_EQ(edit({{"storage[0].write", ""}}, storage::Wall::server_bandwidth), "none");
}

TEST(EditsStorage, tiers_in_the_nodes_are_no_save_target) {
  const auto edit = [](const std::string& tiers) {
    const review::Review r = review::hand_review(
        "site: { region: usa }\nfleet: [{ name: f, node: dgx-h100, count: 2 }]\nstorage: [" +
        tiers +
        "]\nworkloads: [{ train: { name: t, network: { params: 30M, forward: 4 GFLOP }, batch: "
        "640, samples: 1G } }]\n");
    return edit_of(edit_save_target(r, r.trains.at(0)));
  };
  const std::string drives = "{ name: drives, tier: node-nvme, kind: local-nvme }";
  const std::string lake =
      "{ name: lake, tier: warm, kind: object, read: 9 GB/s, write: 9 GB/s, capacity: 9 PB }";
  EXPECT_EQ(edit(drives + ", " + lake),
            "workloads[0].train.checkpoint = { every: auto, to: [lake], keep: { lake: 3 } }");
  EXPECT_EQ(edit(drives), "none") << "nothing outlives a node";
}

TEST(EditsStorage, no_feed_edit_behind_a_cache_or_on_node_drives) {
  review::Review r =
      review::edited_review("av-vision", {{"workloads[0].train.dataset.tier", "lake"}});
  review::TrainView& t = r.trains.at(0);
  t.feed.loader.limit = storage::LoaderLimit::storage;
  EXPECT_EQ(edit_of(edit_feed(r, t)), "none") << "behind the cache 'hot'";
  t.feed.tier = &r.tiers()[design::TierIndex(0)];
  design::Train files = *t.train;
  files.dataset.format = design::DataFormat::files;
  t.train = &files;
  EXPECT_EQ(edit_of(edit_feed(r, t)), "workloads[0].train.dataset.format = shards");
  ASSERT_TRUE(r.tiers()[design::TierIndex(2)].implied);
  t.feed.tier = &r.tiers()[design::TierIndex(2)];
  EXPECT_EQ(edit_of(edit_feed(r, t)), "none");
  t.feed.tier = &r.tiers()[design::TierIndex(0)];
  t.feed.loader.limit = storage::LoaderLimit::device_copy;
  EXPECT_EQ(edit_of(edit_feed(r, t)), "none");
}

}  // namespace
}  // namespace orrery::rules
