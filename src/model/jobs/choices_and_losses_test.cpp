// Ways to serve, each worked out beside the search; and what failures take of a run: parts that
// take many hosts, hosts in repair, spares that others leave.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "core/base/probability.h"
#include "core/workload/model_math.h"
#include "layers/failure/causes.h"
#include "layers/failure/rates.h"
#include "layers/failure/spares.h"
#include "layers/failure/straggler.h"
#include "model/design_text/read_design.h"
#include "model/jobs/build_machine.h"
#include "model/jobs/serving_choices.h"
#include "model/jobs/train_job.h"
#include "model/machine/known_fixture.h"
#include "model/machine/machine.h"

namespace orrery::jobs {
namespace {

using testing::IsEmpty;

ServingAsk ask_apart(double input, double output) {
  return {.model = *machine::known().catalog().model("llama-3-8b"),
          .accelerator = machine::known().catalog().accelerator("h100-sxm"),
          .request = {.input = input, .output = output},
          .engines = {"vllm"},
          .formats = {catalog::Dtype::bf16},
          .tp = 1,
          .joined = false};
}

// The same replica, asked step by step.
struct OneReplica {
  ServingQuery query;
  serving::Replica replica;
  machine::Costs device;

  explicit OneReplica(const ServingAsk& ask)
      : query{.model = ask.model,
              .accelerator = ask.accelerator,
              .engine = "vllm",
              .split = {.tp = ask.tp, .ep = 1},
              .precision = {.products = catalog::Dtype::bf16,
                            .experts = catalog::Dtype::bf16,
                            .kv = catalog::Dtype::bf16},
              .request = ask.request},
        replica(replica_of(machine::known(), query).value()),
        device(serving_costs(machine::known(), query)) {}
  double step(const serving::Iteration& i) const {
    return serving::step_time(replica, i, serving_source(device)).total.base();
  }
  double around() const { return (replica.engine.first_token + replica.tuning.first_token).base(); }
};

// A prompt of 20,000 tokens, a quarter of them cached, in chunks of the budget; a queue that is
// kept so far from its limit that the 99th percentile of the first token is in time:
//   ttft - fixed = ln 100 waits prompts,  load = 2 waits / (1 + 2 waits), at most 0.9
TEST(ChoicesByHand, prefill_is_loaded_as_far_as_its_first_tokens_allow) {
  ServingAsk ask = ask_apart(20000, 4);
  ask.request.cached_share = 0.25;
  const OneReplica one(ask);
  const double fresh = 15000;
  const double chunks = std::ceil(fresh / one.replica.limits.token_budget);
  ASSERT_GT(chunks, 1);
  const double prompt =
      chunks * one.step({.prompts = 1,
                         .prompt_tokens = fresh / chunks,
                         .prompt_cached = 5000 + fresh * (chunks - 1) / (2 * chunks)});
  const double moved =
      workload::kv_bytes(ask.model, 20000, catalog::Dtype::bf16) / one.query.nic_rate / seconds(1);
  const double fixed = prompt + moved + one.around();
  const auto at = [&](double ttft) {
    ask.target.ttft_p99 = Seconds(ttft);
    return serving_within(machine::known(), ask, 2);
  };
  const auto open = at(0);
  ASSERT_EQ(open.size(), 1U);
  EXPECT_NEAR(open[0].requests.base(), 0.9 / prompt, 1e-9 / prompt);
  EXPECT_NEAR(open[0].ttft.base(), fixed + prompt * 0.9 / (2 * 0.1), 1e-9 * fixed);
  EXPECT_EQ(open[0].prefill, 1);
  EXPECT_EQ(open[0].replicas, 2);
  EXPECT_EQ(open[0].gpus, 2);
  // Half a prompt's wait on average: a load of a half.
  const auto half = at(fixed + 0.5 * prompt * std::log(100.0));
  ASSERT_EQ(half.size(), 1U);
  EXPECT_NEAR(half[0].requests.base() * prompt, 0.5, 1e-6);
  EXPECT_NEAR(half[0].ttft.base(), fixed + prompt * 0.5, 1e-6 * fixed);
  EXPECT_NEAR(at(fixed + 100 * prompt * 4.605)[0].requests.base() * prompt, 0.9, 1e-9);
  EXPECT_THAT(at(fixed * 0.999), IsEmpty()) << "in time it never is";
  EXPECT_NEAR(half[0].users, half[0].requests.base() * (half[0].ttft + half[0].tpot * 3).base(),
              1e-9);
}

// The largest batch whose step, 2.326 deviations of its number longer, is in time.
TEST(ChoicesByHand, decode_has_the_largest_batch_in_time) {
  ServingAsk ask = ask_apart(100, 2000);
  ask.request.checked_per_step = 4;
  ask.request.accepted_per_step = 2;
  const OneReplica one(ask);
  const auto token = [&](double b) {
    return one.step({.decoding = b, .context = 1100, .tokens_per_step = 4}) / 2;
  };
  const double most =
      std::floor(std::min(one.replica.memory.requests(1100), one.replica.limits.max_sequences));
  const auto open = serving_within(machine::known(), ask, 4);
  ASSERT_EQ(open.size(), 1U);
  EXPECT_EQ(open[0].batch, most);
  EXPECT_NEAR(open[0].tpot.base(), token(most), 1e-12);
  EXPECT_EQ(open[0].prefill, 1) << "one reads for three that write";
  EXPECT_NEAR(open[0].requests.base(), 3 * most / (2000 * token(most)), 1e-6);
  const double wanted = std::floor(most / 2);
  const auto slow = [&](double b) { return token(b) * (1 + 2.326 / std::sqrt(b)); };
  ask.target.tpot_p99 = Seconds(slow(wanted) * 1.0000001);
  const auto bound = serving_within(machine::known(), ask, 4);
  ASSERT_EQ(bound.size(), 1U);
  EXPECT_LE(slow(bound[0].batch), ask.target.tpot_p99.base());
  EXPECT_GT(slow(bound[0].batch + 1), ask.target.tpot_p99.base());
  ask.target.tpot_p99 = microseconds(1);
  EXPECT_THAT(serving_within(machine::known(), ask, 4), IsEmpty());
}

// Enough of each kind for a rate, at four fifths of what one carries; fewest accelerators first.
TEST(ChoicesByHand, for_a_rate_each_kind_is_counted) {
  ServingAsk ask = ask_apart(2000, 200);
  ask.joined = true;
  ask.formats = {catalog::Dtype::bf16, catalog::Dtype::fp8};
  ask.tp = 0;
  ask.most_tp = 2;
  const PerSecond rate(300);
  const auto needed = serving_for(machine::known(), ask, rate);
  ASSERT_EQ(needed.size(), 8U) << "two formats, two splits, joined or apart";
  EXPECT_TRUE(std::ranges::is_sorted(needed, {}, &ServingChoice::gpus));
  for (const ServingChoice& c : needed) {
    EXPECT_EQ(c.gpus, c.replicas * c.tp);
    EXPECT_GE(c.requests * 0.8, rate * (1 - 1e-9)) << "with a fifth to spare";
    EXPECT_EQ(c.engine, "vllm");
    EXPECT_GT(c.error, 0);
    if (c.apart) {
      EXPECT_GE(c.prefill, 1);
      EXPECT_LT(c.prefill, c.replicas);
    } else {
      EXPECT_LT(c.requests * 0.8 * ((c.replicas - 1) / c.replicas), rate) << "and none too many";
      EXPECT_EQ(c.prefill, 0);
      EXPECT_DOUBLE_EQ(c.users, c.batch * c.replicas);
    }
  }
  EXPECT_EQ(std::ranges::count(needed, catalog::Dtype::fp8, &ServingChoice::format), 4);
  EXPECT_EQ(std::ranges::count(needed, 2, &ServingChoice::tp), 4);
  ask.apart = false;
  EXPECT_EQ(serving_for(machine::known(), ask, rate).size(), 4U);
  const auto within = serving_within(machine::known(), ask, 8);
  ASSERT_EQ(within.size(), 4U);
  EXPECT_TRUE(std::ranges::is_sorted(within, std::greater{}, &ServingChoice::users));
  for (const ServingChoice& c : within) EXPECT_EQ(c.replicas, 8 / c.tp);
  ask.tp = 4;
  EXPECT_EQ(serving_within(machine::known(), ask, 8).size(), 2U) << "the split that is asked for";
  EXPECT_EQ(serving_within(machine::known(), ask, 8)[0].tp, 4);
}

// Four hosts under one leaf, two on a power unit.
struct LossRun {
  machine::Machine machine;
  TrainJob job;

