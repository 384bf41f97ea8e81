// Logs of requests and open loads as rows name them: the replica that is simulated, and what was
// measured, by hand.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/base/statistics.h"
#include "model/jobs/predict_serving.h"
#include "study/score/model_of.h"
#include "study/score/open_loop_score.h"
#include "study/score/requests_score.h"
#include "study/score/rows_fixture.h"

namespace orrery::score {
namespace {

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

jobs::ServingQuery logged_query(const char* model) {
  jobs::ServingQuery q;
  q.model = model_of(model, known_inputs()).value();
  q.accelerator = machine::known().catalog().accelerator("h200-sxm");
  q.engine = "vllm";
  q.streams = false;
  return q;
}

// The same requests from 0 s on, in the order in which they came.
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

TEST(LogsByHand, a_row_is_the_replica_that_wrote_the_log) {
  jobs::ServingQuery q = logged_query("mistralai/Mixtral-8x7B-v0.1");
  q.split = {.tp = 2, .attention_dp = 2, .ep = 4};
  q.limits = engines::EngineLimits{.token_budget = 700, .max_sequences = 3};
  q.blocks = 9000;
  expect_series(scored_log({}), replayed_means(q));
}

TEST(LogsByHand, what_a_row_does_not_say_is_usual) {
  jobs::ServingQuery q = logged_query("meta-llama/Llama-3.1-8B");
  q.split = {.tp = 1, .attention_dp = 1, .ep = 1};
  q.limits = engines::EngineLimits{.token_budget = 2048, .max_sequences = 256};
  expect_series(scored_log({{"model", "meta-llama/Llama-3.1-8B"},
                            {"tp", ""},
                            {"attention_dp", ""},
                            {"ep", "4"},
                            {"blocks", ""},
                            {"max_num_batched_tokens", ""},
                            {"max_num_seqs", ""}}),
                replayed_means(q));
}

// First tokens after 0.3, 0.5, 0.4 and 0.1 s; between tokens 0, 0.2, 0.05 and 0.2 s; whole after
// 0.3, 2.5, 1.4 and 0.9 s. The 99th of a hundred lies 0.97 of the way from the third to the fourth.
TEST(LogsByHand, what_was_measured) {
  const Score score = scored_log({});
  const double wanted[] = {0.325, 0.1125, 1.275, 0.497, 0.2, 2.467};
  const char* units[] = {"ttft_s_mean", "tpot_s_mean", "e2e_s_mean",
                         "ttft_s_p99",  "tpot_s_p99",  "e2e_s_p99"};
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_NEAR(*score.series[i].rows.at(0).measured, wanted[i], 1e-9) << i;
    EXPECT_EQ(score.series[i].unit, units[i]);
  }
}

TEST(LogsByHand, rows_that_cannot_be_replayed_say_why) {
  const auto why = [](const RowFields& more) {
    const Score score = scored_log(more);
    return score.skipped.empty() ? "scored" : score.skipped[0].reason;
  };
  EXPECT_EQ(why({}), "scored");
  EXPECT_EQ(why({{"model", "unheard"}}), "unknown model");
  EXPECT_EQ(why({{"gpu", "abacus"}}), "unknown accelerator");
  EXPECT_EQ(why({{"log", "lost.jsonl"}}), "no log lost.jsonl");
  EXPECT_EQ(why({{"log", "one.jsonl"}}), "no requests in the log");
}

RowFields hand_open_row(const RowFields& more) {
  return with_fields({{"id", "o"},
                      {"model", "meta-llama/Llama-3.1-8B"},
                      {"gpu", "h100-sxm"},
                      {"engine", "vllm"},
                      {"rate", "3"}},
                     more);
}

struct OpenAsk {
  int tp = 1;
  double budget = 8192, sequences = 1024, rate = 3, cv = 1, prompt = 512, output = 256;
  int requests = 1800;
  std::size_t prompts = 1, systems = 1;
  int shared = 0;
};

std::vector<double> open_means(const OpenAsk& ask) {
  jobs::ServingQuery q = logged_query("meta-llama/Llama-3.1-8B");
  q.accelerator = machine::known().catalog().accelerator("h100-sxm");
  q.split.tp = ask.tp;
  q.request = {.input = ask.prompt, .output = ask.output};
  q.limits = engines::EngineLimits{.token_budget = ask.budget, .max_sequences = ask.sequences};
  auto arrivals = traffic::open_load({.rate = ask.rate,
                                      .cv = ask.cv,
                                      .requests = ask.requests,
                                      .prompt = {.length = ask.prompt},
                                      .output = {.length = ask.output}});
  for (std::size_t i = 0; i < arrivals.size(); ++i) {
    arrivals[i].spec.content = 1 + i % ask.prompts;
    arrivals[i].spec.shared = 1 + i % ask.prompts % ask.systems;
    arrivals[i].spec.shared_tokens = ask.shared;
  }
  const auto p = predict_open_loop(machine::known(), q, arrivals, true);
  EXPECT_TRUE(p);
  const traffic::LatencySummary& l = p->latency;
  return {l.tpot_mean, l.ttft_mean, l.e2e_mean, l.ttft_p99, l.e2e_p99};
}

void expect_open(const Score& score, const std::vector<double>& seconds) {
  ASSERT_EQ(score.series.size(), 5U);
  for (std::size_t i = 0; i < 5; ++i) {
    ASSERT_EQ(score.series[i].rows.size(), 1U);
    EXPECT_NEAR(score.series[i].rows[0].predicted.value, 1e3 * seconds[i], 1e-9 * 1e3 * seconds[i])
        << score.series[i].name;
  }
  EXPECT_EQ(score.predictions,
            fmt::format("id,ttft_ms_mean,ttft_ms_p99,tpot_ms_mean,e2e_ms_mean,e2e_ms_p99\n"
                        "o,{:.3f},{:.3f},{:.4f},{:.2f},{:.2f}\n",
                        seconds[1] * 1e3, seconds[3] * 1e3, seconds[0] * 1e3, seconds[2] * 1e3,
                        seconds[4] * 1e3));
}

// Six systems' prompts of 300 with four users each and questions of 200; 40 s at 3 a second.
TEST(LogsByHand, an_open_load_is_the_one_that_a_row_describes) {
  const Score said = score_open_loop(table_of({hand_open_row({{"tp", "2"},
                                                              {"question_len", "200"},
                                                              {"system_prompt_len", "300"},
                                                              {"output_len", "40"},
                                                              {"max_num_batched_tokens", "600"},
                                                              {"max_num_seqs", "5"},
                                                              {"system_prompts", "6"},
                                                              {"users_per_system_prompt", "4"},
                                                              {"duration_s", "40"},
                                                              {"arrivals", "even"}})}),
                                     known_inputs())
                         .value();
  expect_open(said, open_means({.tp = 2,
                                .budget = 600,
                                .sequences = 5,
                                .cv = 0,
                                .prompt = 500,
                                .output = 40,
                                .requests = 120,
                                .prompts = 24,
                                .systems = 6,
                                .shared = 300}));
  EXPECT_EQ(said.series[0].rows[0].groups[2], "requests=served");
}

TEST(LogsByHand, what_an_open_row_does_not_say_is_usual) {
  const Score bare =
      score_open_loop(table_of({hand_open_row({{"duration_s", "30"}})}), known_inputs()).value();
  expect_open(bare, open_means({.requests = 90}));
  const Score told = score_open_loop(table_of({hand_open_row({{"duration_s", "30"},
                                                              {"prompt_len_mean", "77"},
                                                              {"system_prompt_len", "300"},
                                                              {"failures", "3"},
                                                              {"requests", "300"}})}),
                                     known_inputs())
                         .value();
  expect_open(told, open_means({.prompt = 77, .requests = 90, .shared = 77}));
  EXPECT_TRUE(told.series[0].rows[0].counts) << "one in a hundred may fail";
}

// 80 s at 100 a second are more than the 6,000 that are simulated.
TEST(LogsByHand, a_long_run_is_cut) {
  const Score score = score_open_loop(table_of({hand_open_row({{"rate", "100"},
                                                               {"duration_s", "80"},
                                                               {"question_len", "16"},
                                                               {"output_len", "1"}})}),
                                      known_inputs())
                          .value();
  expect_open(score, open_means({.rate = 100, .prompt = 16, .output = 1, .requests = 6000}));
}

}  // namespace
}  // namespace orrery::score
