#include "study/score/open_loop_score.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "core/base/text.h"
#include "model/jobs/predict_serving.h"
#include "study/score/model_of.h"

namespace orrery::score {
namespace {

constexpr double kCensoredShare = 0.01;
// Most requests that are simulated: a longer run has long been in its steady state.
constexpr double kMostRequests = 6000;

struct OpenRow {
  jobs::ServingQuery query;
  traffic::OpenLoad load;
  double prompts = 1;  // number of distinct prompts
  double systems = 1;
  double system_tokens = 0;
};

std::expected<OpenRow, std::string> read_open(const CsvTable& t, const CsvRow& row,
                                              const ScoreInputs& inputs) {
  OpenRow r;
  const auto model = model_of(t.text(row, "model"), inputs);
  if (!model) return std::unexpected("unknown model");
  r.query.model = *model;
  r.query.accelerator = inputs.catalog().accelerator(t.text(row, "gpu"));
  if (!r.query.accelerator) return std::unexpected("unknown accelerator");
  r.query.engine = t.text(row, "engine");
  r.query.split.tp = static_cast<int>(t.integer(row, "tp").value_or(1));
  const auto number = [&](std::string_view name, double otherwise) {
    return t.number(row, name).value_or(otherwise);
  };
  const double question = number("question_len", 512);
  r.system_tokens = number("system_prompt_len", 0);
  const double prompt = number("prompt_len_mean", r.system_tokens + question);
  const double output = number("output_len", 256);
  const double rate = number("rate", 0);
  if (rate <= 0) return std::unexpected("the row gives no rate");
  r.query.request = {.input = prompt, .output = output};
  // vLLM 0.15 and newer schedule one step ahead, so the host's work for each request is hidden.
  r.query.streams = false;
  r.query.limits = engines::EngineLimits{.token_budget = number("max_num_batched_tokens", 8192),
                                         .max_sequences = number("max_num_seqs", 1024)};
  r.systems = std::max(1.0, number("system_prompts", 1));
  r.prompts = r.systems * std::max(1.0, number("users_per_system_prompt", 1));
  const double requests = std::min(kMostRequests, rate * number("duration_s", 600));
  // The generator's "constant" rate has exponential gaps, scaled to the length of the run
  // (inference-perf, ConstantLoadTimer); requests at equal distances are called "even" here.
  const bool even = t.text(row, "arrivals") == "even";
  r.load = {.rate = rate,
            .cv = even ? 0.0 : 1.0,
            .requests = static_cast<int>(std::max(1.0, requests)),
            .prompt = {.length = prompt},
            .output = {.length = output}};
  return r;
}

std::vector<traffic::Timed> arrivals_of(const OpenRow& r) {
  auto arrivals = traffic::open_load(r.load);
  for (std::size_t i = 0; i < arrivals.size(); ++i) {
    engines::RequestSpec& spec = arrivals[i].spec;
    const auto prompt = i % static_cast<std::size_t>(r.prompts);
    spec.content = 1 + prompt;
    spec.shared = 1 + prompt % static_cast<std::size_t>(r.systems);
    spec.shared_tokens = std::min(spec.prompt, static_cast<int>(r.system_tokens));
  }
  return arrivals;
}

Estimate in_ms(double seconds, const jobs::OpenLoopPrediction& p, double wider) {
  const double width = p.error * wider;
  return {.value = seconds * 1e3,
          .low = seconds * 1e3 / (1 + width),
          .high = seconds * 1e3 * (1 + width),
          .basis = Basis::fitted,
          .reference = "docs/models/serving.md"};
}

}  // namespace

Result<Score> score_open_loop(const CsvTable& table, const ScoreInputs& inputs) {
  Score score{.kind = "open-loop",
              .rows = static_cast<int>(table.rows().size()),
              .series = {{"tpot", "tpot_ms_mean", {}},
                         {"ttft", "ttft_ms_mean", {}},
                         {"e2e", "e2e_ms_mean", {}},
                         {"ttft_p99", "ttft_ms_p99", {}},
                         {"e2e_p99", "e2e_ms_p99", {}}},
              .skipped = {},
              .preface = {},
              .predictions = "id,ttft_ms_mean,ttft_ms_p99,tpot_ms_mean,e2e_ms_mean,e2e_ms_p99\n"};
  for (const CsvRow& row : table.rows()) {
    const std::string id(table.text(row, "id"));
    const auto read = read_open(table, row, inputs);
    if (!read) {
      score.skipped.push_back({id, read.error(), true});
      continue;
    }
    const auto p = predict_open_loop(inputs.models, read->query, arrivals_of(*read), true);
    if (!p) {
      score.skipped.push_back({id, p.error().front().what, true});
      continue;
    }
    const auto failures = table.number(row, "failures");
    const auto requests = table.number(row, "requests");
    const bool censored = failures && requests && *failures > kCensoredShare * *requests;
    const traffic::LatencySummary& l = p->latency;
    const double values[] = {l.tpot_mean, l.ttft_mean, l.e2e_mean, l.ttft_p99, l.e2e_p99};
    for (std::size_t i = 0; i < score.series.size(); ++i) {
      ScoredSeries& series = score.series[i];
      series.rows.push_back({.id = id,
                             .predicted = in_ms(values[i], *p, i == 0 || i == 2 ? 1.0 : 2.0),
                             .measured = table.number(row, series.unit),
                             .counts = !censored,
                             .groups = {"model=" + std::string(table.text(row, "model")),
                                        "workload=" + std::string(table.text(row, "workload")),
                                        censored ? "requests=failed" : "requests=served"},
                             .note = {}});
    }
    score.predictions +=
        fmt::format("{},{:.3f},{:.3f},{:.4f},{:.2f},{:.2f}\n", id, l.ttft_mean * 1e3,
                    l.ttft_p99 * 1e3, l.tpot_mean * 1e3, l.e2e_mean * 1e3, l.e2e_p99 * 1e3);
  }
  return score;
}

}  // namespace orrery::score
