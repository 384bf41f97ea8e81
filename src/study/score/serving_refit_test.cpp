#include "study/score/serving_refit.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>

#include "model/machine/known_fixture.h"
#include "study/score/refit_fixture.h"
#include "study/score/rows_fixture.h"
#include "study/score/serving_rows.h"
#include "study/score/serving_score.h"

namespace orrery::score {
namespace {

using testing::HasSubstr;

ServedRow one_served(const char* model = "llama-3-8b", double clients = 16) {
  const machine::Models& models = machine::known();
  ServedRow row{.id = "r", .model = model, .query = {}};
  row.query.model = *models.catalog().model(model);
  row.query.accelerator = models.catalog().accelerator("h200-sxm");
  row.query.engine = "vllm";
  row.query.precision = {catalog::Dtype::fp8, catalog::Dtype::fp8, catalog::Dtype::fp8};
  row.query.request = {.input = 500, .output = 900, .requests_per_client = 2};
  row.query.concurrency = clients;
  return row;
}

machine::Models with_tunings(std::vector<engines::TuningRow> tunings) {
  machine::Models models = machine::known();
  models.tunings = std::move(tunings);
  return models;
}

// The starting values of all engines, for the engine and its accelerator.
TEST(ServingRefit, without_rows_parameters_stay_at_their_priors) {
  const std::vector<ServedRow> rows(20, one_served());
  const auto tunings = refit_serving(machine::known(), rows);
  ASSERT_EQ(tunings.size(), 2U);
  EXPECT_EQ(tunings[0].accelerator, "*");
  EXPECT_EQ(tunings[1].accelerator, "h200-sxm");
  for (const engines::TuningRow& row : tunings) {
    const engines::ServingTuning& t = row.tuning;
    EXPECT_EQ(row.engine, "vllm");
    EXPECT_DOUBLE_EQ(t.products, 0.98);
    EXPECT_DOUBLE_EQ(t.experts, 1.05);
    EXPECT_DOUBLE_EQ(t.decoding, 1.2);
    EXPECT_DOUBLE_EQ(t.latent, 1.0);
    EXPECT_DOUBLE_EQ(t.prefill, 1.03);
    EXPECT_DOUBLE_EQ(t.messages, 1.07);
    EXPECT_DOUBLE_EQ(t.layer.base(), 1.5e-6);
    EXPECT_DOUBLE_EQ(t.expert_layer.base(), 3e-6);
    EXPECT_DOUBLE_EQ(t.state_layer.base(), 9.5e-6);
    EXPECT_DOUBLE_EQ(t.step.base(), 150e-6);
    EXPECT_DOUBLE_EQ(t.sequence.base(), 16e-6);
    EXPECT_DOUBLE_EQ(t.prompt_wait, 1.1);
    EXPECT_DOUBLE_EQ(t.first_token.base(), 35e-3);
    EXPECT_DOUBLE_EQ(t.poll_steps, serving::kAheadSteps);
    EXPECT_DOUBLE_EQ(t.expert_first.base(), 1.5e-3);
  }
  EXPECT_EQ(refit_serving(machine::known(), std::vector(19, one_served())).size(), 1U);
}

TEST(ServingRefit, engine_names_are_mapped) {
  std::vector<ServedRow> rows = {one_served(), one_served(), one_served()};
  rows[0].query.engine = "trtllm";
  rows[1].query.engine = "abacus";
  const auto tunings = refit_serving(machine::known(), rows);
  ASSERT_EQ(tunings.size(), 3U);
  EXPECT_EQ(tunings[0].engine, "abacus");
  const engines::Engine* engine = find_engine(machine::known().engines, "trtllm");
  ASSERT_NE(engine, nullptr);
  EXPECT_EQ(tunings[1].engine, engine->id);
}

// Twenty equal rows that are a tenth slower than the priors predict move the fit to them.
TEST(ServingRefit, a_closed_loop_is_fitted_at_90_percent_of_its_lengths) {
  std::vector<ServedRow> rows(20, one_served());
  machine::Models prior = with_tunings(refit_serving(machine::known(), rows));
  const auto tpot = [&](const machine::Models& models) {
    jobs::ServingQuery q = rows[0].query;
    q.request.input *= 0.9;
    q.request.output *= 0.9;
    return predict_serving(models, q)->point.tpot.base();
  };
  const double measured = 1.1 * tpot(prior);
  for (ServedRow& row : rows) row.tpot = measured;
  EXPECT_NEAR(tpot(with_tunings(refit_serving(machine::known(), rows))) / measured, 1, 0.004);
}

TEST(ServingRefit, an_offline_test_is_fitted_with_its_queue) {
  for (const int requests : {1, 40}) {
    std::vector<ServedRow> rows(20, one_served());
    for (ServedRow& row : rows) {
      row.requests = requests;
      row.query.streams = false;
      row.query.concurrency = 1;
      row.query.request = {.input = 300, .output = 60};
    }
    const auto rate = [&](const machine::Models& models) {
      return predict_offline(models, rows[0].query, requests)->value;
    };
    const double measured = 0.93 * rate(with_tunings(refit_serving(machine::known(), rows)));
    for (ServedRow& row : rows) row.tpot = 1 / measured;
    const auto fitted = refit_serving(machine::known(), rows);
    EXPECT_NEAR(rate(with_tunings(fitted)) / measured, 1, 0.01) << requests;
    EXPECT_NEAR(fitted[1].tuning.sequence.base(), fitted[0].tuning.sequence.base(), 1e-7);
  }
}

// Three decode replicas share the clients, each with a context of the prompt and half the answer.
TEST(ServingRefit, a_decode_replica_is_fitted_by_its_step) {
  std::vector<ServedRow> rows(20, one_served("llama-3-70b", 96));
  for (ServedRow& row : rows) {
    row.query.split.tp = 4;
    row.query.request = {.input = 400, .output = 6000, .requests_per_client = 2};
    row.apart = jobs::DisaggregatedQuery{
        .prefill = row.query, .decode = row.query, .prefill_replicas = 2, .decode_replicas = 3};
  }
  const auto tpot = [&](const machine::Models& models) {
    return predict_disaggregated(models, *rows[0].apart)->point.tpot.base();
  };
  const double measured = 1.08 * tpot(with_tunings(refit_serving(machine::known(), rows)));
  for (ServedRow& row : rows) row.tpot = measured;
  EXPECT_NEAR(tpot(with_tunings(refit_serving(machine::known(), rows))) / measured, 1, 0.01);
  for (ServedRow& row : rows) row.apart->prefill_replicas = 0.01;
  const auto held_up = refit_serving(machine::known(), rows);
  EXPECT_DOUBLE_EQ(held_up[1].tuning.decoding, 1.2);
}

TEST(ServingRefit, first_tokens_are_fitted_by_simulation) {
  std::vector<ServedRow> rows(20, one_served("llama-3-8b", 4));
  for (ServedRow& row : rows)
    row.query.request = {.input = 3000, .output = 20, .requests_per_client = 2};
  const auto ttft = [&](const machine::Models& models) {
    return predict_benchmark(models, rows[0].query, load_of_test(rows[0].query))->point.ttft.base();
  };
  const double measured = 1.07 * ttft(with_tunings(refit_serving(machine::known(), rows)));
  for (ServedRow& row : rows) row.ttft = measured;
  EXPECT_NEAR(ttft(with_tunings(refit_serving(machine::known(), rows))) / measured, 1, 0.01);
}

constexpr std::string_view kClosedHead =
    "id,backend,model_path,system,precision,mode,isl,osl,batch_size,tp_size,mtp,"
    "prefill_tp_size,decode_tp_size,prefill_num_workers,decode_num_workers,"
    "silicon_ttft_ms,silicon_tpot_ms\n";

std::string closed_row(const std::string& id, const std::string& model, const char* tpot) {
  return id + ",vllm," + model + ",h200_sxm,fp8,agg,200,40,4,4,0,,,,,90," + tpot + "\n";
}

CsvTable closed_table(const std::string& rows) {
  return CsvTable::parse(std::string(kClosedHead) + rows, "c.csv").value();
}

TEST(ServingRefit, disaggregated_rows_need_named_replicas) {
  const auto served = [](const char* end) {
    const CsvTable table = closed_table(
        std::string("a,trtllm,deepseek-ai/DeepSeek-R1,gb200,fp4,disagg,1000,2000,96,,") + end);
    return served_rows(table, known_inputs());
  };
  const auto rows = served("0,4,8,2,3,,25\n");
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].id, "a");
  EXPECT_EQ(rows[0].model, "deepseek-ai/DeepSeek-R1");
  EXPECT_DOUBLE_EQ(rows[0].tpot, 0.025);
  EXPECT_EQ(rows[0].ttft, 0);
  EXPECT_EQ(rows[0].query.split.tp, 8);
  ASSERT_TRUE(rows[0].apart);
  EXPECT_EQ(rows[0].apart->decode_replicas, 3);
  EXPECT_TRUE(served("0,4,8,2,,,25\n").empty());
  EXPECT_TRUE(served("1,4,8,2,3,,25\n").empty()) << "guesses";
  EXPECT_TRUE(served("0,4,8,2,3,,\n").empty());
  EXPECT_TRUE(served("0,4,8,2,3,,0\n").empty());
}

