// Sections of storage tiers, queues, batches and fleets.
#include <gtest/gtest.h>

#include <memory>

#include "model/machine/known_fixture.h"
#include "plan/review/lab_fixture.h"
#include "plan/rules/findings_fixture.h"
#include "plan/rules/rules.h"
#include "plan/verdict/section_fixture.h"
#include "plan/verdict/sections.h"

namespace orrery::verdict {
namespace {

TEST(SectionWork, queues_and_bookings) {
  review::Review r = review::lab_review("superpod-h100");
  review::JobsView& j = r.jobs[0];
  j.mean_size = 1.7142;
  j.largest = 8;
  j.queue.load = 0.5;
  j.queue.stable = true;
  j.queue.mean_wait = seconds(60);
  j.clean = review::CleanView{.held = seconds(100), .ratio = 0.8};
  r.ledger.fleets[design::FleetIndex(0)].bookings = {
      {.workload = &r.design().workloads[0], .nodes = 100, .needed = 90, .given = true},
      {.workload = &r.design().workloads[2], .nodes = 5, .needed = 4, .share = 0.5}};
  figures::Section s = section_named(cluster_sections(r), figures::Layer::cluster, "group");
  expect_figure(s, "load", 0.5, 0.45, 0.55);
  expect_figure(s, "mean_wait", 60, 30, 120);
  expect_figure(s, "clean_hold", 100, 70, 130);
  expect_figure(s, "clean_ratio", 0.8, 0.72, 0.88);
  EXPECT_EQ(s.limit, "");
  const figures::Section book =
      section_named(cluster_sections(r), figures::Layer::cluster, "train fleet");
  expect_figure(book, "booked", 105, 105, 105);
  EXPECT_EQ(figure_of_section(book, "booked").inputs[1].value,
            "5 nodes, 4 needed, 50 % of the time");
  expect_figure(book, "idle", 22, 22, 22);
  EXPECT_NEAR(figure_of_section(book, "use").estimate.value, 92 / 127.0, 1e-12);
  j.queue.stable = false;
  s = section_named(cluster_sections(r), figures::Layer::cluster, "group");
  EXPECT_NE(s.limit, "");
  EXPECT_FALSE(has_figure(s, "mean_wait"));
  r.ledger.fleets[design::FleetIndex(0)].bookings[0].nodes = 130;
  const figures::Section over =
      section_named(cluster_sections(r), figures::Layer::cluster, "train fleet");
  expect_figure(over, "over_booked", 8, 8, 8);
}

TEST(SectionWork, batch_duration_and_its_limit) {
  review::Review r = review::lab_review("fraud-cpu");
  review::BatchView& b = r.batches[0];
  b.at_once = 3072;
  b.compute = hours(2);
  b.read = hours(1);
  b.write = minutes(30);
  b.duration = hours(2);
  const auto section = [&] {
    return section_named(cluster_sections(r), figures::Layer::cluster, "retrain");
  };
  expect_figure(section(), "duration", 7200, 5760, 9360);
  EXPECT_NE(section().limit, "");
  b.on_cores = false;
  EXPECT_NE(section().limit, "");
  b.read = b.duration = hours(3);
  EXPECT_NE(section().limit, "");
  b.write = b.duration = hours(4);
  EXPECT_NE(section().limit, "");
  b.work.infeasible = "too large";
  EXPECT_TRUE(section().figures.empty());
}

// A copy of the machine whose tiers may be changed.
review::Review with_tiers(void (*change)(machine::Tiers&)) {
  review::Review r = review::lab_review("superpod-h100");
  auto m = std::make_shared<machine::Machine>(*r.machine);
  change(m->tiers);
  r.machine = m;
  return r;
}

TEST(SectionWork, tier_rates_latency_and_capacity) {
  review::Review r = with_tiers([](machine::Tiers& tiers) {
    machine::Tier& t = tiers[design::TierIndex(0)];
    t.read = gbytes_per_s(150);
    t.write = gbytes_per_s(70);
    t.rate_error = 0.15;
    t.read_limit = storage::RateLimit::devices;
    t.write_limit = storage::RateLimit::cores;
    t.rates_given = true;
    t.latency = {.media = microseconds(80),
                 .network = microseconds(6),
                 .service = microseconds(90),
                 .transfer = microseconds(3),
                 .host_copy = microseconds(1),
                 .total = microseconds(180)};
  });
  r.used[design::TierIndex(0)] = terabytes(500);
  figures::Section s = words_section(storage_sections(r), "hot tier");
  expect_words(s, "read", {150e9, 0.15, 0.15, Basis::given});
  expect_words(s, "write", {70e9, 0.15, 0.15, Basis::given});
  expect_words(s, "latency", {180e-6, 0.3, 1, Basis::assumed});
  expect_words(s, "capacity", {.value = 2e15, .basis = Basis::given});
  expect_words(s, "used", {5e14, 0.05, 0.05, Basis::derived});
  EXPECT_NE(s.limit, "");
  EXPECT_EQ(words_figure(s, "servers"), nullptr) << "the design counts them";
  // 384 drives at 135 USD per TB plus three tenths for their servers; 18 W and a half more.
  const std::string bought = "384 x tlc-gen4 for 2000 TB, as the design counts them, in 16 servers";
  const double usd = 135 * 7.68 * 1.3 * 384 / 2000;
  expect_words(s, "usd_per_tb", {usd, 1 / 3.0, 1 / 3.0, Basis::vendor});
  expect_words(s, "watts_per_tb", {27.0 * 384 / 2000, 0.25, 0.25, Basis::derived});
  r.used[design::TierIndex(0)] = Bytes();
  s = words_section(storage_sections(r), "hot tier");
  EXPECT_EQ(words_figure(s, "used"), nullptr);
  EXPECT_EQ(s.limit, "");
  const figures::Section local = words_section(storage_sections(r), "node-nvme tier");
  EXPECT_EQ(words_figure(local, "usd_per_tb"), nullptr);
  EXPECT_EQ(words_figure(local, "nines"), nullptr);
  EXPECT_EQ(words_figure(local, "read")->estimate.basis, Basis::vendor);
  EXPECT_EQ(words_figure(local, "capacity")->estimate.basis, Basis::vendor);
}

TEST(SectionWork, unknown_rates_are_left_out) {
  review::Review r = with_tiers([](machine::Tiers& tiers) {
    tiers[design::TierIndex(0)].read = BytesPerSecond();
    tiers[design::TierIndex(0)].write = BytesPerSecond();
    tiers[design::TierIndex(0)].capacity = Bytes();
    tiers[design::TierIndex(1)].measured = true;
  });
  r.used[design::TierIndex(0)] = terabytes(1);
  const figures::Section s = words_section(storage_sections(r), "hot tier");
  for (const char* id : {"read", "write", "capacity", "usd_per_tb", "watts_per_tb"}) {
    EXPECT_EQ(words_figure(s, id), nullptr) << id;
  }
  EXPECT_NE(words_figure(s, "used"), nullptr);
  EXPECT_EQ(s.limit, "");
  const figures::Section cold = words_section(storage_sections(r), "cold tier");
  EXPECT_EQ(words_figure(cold, "read")->estimate.basis, Basis::measured);
}

TEST(SectionWork, computed_servers_have_the_error_of_the_rates) {
  const auto tell = [](void (*change)(machine::TierNeed&)) {
    static void (*kept)(machine::TierNeed&);
    kept = change;
    const review::Review r = with_tiers([](machine::Tiers& tiers) {
      machine::Tier& t = tiers[design::TierIndex(0)];
      t.need = machine::TierNeed{};
      t.need->size.by_capacity = 41.456;
      t.need->size.by_read = 3.001;
      t.need->size.by_write = 0.005;
      t.need->size.by_requests = 0.0049;
      t.need->bound_by = "capacity: somebody";
      t.servers = 16;
      t.rate_error = 0.2;
      kept(*t.need);
    });
    return words_section(storage_sections(r), "hot tier");
  };
  const std::string formula =
      "max(capacity 41.5, read 3, write 0.005, requests 0) devices, 24 a server; capacity: "
      "somebody";
  expect_words(tell([](machine::TierNeed&) {}), "servers", {16, 0.2, 0.2, Basis::derived});
  expect_words(tell([](machine::TierNeed& n) { n.for_durability = true; }), "servers",
               {16, 0, 0, Basis::derived});
}

// 384 drives in 16 servers, which fail as often as the catalog says, and 2.5 times more or less.
TEST(SectionWork, durability_by_given_or_assumed_code) {
  const auto tell = [](void (*change)(design::StorageTier&)) {
    design::Design d = review::lab_design("superpod-h100");
    d.workloads.resize(1);
    change(d.storage[0]);
    return review::run_stages(std::move(d), machine::known());
  };
  const auto expect_nines = [](const review::Review& r, Basis basis) {
    const machine::Tier& t = r.tiers()[design::TierIndex(0)];
    const figures::Section s = words_section(storage_sections(r), "hot tier");
    const figures::Figure* f = words_figure(s, "nines");
    ASSERT_NE(f, nullptr);
    EXPECT_EQ(f->estimate.value, durability_of(t, r.catalog())->nines);
    EXPECT_EQ(f->estimate.low, durability_of(t, r.catalog(), 2.5)->nines);
    EXPECT_EQ(f->estimate.high, durability_of(t, r.catalog(), 0.4)->nines);
    EXPECT_EQ(f->estimate.basis, basis);
  };
  expect_nines(tell([](design::StorageTier&) {}), Basis::assumed);
  expect_nines(tell([](design::StorageTier& t) { t.usable = 0.7; }), Basis::assumed);
  expect_nines(tell([](design::StorageTier& t) {
                 t.protection = design::Protection{.data = 6, .parity = 3};
               }),
               Basis::derived);
  const review::Review given = tell([](design::StorageTier& t) {
    t.first_byte = milliseconds(2);
    t.capex = usd(50) / terabytes(1);
  });
  const figures::Section s = words_section(storage_sections(given), "hot tier");
  EXPECT_EQ(words_figure(s, "latency")->estimate.basis, Basis::given);
  EXPECT_NEAR(words_figure(s, "latency")->estimate.high,
              words_figure(s, "latency")->estimate.value * 1.3, 1e-9);
  EXPECT_EQ(words_figure(s, "usd_per_tb"), nullptr) << "the design has its price";
  EXPECT_NE(words_figure(s, "watts_per_tb"), nullptr);
}

// A rate is known to a quarter, and so are the servers for it; servers needed by the code are
// exact.
TEST(SectionWork, servers_are_as_uncertain_as_what_they_are_for) {
  review::Pod pod;
  pod.tier = "name: fast, tier: hot, kind: parallel-fs, device: tlc-gen4, read: 2000 GB/s";
  const review::Review rated = pod.review();
  ASSERT_TRUE(rated.machine->tiers[design::TierIndex(0)].need);
  EXPECT_FALSE(rated.machine->tiers[design::TierIndex(0)].need->for_durability);
  const Estimate some = figure_of(rated, figures::Layer::storage, "servers");
  EXPECT_NEAR(some.high / some.value - 1, rated.machine->tiers[design::TierIndex(0)].rate_error, 1e-9);
  EXPECT_NEAR(1 - some.low / some.value, rated.machine->tiers[design::TierIndex(0)].rate_error, 1e-9);
  pod.tier = "name: fast, tier: hot, kind: parallel-fs, device: tlc-gen4, capacity: 1 TB";
  const review::Review coded = pod.review();
  ASSERT_TRUE(coded.machine->tiers[design::TierIndex(0)].need->for_durability);
  const Estimate exact = figure_of(coded, figures::Layer::storage, "servers");
  EXPECT_EQ(exact.low, exact.high);
  EXPECT_EQ(exact.value, coded.machine->tiers[design::TierIndex(0)].servers);
}

// Four replicas of one accelerator of eight nodes: half a node is held of the eight.
TEST(SectionWork, fleet_figures_match_the_ledger) {
  const review::Review r = review::Pod{}.review();
  const machine::FleetBook& book = r.book_of(r.fleets()[design::FleetIndex(0)]);
  EXPECT_DOUBLE_EQ(figure_of(r, figures::Layer::cluster, "booked").value, 0.5);
  EXPECT_DOUBLE_EQ(figure_of(r, figures::Layer::cluster, "idle").value, 7.5);
  EXPECT_DOUBLE_EQ(figure_of(r, figures::Layer::cluster, "use").value, book.used() / 8);
  EXPECT_LE(book.used(), 0.5);
  EXPECT_GT(book.used(), 0);
}

}  // namespace
}  // namespace orrery::verdict
