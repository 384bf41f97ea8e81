#include "study/score/requests_score.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "core/base/statistics.h"
#include "model/jobs/predict_serving.h"
#include "model/machine/known_fixture.h"
#include "study/score/log_fixture.h"
#include "study/score/open_loop_score.h"
#include "study/score/refit_fixture.h"
#include "study/score/rows_fixture.h"

namespace orrery::score {
namespace {

Score logs_scored(const std::vector<RowFields>& rows, const std::string& log) {
  ScoreInputs inputs = known_inputs();
  inputs.log = [&log](std::string_view name) {
    return name == "own.jsonl" ? std::optional(log) : std::nullopt;
  };
  return score_requests(table_of(rows), inputs).value();
}

RowFields log_row(const RowFields& more) {
  return with_fields({{"id", "own"},
                      {"log", "own.jsonl"},
                      {"gpu", "l40s"},
                      {"model", "meta-llama/Llama-3.1-8B"},
                      {"engine", "vllm"},
                      {"tp", ""},
                      {"attention_dp", ""},
                      {"ep", ""},
                      {"blocks", "4000"},
                      {"max_num_batched_tokens", ""},
                      {"max_num_seqs", ""},
                      {"calibrates", "0"}},
                     more);
}

std::string logged_line(int prompt, int output, double queued, double first, double last) {
  return fmt::format(
      "{{\"input_toks\": {}, \"output_toks\": {}, \"queued_ts\": {}, \"first_token_ts\": {}, "
      "\"last_token_ts\": {}}}\n",
      prompt, output, queued, first, last);
}

// Two requests: first tokens after 0.5 and 0.7 s, 39 and 9 more tokens in 3.9 and 1.8 s. The p99 is
// 0.99 of the way from the lesser to the greater.
TEST(RequestsScore, log_figures_match_a_hand_calculation) {
  const std::string log = logged_line(300, 10, 101, 101.7, 103.5) +
                          logged_line(500, 40, 100, 100.5, 104.4) + "no line\n";
  const Score s = logs_scored({log_row({})}, log);
  ASSERT_EQ(s.series[0].rows.size(), 1U);
  const double measured[] = {0.6, 0.15, 3.45, 0.698, 0.199, 4.381};
  const double widths[] = {0.08, 0.08, 0.08, 0.15, 0.15, 0.15};
  for (std::size_t i = 0; i < 6; ++i) {
    const ScoredRow& row = s.series[i].rows[0];
    EXPECT_NEAR(*row.measured, measured[i], 1e-9) << s.series[i].name;
    EXPECT_NEAR(row.predicted.high / row.predicted.value, 1 + widths[i], 1e-12);
    EXPECT_NEAR(row.predicted.value / row.predicted.low, 1 + widths[i], 1e-12);
    EXPECT_TRUE(row.counts);
    EXPECT_THAT(row.groups, testing::ElementsAre("calibration=parameters as shipped", "log=own"));
  }
  EXPECT_EQ(s.kind, "requests");
  EXPECT_EQ(s.rows, 1);
}

// Four requests, out of order, from 50 s on; one line lacks its last stamp.
constexpr std::string_view kFourRequests =
    R"({"input_toks": 300, "output_toks": 21, "queued_ts": 51.5, "first_token_ts": 51.9, )"
    R"("last_token_ts": 52.9}
{"input_toks": 200, "output_toks": 1, "queued_ts": 50.0, "first_token_ts": 50.3, )"
    R"("last_token_ts": 50.3}
{"input_toks": 700, "output_toks": 9, "queued_ts": 51.0, "first_token_ts": 51.2}
{"input_toks":900,"output_toks":11,"queued_ts":50.25,"first_token_ts":50.75,"last_token_ts":52.75}
{"input_toks": 100, "output_toks": 5, "queued_ts": 52.0, "first_token_ts": 52.1, )"
    R"("last_token_ts": 52.9 }
)";

RowFields hand_log_row(const RowFields& more) {
  return with_fields({{"id", "r"},
                      {"log", "own.jsonl"},
                      {"gpu", "h200-sxm"},
                      {"model", "mistralai/Mixtral-8x7B-v0.1"},
                      {"engine", "vllm"},
                      {"tp", "2"},
                      {"attention_dp", "2"},
                      {"ep", "4"},
                      {"blocks", "9000"},
                      {"max_num_batched_tokens", "700"},
                      {"max_num_seqs", "3"},
                      {"calibrates", "0"}},
                     more);
}

Score scored_log(const RowFields& more) {
  ScoreInputs inputs = known_inputs();
  inputs.log = [](std::string_view name) {
    return name == "own.jsonl" ? std::optional(std::string(kFourRequests))
           : name == "one.jsonl"
               ? std::optional(std::string(kFourRequests.substr(0, kFourRequests.find('\n'))))
               : std::nullopt;
  };
  return score_requests(table_of({hand_log_row(more)}), inputs).value();
}

// The same requests from 0 s on, in order of arrival.
std::vector<double> replayed_means(const jobs::ServingQuery& q) {
  std::vector<traffic::Timed> arrivals;
  const std::tuple<double, int, int> all[] = {
      {0, 200, 1}, {0.25, 900, 11}, {1.5, 300, 21}, {2.0, 100, 5}};
  for (const auto& [at, prompt, output] : all) {
    arrivals.push_back({.spec = {}, .at = at});
    arrivals.back().spec.prompt = prompt;
    arrivals.back().spec.output = output;
  }
  const auto records = jobs::replay_requests(machine::known(), q, arrivals, true);
  EXPECT_TRUE(records) << to_text(records.error());
  std::vector<double> ttft, tpot, e2e;
  for (const traffic::RequestRecord& r : *records) {
    ttft.push_back(r.ttft()), tpot.push_back(r.tpot()), e2e.push_back(r.e2e());
  }
  return {mean(ttft),           mean(tpot),           mean(e2e),
          quantile(ttft, 0.99), quantile(tpot, 0.99), quantile(e2e, 0.99)};
}

void expect_series(const Score& score, const std::vector<double>& wanted) {
  ASSERT_EQ(score.series.size(), 6U);
  for (std::size_t i = 0; i < 6; ++i) {
    ASSERT_EQ(score.series[i].rows.size(), 1U)
        << (score.skipped.empty() ? "" : score.skipped[0].reason);
    const ScoredRow& r = score.series[i].rows[0];
    EXPECT_NEAR(r.predicted.value, wanted[i], 1e-9 * wanted[i]) << score.series[i].name;
    const double width = i < 3 ? 1.08 : 1.15;
    EXPECT_NEAR(r.predicted.high, wanted[i] * width, 1e-9 * wanted[i]);
    EXPECT_NEAR(r.predicted.low, wanted[i] / width, 1e-9 * wanted[i]);
    EXPECT_EQ(r.predicted.basis, Basis::fitted);
    EXPECT_TRUE(r.counts);
    EXPECT_EQ(r.groups, (std::vector<std::string>{"calibration=parameters as shipped", "log=r"}));
  }
}

TEST(RequestsScore, a_row_describes_the_logged_replica) {
  jobs::ServingQuery q = logged_query("mistralai/Mixtral-8x7B-v0.1");
  q.split = {.tp = 2, .attention_dp = 2, .ep = 4};
  q.limits = engines::EngineLimits{.token_budget = 700, .max_sequences = 3};
  q.blocks = 9000;
  expect_series(scored_log({}), replayed_means(q));
}

// First tokens after 0.3, 0.5, 0.4 and 0.1 s; between tokens 0, 0.2, 0.05 and 0.2 s; whole after
// 0.3, 2.5, 1.4 and 0.9 s. The p99 is 0.97 of the way from the third to the fourth.
TEST(RequestsScore, measured_values_are_read) {
  const Score score = scored_log({});
  const double wanted[] = {0.325, 0.1125, 1.275, 0.497, 0.2, 2.467};
  const char* units[] = {"ttft_s_mean", "tpot_s_mean", "e2e_s_mean",
                         "ttft_s_p99",  "tpot_s_p99",  "e2e_s_p99"};
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_NEAR(*score.series[i].rows.at(0).measured, wanted[i], 1e-9) << i;
    EXPECT_EQ(score.series[i].unit, units[i]);
  }
}