TEST(ServingRefit, the_file_has_parameters_with_units) {
  const CsvTable table = closed_table(closed_row("a", "meta-llama/Llama-3.1-8B", "7") +
                                      closed_row("b", "meta-llama/Llama-3.1-70B", "21"));
  const CsvTable file =
      CsvTable::parse(refitted_tuning_csv(table, known_inputs()), "t.csv").value();
  const auto tunings = refit_serving(machine::known(), served_rows(table, known_inputs()));
  ASSERT_EQ(file.rows().size(), 1U);
  ASSERT_EQ(tunings.size(), 1U);
  const CsvRow& row = file.rows()[0];
  const engines::ServingTuning& t = tunings[0].tuning;
  EXPECT_EQ(file.text(row, "accelerator"), "*");
  EXPECT_EQ(file.text(row, "engine"), "vllm");
  const std::tuple<const char*, double, double> columns[] = {
      {"products", t.products, 6e-4},
      {"experts", t.experts, 6e-4},
      {"decoding", t.decoding, 6e-4},
      {"latent", t.latent, 6e-4},
      {"prefill", t.prefill, 6e-4},
      {"messages", t.messages, 6e-4},
      {"layer_us", t.layer.base() * 1e6, 6e-3},
      {"expert_layer_us", t.expert_layer.base() * 1e6, 6e-3},
      {"state_layer_us", t.state_layer.base() * 1e6, 6e-3},
      {"step_us", t.step.base() * 1e6, 0.06},
      {"sequence_us", t.sequence.base() * 1e6, 6e-3},
      {"expert_first_us", t.expert_first.base() * 1e6, 0.06},
      {"first_token_ms", t.first_token.base() * 1e3, 6e-3},
      {"poll_steps", t.poll_steps, 6e-3},
      {"prompt_wait", t.prompt_wait, 6e-4},
      {"rows", 2, 0}};
  for (const auto& [column, value, error] : columns) {
    ASSERT_TRUE(file.number(row, column)) << column;
    EXPECT_NEAR(*file.number(row, column), value, error) << column;
  }
  EXPECT_EQ(file.text(row, "basis"), "fitted");
  EXPECT_THAT(std::string(file.text(row, "source")), HasSubstr("published closed-loop rows"));
  const CsvTable queued = table_of({{{"id", "r"},
                                     {"model", "Llama 3.1 8B"},
                                     {"gpu", "H200"},
                                     {"precision", "FP8"},
                                     {"num_gpus", "1"},
                                     {"isl", "20000"},
                                     {"osl", "2000"},
                                     {"value", "0"},
                                     {"metric", "output tokens/s total"}}});
  EXPECT_TRUE(served_rows(queued, known_inputs()).empty());
}

