// What a replica runs on where that is no whole accelerator: a slice of one, or a host's cores.
#include <gtest/gtest.h>

#include <cmath>

#include "model/design_text/read_design.h"
#include "model/jobs/build_machine.h"
#include "model/jobs/request_shape.h"
#include "model/jobs/serving_choices.h"
#include "model/jobs/serving_query.h"
#include "model/machine/known_fixture.h"

namespace orrery::jobs {
namespace {

design::Design on_fleet(const std::string& fleet, const std::string& more = {}) {
  const auto d = design_text::read_design(
      "orrery: 1\nname: a\nsite: { region: usa }\nfleet: [{ name: f, count: 2, " + fleet +
          " }]\nworkloads:\n  - serve: { name: s, model: llama-3-8b, " + more +
          "arrivals: { rate: 1 /s, input_tokens: 1000, output_tokens: 100 } }\n",
      machine::known().catalog());
  EXPECT_TRUE(d) << (d ? "" : to_text(d.error()));
  return d.value();
}

struct Asked {
  design::Design design;
  machine::Machine machine;
  ServingQuery query;
};

Asked ask(const std::string& fleet, const std::string& more = {}) {
  Asked a{.design = on_fleet(fleet, more), .machine = {}, .query = {}};
  a.machine = build_machine(a.design, machine::known());
  const auto& serve = std::get<design::Serve>(a.design.workloads[0].task);
  a.query = serving_query(machine::known(), serve,
                          *find_model(a.design, machine::known().catalog(), "llama-3-8b"),
                          a.machine.fleets[design::FleetIndex(0)], request_of(a.machine, serve));
  return a;
}

TEST(ServeDevice, AReplicaOnASliceHasItsMemoryAndNoMore) {
  const Asked whole = ask("node: dgx-h200");
  const Asked cut = ask("node: dgx-h200, mig: { 3g.71gb: 2 }");
  ASSERT_TRUE(cut.query.slice);
  EXPECT_EQ(cut.query.slice->each, 2);
  EXPECT_DOUBLE_EQ(cut.query.accelerators(), 0.5);
  EXPECT_NEAR(cut.query.memory() / gib(1), 69.75, 1e-9);
  const auto all = replica_of(machine::known(), whole.query);
  const auto part = replica_of(machine::known(), cut.query);
  ASSERT_TRUE(all && part);
  EXPECT_EQ(all->memory.weights, part->memory.weights);
  EXPECT_LT(part->memory.kv_tokens, all->memory.kv_tokens / 2);
  // 16 GB of weights do not fit 16 GiB.
  const auto small = replica_of(machine::known(), ask("node: dgx-h200, mig: { 1g.18gb: 7 }").query);
  ASSERT_FALSE(small);
  EXPECT_EQ(small.error().front().code, "serving.memory");
}

// Half the memory channels and 60 of 132 units: a decode step takes twice as long.
TEST(ServeDevice, AStepOnASliceTakesItsShareLonger) {
  const auto step = [](const Asked& a, const serving::Iteration& i) {
    return predict_step(machine::known(), a.query, i).value().step.total.base();
  };
  const Asked whole = ask("node: dgx-h200");
  const Asked cut = ask("node: dgx-h200, mig: { 3g.71gb: 2 }");
  const serving::Iteration decode{.decoding = 16, .context = 2000};
  const serving::Iteration prompt{.prompts = 1, .prompt_tokens = 4096};
  EXPECT_NEAR(step(cut, decode) / step(whole, decode), 1.9, 0.15);
  EXPECT_NEAR(step(cut, prompt) / step(whole, prompt), 132.0 / 60, 0.25);
}

TEST(ServeDevice, SlicesAreNotJoined) {
  Asked cut = ask("node: dgx-h200, mig: { 3g.71gb: 2 }");
  cut.query.split.tp = 2;
  const auto replica = replica_of(machine::known(), cut.query);
  ASSERT_FALSE(replica);
  EXPECT_EQ(replica.error().front().code, "serving.split");
  cut.query.split.tp = 1;
  EXPECT_EQ(least_tp(machine::known(), cut.query, 8), 1);
}

TEST(ServeDevice, ChoicesOnSlicesCountAcceleratorsWhole) {
  const Asked cut = ask("node: dgx-h200, mig: { 3g.71gb: 2 }");
  ServingAsk asked{.model = cut.query.model,
                   .accelerator = cut.query.accelerator,
                   .slice = cut.query.slice,
                   .request = cut.query.request,
                   .target = {.ttft_p99 = seconds(2), .tpot_p99 = milliseconds(80)},
                   .engines = {"vllm"},
                   .formats = {catalog::Dtype::bf16},
                   .apart = false};
  const auto within = serving_within(machine::known(), asked, 3);
  ASSERT_EQ(within.size(), 1u);
  EXPECT_EQ(within[0].replicas, 6);
  EXPECT_EQ(within[0].gpus, 3);
  const auto needed = serving_for(machine::known(), asked, within[0].requests * 0.4);
  ASSERT_EQ(needed.size(), 1u);
  EXPECT_EQ(needed[0].gpus, static_cast<int>(std::ceil(needed[0].replicas / 2)));
}

// A token of one request reads the weights once, 15 GB at 0.65 of the memory's rate, and wakes the
// cores for every kernel.
TEST(ServeDevice, CoresServeAtTheRateOfTheirMemory) {
  const Asked host =
      ask("node: cpu-2s-server, custom: { memory: 1 TB, memory_bandwidth: 800 GB/s, "
          "matrix_rate: 400 TFLOP/s }");
  ASSERT_NE(host.machine.fleets[design::FleetIndex(0)].host, nullptr);
  EXPECT_EQ(host.machine.fleets[design::FleetIndex(0)].devices(), 2);
  EXPECT_EQ(host.query.accelerator->id, machine::kHostDevice);
  const double step = predict_step(machine::known(), host.query, {.decoding = 1, .context = 500})
                          .value()
                          .step.total.base();
  EXPECT_GT(step, 15.0e9 / (800e9 * 0.65));
  EXPECT_LT(step, 1.5 * 15.0e9 / (800e9 * 0.65));
  const double prompt =
      predict_step(machine::known(), host.query, {.prompts = 1, .prompt_tokens = 2048})
          .value()
          .step.total.base();
  // 2 x 7 G parameters of layers and 2,048 tokens at 0.15 of the cores' rate.
  EXPECT_NEAR(prompt, 2 * 7.0e9 * 2048 / (400e12 * 0.15), 0.4 * prompt);
}

TEST(ServeDevice, OfCoresNothingIsSureWithinAHalf) {
  const Asked host = ask("node: cpu-2s-server");
  const auto p = predict_capacity(machine::known(), host.query, {.tpot_p99 = milliseconds(200)});
  ASSERT_TRUE(p);
  EXPECT_GT(p->tpot_s.high / p->tpot_s.value, 1.5);
  EXPECT_GT(p->ttft_s.high / p->ttft_s.value, 2);
}

TEST(ServeDevice, CoresHaveNoNarrowFormatsAndNoTensorRt) {
  const auto narrow =
      replica_of(machine::known(), ask("node: cpu-2s-server", "precision: fp8, ").query);
  ASSERT_FALSE(narrow);
  EXPECT_EQ(narrow.error().front().code, "serving.format");
  const auto engine =
      replica_of(machine::known(), ask("node: cpu-2s-server", "engine: tensorrt-llm, ").query);
  ASSERT_FALSE(engine);
  EXPECT_EQ(engine.error().front().code, "serving.engine");
}

}  // namespace
}  // namespace orrery::jobs
