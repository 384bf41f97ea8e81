// For tests of loads: queries and means of a load worked out by hand.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "model/jobs/predict_serving.h"
#include "study/score/model_of.h"
#include "study/score/rows_fixture.h"

namespace orrery::score {

inline jobs::ServingQuery logged_query(const char* model) {
  jobs::ServingQuery q;
  q.model = model_of(model, known_inputs()).value();
  q.accelerator = machine::known().catalog().accelerator("h200-sxm");
  q.engine = "vllm";
  q.streams = false;
  return q;
}

inline RowFields hand_open_row(const RowFields& more) {
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

inline std::vector<double> open_means(const OpenAsk& ask) {
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

inline void expect_open(const Score& score, const std::vector<double>& seconds) {
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

}  // namespace orrery::score
