#include "model/jobs/batch_work.h"

#include <gtest/gtest.h>

#include <cmath>

#include "model/jobs/build_machine.h"
#include "model/jobs/predict_serving.h"
#include "model/jobs/service_fixture.h"
#include "model/machine/known_fixture.h"
#include "model/machine/machine.h"

namespace orrery::jobs {
namespace {

// Requests / rate of a replica. With 0.1 expected losses a piece takes (e^0.1 - 1) / 0.1 as long.
TEST(BatchWork, inference_requests_become_accelerator_hours) {
  const design::Design d = service_design(
      "  - batch: { name: b, tasks: 3, inference: { model: llama-3-8b, tp: 2, requests: 720000, "
      "input_tokens: 800, output_tokens: 100 } }\n");
  const machine::Machine m = build_machine(d, machine::known());
  const jobs::BatchWork w =
      accelerator_work(m, std::get<design::Batch>(d.workloads[0].task), m.fleets[design::FleetIndex(0)]);
  ASSERT_EQ(w.infeasible, "");
  EXPECT_EQ(w.devices, 2);
  EXPECT_EQ(w.tasks, 6);
  EXPECT_NEAR(w.accelerator_hours, 720000 / w.rate.base() * 2 / 3600, 1e-9);
  EXPECT_NEAR(work_again(hours(1), 0.1 / hours(1)), 1.0517, 1e-4);
  EXPECT_EQ(work_again(hours(1), PerSecond(0)), 1);
}

TEST(BatchWork, inference_is_infeasible_without_a_model_or_a_fitting_device) {
  const machine::Machine m = plain_service("arrivals: { rate: 1 /s }");
  design::Batch batch{.accelerator_hours = 12, .tasks = 5};
  const jobs::BatchWork given = accelerator_work(m, batch, m.fleets[design::FleetIndex(0)]);
  EXPECT_EQ(given.accelerator_hours, 12);
  EXPECT_EQ(given.tasks, 5);
  EXPECT_EQ(given.devices, 1);
  EXPECT_EQ(given.rate, PerSecond(0));
  EXPECT_EQ(given.infeasible, "");
  batch.inference = design::Inference{
      .model = "llama-3-8b", .requests = 100, .input_tokens = 100, .output_tokens = 10};
  EXPECT_NE(accelerator_work(m, batch, m.fleets[design::FleetIndex(1)]).infeasible, "") << "a fleet of CPUs";
  const jobs::BatchWork one = accelerator_work(m, batch, m.fleets[design::FleetIndex(0)]);
  EXPECT_EQ(one.infeasible, "");
  EXPECT_EQ(one.devices, 1) << "the least that fits";
  EXPECT_EQ(one.tasks, 5);
  EXPECT_DOUBLE_EQ(one.accelerator_hours, 100 / one.rate.base() / 3600);
  batch.inference->model = "nothing";
  EXPECT_NE(accelerator_work(m, batch, m.fleets[design::FleetIndex(0)]).infeasible, "") << "an unknown model";
  batch.inference->model = "llama-3-8b";
  const machine::Machine cut =
      asked_machine("  - serve: { name: s, model: llama-3-8b, arrivals: { rate: 1 /s } }\n");
  machine::Fleet sliced = cut.fleets[design::FleetIndex(0)];
  sliced.slices.resize(2);
  EXPECT_NE(accelerator_work(cut, batch, sliced).infeasible, "") << "slices of two sizes";
  const machine::Machine halves =
      asked_machine("  - serve: { name: s, model: llama-3-8b, arrivals: { rate: 1 /s } }\n",
                    ", mig: { 3g.40gb: 2 }");
  EXPECT_EQ(accelerator_work(halves, batch, halves.fleets[design::FleetIndex(0)]).infeasible, "") << "of one size";
  batch.inference->model = "llama-3-405b";
  batch.inference->tp = 1;
  EXPECT_NE(accelerator_work(m, batch, m.fleets[design::FleetIndex(0)]).infeasible, "");
  EXPECT_EQ(accelerator_work(m, batch, m.fleets[design::FleetIndex(0)]).accelerator_hours, 12) << "as given";
}

// A piece as long as the MTBF takes e - 1 times as long. At most twenty losses are counted.
TEST(BatchWork, lost_pieces_start_again) {
  EXPECT_EQ(work_again(Seconds(0), PerSecond(1)), 1);
  EXPECT_NEAR(work_again(Seconds(2), PerSecond(0.5)), std::exp(1.0) - 1, 1e-12);
  EXPECT_NEAR(work_again(Seconds(99), PerSecond(1)), std::expm1(20.0) / 20, 1e-3);
}

}  // namespace
}  // namespace orrery::jobs
