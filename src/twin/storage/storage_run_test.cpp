// Saves of a day of storage, every time by hand.
#include <gtest/gtest.h>

#include "twin/storage/storage_day_fixture.h"

namespace orrery::twin_storage {
namespace {

constexpr double kNear = 1e-6;

// Three hosts, of which one has 30 GB and two have 12; 6 files; each host serialises 5 GB/s.
void add_unequal(MadeDay& day) {
  day.add_run(3);
  jobs::SavePlan& plan = day.add_saves({"drives", "hot", "cold"}, 12);
  plan.load.busiest_node = gigabytes(30);
  plan.load.heavy_nodes = 1;
  plan.load.busiest_rank = gigabytes(10);
  plan.write.serialise = seconds(4);  // 10 GB a rank, two ranks a host
  plan.files = 6;
  plan.later = {{.tier = &day.m.tiers[design::TierIndex(2)], .every = seconds(200)}};
  day.m.tiers[design::TierIndex(1)].creates = PerSecond(3);
  day.m.tiers[design::TierIndex(1)].first_byte = seconds(0.25);
  day.m.tiers[design::TierIndex(1)].stream_rate = gbytes_per_s(1);
  day.m.tiers[design::TierIndex(1)].client_streams = 4;
  day.m.tiers[design::TierIndex(2)].creates = PerSecond(12);
  day.m.tiers[design::TierIndex(2)].first_byte = seconds(0.75);
}

TEST(StorageRun, a_save_passes_its_stops_by_hand) {
  MadeDay day;
  add_unequal(day);
  const StorageRun run = day.run();
  EXPECT_EQ(run.span, seconds(500));
  EXPECT_GT(run.events, 0u);
  ASSERT_EQ(run.jobs.size(), 1u);
  EXPECT_EQ(run.jobs[0].label, "run 0");
  EXPECT_FALSE(run.jobs[0].is_converged);
  ASSERT_TRUE(run.jobs[0].saves);
  const SaveTimes& t = *run.jobs[0].saves;
  EXPECT_EQ(t.saves, 4u) << "at 100, 201.5, 303 and 404.5 s";
  EXPECT_NEAR(t.stall.base(), 1.5, kNear);
  EXPECT_NEAR(t.longest_stall.base(), 1.5, kNear);
  EXPECT_NEAR(t.local.base(), 1.5 + 30 / 5.0 + 2, kNear);
  // 2 s of requests and a first byte; 2 GB/s each for 6 s; then 18 GB at a client's 4 GB/s.
  EXPECT_NEAR(t.safe.base(), 9.5 + 2.25 + 6 + 4.5 + 2, kNear);
  EXPECT_NEAR(t.longest_safe.base(), 24.25, kNear);
  EXPECT_FALSE(t.peer);
  ASSERT_EQ(t.stops.size(), 3u);
  EXPECT_EQ(t.stops[0].tier, "drives");
  EXPECT_EQ(t.stops[1].tier, "hot");
  EXPECT_EQ(t.stops[2].tier, "cold");
  EXPECT_NEAR(t.stops[0].mean.base(), 9.5, kNear);
  EXPECT_NEAR(t.stops[1].mean.base(), 24.25, kNear);
  EXPECT_NEAR(t.stops[1].longest.base(), 24.25, kNear);
  // Requests and first bytes of both tiers, then 54 GB at 9 GB/s.
  EXPECT_NEAR(t.stops[2].mean.base(), 24.25 + 2.25 + 0.5 + 0.75 + 6 + 2, kNear);
  EXPECT_EQ(t.stops[0].saves, 4u);
  EXPECT_EQ(t.stops[1].saves, 4u);
  EXPECT_EQ(t.stops[2].saves, 2u) << "every other one";
  EXPECT_NEAR(t.restore.base(), 2.25 + 30 / 4.0, kNear) << "from the first that outlives hosts";
  EXPECT_EQ(run.jobs[0].all_reduce, 1);
  EXPECT_EQ(run.jobs[0].ring_alone, 1);
  EXPECT_EQ(run.jobs[0].starved, 0);
  EXPECT_EQ(run.jobs[0].hit_reads, 0u);
}

TEST(StorageRun, tier_load_is_a_share_of_the_span) {
  MadeDay day;
  add_unequal(day);
  const StorageRun run = day.run();
  ASSERT_EQ(run.tiers.size(), 3u) << "nothing was on the file server";
  const TierLoad& drives = run.tiers[0];
  EXPECT_EQ(drives.label, "drives");
  EXPECT_NEAR(drives.use.written.base(), 4 * 54e9, 1);
  EXPECT_NEAR(drives.read_share, 216 / (20.0 * 3 * 500), 1e-12) << "of all hosts' drives";
  EXPECT_NEAR(drives.write_share, 216 / (10.0 * 3 * 500), 1e-12);
  EXPECT_EQ(drives.use.requests, 0);
  const TierLoad& hot = run.tiers[1];
  EXPECT_NEAR(hot.use.read.base(), 108e9, 1);
  EXPECT_NEAR(hot.read_share, 108 / (40.0 * 500), 1e-12);
  EXPECT_NEAR(hot.write_share, 216 / (6.0 * 500), 1e-12);
  EXPECT_NEAR(hot.use.requests, 4 * 6 + 2 * 6, 1e-9);
  EXPECT_NEAR(hot.use.waited.base(), 4 * 3 * (2 - 2 / 3.0), 1e-6);
  EXPECT_NEAR(hot.use.longest_wait.base(), 2 - 2 / 3.0, 1e-6);
  EXPECT_EQ(hot.use.transfers, 14u);
  EXPECT_EQ(hot.use.most_at_once, 3);
  const TierLoad& cold = run.tiers[2];
  EXPECT_NEAR(cold.write_share, 108 / (9.0 * 500), 1e-12);
  EXPECT_EQ(cold.read_share, 0);
  EXPECT_EQ(cold.use.transfers, 2u);
  EXPECT_EQ(cold.use.most_at_once, 1);
}

// 80 GB at 8 GB/s every 5 s of steps: the second is written in parallel with the first from 12 s
// on, the third waits until 22 s for a buffer.
TEST(StorageRun, overlapping_saves_have_a_mean_and_a_longest) {
  MadeDay day;
  day.add_run(1);
  jobs::SavePlan& plan = day.add_saves({"hot"}, 80);
  plan.interval = seconds(5);
  plan.stall.snapshot = plan.stall.total = seconds(1);
  day.set_rates(1, 40, 8);
  const StorageRun run = day.run({.span = seconds(27)});
  EXPECT_EQ(run.span, seconds(27));
  ASSERT_TRUE(run.jobs[0].saves);
  const SaveTimes& t = *run.jobs[0].saves;
  EXPECT_EQ(t.saves, 3u);
  // They begin at 5, 11 and 17 s; steps continue at 6, 12 and 23; safe at 22, 31 and 38.
  EXPECT_NEAR(t.stall.base(), (1 + 1 + 6) / 3.0, kNear);
  EXPECT_NEAR(t.longest_stall.base(), 6, kNear);
  EXPECT_NEAR(t.safe.base(), (17 + 20 + 21) / 3.0, kNear);
  EXPECT_NEAR(t.longest_safe.base(), 21, kNear);
  EXPECT_NEAR(t.local.base(), 58 / 3.0, kNear);
  EXPECT_NEAR(t.stops[0].mean.base(), 58 / 3.0, kNear);
  EXPECT_NEAR(t.stops[0].longest.base(), 21, kNear);
  EXPECT_NEAR(t.restore.base(), 8, kNear) << "80 GB on wires of 10";
  EXPECT_EQ(run.jobs[0].all_reduce, 1) << "one host has no ring";
  EXPECT_EQ(run.jobs[0].ring_alone, 1);
}

TEST(StorageRun, a_synchronous_save_stalls_until_it_is_written) {
  MadeDay day;
  day.add_run(2);
  jobs::SavePlan& plan = day.add_saves({"hot"}, 12);
  plan.async = false;
  const StorageRun run = day.run({.span = seconds(320)});
  const SaveTimes& t = run.jobs[0].saves.value();
  EXPECT_EQ(t.saves, 3u) << "at 100, 206 and 312 s";
  EXPECT_NEAR(t.stall.base(), 24 / 6.0 + 2, kNear);
  EXPECT_EQ(t.safe, t.stall);
  EXPECT_EQ(t.local, t.stall);
}

TEST(StorageRun, the_next_host_holds_a_peer_copy) {
  MadeDay day;
  day.add_run(3);
  day.add_saves({"drives", "hot"}, 12);
  day.asks[0].checkpoint->replicas = 2;
  day.m.tiers[design::TierIndex(1)].first_byte = seconds(5);
  const SaveTimes t = day.run().jobs[0].saves.value();
  EXPECT_NEAR(t.local.base(), 1.5 + 1.2 + 2, kNear);
  ASSERT_TRUE(t.peer);
  EXPECT_NEAR(t.peer->base(), 4.7 + 1.2, kNear) << "12 GB on wires and drives of 10";
  EXPECT_NEAR(t.safe.base(), 4.7 + 5 + 6 + 2, kNear);
  day.asks[0].checkpoint->replicas.reset();
  EXPECT_FALSE(day.run().jobs[0].saves->peer);
}

TEST(StorageRun, the_span_shrinks_to_the_transfer_limit) {
  MadeDay day;
  day.add_run(3);
  day.add_saves({"drives", "hot"}, 1);  // 6 transfers in 100 s
  const auto span = [&](const StorageOptions& options) { return day.run(options).span.base(); };
  EXPECT_NEAR(span({.span = seconds(500), .transfers_most = 28}), 28 / 0.06, 1e-9);
  EXPECT_NEAR(span({.span = seconds(430), .transfers_most = 30}), 430, 1e-9);
  day.horizon = seconds(420);
  EXPECT_NEAR(span({.span = seconds(430), .transfers_most = 30}), 420, 1e-9);
  EXPECT_NEAR(span({.span = seconds(430), .transfers_most = 1}), 3 * 101.5, 1e-9)
      << "three saves at the least";
  day.horizon = days(2);
  day.add_run(5);
  day.add_saves({"hot"}, 1).interval = seconds(50);  // 0.1 more per second
  day.trains[1].checkpoint->stall.total = seconds(3);
  EXPECT_NEAR(span({.span = seconds(500), .transfers_most = 64}), 400, 1e-9);
  EXPECT_NEAR(span({.span = seconds(500), .transfers_most = 1}), 304.5, 1e-9) << "the longer";
  day.trains[0].infeasible = "too large";
  EXPECT_NEAR(span({.span = seconds(500), .transfers_most = 45}), 450, 1e-9);
  EXPECT_NEAR(span({.span = seconds(500), .transfers_most = 1}), 159, 1e-9);
  day.trains[1].checkpoint->interval = Seconds(0);
  EXPECT_NEAR(span({.span = seconds(70), .transfers_most = 1}), 70, 1e-9) << "no saves";
}

// Ten unknown places count as stops; nothing is moved to them.
TEST(StorageRun, a_day_is_limited_to_a_quarter_of_a_million_transfers) {
  MadeDay day;
  day.add_run(100);
  day.add_saves({"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"}, 1).interval = seconds(1);
  const StorageRun run = day.run({});
  EXPECT_NEAR(run.span.base(), 250, 1e-9);
  EXPECT_FALSE(run.jobs[0].saves);
  EXPECT_TRUE(run.tiers.empty());
  day.trains[0].checkpoint.reset();
  EXPECT_EQ(day.run({}).span, days(1));
}

TEST(StorageRun, runs_save_in_different_phases) {
  MadeDay day;
  for (int j = 0; j < 2; ++j) {
    day.add_run(1);
    day.add_saves({"drives"}, 1);
  }
  const double phase = RandomStream(7, "storage/phase/1").uniform();
  ASSERT_LT(phase, 0.9);
  const StorageRun run =
      day.run({.span = seconds(100 * phase + 4 * 101.5 + 1), .transfers_most = 1e9, .seed = 7});
  EXPECT_EQ(run.jobs[1].saves->saves, 5u);
  EXPECT_EQ(run.jobs[0].saves->saves, 4u) << "the first begins after a whole interval";
}

// Each host has its own drives, also if runs save at the same time.
TEST(StorageRun, runs_have_hosts_of_their_own) {
  MadeDay day;
  for (int j = 0; j < 3; ++j) {
    day.add_run(2 + j);
    day.add_saves({"drives"}, 1000).interval = seconds(20);
    day.trains.back().checkpoint->async = false;
  }
  day.trains[1].infeasible = "no room";
  const StorageRun run = day.run({.span = seconds(600)});
  ASSERT_EQ(run.jobs.size(), 3u);
  EXPECT_NEAR(run.jobs[0].saves->stall.base(), 102, kNear);
  EXPECT_FALSE(run.jobs[1].saves);
  EXPECT_EQ(run.jobs[1].label, "run 1");
  EXPECT_NEAR(run.jobs[2].saves->stall.base(), 102, kNear);
  // The drives of six hosts; none of the infeasible run's.
  EXPECT_NEAR(run.tiers[0].write_share, run.tiers[0].use.written.base() / (10e9 * 6 * 600), 1e-12);
}

TEST(StorageRun, a_line_between_sites_is_shared_by_the_hosts) {
  MadeDay day;
  day.d->storage[1].site = "there";
  day.d->fabric.wan = {{.between = {"here", "there"}, .rate = gbytes_per_s(3)}};
  day.add_run(3);
  day.add_saves({"hot"}, 12);
  EXPECT_NEAR(day.run().jobs[0].saves->safe.base(), 1.5 + 12 + 2, kNear) << "1 GB/s each";
  EXPECT_NEAR(day.run().jobs[0].saves->restore.base(), 12, kNear);
  day.asks[0].checkpoint->to = {"drives", "hot"};
  day.d->fabric.wan.clear();
  const SaveTimes t = day.run().jobs[0].saves.value();
  EXPECT_EQ(t.stops.size(), 1u) << "no line leads there";
  EXPECT_EQ(t.safe, t.local);
  EXPECT_NEAR(t.restore.base(), 12 / 20.0, kNear) << "from the hosts' own drives";
}

TEST(StorageRun, a_file_server_keeps_each_file_on_one_head) {
  MadeDay day;
  day.add_run(1);
  day.add_saves({"files"}, 8);
  EXPECT_NEAR(day.run().jobs[0].saves->safe.base(), 1.5 + 8 + 2, kNear) << "1 of 4 GB/s";
  day.d->storage[3].kind = design::TierKind::object;
  EXPECT_NEAR(day.run().jobs[0].saves->safe.base(), 1.5 + 2 + 2, kNear) << "on all four";
  day.d->storage[3].kind = design::TierKind::nfs;
  day.m.tiers[design::TierIndex(3)].servers = 0;
  EXPECT_NEAR(day.run().jobs[0].saves->safe.base(), 1.5 + 2 + 2, kNear) << "one at the least";
}

TEST(StorageRun, an_unknown_rate_does_not_limit) {
  MadeDay day;
  day.add_run(1);
  day.add_saves({"hot"}, 12);
  day.set_rates(1, 0, 0);
  EXPECT_NEAR(day.run().jobs[0].saves->safe.base(), 1.5 + 1.2 + 2, kNear) << "the wires";
  EXPECT_EQ(day.run().tiers[0].write_share, 0);
  day.m.networks[design::SiteIndex(0)].storage.port_rate = BytesPerSecond(0);
  EXPECT_NEAR(day.run().jobs[0].saves->safe.base(), 1.5 + 0.3 + 2, kNear) << "two streams of 20";
}

TEST(StorageRun, tapes_are_fetched_before_they_are_read) {
  MadeDay day;
  catalog::StorageDevice tape;
  tape.read_latency = seconds(90);
  day.m.tiers[design::TierIndex(2)].device = &tape;
  day.add_run(1);
  day.add_saves({"cold"}, 9);
  const SaveTimes t = day.run().jobs[0].saves.value();
  EXPECT_NEAR(t.safe.base(), 1.5 + 1 + 2, kNear);
  EXPECT_NEAR(t.restore.base(), 90 + 0.9, kNear);
}

// The third save of 304.5 s waits; two share the tier, and the first is done after twice its time
// alone.
TEST(StorageRun, a_save_that_takes_longer_than_three_spans_is_dropped) {
  MadeDay day;
  day.add_run(1);
  day.add_saves({"hot"}, 450);
  day.set_rates(1, 40, 1);
  const StorageRun ended = day.run({.span = seconds(1)});
  EXPECT_NEAR(ended.span.base(), 304.5, 1e-9);
  EXPECT_EQ(ended.jobs[0].saves->saves, 1u);
  EXPECT_NEAR(ended.jobs[0].saves->safe.base(), 900 + 2 - 100, kNear);
  day.trains[0].checkpoint->load.busiest_node = gigabytes(470);
  EXPECT_FALSE(day.run({.span = seconds(1)}).jobs[0].saves) << "942 s after 913.5";
}

TEST(StorageRun, the_number_of_hosts_followed_singly_is_limited) {
  MadeDay day;
  day.add_run(65'536);
  EXPECT_EQ(day.run().span, seconds(500));
  EXPECT_EQ(day.run().jobs[0].label, "run 0");
  day.trains[0].hosts = 65'537;
  const StorageRun none = day.run();
  EXPECT_EQ(none.span, Seconds(0));
  ASSERT_EQ(none.jobs.size(), 1u);
  EXPECT_EQ(none.jobs[0].label, "");
}

}  // namespace
}  // namespace orrery::twin_storage
