// Sections of accelerators, tiers, networks, stages and batches from views set by hand: figures,
// intervals, formulas, and what is left out.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>

#include "core/base/units.h"
#include "plan/review/lab_fixture.h"
#include "plan/rules/findings_fixture.h"
#include "plan/verdict/sections.h"

namespace orrery::verdict {
namespace {

const figures::Section& words_section(const std::vector<figures::Section>& all,
                                      std::string_view name) {
  for (const figures::Section& s : all) {
    if (s.name == name) return s;
  }
  ADD_FAILURE() << "no section " << name;
  static const figures::Section none;
  return none;
}

const figures::Figure* words_figure(const figures::Section& s, std::string_view id) {
  for (const figures::Figure& f : s.figures) {
    if (f.id() == id) return &f;
  }
  return nullptr;
}

struct Words {
  double value = 0, below = 0, above = 0;
  Basis basis = Basis::derived;
  std::string formula = {};
};

void expect_words(const figures::Section& s, std::string_view id, const Words& w) {
  const figures::Figure* f = words_figure(s, id);
  ASSERT_NE(f, nullptr) << id << " of " << s.name;
  const double slack = 1e-9 * std::fabs(w.value) + 1e-12;
  EXPECT_NEAR(f->estimate.value, w.value, slack) << id;
  EXPECT_NEAR(f->estimate.low, w.value * (1 - w.below), slack) << id;
  EXPECT_NEAR(f->estimate.high, w.value * (1 + w.above), slack) << id;
  EXPECT_EQ(f->estimate.basis, w.basis) << id;
  EXPECT_EQ(f->formula, w.formula) << id;
}

TEST(ComputeSection, WhatOneCanDoAndDraws) {
  review::Review r = review::lab_review("superpod-h100");
  review::TrainView& t = r.trains[0];
  t.step.device_power = watts(600);
  const auto section = [&] { return words_section(compute_sections(r), "train"); };
  figures::Section s = section();
  EXPECT_EQ(s.summary, "1,016 x H100 SXM5 80GB, 8 a host");
  expect_words(s, "peak", {.value = 989.4e12, .basis = Basis::vendor});
  expect_words(s, "device_memory", {.value = 80e9, .basis = Basis::vendor});
  expect_words(s, "memory_rate", {.value = 3.35e12, .basis = Basis::vendor});
  expect_words(s, "power_limit", {.value = 700, .basis = Basis::vendor});
  EXPECT_EQ(words_figure(s, "power_limit")->label(), "power limit of one accelerator");
  expect_words(s, "draw_pretrain",
               {600, 0.06, 0.06, Basis::fitted, "85.7 % of its limit of 700 W"});
  EXPECT_EQ(words_figure(s, "draw_pretrain")->label(),
            "mean draw of one accelerator in a step of pretrain");
  EXPECT_EQ(s.limit, "");
  t.step.device_power = watts(679);  // 0.97 of it
  EXPECT_EQ(section().limit, "power, in the step of pretrain");
  t.step.device_power = watts(678.9);
  EXPECT_EQ(section().limit, "");
  t.step.device_power = Watts();
  EXPECT_EQ(words_figure(section(), "draw_pretrain"), nullptr);
  t.step.device_power = watts(600);
  t.infeasible = "no";
  EXPECT_EQ(words_figure(section(), "draw_pretrain"), nullptr);
  EXPECT_TRUE(compute_sections(review::lab_review("fraud-cpu")).empty()) << "it has none";
}

TEST(ComputeSection, ACapIsTheLimitWhereItIsLower) {
  const auto limit = [](double cap) {
    design::Design d = review::lab_design("inference-pod");
    d.fleet[0].power_cap = watts(cap);
    const figures::Section s =
        words_section(compute_sections(review::run_stages(std::move(d), machine::known())), "pod");
    EXPECT_EQ(words_figure(s, "power_limit")->note, "capped");
    return words_figure(s, "power_limit")->estimate.value;
  };
  EXPECT_EQ(limit(500), 500);
  EXPECT_EQ(limit(900), 700) << "an H200 draws no more";
}

// A copy of the machine whose tiers may be set.
review::Review with_tiers(void (*change)(machine::Tiers&)) {
  review::Review r = review::lab_review("superpod-h100");
  auto m = std::make_shared<machine::Machine>(*r.machine);
  change(m->tiers);
  r.machine = m;
  return r;
}

TEST(TierSection, RatesLatencyAndRoom) {
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
  EXPECT_EQ(s.summary, "");
  expect_words(s, "read", {150e9, 0.15, 0.15, Basis::given, ""});
  expect_words(s, "write", {70e9, 0.15, 0.15, Basis::given, "held by the servers' cores"});
  expect_words(s, "latency",
               {180e-6, 0.3, 1, Basis::assumed,
                "media 80 us + network 6 us + service 90 us + transfer 3 us + host's copy 1 us; "
                "target 1 ms"});
  expect_words(s, "capacity", {.value = 2e15, .basis = Basis::given});
  expect_words(s, "used", {5e14, 0.05, 0.05, Basis::derived, ""});
  EXPECT_EQ(s.limit, "25 % full");
  EXPECT_EQ(words_figure(s, "servers"), nullptr) << "the design counts them";
  // 384 drives at 135 USD a TB and three tenths for their servers; 18 W and a half.
  const std::string bought = "384 x tlc-gen4 for 2000 TB, as the design counts them, in 16 servers";
  const double usd = 135 * 7.68 * 1.3 * 384 / 2000;
  expect_words(s, "usd_per_tb", {usd, 1 / 3.0, 1 / 3.0, Basis::vendor, bought});
  expect_words(s, "watts_per_tb", {27.0 * 384 / 2000, 0.25, 0.25, Basis::derived, bought});
  r.used[design::TierIndex(0)] = Bytes();
  s = words_section(storage_sections(r), "hot tier");
  EXPECT_EQ(words_figure(s, "used"), nullptr);
  EXPECT_EQ(s.limit, "");
  const figures::Section local = words_section(storage_sections(r), "node-nvme tier");
  EXPECT_EQ(local.summary, "of one host");
  EXPECT_EQ(words_figure(local, "usd_per_tb"), nullptr);
  EXPECT_EQ(words_figure(local, "nines"), nullptr);
  EXPECT_EQ(words_figure(local, "read")->estimate.basis, Basis::vendor);
  EXPECT_EQ(words_figure(local, "capacity")->estimate.basis, Basis::vendor);
}

TEST(TierSection, WhereNothingIsKnownNothingIsSaid) {
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
  EXPECT_EQ(words_figure(cold, "usd_per_tb")->formula,
            "48 x obj-hdd-node for 20000 TB, as the design counts them")
      << "a device that is a server";
}

TEST(TierSection, ServersThatAreComputed) {
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
  expect_words(tell([](machine::TierNeed&) {}), "servers", {16, 0.2, 0.2, Basis::derived, formula});
  expect_words(tell([](machine::TierNeed& n) { n.for_durability = true; }), "servers",
               {16, 0, 0, Basis::derived, formula});
}

// 384 drives in 16 servers, which fail as often as the catalog says, and 2.5 times more or less.
TEST(TierSection, NinesByTheCodeThatIsSaidOrTaken) {
  const auto tell = [](void (*change)(design::StorageTier&)) {
    design::Design d = review::lab_design("superpod-h100");
    d.workloads.resize(1);
    change(d.storage[0]);
    return review::run_stages(std::move(d), machine::known());
  };
  const auto expect_nines = [](const review::Review& r, Basis basis, const std::string& formula) {
    const machine::Tier& t = r.tiers()[design::TierIndex(0)];
    const figures::Section s = words_section(storage_sections(r), "hot tier");
    const figures::Figure* f = words_figure(s, "nines");
    ASSERT_NE(f, nullptr);
    EXPECT_EQ(f->estimate.value, durability_of(t, r.catalog())->nines);
    EXPECT_EQ(f->estimate.low, durability_of(t, r.catalog(), 2.5)->nines);
    EXPECT_EQ(f->estimate.high, durability_of(t, r.catalog(), 0.4)->nines);
    EXPECT_EQ(f->estimate.basis, basis);
    EXPECT_EQ(f->formula, formula);
  };
  expect_nines(tell([](design::StorageTier&) {}), Basis::assumed,
               "8 + 2, assumed, over 16 servers");
  expect_nines(tell([](design::StorageTier& t) { t.usable = 0.7; }), Basis::assumed,
               "8 + 2, assumed, over 16 servers");
  expect_nines(tell([](design::StorageTier& t) {
                 t.protection = design::Protection{.data = 6, .parity = 3};
               }),
               Basis::derived, "6 + 3 over 16 servers");
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

// Four units of 32 nodes: a leaf a rail, 1,016 ports and 32 uplinks of each leaf.
TEST(NetworkSection, CountsRatesAndMoney) {
  const review::Review& r = review::lab_review("superpod-h100");
  const auto all = fabric_sections(r);
  const figures::Section s = words_section(all, "compute network");
  EXPECT_EQ(s.summary, "rail-fat-tree, 2 tiers, 1,016 endpoints at 50 GB/s, QM9700/QM9790");
  EXPECT_EQ(s.limit, "the node's own ports: the fabric does not block");
  expect_words(s, "leaf_switches", {.value = 32});
  expect_words(s, "spine_switches", {.value = 16});
  EXPECT_EQ(words_figure(s, "core_switches"), nullptr);
  expect_words(s, "cables",
               {.value = 2040, .formula = "1,016 to nodes + 1,024 leaf-spine + 0 spine-core"});
  expect_words(s, "per_node",
               {.value = 400e9, .basis = Basis::vendor, .formula = "8 ports x 50 GB/s"});
  expect_words(s, "bisection",
               {.value = 25.4e12, .formula = "100 % of what half the endpoints can send"});
  expect_words(s, "worst_link",
               {1, 0, 0.1, Basis::derived, "adaptive routing spreads what hashing would pile up"});
  const machine::Networks& here = r.networks();
  const catalog::PriceRange price = here.compute.bill.price();
  EXPECT_EQ(words_figure(s, "price")->estimate.low, price.low.base());
  EXPECT_EQ(words_figure(s, "price")->estimate.high, price.high.base());
  EXPECT_EQ(words_figure(s, "price")->estimate.value, (price.low + price.high).base() / 2);
  expect_words(s, "power", {here.compute.bill.power().base(), 0.15, 0.15, Basis::vendor, ""});
  EXPECT_EQ(words_figure(s, "all_reduce_1gib")->note, "1,016 of them");
  EXPECT_EQ(words_figure(s, "all_reduce_1gib")->formula.find("sharp; bus bandwidth "), 0U);
  // 262 endpoints on eleven leaves with six uplinks each.
  const figures::Section slow = words_section(all, "management network");
  EXPECT_EQ(slow.limit, "the leaf uplinks, 25.2 % of full bisection");
  EXPECT_EQ(words_figure(slow, "all_reduce_1gib"), nullptr);
  expect_words(slow, "worst_link",
               {1 + std::sqrt(2 * std::log(66)), 0.05, 0.25, Basis::derived,
                "1 + sqrt(2 ln 66 / 1), ecmp routing"});
  EXPECT_EQ(words_figure(slow, "per_node")->formula, "1 ports x 125 MB/s");
}

TEST(NetworkSection, OfManySitesAreToldApartAndLinesAreRented) {
  const review::Review& r = review::lab_review("chatbot-zones");
  const auto all = fabric_sections(r);
  const figures::Section& east = words_section(all, "compute network of us-east");
  EXPECT_EQ(words_figure(east, "per_node")->estimate.basis, Basis::vendor);
  const figures::Section& stored = words_section(all, "storage network of us-east");
  EXPECT_EQ(words_figure(stored, "per_node")->estimate.basis, Basis::given);
  EXPECT_EQ(words_figure(stored, "per_node")->estimate.reference, "the design");
  const figures::Section& line = words_section(all, "line us-east - europe");
  expect_words(line, "wan_rate", {.value = 1.25e9, .basis = Basis::given});
  expect_words(line, "wan_latency", {.value = 0.09, .basis = Basis::given});
  expect_words(line, "wan_price", {.value = 180e3, .basis = Basis::given});
  // 70.55 billion weights of a byte, and some of two.
  const figures::Figure* f = words_figure(line, "weights_across");
  ASSERT_NE(f, nullptr);
  EXPECT_EQ(f->note, "chatbot in us-east");
  EXPECT_NEAR(f->estimate.value, 72.6e9 / 1.25e9 + 0.09, 2);
  EXPECT_EQ(f->estimate.low, f->estimate.value);
  EXPECT_NEAR(f->estimate.high, 1.5 * f->estimate.value, 1e-9);
  EXPECT_EQ(f->formula, brief(Bytes((f->estimate.value - 0.09) * 1.25e9)) + " / 1.25 GB/s + 90 ms");
  EXPECT_EQ(line.limit, "the line itself: other traffic on it is not known");
}

}  // namespace
}  // namespace orrery::verdict