TEST(RequestsScore, unusable_logs_are_skipped_with_a_reason) {
  const auto why = [](const RowFields& more) {
    const Score score = scored_log(more);
    return score.skipped.empty() ? "scored" : score.skipped[0].reason;
  };
  EXPECT_EQ(why({}), "scored");
  EXPECT_NE(why({{"model", "unheard"}}), "scored");
  EXPECT_NE(why({{"gpu", "abacus"}}), "scored");
  EXPECT_NE(why({{"log", "lost.jsonl"}}), "scored");
  EXPECT_NE(why({{"log", "one.jsonl"}}), "scored");
}

// 80 s at 100 per second are more than the 6,000 that are simulated.
TEST(RequestsScore, long_runs_are_cut) {
  const Score score = score_open_loop(table_of({hand_open_row({{"rate", "100"},
                                                               {"duration_s", "80"},
                                                               {"question_len", "16"},
                                                               {"output_len", "1"}})}),
                                      known_inputs())
                          .value();
  expect_open(score, open_means({.rate = 100, .prompt = 16, .output = 1, .requests = 6000}));
}

constexpr std::string_view kIndex =
    "id,log,gpu,model,engine,tp,attention_dp,ep,blocks,max_num_batched_tokens,max_num_seqs,"
    "calibrates\n"
    "own,own.jsonl,l40s,meta-llama/Llama-3.1-8B,vllm,1,1,1,4000,2048,32,1\n"
    "lost,lost.jsonl,l40s,meta-llama/Llama-3.1-8B,vllm,1,1,1,4000,2048,32,0\n";

