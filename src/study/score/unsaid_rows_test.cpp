// Serving rows that do not say how their devices were shared, at low rates and small groups, and
// how firmly an engine is held at the prior of all.
#include <gtest/gtest.h>

#include "study/score/rows_fixture.h"
#include "study/score/serving_refit.h"
#include "study/score/serving_unsaid.h"

namespace orrery::score {
namespace {

jobs::DisaggregatedQuery query_apart(double clients, double output) {
  const machine::Models& models = machine::known();
  jobs::ServingQuery q;
  q.model = *models.catalog().model("deepseek-v3");
  q.accelerator = models.catalog().accelerator("gb200");
  q.engine = "sglang";
  q.precision = {catalog::Dtype::fp8, catalog::Dtype::fp8, catalog::Dtype::fp8};
  q.request = {.input = 500, .output = output, .requests_per_client = 10};
  q.concurrency = clients;
  q.limits = engines::EngineLimits{.token_budget = 16384, .max_sequences = 4096};
  return {.prefill = q, .decode = q, .prefill_replicas = 1, .decode_replicas = 1};
}

// Less than a request a second is still answered, and 72 devices of both roles are shared out.
TEST(UnsaidRows, devices_are_shared_out_however_few_requests_there_are) {
  jobs::DisaggregatedQuery q = query_apart(1, 9000);
  settle_unsaid(machine::known(), {.prefill_devices = 72, .decode_devices = 72}, q);
  const double decode = q.decode_replicas * q.decode.split.devices();
  EXPECT_LT(q.prefill.split.devices(), 72);
  EXPECT_LE(q.prefill_replicas * q.prefill.split.devices() + decode, 72);
  EXPECT_LT(decode, 72);
  const auto p = predict_disaggregated(machine::known(), q);
  ASSERT_TRUE(p);
  EXPECT_LT(p->point.requests.base(), 1);
}

// Eight devices and fewer, and powers of two, are one group of each role.
TEST(UnsaidRows, a_group_of_a_power_of_two_is_not_shared) {
  for (const int devices : {64, 32, 16}) {
    jobs::DisaggregatedQuery q = query_apart(256, 200);
    settle_unsaid(machine::known(), {.prefill_devices = devices, .decode_devices = devices}, q);
    EXPECT_EQ(q.decode.split.devices(), devices);
    EXPECT_EQ(q.decode_replicas, 1) << "more than a host";
    EXPECT_EQ(q.prefill.split.devices(), devices);
  }
  jobs::DisaggregatedQuery host = query_apart(256, 200);
  settle_unsaid(machine::known(), {.prefill_devices = 4, .decode_devices = 8}, host);
  EXPECT_EQ(host.decode.split.devices(), 8);
  EXPECT_EQ(host.decode_replicas, 4) << "as most tests have";
  EXPECT_EQ(host.prefill.split.devices(), 4);
}

TEST(UnsaidRows, places_of_one_engine_s_tests) {
  const auto places = [](const char* engine, bool goes_on, double clients) {
    jobs::DisaggregatedQuery q = query_apart(clients, 200);
    q.decode.engine = q.prefill.engine = engine;
    settle_unsaid(machine::known(), {.prefill_devices = 4, .decode_devices = 8, .goes_on = goes_on},
                  q);
    return q.decode.limits->max_sequences;
  };
  EXPECT_EQ(places("trtllm", false, 130), 32);  // 32.5 of each of four
  EXPECT_EQ(places("trtllm", false, 127), 16);
  EXPECT_EQ(places("trtllm", false, 2), 1);
  EXPECT_EQ(places("trtllm", true, 130), 4096);
  EXPECT_EQ(places("sglang", false, 130), 4096);
}

// One row that is a tenth slower moves an engine hardly at all: it is held as by twenty rows.
TEST(UnsaidRows, an_engine_is_held_at_the_prior_of_all) {
  const machine::Models& models = machine::known();
  ServedRow row{.id = "r", .model = "llama-3-8b", .query = {}};
  row.query.model = *models.catalog().model("llama-3-8b");
  row.query.accelerator = models.catalog().accelerator("h200-sxm");
  row.query.engine = "vllm";
  row.query.precision = {catalog::Dtype::fp8, catalog::Dtype::fp8, catalog::Dtype::fp8};
  row.query.request = {.input = 500, .output = 900, .requests_per_client = 2};
  row.query.concurrency = 16;
  const auto tpot = [&](const std::vector<engines::TuningRow>& tunings) {
    machine::Models tuned = models;
    tuned.tunings = tunings;
    jobs::ServingQuery q = row.query;
    q.request.input *= 0.9;
    q.request.output *= 0.9;
    return predict_serving(tuned, q)->point.tpot.base();
  };
  const double prior = tpot(refit_serving(models, {row}));
  row.tpot = 1.1 * prior;
  const auto fitted = refit_serving(models, {row});
  ASSERT_EQ(fitted.size(), 1U);
  EXPECT_GT(tpot(fitted), prior);
  EXPECT_LT(tpot(fitted), 1.01 * prior);
}

}  // namespace
}  // namespace orrery::score