// Llama 70B under three names, and DeepSeek's shapes under any, are one family each: neither is
// fitted to itself.
TEST(ServingRefit, a_model_is_held_out_under_all_its_names) {
  const std::string seventy = "meta-llama/Llama-3.1-70B";
  const std::string small = "meta-llama/Llama-3.1-8B";
  const std::string rows = closed_row("a", seventy, "30") +
                           closed_row("b", "Llama-3.1-70B-Instruct-FP8", "40") +
                           closed_row("c", small, "3");
  const Score held = score_serving_held_out(closed_table(rows), known_inputs()).value();
  ASSERT_EQ(held.series[0].rows.size(), 3U);
  const auto fitted_on = [](const std::string& others, const std::string& row) {
    const CsvTable table = closed_table(others);
    const machine::Models models =
        with_tunings(refit_serving(machine::known(), served_rows(table, known_inputs())));
    const ScoreInputs inputs{.models = models, .model = {}, .left_out = true};
    return score_serving(closed_table(row), inputs).value();
  };
  const Score large = fitted_on(closed_row("c", small, "3"), closed_row("a", seventy, "30"));
  EXPECT_DOUBLE_EQ(held.series[0].rows[0].predicted.value, large.series[0].rows[0].predicted.value);
  EXPECT_DOUBLE_EQ(held.series[0].rows[0].predicted.high, large.series[0].rows[0].predicted.high);
  const Score eight = fitted_on(closed_row("a", seventy, "30") + closed_row("b", seventy, "40"),
                                closed_row("c", small, "3"));
  EXPECT_DOUBLE_EQ(held.series[0].rows[2].predicted.value, eight.series[0].rows[0].predicted.value);
}

