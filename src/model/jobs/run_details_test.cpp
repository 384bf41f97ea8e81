// Details of runs and services: defaults of the plans, costs with their factors, links as built,
// early failures, shared parts, choices that bind on either side.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "layers/failure/lifetime.h"
#include "model/design_text/read_design.h"
#include "model/jobs/batch_work.h"
#include "model/jobs/build_machine.h"
#include "model/jobs/conversations.h"
#include "model/jobs/pipeline.h"
#include "model/jobs/predict_serving.h"
#include "model/jobs/request_shape.h"
#include "model/jobs/serving_choices.h"
#include "model/jobs/serving_query.h"
#include "model/jobs/tier_asks.h"
#include "model/jobs/train_job.h"
#include "model/machine/costs.h"
#include "model/machine/known_fixture.h"
#include "model/machine/machine.h"
#include "model/machine/site_load.h"

namespace orrery::jobs {
namespace {

using testing::IsEmpty;

machine::Machine detailed(const std::string& fleet, const std::string& more) {
  const auto read = design_text::read_design(
      "orrery: 1\nname: t\nsite: { name: one, region: usa, cooling: air-contained }\nfleet:\n  - { "
      "name: a, node: dgx-h100, count: 4" +
          fleet +
          " }\nfabric:\n  compute: { topology: rail-fat-tree, switch: qm9700, oversubscription: 2 "
          "}\nstorage:\n  - { tier: hot, kind: parallel-fs, read: 40 GB/s, write: 50 GB/s, "
          "capacity: 1 PB }\n  - { tier: warm, kind: nfs, read: 9 GB/s, write: 3 GB/s, capacity: "
          "9 PB }\n" +
          more,
      machine::known().catalog());
  EXPECT_TRUE(read) << to_text(read.error());
  return build_machine(read.value(), machine::known());
}

TEST(PlanDefaults, are_those_of_nothing_known) {
  const FailurePlan f;
  EXPECT_EQ(f.attempts, 1);
  EXPECT_EQ(f.restart_factor, 1);
  EXPECT_EQ(f.slow, 1);
  EXPECT_EQ(f.mean_in_repair, 0);
  EXPECT_EQ(f.spares, 0);
  EXPECT_EQ(f.shortfall, 0);
  EXPECT_EQ(f.rate_low, 0);
  EXPECT_EQ(f.rate_high, 0);
  const StepPlan s;
  EXPECT_EQ(s.replicas, 1);
  EXPECT_EQ(s.model_shards, 1);
  EXPECT_TRUE(s.optimizer_sharded);
  EXPECT_FALSE(s.weights_sharded);
  EXPECT_EQ(s.memory_error, 0.2);
  EXPECT_EQ(s.error, 0.2);
  EXPECT_TRUE(SavePlan{}.async);
  EXPECT_FALSE(SavePlan{}.interval_given);
  EXPECT_FALSE(FeedPlan{}.known);
  EXPECT_EQ(machine::kLatencyRequest, Bytes(4096));
  EXPECT_FALSE(machine::TierNeed{}.for_durability);
  EXPECT_EQ(machine::TierNeed{}.least, 1);
  EXPECT_EQ(machine::Tier{}.client_streams, 1);
  EXPECT_EQ(machine::Tier{}.rate_error, 0.25);
  EXPECT_FALSE(machine::Tier{}.per_node);
  EXPECT_EQ(machine::TierMeasurement{}.error, 0.1);
  EXPECT_FALSE(machine::CostOptions{}.graph_reduce);
  const machine::Wiring w;
  EXPECT_EQ(w.accelerators_per_host, 8);
  EXPECT_EQ(w.oversubscription, 1);
  EXPECT_FALSE(w.sharp || w.unmeasured || w.torch_timed || w.in_graph);
  const ServingQuery q;
  EXPECT_EQ(q.nics_per_accelerator, 1);
  EXPECT_EQ(q.nic_rate, gbytes_per_s(50));
  EXPECT_TRUE(q.streams && q.own_kernels);
  EXPECT_FALSE(q.left_out);
  EXPECT_EQ(ServingAsk{}.most_tp, 8);
  EXPECT_TRUE(ServingAsk{}.joined && ServingAsk{}.apart);
}

// Each kind of kernel has its factor, and a pass over memory its energy.
TEST(CostFactors, are_those_of_the_kind) {
  const machine::Wiring w{.accelerator = machine::known().catalog().accelerator("b200-sxm"),
                          .nics_per_host = 8,
                          .nic_rate = gbits_per_s(400)};
  const machine::Costs plain(machine::known(), w, {});
  const machine::Costs tuned(machine::known(), w,
                             {.tuning = {.matrix = 2,
                                         .matrix_8bit = 3,
                                         .matrix_4bit = 5,
                                         .attention = 7,
                                         .passes = 11,
                                         .pass_energy = 13,
                                         .scaleup = 17,
                                         .network = 19}});
  const auto ratio = [&](const workload::Operation& op) {
    const compute::KernelCost a = plain.kernel(op);
    const compute::KernelCost b = tuned.kernel(op);
    EXPECT_NEAR(b.clocked / a.clocked, b.time / a.time, 1e-9);
    return b.time / a.time;
  };
  const auto gemm = [](catalog::Dtype d) {
    return workload::Gemm{.m = 4096, .n = 4096, .k = 4096, .dtype = d};
  };
  EXPECT_NEAR(ratio(gemm(catalog::Dtype::bf16)), 2, 1e-9);
  EXPECT_NEAR(ratio(gemm(catalog::Dtype::fp8)), 3, 1e-9);
  EXPECT_NEAR(ratio(gemm(catalog::Dtype::fp4)), 5, 1e-9);
  const workload::MemoryPass pass{.read = gigabytes(1), .written = gigabytes(1)};
  EXPECT_NEAR(plain.kernel(pass).time * 11 / tuned.kernel(pass).time, 1, 1e-9);
  EXPECT_NEAR(tuned.kernel(pass).memory / plain.kernel(pass).memory, 13, 1e-9);
  const auto reduce = [&](const machine::Costs& c, int ranks) {
    return c.collective(
        {workload::Collective::all_reduce, megabytes(64), c.links().group_of(ranks)});
  };
  EXPECT_NEAR(reduce(tuned, 8) / reduce(plain, 8), 17, 1e-9);
  EXPECT_NEAR(reduce(tuned, 32) / reduce(plain, 32), 19, 1e-9);
  const machine::Costs capped(machine::known(), w, {.power_limit = watts(500)});
  EXPECT_EQ(capped.device().power.limit, watts(500));
  const machine::Costs above(machine::known(), w, {.power_limit = watts(5000)});
  EXPECT_EQ(above.device().power.limit, plain.device().power.limit);
}

TEST(LinksAsBuilt, are_as_the_wiring_says) {
  const catalog::Accelerator* h100 = machine::known().catalog().accelerator("h100-sxm");
  const machine::Links l({.accelerator = h100,
                          .domain = 4,
                          .accelerators_per_host = 8,
                          .nics_per_host = 4,
                          .nic_rate = gbits_per_s(400),
                          .oversubscription = 3,
                          .sharp = true,
                          .in_graph = true},
                         machine::known().collectives);
  EXPECT_EQ(l.built().domain, 4);
  EXPECT_EQ(l.built().scaleup_rate, gbytes_per_s(450));
  EXPECT_EQ(l.built().nics_per_rank, 0.5);
  EXPECT_EQ(l.built().nic_rate, gbytes_per_s(50));
  EXPECT_EQ(l.built().oversubscription, 3);
  EXPECT_TRUE(l.built().sharp);
  EXPECT_TRUE(l.built().in_graph);
  EXPECT_EQ(l.built().host_launch, Seconds(0));
  EXPECT_EQ(l.built().network_free, 1);
  EXPECT_EQ(l.left(0.4).built().network_free, 0.4);
  // Two NICs of 400 Gb/s for each are held by the port's 55.4 GB/s.
  const machine::Links wide(
      {.accelerator = h100, .nics_per_host = 16, .nic_rate = gbits_per_s(400)},
      machine::known().collectives);
  EXPECT_NEAR(wide.built().nic_rate.base(), 27.7e9, 1);
  EXPECT_EQ(wide.built().domain, 8);
  const machine::Links none({.accelerator = h100, .nics_per_host = 0},
                            machine::known().collectives);
  EXPECT_EQ(none.built().nic_rate, BytesPerSecond(0));
}

const std::string kRun =
    "workloads:\n  - train: { network: { params: 300M, forward: 12 GFLOP }, batch: 3200, samples: "
    "10B";

TEST(RunDetails, hosts_that_are_new_fail_otherwise) {
  const machine::Machine m =
      detailed(", failures: { node_mtbf: 9 d, shape: 0.7, leaf_mtbf: 2 y }", kRun + " }\n");
  TrainJob job = name_job(m, m.design().workloads[0]);
  fill_step(job, m);
  fill_costs(job, m);
  const double early = failure::early_factor(0.7, days(9), job.raw_time);
  EXPECT_NE(early, 1);
  EXPECT_NEAR(job.failure.node_rate * days(9), early, 1e-9);
  const machine::SharedParts parts = machine::shared_parts(m, m.fleets[design::FleetIndex(0)]);
  const double leaves = std::ceil(4.0 / parts.hosts_per_leaf);
  EXPECT_NEAR(job.failure.shared_rate * years(2), leaves, 1e-9);
  EXPECT_NEAR(1.0 / job.failure.mtbf.base(),
              4 * job.failure.node_rate.base() + job.failure.shared_rate.base(), 1e-15);
}

TEST(RunDetails, events_are_asked_of_their_tier) {
  const machine::Machine m =
      detailed("", kRun +
                       ", features: { rate: 100 /s, size: 2 kB, retention: 1 d, "
                       "tier: warm } }\n");
  TrainJob job = name_job(m, m.design().workloads[0]);
  fill_step(job, m);
  fill_costs(job, m);
  bool found = false;
  for (const machine::TierAsk& a : asks_of(job, m)) {
    if (a.what != "events of 'train'") continue;
    found = true;
    EXPECT_EQ(a.tier, "warm");
    EXPECT_NEAR(a.demand.write.base(), 2e5, 1e-6);
    EXPECT_NEAR(a.demand.capacity.base(), 2e5 * 86400, 1);
  }
  EXPECT_TRUE(found);
}

TEST(RunDetails, a_batch_that_spreads_nowhere_is_refused) {
  const machine::Machine m =
      detailed("",
               "workloads:\n  - train: { model: llama-3-8b, tokens: 1B, batch: 7, "
               "layout: { tp: 2, pp: 2 } }\n");
  TrainJob job = name_job(m, m.design().workloads[0]);
  fill_step(job, m);
  EXPECT_EQ(job.infeasible, "batch 7 spreads over no layout of 16 to 32 accelerators");
}

TEST(RunDetails, a_layout_says_what_is_sharded) {
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
  EXPECT_EQ(one.chosen, "given");
  EXPECT_EQ(one.units_per_step, 64.0 * 4096);
  EXPECT_GT(one.exposed_share, 0);
  double sum = 0;
  for (const StepSlice& s : one.parts) sum += s.time.base();
  EXPECT_NEAR(sum, one.step.base(), 1e-9 * sum);
  EXPECT_FALSE(plan("none").optimizer_sharded);
}

TEST(RunDetails, a_stage_inside_a_site_has_no_line) {
  const machine::Machine m =
      detailed("",
               "pipeline:\n  stages:\n    - { stage: archive, from: hot, to: "
               "warm, size: 1 TB, keep: 5 d }\n");
  const auto stages = pipeline_of(m);
  ASSERT_EQ(stages.size(), 1U);
  EXPECT_EQ(stages[0].way, storage::kUnlimitedRate);
  EXPECT_EQ(kept_by(stages[0], m.design().pipeline), terabytes(1)) << "it runs once";
  const machine::TierServers s =
      machine::servers_of(m.tiers[design::TierIndex(0)], machine::known().catalog());
  EXPECT_NEAR(s.each.base(), 50e9 / static_cast<double>(s.data), 1) << "it writes faster";
}

TEST(RunDetails, a_site_without_hosts_of_its_own_draws_nothing) {
  const machine::Machine m = detailed(", rent: { provider: aws }", "");
  EXPECT_EQ(load_of(m, design::SiteIndex(0)).hosts_nameplate, Watts(0));
  EXPECT_EQ(load_of(m, design::SiteIndex(0)).constant, Watts(0));
}

TEST(ServiceDetails, cores_have_limits_of_their_own) {
  const std::string serve =
      "workloads:\n  - serve: { model: llama-3-8b, arrivals: { rate: 1 /s, input_tokens: 9000, "
      "output_tokens: 100 }";
  const machine::Machine cores =
      detailed(", custom: { accelerators: 0, sockets: 2 }", serve + " }\n");
  const auto query = [](const machine::Machine& m) {
    const auto& s = std::get<design::Serve>(m.design().workloads[0].task);
    return serving_query(m.models(), s, *m.catalog().model("llama-3-8b"),
                         m.fleets[design::FleetIndex(0)], request_of(m, s));
  };
  const ServingQuery on_cores = query(cores);
  ASSERT_TRUE(on_cores.limits);
  EXPECT_EQ(on_cores.limits->token_budget, 4096);
  EXPECT_EQ(on_cores.limits->max_sequences, 256);
  EXPECT_FALSE(query(detailed("", serve + " }\n")).limits) << "the engine's";
  const ServingQuery whole = query(detailed("", serve + ", chunked_prefill: false }\n"));
  ASSERT_TRUE(whole.limits);
  EXPECT_FALSE(whole.limits->chunked_prefill);
  EXPECT_GE(whole.limits->token_budget, 9000) << "a prompt enters whole";
  const machine::Machine m = detailed("", serve + " }\n");
  const auto& s = std::get<design::Serve>(m.design().workloads[0].task);
  serving::RequestShape r = request_of(m, s);
  r.cached_share = 0.3;
  const ServingQuery q = query(m);
  const auto replica = replica_of(m.models(), q);
  ASSERT_TRUE(replica);
  const machine::Costs costs = serving_costs(m.models(), q);
  settle_talks(r, s, *replica, serving_source(costs), {.peak = PerSecond(1)});
  EXPECT_EQ(r.cached_share, 0.3) << "no talks";
}

TEST(ServiceDetails, a_batch_runs_on_one_size_of_slices) {
  const std::string batch =
      "workloads:\n  - batch: { inference: { model: llama-3-8b, requests: 1M, input_tokens: 500, "
      "output_tokens: 100 }, tasks: 3 }\n";
  const auto work = [&](const std::string& fleet) {
    const machine::Machine m = detailed(fleet, batch);
    return accelerator_work(m, std::get<design::Batch>(m.design().workloads[0].task),
                            m.fleets[design::FleetIndex(0)]);
  };
  EXPECT_EQ(work(", mig: { 3g.40gb: 1, 1g.10gb: 2 }").infeasible,
            "its accelerators are cut into slices of several sizes");
  EXPECT_EQ(work(", custom: { accelerators: 0, sockets: 2 }").infeasible,
            "no accelerators to run a model on");
  const jobs::BatchWork whole = work("");
  EXPECT_THAT(whole.infeasible, IsEmpty());
  EXPECT_EQ(whole.devices, 1);
  EXPECT_EQ(whole.tasks, 3);
  EXPECT_NEAR(whole.accelerator_hours, 1e6 / whole.rate.base() / 3600, 1e-9);
}

// Apart, what binds is the side that carries less: long prompts the one, long answers the other.
TEST(ServiceDetails, prefill_and_decode_bind_each_in_their_turn) {
  ServingAsk ask{.model = *machine::known().catalog().model("llama-3-8b"),
                 .accelerator = machine::known().catalog().accelerator("h100-sxm"),
                 .request = {.input = 2000, .output = 8},
                 .engines = {"vllm"},
                 .formats = {catalog::Dtype::bf16},
                 .tp = 1,
                 .joined = false};
  ask.request.cached_share = 0.5;
  const auto reading = serving_within(machine::known(), ask, 4);
  ASSERT_EQ(reading.size(), 1U);
  EXPECT_EQ(reading[0].prefill, 3);
  ServingQuery q{.model = ask.model,
                 .accelerator = ask.accelerator,
                 .precision = {.products = catalog::Dtype::bf16,
                               .experts = catalog::Dtype::bf16,
                               .kv = catalog::Dtype::bf16},
                 .request = ask.request};
  const auto prompt = predict_step(machine::known(), q,
                                   {.prompts = 1, .prompt_tokens = 1000, .prompt_cached = 1000});
  ASSERT_TRUE(prompt);
  EXPECT_NEAR(reading[0].requests.base(), 3 * 0.9 / prompt->step.total.base(), 1e-6)
      << "nine tenths of three";
  ask.request = {.input = 100, .output = 2000};
  const auto writing = serving_within(machine::known(), ask, 4);
  ASSERT_EQ(writing.size(), 1U);
  EXPECT_EQ(writing[0].prefill, 1);
  EXPECT_NEAR(writing[0].requests.base(), 3 * writing[0].batch / (2000 * writing[0].tpot.base()),
              1e-6);
}

}  // namespace
}  // namespace orrery::jobs