  explicit LossRun(const std::string& failures, const std::string& more = "",
                   const std::string& scheduler = "") {
    const auto read = design_text::read_design(
        "orrery: 1\nname: t\nsite: { region: usa, cooling: air-contained }\nfleet:\n  - { name: a, "
        "node: dgx-h100, count: 4, nodes_per_rack: 2" +
            more + ", failures: { " + failures +
            " } }\nfabric:\n  compute: { topology: rail-fat-tree, switch: qm9700 }\n" + scheduler +
            "workloads:\n  - train: { network: { params: 300M, forward: 12 GFLOP }, batch: 3200, "
            "samples: 1M, priority: 5 }\n",
        machine::known().catalog());
    EXPECT_TRUE(read) << to_text(read.error());
    machine = build_machine(read.value(), machine::known());
    job = name_job(machine, machine.design().workloads[0]);
    job.hosts = 4;
    job.accelerators = 32;
    job.raw_time = days(10);
  }
  const FailurePlan& plan() { return plan({.count = 4, .bookings = {}}); }
  const FailurePlan& plan(const machine::FleetBook& book) {
    job.failure = {};
    fill_failure(job, machine, book);
    return job.failure;
  }
};

double soft_share() {
  return share_of(machine::known().fault_causes, failure::FaultGroup::software) +
         share_of(machine::known().fault_causes, failure::FaultGroup::hang);
}

// Four hours of repair: the leaf is out 4 / 1,000 of the time with all hosts, two power units 4 /
// 2,000 each with two.
TEST(LossesByHand, a_part_takes_its_hosts_unless_spares_stand_by) {
  const std::string parts =
      "node_mtbf: 100 d, repair: 2 d, leaf_mtbf: 1000 h, pdu_mtbf: 2000 h, racks_per_pdu: 1";
  LossRun r(parts);
  const double mean = 4 * (1 - soft_share()) / 100 * 2;
  const double any = 1 - std::exp(-mean);
  EXPECT_NEAR(r.plan().mean_in_repair, mean, 1e-12);
  EXPECT_NEAR(r.job.failure.shared_rate * hours(1), 1 / 1000.0 + 2 / 2000.0, 1e-12);
  EXPECT_NEAR(hours(1) / r.job.failure.mtbf, 4 / 2400.0 + 0.002, 1e-12);
  EXPECT_EQ(r.job.failure.spares, 0);
  EXPECT_NEAR(r.job.failure.shortfall, 1 - (1 - any) * (1 - 0.008), 1e-12);
  LossRun spared(parts, ", spares: 2");
  const double over_two = poisson_above(2, mean);
  EXPECT_NEAR(spared.plan().shortfall, 1 - (1 - over_two) * (1 - 0.004), 1e-12)
      << "the leaf has two hosts too many, a power unit none";
  LossRun all(parts, ", spares: 4");
  EXPECT_NEAR(all.plan().shortfall, poisson_above(4, mean), 1e-12);
  // A run that goes on with two of four hosts loses a quarter with each.
  LossRun elastic(parts);
  elastic.job.elastic = ElasticPlan{.unit_hosts = 1, .units = 4, .least = 2};
  const double hosts =
      0.25 * poisson_above(0, mean) + 0.25 * poisson_above(1, mean) + 0.5 * poisson_above(2, mean);
  EXPECT_NEAR(elastic.plan().shortfall, 1 - (1 - hosts) * (1 - 0.004 - 0.004 / 2), 1e-12);
  LossRun rented(parts, ", rent: { provider: aws }");
  EXPECT_NEAR(rented.plan().shortfall, 0.008, 1e-12) << "the provider has others";
  // Three hosts on a power unit: two units, of which the second has one.
  LossRun three("node_mtbf: 100 d, repair: 2 d, pdu_mtbf: 2000 h", ", rent: { provider: aws }");
  three.machine.fleets[design::FleetIndex(0)].hosts = 4;
  design::Fleet wider = *three.machine.fleets[design::FleetIndex(0)].fleet;
  wider.nodes_per_rack = 3;
  three.machine.fleets[design::FleetIndex(0)].fleet = &wider;
  three.job.fleet = &three.machine.fleets[design::FleetIndex(0)];
  EXPECT_NEAR(three.plan().shortfall, 2 * 4 / 2000.0, 1e-12);
  // A part that is out nearly always leaves nothing.
  LossRun worst("node_mtbf: 100 d, leaf_mtbf: 2 h");
  EXPECT_DOUBLE_EQ(worst.plan().shortfall, 1);
}

TEST(LossesByHand, units_of_an_elastic_run) {
  const ElasticPlan plan{.unit_hosts = 2, .units = 5, .least = 3};
  EXPECT_DOUBLE_EQ(plan.lost_with(0), 0);
  EXPECT_DOUBLE_EQ(plan.lost_with(1), 0.2);
  EXPECT_DOUBLE_EQ(plan.lost_with(2), 0.2);
  EXPECT_DOUBLE_EQ(plan.lost_with(3), 0.4);
  EXPECT_DOUBLE_EQ(plan.lost_with(4), 0.4);
  EXPECT_DOUBLE_EQ(plan.lost_with(5), 1) << "two units are too few";
}

// Of four nodes and a spare the run has two; another workload holds one of those that are left.
TEST(LossesByHand, what_others_hold_is_no_spare) {
  const std::string mtbf = "node_mtbf: 100 d";
  design::Workload other;
  const auto spares = [&](LossRun& r, machine::Booking b) {
    r.job.hosts = 2;
    return r.plan({.count = 4, .bookings = {b}}).spares;
  };
  LossRun r(mtbf, ", spares: 1");
  other.task = design::Serve{};
  EXPECT_EQ(spares(r, {.workload = &other, .nodes = 1}), 2);
  EXPECT_EQ(spares(r, {.workload = &other, .nodes = 0.5}), 2) << "half a node is none";
  EXPECT_EQ(spares(r, {.workload = &other, .nodes = 1, .share = 0.5}), 3) << "not held";
  EXPECT_EQ(spares(r, {.workload = r.job.workload, .nodes = 2}), 3) << "its own";
  EXPECT_EQ(spares(r, {.workload = &other, .nodes = 9}), 1) << "the declared ones stay";
  other.task = design::Jobs{};
  EXPECT_EQ(spares(r, {.workload = &other, .nodes = 1}), 2) << "nobody makes way";
  LossRun way(mtbf, ", spares: 1", "scheduler: { kind: slurm, preemption: requeue }\n");
  other.terms.priority = 4;
  EXPECT_EQ(spares(way, {.workload = &other, .nodes = 1}), 3);
  other.terms.priority = 5;
  EXPECT_EQ(spares(way, {.workload = &other, .nodes = 1}), 2) << "as urgent as the run";
  other.terms.priority = 4;
  other.task = design::Serve{};
  EXPECT_EQ(spares(way, {.workload = &other, .nodes = 1}), 2) << "a service stays";
}

// What the market takes back is no repair; a rack that stands by is eighteen hosts.
TEST(LossesByHand, of_markets_and_racks) {
  LossRun spot("node_mtbf: 100 d, repair: 2 d",
               ", rent: { provider: aws, contract: spot, interruption: 0.25 }");
  const FailurePlan& f = spot.plan();
  EXPECT_GT(f.spot_rate, PerSecond(0));
  EXPECT_NEAR(f.node_rate.base(), f.spot_rate.base() + 1 / (100 * 86400.0), 1e-15);
  EXPECT_NEAR(f.mean_in_repair, 4 * (1 - soft_share()) / 100 * 2, 1e-12);
  LossRun racks("node_mtbf: 100 d");
  design::Fleet entry = *racks.machine.fleets[design::FleetIndex(0)].fleet;
  entry.spares = 2;
  racks.machine.fleets[design::FleetIndex(0)].fleet = &entry;
  racks.machine.fleets[design::FleetIndex(0)].hosts = 72;
  racks.job.fleet = &racks.machine.fleets[design::FleetIndex(0)];
  racks.job.hosts = 60;
  EXPECT_EQ(racks.plan().spares, 2 * 18 + 12);
}

// Where nobody counted: published rates of hosts that go to repair, their geometric mean.
TEST(LossesByHand, hosts_go_to_repair_as_published) {
  LossRun r("straggler_share: 0.1, straggler_slowdown: 0.5");
  const FailurePlan& f = r.plan();
  double logs = 0;
  for (const char* id : {"meta-rsc-1", "meta-rsc-2", "b200-504"}) {
    const failure::NodeFailureRate* row = find_rate(machine::known().failure_rates, id);
    ASSERT_NE(row, nullptr);
    logs += std::log(scaled_to_host(*row, 8).base());
  }
  const double broken =
      machine::failure_source(r.machine.fleets[design::FleetIndex(0)], machine::known(), 4)
          .rate.base() *
      (1 - soft_share());
  EXPECT_EQ(f.repair, failure::mean_repair({}));
  EXPECT_NEAR(f.mean_in_repair, 4 * std::min(broken, std::exp(logs / 3)) * f.repair.base(), 1e-12);
  EXPECT_DOUBLE_EQ(f.slow,
                   failure::straggler_factor({.ranks = 4, .slow_share = 0.1, .slow_factor = 1.5}));
  EXPECT_GT(f.slow, 1);
  EXPECT_EQ(f.rate_reference, "calibration/node_failure_rates: published runs by their size");
  EXPECT_GT(f.rate_high, 1);
  EXPECT_DOUBLE_EQ(f.rate_low * f.rate_high, 1);
}

}  // namespace
}  // namespace orrery::jobs