TEST(ServingRefit, deepseek_models_are_one_family) {
  const auto row = [](const char* id, const char* model, const char* mtp) {
    return std::string(id) + ",sglang," + model + ",gb200,fp8,agg,100,20,4,8," + mtp +
           ",,,,,90,20\n";
  };
  const std::string both = row("a", "deepseek-ai/DeepSeek-R1", "0") +
                           row("b", "deepseek-ai/DeepSeek-V3", "0") +
                           row("c", "Qwen/Qwen3-235B-A22B", "1");
  const Score held = score_serving_held_out(closed_table(both), known_inputs()).value();
  ASSERT_GE(held.series[0].rows.size(), 2U) << (held.skipped.empty() ? "" : held.skipped[0].reason);
  // Nothing else was measured, so both use tunings without rows.
  const machine::Models none = with_tunings({});
  const ScoreInputs inputs{.models = none, .model = {}, .left_out = true};
  const Score bare = score_serving(closed_table(both), inputs).value();
  EXPECT_DOUBLE_EQ(held.series[0].rows[0].predicted.value, bare.series[0].rows[0].predicted.value);
  EXPECT_DOUBLE_EQ(held.series[0].rows[1].predicted.value, bare.series[0].rows[1].predicted.value);
  const Score shipped = score_serving(closed_table(both), known_inputs()).value();
  ASSERT_EQ(held.series[0].rows.size(), 3U);
  EXPECT_DOUBLE_EQ(held.series[0].rows[2].predicted.value,
                   shipped.series[0].rows[2].predicted.value);
}

