#include <gtest/gtest.h>

#include <string>

#include "layers/facility/power_cap.h"
#include "model/jobs/predict_serving.h"
#include "model/jobs/predict_training.h"
#include "model/jobs/storage_fixture.h"
#include "model/jobs/train_job.h"
#include "model/jobs/train_job_fixture.h"
#include "model/jobs/train_run.h"
#include "model/machine/costs.h"
#include "model/machine/known_fixture.h"
#include "model/machine/links.h"
#include "model/machine/machine.h"
#include "model/machine/machine_fixture.h"

namespace orrery::jobs {
namespace {

// 3,200 samples on 32 devices: 100 each, 3 x 12 GFLOP per sample at 0.35 of the peak. 30 % of the
// all-reduce of the gradients is exposed.
TEST(TrainStep, plain_step_is_compute_and_exposed_all_reduce) {
  const PlainRun r(kNet + ", batch: 3200, samples: 1M");
  const TrainJob& job = r.job;
  ASSERT_TRUE(job.feasible()) << job.infeasible;
  const double compute = 3.0 * 100 * 12e9 / (989.4e12 * 0.35);
  const machine::Links links(machine::wiring_of(*job.fleet, r.machine->main_networks()),
                             machine::known().collectives);
  const double reduce =
      links.time({workload::Collective::all_reduce, Bytes(300e6 * 4), links.group_of(32)})
          .time.base();
  machine::expect_close(job.step.parts.at(0).time.base(), compute);
  EXPECT_EQ(job.step.parts.at(1).time, Seconds(0));
  machine::expect_close(job.step.parts.at(2).time.base(), 0.3 * reduce);
  machine::expect_close(job.step.step.base(), compute + 0.3 * reduce);
  EXPECT_EQ(job.step.layout, "dp32");
  EXPECT_EQ(job.step.replicas, 32);
  EXPECT_EQ(job.step.model_shards, 1);
  EXPECT_EQ(job.step.units_per_step, 3200);
  machine::expect_close(job.step.flops_utilisation, 0.35 * compute / (compute + 0.3 * reduce));
  machine::expect_close(job.step.memory.base(), 300e6 * 16 + 50e6 * 100);
  EXPECT_EQ(job.step.memory_limit, usable_memory(*job.fleet->accelerator()));
  machine::expect_close(job.step.matrix_share, compute / (compute + 0.3 * reduce));
  EXPECT_EQ(job.step.memory_share, 0);
  machine::expect_close(job.step.exposed_share, 0.3 * reduce / (compute + 0.3 * reduce));
  machine::expect_close(job.step.exposed_network_share, job.step.exposed_share);
  EXPECT_EQ(job.step.error, 0.4);
  EXPECT_EQ(job.step.basis, Basis::assumed);
  EXPECT_EQ(job.accelerators, 32);
  EXPECT_EQ(job.hosts, 4);
  machine::expect_close(job.raw_rate(), 3200 / job.step.step.base());
}

// Rows of 64 numbers of 4 bytes, 20 rows per sample: 100 x 20 x 256 B are touched four times.
TEST(TrainStep, embedding_tables_are_read_written_and_exchanged) {
  const auto with = [](const std::string& placement) {
    return PlainRun(kNet +
                    ", batch: 3200, samples: 1M, embeddings: { rows: 100M, width: 64, "
                    "precision: fp32, lookups: 20, placement: " +
                    placement + " }");
  };
  const PlainRun r = with("device");
  const double touched = 100.0 * 20 * 256;
  const machine::Links links(machine::wiring_of(*r.job.fleet, r.machine->main_networks()),
                             machine::known().collectives);
  const double exchange =
      links.time({workload::Collective::all_to_all, Bytes(touched), links.group_of(32)})
          .time.base();
  const double time = touched * 4 / 3350e9 + 2 * exchange;
  machine::expect_close(r.job.step.parts.at(1).time.base(), time);
  machine::expect_close(r.job.step.memory_share, time / r.job.step.step.base());
  machine::expect_close(r.job.step.memory.base(), 300e6 * 16 + 50e6 * 100 + 100e6 * 256 * 2 / 32);
  machine::expect_close(with("host").job.step.memory.base(), 300e6 * 16 + 50e6 * 100);
}

TEST(TrainStep, batch_splits_evenly_over_whole_hosts_first) {
  const auto devices = [](int batch) {
    return PlainRun(kNet + ", samples: 1M, batch: " + std::to_string(batch)).job.accelerators;
  };
  EXPECT_EQ(devices(96), 32);
  EXPECT_EQ(devices(72), 24);
  EXPECT_EQ(devices(40), 8);
  EXPECT_EQ(devices(7), 7);
  EXPECT_EQ(devices(11), 1);
  const PlainRun one(kNet + ", samples: 1M, batch: 11");
  EXPECT_EQ(one.job.step.exposed_share, 0) << "a single device reduces nothing";
  EXPECT_EQ(one.job.hosts, 1);
  const PlainRun host(kNet + ", samples: 1M, batch: 40");
  EXPECT_GT(host.job.step.exposed_share, 0);
  EXPECT_EQ(host.job.step.exposed_network_share, 0) << "inside one domain";
}

TEST(TrainStep, each_precision_has_its_own_peak) {
  const auto compute = [](const char* precision) {
    return PlainRun(kNet + ", samples: 1M, batch: 32, precision: " + std::string(precision))
        .job.step.parts.at(0)
        .time.base();
  };
  const double flop = 3 * 12e9 / 0.35;
  const catalog::Accelerator& a = *machine::known().catalog().accelerator("h100-sxm");
  machine::expect_close(compute("bf16"), flop / a.peak(catalog::Dtype::bf16)->base());
  machine::expect_close(compute("tf32"), flop / a.peak(catalog::Dtype::tf32)->base());
  machine::expect_close(compute("fp32"), flop / a.peak(catalog::Dtype::fp32)->base());
}

TEST(TrainStep, too_large_or_sliced_fleets_are_infeasible) {
  const PlainRun large("network: { params: 9B, forward: 12 GFLOP }, samples: 1M, batch: 32");
  EXPECT_FALSE(large.job.feasible());
  const PlainRun cut(kNet + ", samples: 1M, batch: 32", ", mig: { 1g.10gb: 7 }");
  EXPECT_FALSE(cut.job.feasible());
}

// dp32 on hosts of 8: one unit is a host with eight replicas, and 9 replicas need two hosts.
TEST(TrainStep, elastic_run_shrinks_by_hosts) {
  const auto elastic = [](int least) {
    return PlainRun(kNet + ", batch: 96, samples: 1M, min_replicas: " + std::to_string(least)).job;
  };
  const TrainJob job = elastic(9);
  ASSERT_TRUE(job.elastic) << job.infeasible;
  EXPECT_EQ(job.elastic->unit_hosts, 1);
  EXPECT_EQ(job.elastic->units, 4);
  EXPECT_EQ(job.elastic->least, 2);
  EXPECT_EQ(elastic(8).elastic->least, 1);
  EXPECT_EQ(elastic(32).elastic->least, 4);
  EXPECT_FALSE(elastic(33).feasible()) << "the layout has 32 replicas";
  EXPECT_DOUBLE_EQ(job.elastic->lost_with(1), 0.25);
  EXPECT_DOUBLE_EQ(job.elastic->lost_with(2), 0.5);
  EXPECT_DOUBLE_EQ(job.elastic->lost_with(3), 1) << "the run stops";
  const ElasticPlan pairs{.unit_hosts = 2, .units = 5, .least = 2};
  EXPECT_DOUBLE_EQ(pairs.lost_with(1), 0.2);
  EXPECT_DOUBLE_EQ(pairs.lost_with(2), 0.2);
  EXPECT_DOUBLE_EQ(pairs.lost_with(3), 0.4);
  EXPECT_DOUBLE_EQ(pairs.lost_with(6), 0.6);
  EXPECT_DOUBLE_EQ(pairs.lost_with(7), 1);
}

TEST(TrainStep, query_carries_what_the_design_says) {
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
}

TEST(TrainStep, plan_agrees_with_the_prediction) {
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
      << "a tensor split of eight stays inside one host";
  ASSERT_EQ(plan.parts.size(), static_cast<std::size_t>(training::kStepPhaseCount));
  double sum = 0;
  for (const auto& each : plan.parts) sum += each.time.base();
  EXPECT_NEAR(sum, all, 1e-9);
}

// A replica of sixteen accelerators fills two hosts; two replicas of four share one.
TEST(TrainStep, elastic_run_shrinks_by_hosts_with_whole_replicas) {
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
  EXPECT_EQ(narrow.job.elastic->least, 2) << "three replicas need two hosts";
  const HandRun many(kLlama + ", min_replicas: 3, layout: { tp: 8, pp: 2, mbs: 1 }");
  EXPECT_FALSE(many.job.feasible()) << "the layout has two replicas";
}

TEST(TrainStep, fleet_without_accelerators_is_infeasible) {
  HandRun r(kPlainNetwork + ", batch: 3200");
  machine::Fleet none = r.machine.fleets[design::FleetIndex(0)];
  none.accelerators = 0;
  r.job.fleet = &none;
  fill_step(r.job, r.machine);
  EXPECT_FALSE(r.job.feasible());
}

// A cap at half the power slows matrix work; a cap above the power limit changes nothing.
TEST(TrainStep, power_cap_slows_matrix_work) {
  const HandRun free(kPlainNetwork + ", batch: 3200");
  const HandRun half(kPlainNetwork + ", batch: 3200", ", power_cap: 350 W");
  const double speed = facility::capped_speed(0.5, facility::Boundness::compute);
  EXPECT_LT(speed, 1);
  EXPECT_NEAR(half.job.step.parts[0].time / free.job.step.parts[0].time, 1 / speed, 1e-9);
  HandRun above(kPlainNetwork + ", batch: 3200");
  design::Fleet entry = *above.machine.fleets[design::FleetIndex(0)].fleet;
  entry.power_cap = watts(1400);
  machine::Fleet fleet = above.machine.fleets[design::FleetIndex(0)];
  fleet.fleet = &entry;
  above.job.fleet = &fleet;
  fill_step(above.job, above.machine);
  EXPECT_NEAR(above.job.step.parts[0].time / free.job.step.parts[0].time, 1, 1e-9);
}

TEST(TrainStep, batch_that_no_layout_divides_is_infeasible) {
  const machine::Machine m =
      detailed("",
               "workloads:\n  - train: { model: llama-3-8b, tokens: 1B, batch: 7, "
               "layout: { tp: 2, pp: 2 } }\n");
  TrainJob job = name_job(m, m.design().workloads[0]);
  fill_step(job, m);
  EXPECT_FALSE(job.feasible());
}

TEST(TrainStep, layout_decides_what_is_sharded) {
  const auto plan = [](const std::string& sharding) {
    const machine::Machine m =
        detailed("",
                 "workloads:\n  - train: { model: llama-3-8b, tokens: 1B, batch: 64, layout: { "
                 "tp: 4, pp: 2, dp: 4, recompute: full, sharding: " +
                     sharding + " } }\n");
    TrainJob job = name_job(m, m.design().workloads[0]);
    fill_step(job, m);
    EXPECT_TRUE(job.feasible()) << job.infeasible;
    return job.step;
  };
  const StepPlan one = plan("zero1");
  EXPECT_TRUE(one.optimizer_sharded);
  EXPECT_FALSE(one.weights_sharded);
  EXPECT_EQ(one.replicas, 4);
  EXPECT_EQ(one.model_shards, 8);
  EXPECT_EQ(one.units_per_step, 64.0 * 4096);
  EXPECT_GT(one.exposed_share, 0);
  double sum = 0;
  for (const StepSlice& s : one.parts) sum += s.time.base();
  EXPECT_NEAR(sum, one.step.base(), 1e-9 * sum);
  EXPECT_FALSE(plan("none").optimizer_sharded);
}

}  // namespace
}  // namespace orrery::jobs
