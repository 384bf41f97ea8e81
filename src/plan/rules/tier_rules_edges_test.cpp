// Rules of tiers at their edges: latency by its longest part, guidance of every architecture,
// drives that nodes lack, caches in the nodes, tiers whose rates nobody gives.
#include <gtest/gtest.h>

#include <memory>

#include "core/base/units.h"
#include "plan/review/lab_fixture.h"
#include "plan/rules/edits.h"
#include "plan/rules/findings_fixture.h"

namespace orrery::rules {
namespace {

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

// 1.6 ms of a hot tier that is to stay under one.
TEST(TierLatencyRule, SaysWhichPartItIs) {
  using enum storage::AccessPart;
  const review::Review r = with_tier(review::lab_review("superpod-h100"), 0,
                                     [](machine::Tier& t) { t.latency = slow_by(media); });
  const std::string what =
      "Tier 'hot' answers a small read in 1.6 ms; a hot tier is to stay under 1 ms.";
  expect_said(r, only_finding(r, "storage.latency-target"),
              {.path = "storage[0].tier",
               .what = what,
               .why = "6.25 % of it is the media.",
               .fix = "Build it of faster media, or call it the tier that it is."});
  const auto said = [](void (*change)(machine::Tier&)) {
    const review::Review changed = with_tier(review::lab_review("superpod-h100"), 0, change);
    const Finding f = only_finding(changed, "storage.latency-target");
    return f.why + " " + f.fix;
  };
  const std::string shorten = " Shorten that part, or call it the tier that it is.";
  EXPECT_EQ(said([](machine::Tier& t) { t.latency = slow_by(network); }),
            "12.5 % of it is the network." + shorten);
  EXPECT_EQ(said([](machine::Tier& t) { t.latency = slow_by(service); }),
            show(300.0 / 1600, figures::Unit::ratio) + " of it is the service." + shorten);
  EXPECT_EQ(said([](machine::Tier& t) { t.latency = slow_by(transfer); }),
            "25 % of it is the transfer." + shorten);
  EXPECT_EQ(said([](machine::Tier& t) { t.latency = slow_by(host_copy); }),
            "37.5 % of it is the host's copy." + shorten);
}

TEST(TierLatencyRule, AGatewayIsTheServiceOfAnObjectStore) {
  using enum storage::AccessPart;
  const std::string before =
      "Put a file system or a cache on the nodes before it for small reads, or call it the tier "
      "that it is.";
  const auto fix = [](void (*change)(machine::Tier&)) {
    const review::Review r = with_tier(review::lab_review("inference-pod"), 0, change);
    EXPECT_EQ(r.tiers()[design::TierIndex(0)].tier->kind, design::TierKind::object);
    return only_finding(r, "storage.latency-target").fix;
  };
  EXPECT_EQ(fix([](machine::Tier& t) { t.latency = slow_by(service); }), before);
  EXPECT_EQ(fix([](machine::Tier& t) { t.latency = slow_by(network); }),
            "Shorten that part, or call it the tier that it is.");
}

TEST(TierLatencyRule, AtItsTargetAndOfDrivesThatComeWithTheNodes) {
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

// 1,016 accelerators are 3.96875 units of 256: 15 GB/s of reads and 7 of writes each are 59.53125
// and 27.78125, of which 0.98 pass: 58.34 and 27.23.
TEST(GuidanceRule, AtLeastWhatAUnitAsksFor) {
  const auto with = [](const char* read, const char* write) {
    return review::edited_review("superpod-h100",
                                 {{"storage[0].read", read}, {"storage[0].write", write}});
  };
  const review::Review r = with("58.3 GB/s", "27.2 GB/s");
  const auto all = findings_by(r, "storage.unit-guidance");
  ASSERT_EQ(all.size(), 2U);
  const std::string why =
      "Below the lowest published level, loading and checkpoints are likely to idle the "
      "accelerators.";
  expect_said(r, all[0],
              {.path = "storage[0].read",
               .what = "Tier 'hot' reads 58.3 GB/s; SuperPOD H100 guidance for 1016 accelerators "
                       "is 59.5 GB/s at least.",
               .why = why,
               .fix = "Raise read to 60 GB/s.",
               .edit = "storage[0].read = 60 GB/s"});
  expect_said(r, all[1],
              {.path = "storage[0].write",
               .what = "Tier 'hot' writes 27.2 GB/s; SuperPOD H100 guidance for 1016 accelerators "
                       "is 27.8 GB/s at least.",
               .why = why,
               .fix = "Raise write to 28 GB/s.",
               .edit = "storage[0].write = 28 GB/s"});
  EXPECT_TRUE(findings_by(with("58.4 GB/s", "27.3 GB/s"), "storage.unit-guidance").empty());
}

// 576 are one unit of GB200's: 40 and 20 GB/s of the middle level; no lower one is published.
TEST(GuidanceRule, OfRacksOfSeventyTwo) {
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

TEST(GuidanceRule, IsOfNodesThatAreBoughtBySixteenAtLeast) {
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

TEST(GuidanceRule, TheNoteOnGb200StandsAtTheTierOrElseAtTheFleet) {
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

TEST(NodeDrivesRule, OfDataAndOfSaves) {
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
  EXPECT_EQ(only_finding(r, "storage.node-drives").what,
            "'t' counts on tier 'node-nvme', and the nodes of fleet 'f' have no drives.");
  review::Review nowhere = r;
  nowhere.trains[0].fleet = nullptr;
  EXPECT_TRUE(edits(nowhere).empty());
}

// A cache in the nodes holds what all of them hold: 2 x 30 of 80 TB.
TEST(LruRule, ACacheInTheNodesCountsAllHostsOfTheRun) {
  review::Review r = on_drives(
      "dataset: { tier: lake, samples: 400M, sample_size: 200 kB, epochs: 3, shuffle: true }",
      "{ name: f, node: dgx-h100, count: 2 }",
      ", { name: near, tier: node-nvme, kind: local-nvme, device: tlc-gen4, devices_per_server: 8, "
      "read: 40 GB/s, write: 20 GB/s, capacity: 30 TB, caches: lake, policy: lru }");
  ASSERT_TRUE(r.tiers()[design::TierIndex(1)].per_node);
  ASSERT_EQ(r.trains.at(0).hosts, 2);
  r.used[design::TierIndex(0)] = terabytes(80);
  const Finding f = only_finding(r, "storage.lru-shuffled");
  EXPECT_NE(f.what.find("pinning would give 75 %."), std::string::npos) << f.what;
  EXPECT_EQ(f.what.find("Tier 'near' evicts by LRU under shuffled epochs of 't': "), 0U) << f.what;
  EXPECT_EQ(f.place.line, place_of(r.design(), "storage[1].policy").line);
  r.used[design::TierIndex(0)] = terabytes(60);
  EXPECT_TRUE(findings_by(r, "storage.lru-shuffled").empty());
}

TEST(LruRule, OfTheTierThatIsReadAlone) {
  const review::Review pinned = review::edited_review(
      "av-vision",
      {{"storage[0].capacity", "100 TB"}, {"workloads[0].train.dataset.tier", "lake"}});
  EXPECT_TRUE(findings_by(pinned, "storage.lru-shuffled").empty()) << "it pins";
  const review::Review beside = review::edited_review(
      "av-vision", {{"storage[0].policy", "lru"}, {"storage[0].capacity", "100 TB"}});
  EXPECT_TRUE(findings_by(beside, "storage.lru-shuffled").empty()) << "the cache itself is read";
}

}  // namespace
}  // namespace orrery::rules
