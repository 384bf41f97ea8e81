// Formulas of sections from numbers that are not round: to how many digits each is told.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>

#include "core/base/text.h"
#include "core/base/units.h"
#include "layers/failure/causes.h"
#include "model/design_text/read_design.h"
#include "model/jobs/retrieval.h"
#include "plan/review/lab_fixture.h"
#include "plan/rules/findings_fixture.h"
#include "plan/verdict/sections.h"

namespace orrery::verdict {
namespace {

const figures::Section& digits_section(const std::vector<figures::Section>& all,
                                       figures::Layer layer, std::string_view name) {
  for (const figures::Section& s : all) {
    if (s.layer == layer && s.name == name) return s;
  }
  ADD_FAILURE() << "no section " << name;
  static const figures::Section none;
  return none;
}

std::string formula_in(const figures::Section& s, std::string_view id) {
  for (const figures::Figure& f : s.figures) {
    if (f.id() == id) return f.formula;
  }
  return "no figure " + std::string(id);
}

std::string label_in(const figures::Section& s, std::string_view id) {
  for (const figures::Figure& f : s.figures) {
    if (f.id() == id) return f.title();
  }
  return "no figure " + std::string(id);
}

review::Review uneven_run() {
  review::Review r = review::lab_review("superpod-h100");
  review::TrainView& t = r.trains[0];
  t.accelerators = 960;
  t.hosts = 120;
  t.step.step = seconds(2.34567);
  t.step.units_per_step = 7234567;
  t.step.parts = {{"kernels", seconds(1.23456)}, {"waiting", seconds(1.11111)}};
  t.step.memory = gigabytes(61.2345);
  t.step.memory_limit = gigabytes(76.5432);
  t.goodput = 0.912345;
  t.units = 2.3456789e12;
  t.units_per_s = 2813769.1;
  t.run_time = days(9.8765);
  return r;
}

TEST(SectionDigits, OfAStepAndARun) {
  const review::Review r = uneven_run();
  const figures::Section s =
      digits_section(training_sections(r), figures::Layer::training, "pretrain");
  EXPECT_EQ(s.figures.at(0).inputs.at(0).value, "1.23 s (52.6 %)");
  EXPECT_EQ(s.limit, "kernels, 52.6 % of the step");
  EXPECT_EQ(formula_in(s, "memory"), "61.2 GB of 76.5 GB");
  // 7234567 / 2.34567 / 960 = 3212.73.
  EXPECT_EQ(formula_in(s, "rate_per_accelerator"), "7.235M tokens / 2.35 s / 960 accelerators");
  EXPECT_EQ(formula_in(s, "useful_rate"), "3213 x 960 x goodput 91.23 %");
  EXPECT_EQ(formula_in(s, "run_time"), "2.346T tokens / 2.814M a second at goodput");
  EXPECT_EQ(formula_in(s, "accelerator_hours"), "960 accelerators x 9.88 d");
  EXPECT_EQ(label_in(s, "useful_rate"), "tokens/s that last");
}

TEST(SectionDigits, OfASave) {
  review::Review r = uneven_run();
  jobs::SavePlan& k = *r.trains[0].checkpoint;
  r.trains[0].parameters = 7.123456789e9;
  k.size = gigabytes(98.7654321);
  k.files = 1234567.8;
  k.async = true;
  const auto section = [&] {
    return digits_section(training_sections(r), figures::Layer::storage, "pretrain checkpoint");
  };
  EXPECT_EQ(section().summary, "1234570 files of 960 ranks, asynchronous");
  // 98.7654321 / 7.123456789 = 13.8648.
  EXPECT_EQ(formula_in(section(), "checkpoint_size"), "7.1235B parameters x 13.86 B");
  EXPECT_EQ(label_in(section(), "stall"), "stall of a save, asynchronous");
  k.async = false;
  EXPECT_EQ(label_in(section(), "stall"), "stall of a save, synchronous");
  EXPECT_EQ(section().summary, "1234570 files of 960 ranks, synchronous");
}

TEST(SectionDigits, OfFailures) {
  review::Review r = uneven_run();
  review::TrainView& t = r.trains[0];
  jobs::FailurePlan& f = t.failure;
  f.mtbf = days(9.8765) / 12.3456;
  f.attempts = 1.23456;
  f.node_rate = PerSecond(0.00461234 / 86400);
  f.shared_rate = PerSecond(0.212345 / 86400);
  f.shortfall = 0.0123456;
  f.slow = 1.023456;
  t.contention = 0.0345678;
  t.efficiency = 0.954321;
  t.feed.known = true;
  t.feed.loader.utilisation = 0.9876543;
  t.shares.saving = 0.0123456;
  const figures::Section s =
      digits_section(training_sections(r), figures::Layer::failure, "pretrain");
  EXPECT_EQ(formula_in(s, "mtbf"),
            "1 / (120 hosts x 4.61 failures per 1000 host-days + 212 of switches and power units "
            "per 1000 days)");
  EXPECT_NE(formula_in(s, "restart").find(" x 1.23 attempts + hands "), std::string::npos);
  EXPECT_EQ(formula_in(s, "goodput"),
            "fed 98.77 % x uncontended 96.54 % x saving and failing 95.43 % x enough nodes 98.77 % "
            "/ slow nodes 1.023");
  for (const figures::Figure& figure : s.figures) {
    if (figure.id() != "interruptions") continue;
    ASSERT_EQ(figure.inputs.size(), std::size(failure::kFaultGroupWords));
    for (std::size_t i = 0; i < figure.inputs.size(); ++i) {
      const double share = share_of(r.models().fault_causes, failure::kFaultGroupWords[i].value);
      EXPECT_EQ(figure.inputs[i].value, significant(12.3456 * share, 3));
    }
  }
  EXPECT_EQ(s.limit, "storage traffic on compute, 3.46 % of the time");
}

TEST(SectionDigits, OfAService) {
  review::Review r = review::lab_review("inference-pod");
  review::ServeView& v = r.serves[0];
  v.replicas = 15.2345;
  v.devices_there = 123456.78;
  v.devices = 61.2345;
  v.output_tokens_per_s = 5432.1;
  v.peak = PerSecond(151.234);
  v.capacity_per_replica = PerSecond(12.3456);
  r.cost.accelerators = 100;
  r.cost.annual = usd(1.2345 * 876000);
  const auto section = [&] {
    return digits_section(serving_sections(r), figures::Layer::serving, "chat");
  };
  EXPECT_EQ(formula_in(section(), "accelerators"), "15.23 replicas x 4, of 123457 there");
  EXPECT_EQ(formula_in(section(), "usd_per_mtoken"),
            "61.23 accelerators x 1.23 USD/h / 5432 tokens/s");
  EXPECT_EQ(formula_in(section(), "replicas_needed"), "151 a second at peak / (12.3 x 0.8)");
  const catalog::MigProfile third;
  v.slice = machine::FleetSlice{.profile = &third, .each = 3};
  EXPECT_EQ(formula_in(section(), "accelerators"), "15.23 replicas, 3 on each, of 123457 there");
  v.slice.reset();
  design::Serve follows = *v.serve;
  v.serve = &follows;
  follows.autoscale = design::Autoscale{.min = 3, .max = 17, .target = 12.3456};
  follows.request_size = megabytes(1.23456);
  follows.arrivals.rate = PerSecond(75);
  follows.arrivals.cache_hits = 0.2;
  follows.arrivals.peak = 2;
  EXPECT_EQ(formula_in(section(), "replicas_mean"),
            "hour by hour, 12.3 requests in flight each, 3 to 17; were they there at once: what "
            "starting takes, only a run sees. All 15.23 are paid for");
  // 151.234 and 75 x 0.2 x 2 that a cache answers.
  EXPECT_EQ(formula_in(section(), "inbound"), "1.23 MB x 181 /s");
  EXPECT_EQ(formula_in(section(), "load_time"),
            "72.7 GB / 23.6 GB/s: alone on the tier and one host's ports, 5.9 GB/s an accelerator "
            "at the most");
}

TEST(SectionDigits, OfAgentsTalksAndIndexes) {
  const auto served = [](const std::string& more) {
    const auto d = design_text::read_design(
        "orrery: 1\nname: a\nsite: { region: usa }\nfleet: [{ name: f, node: dgx-h100, count: 8 "
        "}]\nstorage: [{ name: fast, tier: hot, kind: parallel-fs, servers: 4, device: tlc-gen4, "
        "devices_per_server: 8, read: 40 GB/s, capacity: 200 TB }]\nworkloads:\n  - serve: { name: "
        "s, model: llama-3-8b, tp: 1, replicas: 4, " +
            more + " }\n",
        machine::known().catalog());
    EXPECT_TRUE(d) << (d ? "" : to_text(d.error()));
    return review::run_stages(*d, machine::known());
  };
  const auto words = [](const review::Review& r) {
    return digits_section(serving_sections(r), figures::Layer::serving, "s");
  };
  const std::string lengths = "rate: 8 /s, input_tokens: 800, output_tokens: 100";
  const review::Review agent =
      served("arrivals: { " + lengths + ", agent: { calls: 4, tool_time: 5 s } }");
  const review::ServeView& a = agent.serves.at(0);
  EXPECT_EQ(formula_in(words(agent), "task_time"),
            "4 calls of " + brief(a.answer) + ", tools of 5 s between them");
  EXPECT_EQ(formula_in(words(agent), "cache_found"),
            "4 calls, " + significant(a.request.input, 4) +
                " tokens in a mean one with all before it; tools of 5 s while blocks give way to "
                "others, router least-requests");
  const review::Review talk = served("arrivals: { " + lengths + ", turns: 3, think_time: 20 s }");
  EXPECT_EQ(formula_in(words(talk), "cache_found"),
            "3 turns, " + significant(talk.serves[0].request.input, 4) +
                " tokens in a mean one with all before it; thoughts of 20 s while blocks give way "
                "to others, router least-requests");
  EXPECT_EQ(formula_in(words(talk), "task_time"), "no figure task_time");
  for (const int hops : {1, 4}) {
    const review::Review looks = served(
        "arrivals: { " + lengths + " }, retrieval: { tier: fast, index: 2 TB, reads: 40, hops: " +
        std::to_string(hops) + " }");
    const auto ask =
        jobs::retrieval_of(*looks.machine, *looks.serves[0].serve, *looks.serves[0].fleet);
    ASSERT_TRUE(ask);
    EXPECT_EQ(formula_in(words(looks), "retrieval"),
              std::string(hops == 1 ? "1 hop, the slowest of 40" : "4 hops, the slowest of 10") +
                  " reads each, " + brief(ask->law.median) + " the median of one at " +
                  show(ask->load(), figures::Unit::ratio) + " of what the tier gives");
    EXPECT_EQ(formula_in(words(looks), "retrieval_p99"), "p99 of one read " + brief(ask->law.p99));
    EXPECT_EQ(formula_in(words(looks), "retrieval_reads"),
              "the tier gives " + significant(ask->gives.base(), 3) + " a second, by its " +
                  (ask->by_rate ? "rate" : "drives"));
    EXPECT_EQ(label_in(words(looks), "retrieval"), "until the index is read, mean, fast");
  }
}

TEST(SectionDigits, OfMoneyInNodes) {
  review::Review r = review::lab_review("fraud-cpu");
  review::CostView& c = r.cost;
  c.annual = usd(1234567);
  c.accelerators = 24;
  c.use = 0.512345;
  c.utilisation = 0.912345;
  c.goodput = 0.987654;
  c.per_useful_hour = usd_per_hour(3);
  c.in_nodes = true;
  c.runs = {{.label = "nightly", .accelerator_hours = 1234.4, .amount = usd(99)}};
  const auto section = [&] { return cost_sections(r).at(0); };
  EXPECT_EQ(label_in(section(), "useful_hour"), "cost of a useful hour, of a node");
  EXPECT_EQ(formula_in(section(), "useful_hour"),
            "1.23 MUSD/y / (24 nodes x 8760 h x needed 51.2 % x in use 91.2 % x goodput 98.77 %)");
  EXPECT_EQ(formula_in(section(), "run_cost_nightly"), "1,234 accelerator-hours");
  c.in_nodes = false;
  EXPECT_EQ(label_in(section(), "useful_hour"), "cost of a useful hour, of an accelerator");
  EXPECT_NE(formula_in(section(), "useful_hour").find("(24 accelerators x"), std::string::npos);
  c.per_useful_hour = UsdPerSecond();
  EXPECT_EQ(label_in(section(), "useful_hour"), "no figure useful_hour");
}

// A NIC may pause a network that pauses; InfiniBand does not.
TEST(SectionDigits, PausesAreOfRoceAlone) {
  design::Design d = review::lab_design("superpod-h100");
  d.workloads.clear();
  d.fleet[0].failures.storm_mtbf = years(500);
  const review::Review r = review::run_stages(std::move(d), machine::known());
  EXPECT_EQ(label_in(digits_section(fabric_sections(r), figures::Layer::fabric, "compute network"),
                     "storm_time"),
            "no figure storm_time");
  design::Design pod = review::lab_design("inference-pod");
  pod.workloads.clear();
  pod.fleet[0].failures.storm_mtbf = years(500);
  const review::Review roce = review::run_stages(std::move(pod), machine::known());
  const auto all = fabric_sections(roce);
  EXPECT_EQ(label_in(digits_section(all, figures::Layer::fabric, "compute network"), "storm_time"),
            "how long a NIC that pauses for good stops the others");
  EXPECT_EQ(label_in(digits_section(all, figures::Layer::fabric, "storage network"), "storm_time"),
            "no figure storm_time");
}

TEST(SectionDigits, ServersOfATierThatAreComputed) {
  review::Review r = review::lab_review("superpod-h100");
  auto m = std::make_shared<machine::Machine>(*r.machine);
  m->tiers[design::TierIndex(0)].need = machine::TierNeed{};
  m->tiers[design::TierIndex(0)].servers = 12345.6;
  r.machine = m;
  EXPECT_EQ(formula_in(digits_section(storage_sections(r), figures::Layer::storage, "hot tier"),
                       "watts_per_tb"),
            "384 x tlc-gen4 for 2000 TB, as the design counts them, in 12350 servers");
}

TEST(ViewDefaults, AreThoseOfNothingKnown) {
  const review::ServeView v;
  EXPECT_EQ(v.replicas_needed + v.replicas + v.replicas_mean + v.devices + v.devices_there, 0);
  EXPECT_EQ(v.output_tokens_per_s + v.replica.memory.kv_tokens + v.dark + v.dark_missed, 0);
  EXPECT_EQ(v.zone, 0U);
  EXPECT_EQ(v.basis, Basis::derived);
  const review::FailoverTo to;
  EXPECT_EQ(to.replicas_needed + to.replicas + to.load, 0);
  EXPECT_EQ(to.zone, 0U);
  EXPECT_EQ(review::FailoverView{}.spilled, 0);
  const review::CostView c;
  EXPECT_EQ(c.accelerators + c.break_even + c.break_even_low + c.break_even_high, 0);
  EXPECT_EQ(c.break_even_earliest, 0);
  EXPECT_EQ(c.goodput + c.use + c.price_low + c.price_high, 4);
  EXPECT_EQ(c.utilisation, 0.9);
  EXPECT_FALSE(c.in_nodes);
  EXPECT_EQ(review::RunCost{}.accelerator_hours, 0);
  const review::TrainView t;
  EXPECT_EQ(t.contention + t.goodput + t.goodput_low + t.goodput_high + t.units_per_s, 0);
  EXPECT_EQ(t.efficiency, 1);
  EXPECT_EQ(review::FleetPower{}.racks, 0);
  EXPECT_EQ(review::SiteView{}.racks, 0);
  EXPECT_EQ(review::SiteView{}.budget_fleet.value(), 0U);
}

}  // namespace
}  // namespace orrery::verdict
