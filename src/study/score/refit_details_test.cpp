// The fit of serving parameters on rows that one replica made: priors where nothing was measured,
// and predictions that meet what was, whatever kind of test it comes of.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "study/score/rows_fixture.h"
#include "study/score/serving_refit.h"
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

// What all engines begin with, of the engine and of its accelerator.
TEST(RefitDetails, without_measured_times_all_stays_at_the_priors) {
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
  EXPECT_EQ(refit_serving(machine::known(), std::vector(19, one_served())).size(), 1U)
      << "nineteen rows make no accelerator";
}

TEST(RefitDetails, engines_go_by_the_names_that_the_table_has) {
  std::vector<ServedRow> rows = {one_served(), one_served(), one_served()};
  rows[0].query.engine = "trtllm";
  rows[1].query.engine = "abacus";
  const auto tunings = refit_serving(machine::known(), rows);
  ASSERT_EQ(tunings.size(), 3U);
  EXPECT_EQ(tunings[0].engine, "abacus") << "one that is not known keeps its name";
  const engines::Engine* engine = find_engine(machine::known().engines, "trtllm");
  ASSERT_NE(engine, nullptr);
  EXPECT_EQ(tunings[1].engine, engine->id);
}

// Twenty rows alike that are a tenth slower than the priors say hold the fit to them.
TEST(RefitDetails, a_closed_loop_is_met_at_nine_tenths_of_its_lengths) {
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

TEST(RefitDetails, an_offline_test_is_met_by_its_queue) {
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
    EXPECT_NEAR(fitted[1].tuning.sequence.base(), fitted[0].tuning.sequence.base(), 1e-7)
        << "what is collected streams nothing";
  }
}

// Three decode replicas share the clients, each with a context of the prompt and half the answer.
TEST(RefitDetails, a_decode_replica_is_met_by_its_step) {
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
  EXPECT_DOUBLE_EQ(held_up[1].tuning.decoding, 1.2) << "prefill decides how many decode";
}

TEST(RefitDetails, a_first_token_is_met_by_the_simulated_test) {
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

TEST(RefitDetails, rows_apart_take_part_where_they_name_replicas_and_do_not_guess) {
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
  EXPECT_TRUE(served("0,4,8,2,,,25\n").empty()) << "no replicas are named";
  EXPECT_TRUE(served("1,4,8,2,3,,25\n").empty()) << "guesses";
  EXPECT_TRUE(served("0,4,8,2,3,,\n").empty());
  EXPECT_TRUE(served("0,4,8,2,3,,0\n").empty());
}

TEST(RefitDetails, the_file_has_the_parameters_in_their_units) {
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
  EXPECT_TRUE(served_rows(queued, known_inputs()).empty()) << "nothing a second was not measured";
}

// Llama 70B under three names, and DeepSeek's shapes under any, are one family each: neither is
// fitted to itself.
TEST(RefitDetails, a_model_is_held_out_under_all_of_its_names) {
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

TEST(RefitDetails, deepseek_s_shapes_are_one_family_and_a_model_without_rows_takes_the_shipped) {
  const auto row = [](const char* id, const char* model, const char* mtp) {
    return std::string(id) + ",sglang," + model + ",gb200,fp8,agg,100,20,4,8," + mtp +
           ",,,,,90,20\n";
  };
  const std::string both = row("a", "deepseek-ai/DeepSeek-R1", "0") +
                           row("b", "deepseek-ai/DeepSeek-V3", "0") +
                           row("c", "Qwen/Qwen3-235B-A22B", "1");
  const Score held = score_serving_held_out(closed_table(both), known_inputs()).value();
  ASSERT_GE(held.series[0].rows.size(), 2U) << (held.skipped.empty() ? "" : held.skipped[0].reason);
  // Nothing else was measured, so both stand on tunings of no rows at all.
  const machine::Models none = with_tunings({});
  const ScoreInputs inputs{.models = none, .model = {}, .left_out = true};
  const Score bare = score_serving(closed_table(both), inputs).value();
  EXPECT_DOUBLE_EQ(held.series[0].rows[0].predicted.value, bare.series[0].rows[0].predicted.value);
  EXPECT_DOUBLE_EQ(held.series[0].rows[1].predicted.value, bare.series[0].rows[1].predicted.value);
  const Score shipped = score_serving(closed_table(both), known_inputs()).value();
  ASSERT_EQ(held.series[0].rows.size(), 3U);
  EXPECT_DOUBLE_EQ(held.series[0].rows[2].predicted.value,
                   shipped.series[0].rows[2].predicted.value)
      << "its rows guess, so it has no fold";
}

}  // namespace
}  // namespace orrery::score
