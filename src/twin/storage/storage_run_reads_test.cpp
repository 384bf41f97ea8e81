// What feeds runs in a day of storage, what collectives meet on shared wires, and what this costs
// the runs; by hand.
#include <gtest/gtest.h>

#include "twin/storage/storage_day_fixture.h"

namespace orrery::twin_storage {
namespace {

TEST(StorageRunReads, steps_starve_by_the_bandwidth_their_wires_lack) {
  MadeDay day;
  day.add_run(3);
  jobs::FeedPlan& feed = day.add_feed(1, 60);  // 20 GB/s a host, on wires of 10
  const auto starved = [&] { return day.run().jobs[0].starved; };
  EXPECT_NEAR(starved(), 0.5, 1e-9);
  feed.hit_rate = 0.25;
  EXPECT_NEAR(starved(), 1 - 10 / 15.0, 1e-9) << "hits come from elsewhere";
  feed.loader.utilisation = 0.8;
  EXPECT_NEAR(starved(), 1 - 10 / 12.0, 1e-9);
  day.set_rates(1, 24, 6);
  EXPECT_NEAR(starved(), 1 - 8 / 12.0, 1e-9) << "the tier's 24 GB/s";
  feed.known = false;
  EXPECT_EQ(starved(), 0);
  feed.known = true;
  feed.wanted = BytesPerSecond(0);
  feed.cache = &day.m.tiers[design::TierIndex(0)];
  feed.data_set = gigabytes(80);
  feed.object = gigabytes(0.5);
  EXPECT_EQ(starved(), 0);
  EXPECT_EQ(day.run().jobs[0].hit_reads, 0u);
  EXPECT_TRUE(day.run().tiers.empty()) << "nothing is read";
  feed.cache = nullptr;
  feed.wanted = gbytes_per_s(600);
  feed.tier = &day.m.tiers[design::TierIndex(0)];
  EXPECT_EQ(starved(), 0) << "drives are not followed host by host";
  EXPECT_FALSE(day.run().jobs[0].saves);
}

// Each host's stream of 8 GB/s has half of its wires for the 4 s in which a peer's copy arrives.
TEST(StorageRunReads, peer_copies_use_the_wires_of_every_host) {
  MadeDay day;
  day.add_run(3);
  day.add_feed(1, 24);
  day.add_saves({"drives"}, 20);
  day.asks[0].checkpoint->replicas = 2;
  const StorageRun run = day.run();
  EXPECT_EQ(run.jobs[0].saves->saves, 4u);
  EXPECT_NEAR(run.jobs[0].saves->peer->base(), 1.5 + 2 + 2 + 4, 1e-6);
  EXPECT_NEAR(run.jobs[0].starved, 4 * 3 * 4 / (8 * 500.0), 1e-9);
}

// 20 objects of a half GB in each of two runs of the second: one host's cache of 6 of its 20 GB.
jobs::FeedPlan& add_cached(MadeDay& day) {
  day.add_run(4);
  jobs::FeedPlan& feed = day.add_feed(1, 20);
  feed.loader.utilisation = 0.8;  // 4 GB/s a host: an object every 125 ms
  feed.hit_rate = 0.3;
  feed.data_set = gigabytes(80);
  feed.object = gigabytes(0.5);
  feed.cache = &day.m.tiers[design::TierIndex(0)];
  day.m.tiers[design::TierIndex(0)].capacity = gigabytes(6);
  day.m.tiers[design::TierIndex(1)].first_byte = seconds(0.05);
  day.d->storage[0].policy = catalog::EvictionPolicy::pin;
  day.d->storage[2].policy = catalog::EvictionPolicy::pin;
  day.asks.back().dataset.shuffle = false;
  return feed;
}

const TierLoad* load_of(const StorageRun& run, const std::string& label) {
  for (const TierLoad& t : run.tiers) {
    if (t.label == label) return &t;
  }
  return nullptr;
}

TEST(StorageRunReads, a_host_reads_its_part_through_its_drives) {
  MadeDay day;
  add_cached(day);
  const StorageRun whole = day.run();
  EXPECT_EQ(whole.jobs[0].hit_reads, 80u) << "two warm epochs of 40 objects";
  EXPECT_NEAR(whole.jobs[0].hit_rate, 0.3, 1e-12) << "12 of 40";
  // Four epochs: 40 misses, then 28 in each.
  EXPECT_NEAR(load_of(whole, "hot")->use.read.base(), (40 + 3 * 28) * 0.5e9, 1);
  EXPECT_NEAR(load_of(whole, "drives")->use.read.base(), 3 * 12 * 0.5e9, 1);
  // Four objects and the stream share the wires: the first arrives after 50 and 250 ms. At 10 s the
  // steps have taken 78 and four more are requested: 68 misses and 14 hits.
  const StorageRun part = day.run({.span = seconds(10)});
  EXPECT_NEAR(load_of(part, "hot")->use.read.base(), 34e9, 1);
  EXPECT_NEAR(load_of(part, "drives")->use.read.base(), 7e9, 1);
}

TEST(StorageRunReads, a_shared_cache_is_divided_among_hosts) {
  MadeDay day;
  jobs::FeedPlan& feed = add_cached(day);
  feed.cache = &day.m.tiers[design::TierIndex(2)];
  day.m.tiers[design::TierIndex(2)].capacity = gigabytes(24);
  const StorageRun run = day.run();
  EXPECT_NEAR(run.jobs[0].hit_rate, 0.3, 1e-12) << "a fourth of 24 GB";
  EXPECT_NEAR(load_of(run, "hot")->use.read.base(), 160 * 0.5e9, 1);
  EXPECT_EQ(load_of(run, "drives"), nullptr);
  day.m.tiers[design::TierIndex(2)].capacity = gigabytes(1000);
  EXPECT_EQ(day.run().jobs[0].hit_rate, 1);
}

TEST(StorageRunReads, followed_reads_are_between_one_and_two_thousand) {
  MadeDay day;
  jobs::FeedPlan& feed = add_cached(day);
  feed.data_set = gigabytes(79);  // 39.5 objects
  EXPECT_EQ(day.run().jobs[0].hit_reads, 80u);
  feed.data_set = gigabytes(0.5);
  EXPECT_EQ(day.run().jobs[0].hit_reads, 2u) << "one at the least";
  feed.data_set = gigabytes(80);
  feed.object = megabytes(5);
  EXPECT_EQ(day.run().jobs[0].hit_reads, 4000u);
  EXPECT_NEAR(day.run().jobs[0].hit_rate, 0.3, 1e-12);
}

// In a fixed order the least recently used object is always the next: no hits. Shuffled, c + (1 -
// c) ln(1 - c) = 0.0503 of the reads are hits.
TEST(StorageRunReads, reading_order_follows_the_data_set) {
  MadeDay day;
  jobs::FeedPlan& feed = add_cached(day);
  feed.object = megabytes(5);
  day.d->storage[0].policy = catalog::EvictionPolicy::lru;
  EXPECT_EQ(day.run().jobs[0].hit_rate, 0);
  day.asks[0].dataset.shuffle = true;
  EXPECT_NEAR(day.run().jobs[0].hit_rate, 0.0503, 0.015);
}

// Streams of 20 GB/s leave a ring 30 of 50 on the same wires; during a burst of 30 it has 25.
struct SharedWires {
  SharedWires() {
    day.d->fabric.storage.converged = true;
    day.add_run(3);
    day.add_feed(1, 60);
    day.add_saves({"hot"}, 120).files = 6;
    day.set_rates(1, 100, 90);
    day.m.tiers[design::TierIndex(1)].creates = PerSecond(3);
    day.m.tiers[design::TierIndex(1)].first_byte = seconds(0.25);
  }
  JobStorage ring_with(const storage::WriteTime& drain) {
    day.trains[0].checkpoint->drain = drain;
    return day.run({.span = seconds(310)}).jobs[0];
  }
  MadeDay day;
};

// The burst writes for 4 s, from 2.25 s after its start. The ring starts after three tenths of the
// planned longest part of a drain.
TEST(StorageRunReads, a_burst_slows_a_ring_on_shared_wires) {
  SharedWires wires;
  const JobStorage early = wires.ring_with({.server = seconds(1), .metadata = seconds(2)});
  EXPECT_TRUE(early.is_converged);
  EXPECT_NEAR(early.ring_alone, 50 / 30.0, 1e-6);
  EXPECT_NEAR(early.all_reduce, 30 / 25.0, 1e-6) << "2.3 s";
  EXPECT_NEAR(early.starved, 0, 1e-9);
  const JobStorage late = wires.ring_with({.server = seconds(14),
                                           .network = seconds(2),
                                           .serialise = seconds(3),
                                           .metadata = seconds(2)});
  EXPECT_NEAR(late.all_reduce, 1.2, 1e-6) << "6.2 s";
  EXPECT_NEAR(wires.ring_with({.server = seconds(14), .metadata = seconds(2.06)}).all_reduce, 1,
              1e-6)
      << "6.26 s: it is over";
  EXPECT_NEAR(wires.ring_with({.server = seconds(7.4)}).all_reduce, 1, 1e-6) << "2.22 s";
  EXPECT_NEAR(wires.ring_with({.server = seconds(7.6)}).all_reduce, 1.2, 1e-6) << "2.28 s";
  EXPECT_NEAR(wires.ring_with({.network = seconds(7.6)}).all_reduce, 1.2, 1e-6);
  EXPECT_NEAR(wires.ring_with({.serialise = seconds(7.6)}).all_reduce, 1.2, 1e-6);
}

// Streams of 30 GB/s and a ring have 25 each on wires of 50: for 20 ms alone and 20 ms in a burst.
TEST(StorageRunReads, a_ring_slows_the_streams_of_every_host) {
  SharedWires wires;
  wires.day.trains[0].feed.wanted = gbytes_per_s(90);
  wires.day.set_rates(1, 100, 9);
  const JobStorage got = wires.ring_with({.server = seconds(20)});
  EXPECT_NEAR(got.ring_alone, 2, 1e-6);
  EXPECT_NEAR(got.all_reduce, 1, 1e-6);
  EXPECT_NEAR(got.starved, 2 * 5 * 0.02 / (30 * 310), 1e-9);
  EXPECT_GT(got.starved, 2e-5);
}

// One host writes 300 GB: when the others are done it has 40 GB/s as a client, or half of its wires
// while the ring runs, which ends with the slowest.
TEST(StorageRunReads, a_ring_ends_with_its_last_message) {
  SharedWires wires;
  wires.day.trains[0].checkpoint->load.busiest_node = gigabytes(300);
  wires.day.trains[0].checkpoint->load.heavy_nodes = 1;
  EXPECT_NEAR(wires.ring_with({.server = seconds(27.5)}).all_reduce, 1.2, 1e-6) << "8.25 s";
}

TEST(StorageRunReads, a_ring_without_bytes_has_no_slowdown) {
  SharedWires wires;
  wires.day.d->fabric.storage.converged = false;
  wires.day.m.networks[design::SiteIndex(0)].compute.port_rate = BytesPerSecond(0);
  const JobStorage got = wires.ring_with({.server = seconds(7.6)});
  EXPECT_EQ(got.all_reduce, 1);
  EXPECT_EQ(got.ring_alone, 1);
}

TEST(StorageRunReads, separate_wires_protect_rings_from_bursts) {
  SharedWires wires;
  wires.day.d->fabric.storage.converged = false;
  wires.day.m.networks[design::SiteIndex(0)].storage.port_rate = gbytes_per_s(50);
  const JobStorage got = wires.ring_with({.server = seconds(7.6)});
  EXPECT_FALSE(got.is_converged);
  EXPECT_NEAR(got.ring_alone, 1, 1e-6);
  EXPECT_NEAR(got.all_reduce, 1, 1e-6);
}

struct Laid {
  explicit Laid(bool async, bool converged = true) {
    job.checkpoint.emplace();
    job.checkpoint->async = async;
    job.checkpoint->stall.snapshot = seconds(2);
    job.step.exposed_network_share = 0.3;
    SaveTimes t{.saves = 3, .stall = seconds(7), .safe = seconds(31), .local = seconds(18)};
    run.jobs = {{.label = "a",
                 .saves = t,
                 .all_reduce = 1.5,
                 .ring_alone = 1.25,
                 .is_converged = converged}};
  }
  const jobs::SavePlan& lay() {
    lay_over({&job, 1}, run);
    return *job.checkpoint;
  }
  jobs::TrainJob job;
  StorageRun run;
};

TEST(StorageRunReads, costs_take_the_stalls_and_drains_found) {
  Laid async(true);
  const jobs::SavePlan& plan = async.lay();
  EXPECT_EQ(plan.stall.wait, seconds(5));
  EXPECT_EQ(plan.stall.total, seconds(7));
  EXPECT_EQ(plan.stall.stall_end, seconds(7));
  EXPECT_EQ(plan.stall.safe, seconds(31));
  EXPECT_EQ(plan.stall.snapshot, seconds(2));
  EXPECT_EQ(plan.drain.total, seconds(24));
  EXPECT_EQ(plan.write.total, seconds(11));
  EXPECT_NEAR(async.job.contended.feeding, 0.3 * 0.25, 1e-12);
  EXPECT_NEAR(async.job.contended.draining, 0.3 * (1.25 * 1.5 - 1), 1e-12);
  Laid sync(false);
  EXPECT_EQ(sync.lay().drain.total, seconds(31));
  EXPECT_EQ(sync.lay().write.total, seconds(18));
  Laid quick(true);
  quick.job.checkpoint->stall.snapshot = seconds(9);
  EXPECT_EQ(quick.lay().stall.wait, seconds(0));
}

TEST(StorageRunReads, runs_without_saves_keep_their_costs) {
  Laid apart(true, false);
  apart.job.contended = {.feeding = 0.5, .draining = 0.75};
  EXPECT_EQ(apart.lay().stall.total, seconds(7));
  EXPECT_EQ(apart.job.contended.feeding, 0.5);
  EXPECT_EQ(apart.job.contended.draining, 0.75);
  Laid none(true);
  none.run.jobs[0].saves.reset();
  EXPECT_EQ(none.lay().stall.total, seconds(0));
  EXPECT_EQ(none.job.contended.draining, 0);
  Laid unsaved(true);
  unsaved.job.checkpoint.reset();
  lay_over({&unsaved.job, 1}, unsaved.run);
  EXPECT_FALSE(unsaved.job.checkpoint);
  EXPECT_EQ(unsaved.job.contended.draining, 0);
}

}  // namespace
}  // namespace orrery::twin_storage
