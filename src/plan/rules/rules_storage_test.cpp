#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "core/base/text.h"
#include "layers/storage/cache.h"
#include "model/design_text/read_design.h"
#include "model/design_text/templates.h"
#include "model/machine/known_fixture.h"
#include "plan/review/lab_fixture.h"
#include "plan/rules/findings_fixture.h"
#include "plan/rules/rules.h"

namespace orrery::rules {
namespace {

// 127 nodes of eight are 1,016 accelerators, 3.97 units of 256; the lowest level of the guidance
// of RA-11333-001 is 10 GB/s of reads and 5 of writes a unit up to four units' 40 and 20.
TEST(RulesStorage, rates_below_the_guidance_of_scalable_units) {
  const review::Review r = review::edited_review(
      "superpod-h100", {{"storage[0].read", "30 GB/s"}, {"storage[0].write", "12 GB/s"}});
  const auto all = findings_by(r, "storage.unit-guidance");
  ASSERT_EQ(all.size(), 2U);
  ASSERT_TRUE(all[0].edit && all[1].edit);
  EXPECT_EQ(all[0].edit->path, "storage[0].read");
  EXPECT_EQ(all[1].edit->path, "storage[0].write");
  EXPECT_EQ(all[0].place.line, place_of(r.design(), "storage[0].read").line);
  EXPECT_TRUE(findings_by(review::lab_review("superpod-h100"), "storage.unit-guidance").empty());
  EXPECT_TRUE(findings_by(review::lab_review("small-lab"), "storage.unit-guidance").empty())
      << "a handful of nodes";
}

// 1,016 accelerators are 3.96875 units of 256: 15 GB/s of reads and 7 of writes each are 59.53125
// and 27.78125, of which 0.98 pass: 58.34 and 27.23.
TEST(RulesStorage, guidance_holds_at_its_threshold) {
  const auto with = [](const char* read, const char* write) {
    return review::edited_review("superpod-h100",
                                 {{"storage[0].read", read}, {"storage[0].write", write}});
  };
  const review::Review r = with("58.3 GB/s", "27.2 GB/s");
  const auto all = findings_by(r, "storage.unit-guidance");
  ASSERT_EQ(all.size(), 2U);
  expect_finding(r, all[0], "storage[0].read", "storage[0].read = 60 GB/s");
  expect_finding(r, all[1], "storage[0].write", "storage[0].write = 28 GB/s");
  EXPECT_TRUE(findings_by(with("58.4 GB/s", "27.3 GB/s"), "storage.unit-guidance").empty());
}

// 576 are one unit of GB200's: 40 and 20 GB/s of the middle level; no lower one is published.
TEST(RulesStorage, guidance_for_nvl72_racks) {
  const auto with = [](const char* read, const char* write) {
    return edits_by(review::edited_review("superpod-gb200",
                                          {{"storage[0].read", read}, {"storage[0].write", write}}),
                    "storage.unit-guidance");
  };
  EXPECT_EQ(with("39 GB/s", "19.5 GB/s"),
            (std::vector<std::string>{"storage[0].read = 40 GB/s", "storage[0].write = 20 GB/s"}));
  EXPECT_TRUE(with("39.3 GB/s", "19.7 GB/s").empty());
}

// Sixteen nodes of eight are half a unit: 7.5 GB/s of reads.
review::Review guided_fleet(const std::string& node, int count, const std::string& more = "",
                            const std::string& tier = "hot") {
  return review::hand_review(
      "site: { region: usa }\nfleet: [{ name: f, node: " + node +
      ", count: " + std::to_string(count) + more + " }]\nstorage: [{ name: t, tier: " + tier +
      ", kind: parallel-fs, read: 7 GB/s, write: 90 GB/s, capacity: 9 PB }]\n");
}

TEST(RulesStorage, guidance_needs_sixteen_owned_nodes) {
  const auto edits = [](const review::Review& r) { return edits_by(r, "storage.unit-guidance"); };
  const std::vector<std::string> raise = {"storage[0].read = 7.5 GB/s"};
  for (const char* node : {"dgx-h100", "dgx-h200", "dgx-b200", "dgx-b300"}) {
    EXPECT_EQ(edits(guided_fleet(node, 16)), raise) << node;
  }
  EXPECT_TRUE(edits(guided_fleet("dgx-h100", 15)).empty());
  EXPECT_TRUE(edits(guided_fleet("dgx-a100", 16)).empty()) << "of which no level is published";
  EXPECT_TRUE(edits(guided_fleet("cpu-2s-server", 16)).empty());
  EXPECT_TRUE(edits(guided_fleet("dgx-h100", 16, ", rent: { provider: aws }")).empty());
  EXPECT_EQ(edits(guided_fleet("dgx-h100", 16, "", "gpu-direct")), raise);
  EXPECT_TRUE(edits(guided_fleet("dgx-h100", 16, "", "warm")).empty()) << "not the hot tier";
}

TEST(RulesStorage, gb200_guidance_is_a_note) {
  const review::Review& r = review::lab_review("superpod-gb200");
  const Finding f = only_finding(r, "storage.gb200-guidance");
  EXPECT_THAT(numbers_in(f.what), testing::ElementsAre("2.25"));
  EXPECT_EQ(f.place.line, place_of(r.design(), "storage[0]").line);
  EXPECT_TRUE(findings_by(review::lab_review("superpod-h100"), "storage.gb200-guidance").empty());
}

TEST(RulesStorage, gb200_note_is_at_the_tier_or_the_fleet) {
  const auto path_line = [](const review::Review& r) {
    return only_finding(r, "storage.gb200-guidance").place.line;
  };
  const review::Review hot = guided_fleet("gb200-nvl72", 1);
  EXPECT_EQ(path_line(hot), place_of(hot.design(), "storage[0]").line);
  const review::Review warm = guided_fleet("gb300-nvl72", 1, "", "warm");
  EXPECT_EQ(path_line(warm), place_of(warm.design(), "fleet[0]").line);
  EXPECT_NE(path_line(warm), place_of(warm.design(), "storage[0]").line);
  EXPECT_TRUE(
      findings_by(guided_fleet("gb200-nvl72", 1, ", rent: { provider: aws, price: 9 USD/h }"),
                  "storage.gb200-guidance")
          .empty());
}

// The review with one tier of its machine changed.
review::Review with_tier(const review::Review& of, std::size_t index,
                         void (*change)(machine::Tier&)) {
  review::Review r = of;
  auto m = std::make_shared<machine::Machine>(*r.machine);
  change(m->tiers[design::TierIndex(index)]);
  r.machine = m;
  return r;
}

storage::AccessLatency slow_by(storage::AccessPart longest) {
  return {.media = microseconds(100),
          .network = microseconds(200),
          .service = microseconds(300),
          .transfer = microseconds(400),
          .host_copy = microseconds(600),
          .total = microseconds(1600),
          .longest = longest};
}

// 1.6 ms for a hot tier that should answer within one.
TEST(RulesStorage, latency_finding_names_the_longest_part) {
  using enum storage::AccessPart;
  const review::Review r = with_tier(review::lab_review("superpod-h100"), 0,
                                     [](machine::Tier& t) { t.latency = slow_by(media); });
  expect_finding(r, only_finding(r, "storage.latency-target"), "storage[0].tier");
  EXPECT_THAT(numbers_in(only_finding(r, "storage.latency-target").what),
              testing::ElementsAre("1.6", "1"));
  const auto share = [](void (*change)(machine::Tier&)) {
    const review::Review changed = with_tier(review::lab_review("superpod-h100"), 0, change);
    return numbers_in(only_finding(changed, "storage.latency-target").why).at(0);
  };
  EXPECT_EQ(share([](machine::Tier& t) { t.latency = slow_by(media); }), "6.25");
  EXPECT_EQ(share([](machine::Tier& t) { t.latency = slow_by(network); }), "12.5");
  EXPECT_EQ(share([](machine::Tier& t) { t.latency = slow_by(transfer); }), "25");
  EXPECT_EQ(share([](machine::Tier& t) { t.latency = slow_by(host_copy); }), "37.5");
}

TEST(RulesStorage, latency_at_its_target) {
  const auto count = [](std::size_t tier, void (*change)(machine::Tier&)) {
    return findings_by(with_tier(review::lab_review("superpod-h100"), tier, change),
                       "storage.latency-target")
        .size();
  };
  EXPECT_EQ(count(0, [](machine::Tier& t) { t.latency.total = milliseconds(1); }), 0U);
  EXPECT_EQ(count(0, [](machine::Tier& t) { t.latency.total = milliseconds(1.001); }), 1U);
  EXPECT_EQ(count(1, [](machine::Tier& t) { t.latency.total = hours(12); }), 0U) << "cold";
  EXPECT_EQ(count(1, [](machine::Tier& t) { t.latency.total = hours(12.1); }), 1U);
  const review::Review& r = review::lab_review("superpod-h100");
  ASSERT_TRUE(r.tiers()[design::TierIndex(2)].implied);
  EXPECT_EQ(count(2, [](machine::Tier& t) { t.latency.total = hours(20); }), 0U);
}

// A cache of half the data: LRU hits less than the half that pinning gives.
TEST(RulesStorage, lru_under_shuffled_epochs) {
  review::Review r =
      review::edited_review("av-vision", {{"storage[0].policy", "lru"},
                                          {"storage[0].capacity", "100 TB"},
                                          {"workloads[0].train.dataset.tier", "lake"}});
  const review::TrainView& t = r.trains.at(0);
  const design::TierIndex tier = t.feed.tier->index;
  const auto said = [&](double share) {
    const double lru = hit_rate(catalog::EvictionPolicy::lru, storage::EpochOrder::shuffled, share);
    return std::vector<std::string>{significant(lru * 100, 3), significant(share * 100, 3)};
  };
  r.used[tier] = terabytes(200);
  const Finding half = only_finding(r, "storage.lru-shuffled");
  EXPECT_EQ(numbers_in(half.what), said(0.5));
  EXPECT_EQ(edit_of(half), "storage[0].policy = pin");
  r.used[tier] = terabytes(125);
  EXPECT_EQ(numbers_in(only_finding(r, "storage.lru-shuffled").what), said(0.8));
  r.used[tier] = Bytes();
  EXPECT_EQ(numbers_in(only_finding(r, "storage.lru-shuffled").what), said(0.5))
      << "half is assumed for a data set of unknown size";
  r.used[tier] = terabytes(100);
  EXPECT_TRUE(findings_by(r, "storage.lru-shuffled").empty()) << "all of it is there";
  r.used[tier] = terabytes(200);
  r.trains[0].feed.known = false;
  EXPECT_TRUE(findings_by(r, "storage.lru-shuffled").empty());
}

// A run on a fleet without drives that reads or saves in them.
review::Review on_drives(const std::string& run, const std::string& fleets,
                         const std::string& tiers = "") {
  return review::hand_review(
      "site: { region: usa }\nfleet: [" + fleets +
      "]\nstorage: [{ name: lake, tier: hot, kind: parallel-fs, read: 90 GB/s, "
      "write: 90 GB/s, capacity: 9 PB }" +
      tiers +
      "]\nworkloads: [{ train: { name: t, fleet: f, network: { params: 30M, "
      "forward: 4 GFLOP }, batch: 640, samples: 1M, " +
      run + " } }]\n");
}

// A cache in the nodes has the drives of all of them: 2 x 30 of 80 TB.
TEST(RulesStorage, cache_in_the_nodes_counts_all_hosts) {
  review::Review r = on_drives(
      "dataset: { tier: lake, samples: 400M, sample_size: 200 kB, epochs: 3, shuffle: true }",
      "{ name: f, node: dgx-h100, count: 2 }",
      ", { name: near, tier: node-nvme, kind: local-nvme, device: tlc-gen4, devices_per_server: 8, "
      "read: 40 GB/s, write: 20 GB/s, capacity: 30 TB, caches: lake, policy: lru }");
  ASSERT_TRUE(r.tiers()[design::TierIndex(1)].per_node);
  ASSERT_EQ(r.trains.at(0).hosts, 2);
  r.used[design::TierIndex(0)] = terabytes(80);
  const Finding f = only_finding(r, "storage.lru-shuffled");
  EXPECT_EQ(numbers_in(f.what).back(), "75") << f.what;
  EXPECT_EQ(f.place.line, place_of(r.design(), "storage[1].policy").line);
  r.used[design::TierIndex(0)] = terabytes(60);
  EXPECT_TRUE(findings_by(r, "storage.lru-shuffled").empty());
}

TEST(RulesStorage, lru_matters_only_for_the_cache_of_the_tier) {
  const review::Review pinned = review::edited_review(
      "av-vision",
      {{"storage[0].capacity", "100 TB"}, {"workloads[0].train.dataset.tier", "lake"}});
  EXPECT_TRUE(findings_by(pinned, "storage.lru-shuffled").empty()) << "it pins";
  const review::Review beside = review::edited_review(
      "av-vision", {{"storage[0].policy", "lru"}, {"storage[0].capacity", "100 TB"}});
  EXPECT_TRUE(findings_by(beside, "storage.lru-shuffled").empty()) << "the cache itself is read";
}

TEST(RulesStorage, lru_matters_from_the_second_epoch_on) {
  review::Review r =
      review::edited_review("av-vision", {{"storage[0].policy", "lru"},
                                          {"storage[0].capacity", "100 TB"},
                                          {"workloads[0].train.dataset.tier", "lake"}});
  r.used[r.trains[0].feed.tier->index] =
      terabytes(200);
  design::Train train = *r.trains[0].train;
  r.trains[0].train = &train;
  train.dataset.epochs = 1.5;
  EXPECT_EQ(findings_by(r, "storage.lru-shuffled").size(), 1U);
  train.dataset.epochs = 1;
  EXPECT_TRUE(findings_by(r, "storage.lru-shuffled").empty());
  train.dataset.epochs = 3;
  train.dataset.shuffle = false;
  EXPECT_TRUE(findings_by(r, "storage.lru-shuffled").empty());
}

TEST(RulesStorage, saves_that_drain_too_slowly) {
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
  expect_finding(r, only_finding(r, "storage.drain-interval"),
                 "workloads[0].train.checkpoint.every",
                 "workloads[0].train.checkpoint.every = auto");
  k.async = false;
  EXPECT_TRUE(findings_by(r, "storage.drain-interval").empty());
}

TEST(RulesStorage, saves_that_are_never_safe) {
  review::Review r = review::lab_review("superpod-h100");
  review::TrainView& t = r.trains[0];
  t.failure.mtbf = hours(5);
  t.checkpoint->drain.total = hours(5);
  EXPECT_TRUE(findings_by(r, "storage.never-safe").empty());
  t.checkpoint->drain.total = hours(6);
  t.checkpoint->drain.wall = storage::Wall::commit;
  expect_finding(r, only_finding(r, "storage.never-safe"), "workloads[0].train.checkpoint.to");
  // A save of 36 TB within a fiftieth of five hours: 360 s.
  t.checkpoint->drain.wall = storage::Wall::server_bandwidth;
  t.checkpoint->size = terabytes(36);
  const Finding f = only_finding(r, "storage.never-safe");
  EXPECT_EQ(edit_of(f), "storage[0].write = 100 GB/s");
  t.checkpoint->safe = nullptr;
  EXPECT_TRUE(findings_by(r, "storage.never-safe").empty());
}

// 50 GB/s that take 1.95 times as long as they may: 1.95 x 1.1 of it are 107.25.
TEST(RulesStorage, copies_that_pile_up) {
  review::Review r = review::lab_review("superpod-h100");
  ASSERT_EQ(r.trains[0].checkpoint->later.size(), 1U);
  jobs::LaterCopy& c = r.trains[0].checkpoint->later[0];
  c.every = hours(2);
  c.takes = hours(2);
  EXPECT_TRUE(findings_by(r, "storage.later-copies").empty());
  c.takes = hours(3.9);
  expect_finding(r, only_finding(r, "storage.later-copies"), "workloads[0].train.checkpoint.to",
                 "storage[1].write = 110 GB/s");
}

// 200,000 events per second of 1,500 bytes are 0.3 GB/s.
TEST(RulesStorage, events_faster_than_their_tier) {
  const auto writes = [](const char* rate) {
    return review::edited_review("recommender", {{"storage[0].write", rate}});
  };
  const review::Review r = writes("0.25 GB/s");
  const auto all = findings_by(r, "storage.features");
  ASSERT_GE(all.size(), 1U);
  EXPECT_THAT(numbers_in(all[0].what), testing::ElementsAre("300", "250"));
  EXPECT_EQ(edit_of(all[0]), "storage[0].write = 330 MB/s");
  EXPECT_TRUE(findings_by(writes("0.31 GB/s"), "storage.features").empty());
  review::Review none = r;
  none.trains[0].infeasible = "no";
  EXPECT_TRUE(findings_by(none, "storage.features").empty());
}

TEST(RulesStorage, model_older_than_promised) {
  review::Review r = review::lab_review("recommender");  // a day and the run, of 30 hours
  r.trains[0].run_time = hours(6);
  EXPECT_TRUE(findings_by(r, "storage.features").empty());
  r.trains[0].run_time = hours(8);
  expect_finding(r, only_finding(r, "storage.features"), "workloads[0].train.features.freshness");
}

// It waits up to a period for the next run, and for that run to end.
TEST(RulesStorage, freshness_includes_the_next_run) {
  design::Design d = design_text::read_design(design_text::find_template("recommender")->text,
                                              machine::known().catalog())
                         .value();
  const review::Review plain = review::run_stages(d, machine::known());
  auto& train = std::get<design::Train>(d.workloads[0].task);
  const Seconds age = train.repeat->every + plain.trains[0].run_time;
  ASSERT_GT(plain.trains[0].run_time, Seconds(60));
  for (const double share : {0.999, 1.001}) {
    train.features->freshness = age * share;
    const review::Review r = review::run_stages(d, machine::known(), &plain);
    EXPECT_EQ(finding_of(r, "storage.features").has_value(), share < 1) << share;
  }
}

TEST(RulesStorage, checkpoints_that_stay_on_the_nodes) {
  review::Review r = review::lab_review("superpod-h100");
  r.trains[0].checkpoint->safe = nullptr;
  r.trains[0].failure.mtbf = hours(7);
  const Finding one = only_finding(r, "storage.local-only");
  EXPECT_THAT(numbers_in(one.what), testing::ElementsAre("1"));
  EXPECT_TRUE(one.edit);
  review::Review two =
      review::edited_review("superpod-h100", {{"workloads[0].train.checkpoint.replicas", "2"}});
  two.trains[0].checkpoint->safe = nullptr;
  EXPECT_THAT(numbers_in(only_finding(two, "storage.local-only").what), testing::ElementsAre("2"));
  two.trains[0].checkpoint.reset();
  EXPECT_TRUE(findings_by(two, "storage.local-only").empty());
}

TEST(RulesStorage, long_run_without_checkpoints) {
  review::Review r =
      review::edited_review("superpod-h100", {{"workloads[0].train.checkpoint", ""}});
  review::TrainView& t = r.trains[0];
  t.units = t.raw_rate() * 3600;  // an hour of work
  t.failure.mtbf = hours(5.1);
  EXPECT_TRUE(findings_by(r, "storage.checkpoint-target").empty()) << "less than a fifth of it";
  t.failure.mtbf = hours(4.9);
  expect_finding(r, only_finding(r, "storage.checkpoint-target"), "workloads[0].train.checkpoint",
                 "workloads[0].train.checkpoint = { every: auto, to: [hot], keep: { hot: 3 } "
                 "}");
  t.infeasible = "no";
  EXPECT_TRUE(findings_by(r, "storage.checkpoint-target").empty());
  review::Review declared = review::lab_review("superpod-h100");
  EXPECT_TRUE(findings_by(declared, "storage.checkpoint-target").empty());
  declared.trains[0].checkpoint.reset();
}

TEST(RulesStorage, tier_on_drives_that_the_nodes_lack) {
  const review::Review r =
      review::edited_review("superpod-h100", {{"fleet[0].custom", "{ local_nvme: 0 TB }"}});
  expect_finding(r, only_finding(r, "storage.node-drives"), "workloads[0].train",
                 "fleet[0].custom.local_nvme = 30 TB");
  EXPECT_TRUE(findings_by(review::lab_review("superpod-h100"), "storage.node-drives").empty());
}

TEST(RulesStorage, missing_drives_for_data_or_saves) {
  const std::string bare = "{ name: f, node: dgx-h100, count: 2, custom: { local_nvme: 0 TB } }";
  const std::string other = ", { name: g, node: dgx-h100, count: 2 }";
  const std::string data = "dataset: { tier: node-nvme, samples: 1M, sample_size: 100 kB }";
  const auto edits = [](const review::Review& r) { return edits_by(r, "storage.node-drives"); };
  const std::vector<std::string> drives = {"fleet[0].custom.local_nvme = 30 TB"};
  // No node has any; then only those of another fleet.
  EXPECT_EQ(edits(on_drives(data, bare)), drives);
  EXPECT_EQ(edits(on_drives(data, bare + other)), drives);
  EXPECT_EQ(edits(on_drives("checkpoint: { to: [lake, node-nvme] }", bare + other)), drives);
  EXPECT_EQ(edits(on_drives(data + ", checkpoint: { to: [node-nvme, lake] }", bare)), drives)
      << "once a run";
  EXPECT_TRUE(edits(on_drives("checkpoint: { to: [lake] }", bare + other)).empty());
  EXPECT_TRUE(edits(on_drives(data, "{ name: f, node: dgx-h100, count: 2 }")).empty());
  const review::Review r = on_drives(data, bare);
  review::Review nowhere = r;
  nowhere.trains[0].fleet = nullptr;
  EXPECT_TRUE(edits(nowhere).empty());
}

TEST(RulesStorage, tier_too_small_for_what_it_keeps) {
  review::Review r = review::lab_review("superpod-h100");
  r.used[design::TierIndex(0)] = petabytes(2);
  EXPECT_TRUE(findings_by(r, "storage.capacity").empty());
  r.used[design::TierIndex(0)] = petabytes(2.5);
  expect_finding(r, only_finding(r, "storage.capacity"), "storage[0].capacity",
                 "storage[0].capacity = 2.8 PB");
}

TEST(RulesStorage, samples_in_files_of_their_own) {
  review::Review r =
      review::edited_review("av-vision", {{"workloads[0].train.dataset.format", "files"}});
  review::TrainView& t = r.trains[0];
  t.feed.loader.limit = storage::LoaderLimit::storage;
  t.feed.loader.utilisation = 0.625;
  t.feed.sample = kilobytes(150);
  expect_finding(r, only_finding(r, "storage.small-files"), "workloads[0].train.dataset.format",
                 "workloads[0].train.dataset.format = shards");
  t.feed.loader.limit = storage::LoaderLimit::decode;
  EXPECT_TRUE(findings_by(r, "storage.small-files").empty());
  review::Review shards = review::lab_review("av-vision");
  shards.trains[0].feed.loader.limit = storage::LoaderLimit::storage;
  EXPECT_TRUE(findings_by(shards, "storage.small-files").empty());
}

TEST(RulesStorage, accelerators_that_starve) {
  review::Review r = review::lab_review("medical-imaging");
  review::TrainView& t = r.trains[0];
  t.feed.loader.utilisation = 0.8;
  EXPECT_TRUE(findings_by(r, "storage.starving").empty());
  t.feed.loader.utilisation = 0.79;
  t.feed.loader.limit = storage::LoaderLimit::device_copy;
  t.feed.wanted = gbytes_per_s(44);
  expect_finding(r, only_finding(r, "storage.starving"), "workloads[0].train.dataset");
  t.feed.loader.limit = storage::LoaderLimit::decode;
  t.feed.known = false;
  EXPECT_TRUE(findings_by(r, "storage.starving").empty());
}

}  // namespace
}  // namespace orrery::rules