// A log of a device whose memory is a fifth slower than the catalog says.
std::string log_of_slow_memory() {
  machine::Models models = machine::known();
  for (compute::Relative& r : models.kernels.relatives) {
    if (r.accelerator == "l40s") r.memory_efficiency *= 0.8;
  }
  jobs::ServingQuery q;
  q.model = *models.catalog().model("llama-3-8b");
  q.accelerator = models.catalog().accelerator("l40s");
  q.blocks = 4000;
  q.streams = false;
  q.limits = engines::EngineLimits{.token_budget = 2048, .max_sequences = 32};
  const auto arrivals = traffic::open_load({.rate = 4,
                                            .requests = 96,
                                            .prompt = {.length = 500, .least_share = 0.5},
                                            .output = {.length = 40, .least_share = 0.5}});
  const auto records = jobs::replay_requests(models, q, arrivals, true);
  std::string text;
  for (const traffic::RequestRecord& r : *records) {
    text += fmt::format(
        "{{\"input_toks\": {}, \"output_toks\": {}, \"queued_ts\": {}, \"first_token_ts\": {}, "
        "\"last_token_ts\": {}}}\n",
        r.prompt, r.output, 100 + r.arrived, 100 + r.first, 100 + r.last);
  }
  return text;
}

TEST(RequestsScore, half_of_a_log_calibrates_its_device) {
  const std::string log = log_of_slow_memory();
  ScoreInputs inputs{.models = machine::known(), .model = {}};
  inputs.log = [&log](std::string_view name) {
    return name == "own.jsonl" ? std::optional(log) : std::nullopt;
  };
  const Score score = *score_requests(*CsvTable::parse(kIndex, "index.csv"), inputs);
  ASSERT_EQ(score.skipped.size(), 1u);
  EXPECT_EQ(score.skipped[0].reason, "there is no log lost.jsonl");
  for (std::size_t i = 0; i < score.series.size(); ++i) {
    ASSERT_EQ(score.series[i].rows.size(), 1u);
    EXPECT_LT(score.series[i].rows[0].ape(), i < 3 ? 0.04 : 0.12) << score.series[i].name;
  }
  // "calibration=compute x 1.02, bandwidth x 0.81, 0.2 ms per step"
  const std::string& note = score.series[0].rows[0].groups[0];
  EXPECT_NEAR(std::stod(note.substr(note.find("bandwidth x ") + 12)), 0.8, 0.1) << note;
  EXPECT_LT(std::stod(note.substr(note.rfind(',') + 1)), 20) << note;
}

TEST(RequestsScore, without_logs_every_row_is_skipped) {
  const ScoreInputs inputs{.models = machine::known(), .model = {}};
  const Score score = *score_requests(*CsvTable::parse(kIndex, "index.csv"), inputs);
  ASSERT_EQ(score.skipped.size(), 2u);
  EXPECT_NE(score.skipped[0].reason.find("--logs"), std::string::npos);
}

// Each of five lines lacks one of the five fields; the other two are the log.
TEST(RequestsScore, a_log_line_needs_all_fields) {
  const std::string fields[] = {"\"input_toks\": 300", "\"output_toks\": 21", "\"queued_ts\": 51.5",
                                "\"first_token_ts\": 51.9", "\"last_token_ts\": 52.9"};
  std::string text;
  for (std::size_t without = 0; without < 5; ++without) {
    text += "{\"x\": 1";
    for (std::size_t i = 0; i < 5; ++i) text += i == without ? "" : ", " + fields[i];
    text += "}\n";
  }
  text +=
      "{\"input_toks\": 100, \"output_toks\": 11, \"queued_ts\": 10, \"first_token_ts\": 10.5, "
      "\"last_token_ts\": 12.5}\n"
      "{\"input_toks\": 100, \"output_toks\": 1, \"queued_ts\": 11, \"first_token_ts\": 11.3, "
      "\"last_token_ts\": 11.4}\n";
  ScoreInputs inputs = known_inputs();
  inputs.log = [&](std::string_view) { return std::optional(text); };
  const Score s = score_requests(table_of({{{"id", "r"},
                                            {"log", "l"},
                                            {"gpu", "h200-sxm"},
                                            {"model", "llama-3-8b"},
                                            {"engine", "vllm"}}}),
                                 inputs)
                      .value();
  ASSERT_EQ(s.series.size(), 6U);
  ASSERT_EQ(s.series[0].rows.size(), 1U);
  EXPECT_NEAR(*s.series[0].rows[0].measured, (0.5 + 0.3) / 2, 1e-9);
  EXPECT_NEAR(*s.series[1].rows[0].measured, (2.0 / 10 + 0.1) / 2, 1e-9);
  EXPECT_NEAR(*s.series[2].rows[0].measured, (2.5 + 0.4) / 2, 1e-9);
}

}  // namespace
}  // namespace orrery::score
