// Edits at their edges: tiers and runs that are passed over, racks that fit to the last bit, other
// services that are no concern of this one.
#include <gtest/gtest.h>

#include "plan/review/lab_fixture.h"
#include "plan/review/serve_sizing.h"
#include "plan/rules/edits.h"
#include "plan/rules/findings_fixture.h"

namespace orrery::rules {
namespace {

// 3.9 PB on a tier of two, three of which are saves of 10 TB.
review::Review hoarding_run(const std::vector<design_text::Change>& changes) {
  review::Review r = review::edited_review("superpod-h100", changes);
  jobs::SavePlan& k = *r.trains.at(0).checkpoint;
  k.size = terabytes(10);
  k.kept_on_safe = petabytes(3);
  r.used[design::TierIndex(0)] = petabytes(3.9);
  return r;
}

TEST(CapacityEdits, OnlyOfRunsThatKeepAllTheySave) {
  const auto edit = [](const review::Review& r) {
    return edit_of(edit_capacity(r, r.tiers()[design::TierIndex(0)]));
  };
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

TEST(CapacityEdits, OfATierWithANameOfItsOwn) {
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
  EXPECT_EQ(edit("Fast One", ""), "storage[0].capacity = 4.3 PB") << "that no path can name";
  EXPECT_EQ(edit("fast", ", keep: { fast: 2 }"), "storage[0].capacity = 4.3 PB");
}

// Drives that came with the nodes are bought with them; those that are named have a capacity.
TEST(CapacityEdits, OfDrivesInTheNodes) {
  review::Review r = review::lab_review("superpod-h100");
  ASSERT_TRUE(r.tiers()[design::TierIndex(2)].implied);
  r.used[design::TierIndex(2)] = terabytes(40);
  const std::string edit = edit_of(edit_capacity(r, r.tiers()[design::TierIndex(2)]));
  EXPECT_EQ(edit, "fleet[0].custom.local_nvme = 44 TB");
  review::Review named = review::hand_review(
      "site: { region: usa }\nfleet: [{ name: f, node: dgx-h100, count: 2 }]\nstorage: [{ name: "
      "drives, tier: node-nvme, kind: local-nvme }]\n");
  named.used[design::TierIndex(0)] = terabytes(40);
  EXPECT_EQ(edit_of(edit_capacity(named, named.tiers()[design::TierIndex(0)])),
            "storage[0].capacity = 44 TB");
}

TEST(SafeEdits, OfATierWhoseRateIsGiven) {
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

TEST(SaveTargetEdits, PassOverTiersThatTakeNoSaves) {
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

TEST(FeedEdits, BehindACacheAndOnDrivesOfTheNodesTheChoiceIsTheAuthors) {
  review::Review r =
      review::edited_review("av-vision", {{"workloads[0].train.dataset.tier", "lake"}});
  review::TrainView& t = r.trains.at(0);
  t.feed.loader.limit = storage::LoaderLimit::storage;
  EXPECT_EQ(edit_of(edit_feed(r, t)), "none") << "'hot' stands before it";
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

// A site that allows more than its cooling reaches wants other cooling; one that allows less, fewer
// nodes: as many as fit to the last bit.
TEST(RackEdits, CoolingOrFewerNodes) {
  const auto edit = [](Watts rack, Watts power) {
    design::Design d = review::lab_design("superpod-h100");
    d.sites[0].rack = rack;
    review::Review r = review::run_stages(std::move(d), machine::known());
    r.sites[0].fleets[0].rack.power = power;
    return edit_of(edit_rack(r, r.sites[0], r.sites[0].fleets[0]));
  };
  EXPECT_EQ(edit(kilowatts(100), kilowatts(80)), "site.cooling = immersion-1p");
  EXPECT_EQ(edit(kilowatts(80), kilowatts(80)), "site.cooling = immersion-1p") << "just allowed";
  EXPECT_EQ(edit(kilowatts(79), kilowatts(80)), "fleet[0].nodes_per_rack = 6") << "70 / 10.2";
  EXPECT_EQ(edit(kilowatts(40.8), kilowatts(51)), "fleet[0].nodes_per_rack = 4") << "40.8 / 10.2";
  EXPECT_EQ(edit(kilowatts(40.7), kilowatts(51)), "fleet[0].nodes_per_rack = 3");
}

TEST(BookTolerance, AFractionOfRoundingIsNoNode) {
  review::Review r = review::lab_review("superpod-h100");
  machine::FleetBook& book = r.ledger.fleets[design::FleetIndex(0)];
  book.bookings[2].nodes = 6 + 1e-10;
  EXPECT_EQ(edit_of(edit_asked(r, r.fleets()[design::FleetIndex(0)])), "fleet[0].count = 128");
  r.sites[0].draw_peak = megawatts(2);
  EXPECT_EQ(edit_of(edit_asked(r, r.fleets()[design::FleetIndex(0)])),
            "workloads[0].train.nodes = 119")
      << "119 but for a tenth of a billionth";
  const design::Workload& jobs = r.design().workloads[2];
  book.bookings[1].nodes = 2 + 1e-10;
  EXPECT_EQ(edit_of(edit_nodes(r, jobs, r.fleets()[design::FleetIndex(0)], 5)),
            "workloads[2].jobs.nodes = 5");
}

// A second service on the same fleet: whatever it lacks is said of it and not of the first.
TEST(OtherServices, AreNoConcernOfThisOne) {
  review::Review r = review::lab_review("inference-pod");
  r.serves.push_back(r.serves[0]);
  design::Serve second = *r.serves[0].serve;
  r.serves[1].serve = &second;
  review::ServeView& v = r.serves[0];
  v.replicas_needed = 20;
  v.devices_there = 80;
  r.serves[1].replicas_needed = 500;
  r.serves[1].devices_there = 1;
  EXPECT_EQ(edit_of(edit_service(r, v)), "workloads[0].serve.replicas = 20");
  v.replicas_needed = 12;
  v.devices_there = 63;
  EXPECT_EQ(edit_of(edit_service(r, v)), "workloads[0].serve.replicas = 15");
  v.replicas = 16;
  v.devices_there = 80;
  r.serves[1].dark_missed = 0.9;
  EXPECT_EQ(edit_of(edit_availability(r, v)), "workloads[0].serve.replicas = 16");
  r.serves[1].dark_missed = 0;
  r.serves[1].replicas = 900;
  EXPECT_EQ(edit_of(edit_availability(r, v)), "workloads[0].serve.replicas = 16");
  EXPECT_EQ(edit_of(edit_availability(r, r.serves[1])).find("fleet[0].count = "), 0U);
}

// A Poisson mean of 400 is above 446 for 0.0110 and above 447 for 0.0097 of the time.
TEST(SpareEdits, OfAVeryLargeFleet) {
  review::Review r = review::lab_review("superpod-h100");
  review::TrainView& t = r.trains[0];
  t.failure.mean_in_repair = 400;
  t.failure.spares = 0;
  EXPECT_EQ(edit_of(edit_spares(t)), "fleet[0].spares = 447");
  t.failure.mean_in_repair = 0.2;  // above 1 for 0.0175 and above 2 for 0.0011
  EXPECT_EQ(edit_of(edit_spares(t)), "fleet[0].spares = 2");
}

TEST(StorageNetwork, KeepsWhatTheDesignSaysOfIt) {
  design::Networks fabric = review::lab_design("av-vision").fabric;
  fabric.storage = {.converged = true};
  fabric.storage.switch_part = "sn4600c";
  const design::Network own = separate_storage(fabric);
  EXPECT_EQ(own.switch_part, "sn4600c");
  EXPECT_EQ(own.protocol, design::Network{}.protocol) << "of other switches";
  EXPECT_FALSE(own.roce == fabric.compute.roce);
  EXPECT_EQ(own.routing, fabric.compute.routing);
  EXPECT_EQ(own.topology, design::NamedTopology::fat_tree);
}

}  // namespace
}  // namespace orrery::rules
