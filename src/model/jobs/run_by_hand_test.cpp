// A transformer's run: the question that is asked of the model, what its step's parts are, how it
// shrinks; and what of a plain run a power cap, a cache and a tier in the nodes make.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "layers/facility/power_cap.h"
#include "layers/storage/cache.h"
#include "model/design_text/read_design.h"
#include "model/jobs/build_machine.h"
#include "model/jobs/train_job.h"
#include "model/jobs/train_run.h"
#include "model/machine/known_fixture.h"
#include "model/machine/machine.h"

namespace orrery::jobs {
namespace {

// Four nodes of eight.
struct HandRun {
  machine::Machine machine;
  TrainJob job;

  explicit HandRun(const std::string& train, const std::string& fleet = "",
                   const std::string& tiers = "", const std::string& compute = "") {
    const auto read = design_text::read_design(
        "orrery: 1\nname: t\nsite: { region: usa }\nfleet:\n  - { name: a, node: dgx-h100, count: "
        "4" +
            fleet + " }\nfabric:\n  compute: { topology: rail-fat-tree, switch: qm9700" + compute +
            " }\nstorage:\n" + tiers +
            "  - { tier: hot, kind: parallel-fs, read: 40 GB/s, write: 12 GB/s, capacity: 1 PB }\n"
            "workloads:\n  - train: { " +
            train + " }\n",
        machine::known().catalog());
    EXPECT_TRUE(read) << to_text(read.error());
    machine = build_machine(read.value(), machine::known());
    job = name_job(machine, machine.design().workloads[0]);
    fill_step(job, machine);
  }
};

const std::string kLlama = "model: llama-3-8b, batch: 64, sequence: 4096, tokens: 2B";
const std::string kPlain = "network: { params: 300M, forward: 12 GFLOP }, samples: 1M";

TEST(RunByHand, what_is_asked_of_the_model) {
  const HandRun r(kLlama + ", precision: fp8, layout: { tp: 8, pp: 2, mbs: 1 }",
                  ", power_cap: 600 W", "", ", oversubscription: 2, ports_per_node: 4");
  const auto run = training_run(r.job, r.machine);
  ASSERT_TRUE(run) << to_text(run.error());
  const TrainingQuery& q = run->query;
  EXPECT_EQ(q.model.id, "llama-3-8b");
  EXPECT_EQ(q.accelerator->id, "h100-sxm");
  EXPECT_EQ(q.gpus, 32);
  EXPECT_EQ(q.scaleup, 8);
  EXPECT_EQ(q.nic, gbytes_per_s(25)) << "four ports of 50 GB/s for eight";
  EXPECT_EQ(q.sequence, 4096);
  EXPECT_EQ(q.batch, 64);
  EXPECT_EQ(q.precision, catalog::Precision::fp8);
  EXPECT_EQ(q.task, training::TrainingTask::pretrain);
  EXPECT_EQ(q.oversubscription, 2);
  EXPECT_EQ(q.network, catalog::NetworkKind::infiniband);
  EXPECT_EQ(q.power_limit, watts(600));
  EXPECT_EQ(q.layout.tp, 8);
  EXPECT_EQ(q.layout.pp, 2);
  EXPECT_EQ(q.layout.microbatch, 1);
  EXPECT_EQ(r.job.path, "workloads[0].train");
  const HandRun lora(kLlama + ", lora: { rank: 32, targets: [qkv, mlp] }");
  const auto tuned = training_run(lora.job, lora.machine);
  ASSERT_TRUE(tuned) << to_text(tuned.error());
  EXPECT_EQ(tuned->query.task, training::TrainingTask::lora);
  EXPECT_EQ(tuned->query.recipe.lora_rank, 32);
  EXPECT_TRUE(tuned->query.recipe.lora_on_mlp);
  EXPECT_EQ(tuned->query.power_limit, Watts(0));
  EXPECT_EQ(TrainJob{}.accelerators, 0);
}

TEST(RunByHand, the_plan_is_the_prediction) {
  const HandRun r(kLlama + ", layout: { tp: 8, pp: 2, vp: 1, mbs: 1 }");
  ASSERT_EQ(r.job.infeasible, "");
  const auto run = training_run(r.job, r.machine);
  ASSERT_TRUE(run);
  const TrainingPrediction& p = run->prediction;
  const StepPlan& plan = r.job.step;
  EXPECT_EQ(plan.replicas, 2);
  EXPECT_EQ(plan.model_shards, 16);
  EXPECT_EQ(plan.step.base(), p.step.seconds);
  EXPECT_EQ(plan.units_per_step, 64 * 4096);
  EXPECT_EQ(plan.flops_utilisation, p.mfu);
  EXPECT_EQ(plan.memory, p.memory.peak);
  EXPECT_EQ(plan.memory_limit, p.memory_limit);
  EXPECT_NEAR(plan.memory_error, p.memory_bytes.high / p.memory_bytes.value - 1, 1e-12);
  EXPECT_EQ(plan.device_power.base(), p.watts.value);
  EXPECT_NEAR(plan.error, p.step_time_s.high / p.step_time_s.value - 1, 1e-12);
  EXPECT_EQ(plan.basis, p.step_time_s.basis);
  EXPECT_EQ(plan.reference, "docs/models/training.md");
  EXPECT_EQ(r.job.accelerators, 32);
  EXPECT_EQ(r.job.hosts, 4);
  using enum training::StepPhase;
  const auto part = [&](training::StepPhase phase) { return p.step.part(phase); };
  const double all = p.step.seconds;
  EXPECT_NEAR(plan.matrix_share, (part(matrix) + part(attention) + part(recompute)) / all, 1e-12);
  EXPECT_NEAR(plan.memory_share, (part(passes) + part(optimizer)) / all, 1e-12);
  EXPECT_NEAR(plan.exposed_share, (part(tp) + part(cp) + part(ep) + part(pp) + part(dp)) / all,
              1e-12);
  EXPECT_GT(part(tp), 0);
  EXPECT_NEAR(plan.exposed_network_share, (part(pp) + part(dp)) / all, 1e-12)
      << "eight ranks are one host";
  ASSERT_EQ(plan.parts.size(), static_cast<std::size_t>(training::kStepPhaseCount));
  double sum = 0;
  for (const auto& each : plan.parts) sum += each.time.base();
  EXPECT_NEAR(sum, all, 1e-9);
}

// Replicas of sixteen fill two hosts, of four share one.
TEST(RunByHand, shrinks_by_hosts_that_hold_whole_replicas) {
  const HandRun wide(kLlama + ", min_replicas: 1, layout: { tp: 8, pp: 2, mbs: 1 }");
  ASSERT_EQ(wide.job.infeasible, "");
  ASSERT_TRUE(wide.job.elastic);
  EXPECT_EQ(wide.job.elastic->unit_hosts, 2);
  EXPECT_EQ(wide.job.elastic->units, 2);
  EXPECT_EQ(wide.job.elastic->least, 1);
  const HandRun narrow(kLlama + ", min_replicas: 3, layout: { tp: 4, pp: 1, mbs: 1 }");
  ASSERT_EQ(narrow.job.infeasible, "");
  ASSERT_TRUE(narrow.job.elastic);
  EXPECT_EQ(narrow.job.elastic->unit_hosts, 1);
  EXPECT_EQ(narrow.job.elastic->units, 4);
  EXPECT_EQ(narrow.job.elastic->least, 2) << "three replicas are on two hosts";
  const HandRun many(kLlama + ", min_replicas: 3, layout: { tp: 8, pp: 2, mbs: 1 }");
  EXPECT_EQ(many.job.infeasible, "min_replicas is 3, and its layout has 2");
}

TEST(RunByHand, a_fleet_without_accelerators_runs_nothing) {
  HandRun r(kPlain + ", batch: 3200");
  machine::Fleet none = r.machine.fleets[design::FleetIndex(0)];
  none.accelerators = 0;
  r.job.fleet = &none;
  fill_step(r.job, r.machine);
  EXPECT_EQ(r.job.infeasible, "the fleet has no accelerators; a `batch` workload runs on CPUs");
}

// A cap of half its power leaves matrix work so much of its speed; one above it leaves all.
TEST(RunByHand, a_power_cap_slows_matrix_work) {
  const HandRun free(kPlain + ", batch: 3200");
  const HandRun half(kPlain + ", batch: 3200", ", power_cap: 350 W");
  const double speed = facility::capped_speed(0.5, facility::Boundness::compute);
  EXPECT_LT(speed, 1);
  EXPECT_NEAR(half.job.step.parts[0].time / free.job.step.parts[0].time, 1 / speed, 1e-9);
  HandRun above(kPlain + ", batch: 3200");
  design::Fleet entry = *above.machine.fleets[design::FleetIndex(0)].fleet;
  entry.power_cap = watts(1400);
  machine::Fleet fleet = above.machine.fleets[design::FleetIndex(0)];
  fleet.fleet = &entry;
  above.job.fleet = &fleet;
  fill_step(above.job, above.machine);
  EXPECT_NEAR(above.job.step.parts[0].time / free.job.step.parts[0].time, 1, 1e-9);
  EXPECT_EQ(free.job.step.reference, "docs/models/plain-network.md");
}

// Two billion tokens of four bytes, read twice, are a set of 4 GB; drives in the nodes hold it, but
// none of them for all.
TEST(RunByHand, samples_lie_in_the_first_shared_tier_that_holds_them) {
  HandRun r(kLlama + ", dataset: { epochs: 2 }, layout: { tp: 8, pp: 2, mbs: 1 }", "",
            "  - { tier: node-nvme, kind: local-nvme }\n");
  fill_costs(r.job, r.machine);
  EXPECT_DOUBLE_EQ(r.job.feed.data_set.base(), 2e9 * 4 / 2);
  ASSERT_NE(r.job.feed.tier, nullptr);
  EXPECT_EQ(r.job.feed.tier->label, "hot");
  EXPECT_EQ(r.job.feed.cache, nullptr);
  EXPECT_DOUBLE_EQ(r.job.feed.sample.base(), 4096 * 4);
  EXPECT_EQ(features_kept(design::Train{}), Bytes(0));
}

// Drives of four hosts together in front of a set of ten times one host's.
TEST(RunByHand, a_cache_in_the_nodes_is_that_of_all_hosts) {
  HandRun r(kPlain + ", batch: 3200, dataset: { tier: hot, size: 307 TB, epochs: 3 }", "",
            "  - { tier: node-nvme, kind: local-nvme, caches: hot }\n");
  fill_costs(r.job, r.machine);
  ASSERT_NE(r.job.feed.cache, nullptr);
  const machine::Tier& cache = *r.job.feed.cache;
  const double share = std::min(1.0, cache.capacity.base() * 4 / 307e12);
  EXPECT_NEAR(share, 0.4, 1e-3);
  const auto order =
      r.job.train->dataset.shuffle ? storage::EpochOrder::shuffled : storage::EpochOrder::fixed;
  EXPECT_NEAR(r.job.feed.hit_rate,
              storage::mean_hit_rate(hit_rate(cache.tier->policy, order, share), 3), 1e-12);
  EXPECT_GT(r.job.feed.hit_rate, 0);
}

}  // namespace
}  // namespace orrery::jobs