TEST(ServingRefit, fit_rows_are_joined_and_in_seconds) {
  const CsvTable table =
      CsvTable::parse(
          "id,backend,model_path,system,precision,mode,isl,osl,batch_size,tp_size,mtp,"
          "silicon_ttft_ms,silicon_tpot_ms\n"
          "a,vllm,meta-llama/Llama-3.1-70B,h200_sxm,fp8,agg,1024,128,8,4,0,100,10\n"
          "b,vllm,meta-llama/Llama-3.1-70B,h200_sxm,fp8,agg,1024,128,8,4,1,100,10\n"
          "c,vllm,meta-llama/Llama-3.1-70B,h200_sxm,fp8,disagg,1024,128,8,4,0,100,10\n"
          "d,vllm,meta-llama/Llama-3.1-70B,h200_sxm,fp8,agg,1024,128,8,4,0,100,\n",
          "s.csv")
          .value();
  const auto rows = served_rows(table, known_inputs());
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_DOUBLE_EQ(rows[0].tpot, 0.01);
  EXPECT_DOUBLE_EQ(rows[0].ttft, 0.1);
  auto offline = offline_fields();
  offline["metric"] = "output tokens/s per GPU", offline["value"] = "500";
  const auto queued = served_rows(one_row(offline), known_inputs());
  ASSERT_EQ(queued.size(), 1U);
  EXPECT_DOUBLE_EQ(queued[0].tpot, 1.0 / (500 * 2));
  EXPECT_EQ(queued[0].requests, 3000);
}

// As in the fit: lengths are nine tenths of what a test names.
double tokens_apart(const machine::Models& models, jobs::ServingQuery q) {
  q.request.input *= 0.9;
  q.request.output *= 0.9;
  return predict_serving(models, q)->point.tpot.base();
}

// Rows made from a known tuning; the fit must recover it as far as they decide it.
std::vector<ServedRow> tuned_rows(const machine::Models& models) {
  std::vector<ServedRow> rows;
  for (const char* model : {"llama-3-8b", "llama-3-70b"}) {
    for (const double clients : {4, 16, 64, 128}) {
      for (const double input : {1024, 4096}) {
        for (const int tp : {2, 4}) {
          ServedRow row{.id = {}, .model = model, .query = {}};
          row.query.model = *models.catalog().model(model);
          row.query.accelerator = models.catalog().accelerator("h200-sxm");
          row.query.engine = "vllm";
          row.query.precision = {catalog::Dtype::fp8, catalog::Dtype::fp8, catalog::Dtype::fp8};
          row.query.split.tp = tp;
          row.query.request = {.input = input, .output = 256, .requests_per_client = 2};
          row.query.concurrency = clients;
          row.tpot = tokens_apart(models, row.query);
          row.ttft = predict_benchmark(models, row.query, {.waves_most = 2})->ttft_s.value;
          rows.push_back(std::move(row));
        }
      }
    }
  }
  return rows;
}

TEST(ServingRefit, the_fit_recovers_known_parameters) {
  machine::Models truth = machine::known();
  truth.tunings = {{.accelerator = "*",
                    .engine = "vllm",
                    .tuning = {.products = 1.15,
                               .decoding = 1.1,
                               .layer = microseconds(3),
                               .step = microseconds(400),
                               .sequence = microseconds(16),
                               .first_token = milliseconds(120),
                               .poll_steps = 3,
                               .prompt_wait = 1.4}}};
  const std::vector<ServedRow> rows = tuned_rows(truth);
  const auto tunings = refit_serving(machine::known(), rows);
  ASSERT_EQ(tunings.size(), 2u);  // of the engine, and of its one accelerator
  machine::Models again = machine::known();
  again.tunings = tunings;
  double worst = 0;
  for (const ServedRow& row : rows) {
    worst = std::max(worst, std::abs(tokens_apart(again, row.query) / row.tpot - 1));
  }
  EXPECT_LT(worst, 0.08);  // the prior holds the fit of so few rows
  EXPECT_NEAR(tunings[1].tuning.products, 1.15, 0.12);
  EXPECT_GT(tunings[1].tuning.products, 1.02);  // the prior is 0.98
}

}  // namespace
}  // namespace orrery::score
