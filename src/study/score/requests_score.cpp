#include "study/score/requests_score.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "core/base/math.h"
#include "core/base/simplex.h"
#include "core/base/statistics.h"
#include "core/base/text.h"
#include "model/jobs/predict_serving.h"
#include "study/score/model_of.h"

namespace orrery::score {
namespace {

// Half-width after a calibration on half of a log.
constexpr double kMeanWidth = 0.08;
constexpr double kTailWidth = 0.15;
// Limits of the search: simulating a log takes some milliseconds.
constexpr SimplexOptions kFactorSearch{.steps = 40, .restarts = 2};

struct LoggedRequest {
  engines::RequestSpec spec;
  double queued = 0;
  double first = 0;
  double last = 0;

  double tpot() const { return (last - first) / std::max(1, spec.output - 1); }
};

struct RequestLog {
  std::string id;
  jobs::ServingQuery query;
  bool calibrates = false;
  std::vector<LoggedRequest> requests;  // in order of arrival, from 0 s
};

// Returns the number after "key": in a line with one flat JSON object.
std::optional<double> logged(std::string_view line, std::string_view key) {
  const auto at = line.find(fmt::format("\"{}\":", key));
  if (at == std::string_view::npos) return std::nullopt;
  std::string_view rest = line.substr(at + key.size() + 3);
  rest = rest.substr(0, rest.find_first_of(",}"));
  return parse_number(trimmed(rest));
}

std::vector<LoggedRequest> read_log(std::string_view text) {
  std::vector<LoggedRequest> requests;
  for (const std::string_view line : split(text, '\n')) {
    const auto prompt = logged(line, "input_toks");
    const auto output = logged(line, "output_toks");
    const auto queued = logged(line, "queued_ts");
    const auto first = logged(line, "first_token_ts");
    const auto last = logged(line, "last_token_ts");
    if (!prompt || !output || !queued || !first || !last) continue;
    LoggedRequest r{.spec = {}, .queued = *queued, .first = *first, .last = *last};
    r.spec.prompt = static_cast<int>(*prompt);
    r.spec.output = static_cast<int>(*output);
    requests.push_back(r);
  }
  std::ranges::stable_sort(requests, {}, &LoggedRequest::queued);
  const double begin = requests.empty() ? 0 : requests.front().queued;
  for (LoggedRequest& r : requests) {
    for (double* stamp : {&r.queued, &r.first, &r.last}) *stamp -= begin;
  }
  return requests;
}

std::expected<RequestLog, std::string> read_logged(const CsvTable& t, const CsvRow& row,
                                                   const ScoreInputs& inputs) {
  RequestLog r{.id = std::string(t.text(row, "id")), .query = {}, .requests = {}};
  const auto model = model_of(t.text(row, "model"), inputs);
  if (!model) return std::unexpected("unknown model");
  r.query.model = *model;
  r.query.accelerator = inputs.catalog().accelerator(t.text(row, "gpu"));
  if (!r.query.accelerator) return std::unexpected("unknown accelerator");
  const auto field = [&](const char* name, int otherwise) {
    return static_cast<int>(t.integer(row, name).value_or(otherwise));
  };
  r.query.engine = t.text(row, "engine");
  r.query.split = {.tp = field("tp", 1),
                   .attention_dp = field("attention_dp", 1),
                   .ep = model->is_moe() ? field("ep", 1) : 1};
  r.query.limits =
      engines::EngineLimits{.token_budget = 1.0 * field("max_num_batched_tokens", 2048),
                            .max_sequences = 1.0 * field("max_num_seqs", 256)};
  r.query.blocks = t.number(row, "blocks");
  // The log has the engine's own stamps: streaming to clients is not part of a step.
  r.query.streams = false;
  r.calibrates = t.text(row, "calibrates") == "1";
  if (!inputs.log) return std::unexpected("there is no folder of logs: give --logs DIR");
  const auto text = inputs.log(t.text(row, "log"));
  if (!text) return std::unexpected("there is no log " + std::string(t.text(row, "log")));
  r.requests = read_log(*text);
  if (r.requests.size() < 2) return std::unexpected("the log has fewer than two requests");
  return r;
}

// What a calibration finds for one GPU.
struct GpuFactors {
  double compute = 1;  // factor on the efficiency of the related fitted GPU
  double memory = 1;
  Seconds step;  // host time in addition to the engine's
};

machine::Models with_factors(machine::Models models, const jobs::ServingQuery& q,
                             const GpuFactors& f) {
  for (compute::Relative& r : models.kernels.relatives) {
    if (r.accelerator != q.accelerator->id) continue;
    r.efficiency *= f.compute;
    r.memory_efficiency *= f.memory;
  }
  engines::TuningRow row{.accelerator = q.accelerator->id, .engine = q.engine, .tuning = {}};
  row.tuning = find_tuning(models.tunings, row.accelerator, {}, row.engine);
  row.tuning.step = f.step;
  models.tunings.insert(models.tunings.begin(), std::move(row));
  return models;
}

using Records = std::vector<traffic::RequestRecord>;

Result<Records> replayed(const machine::Models& models, const RequestLog& log) {
  std::vector<traffic::Timed> arrivals;
  for (const LoggedRequest& r : log.requests) arrivals.push_back({.spec = r.spec, .at = r.queued});
  auto records = jobs::replay_requests(models, log.query, arrivals, true);
  if (records) std::ranges::sort(*records, {}, &traffic::RequestRecord::id);
  return records;
}

// Returns the error on the first half of a log's requests, as the mean log error of three means.
double miss(const RequestLog& log, const Records& records) {
  WeightedMean<double> ttft, tpot, e2e, ttft_seen, tpot_seen, e2e_seen;
  for (std::size_t i = 0; i < log.requests.size() / 2 && i < records.size(); ++i) {
    const LoggedRequest& seen = log.requests[i];
    ttft.add(records[i].ttft(), 1), ttft_seen.add(seen.first - seen.queued, 1);
    tpot.add(records[i].tpot(), 1), tpot_seen.add(seen.tpot(), 1);
    e2e.add(records[i].e2e(), 1), e2e_seen.add(seen.last - seen.queued, 1);
  }
  const auto off = [](const WeightedMean<double>& a, const WeightedMean<double>& b) {
    return std::abs(math::log(a.value_or(1) / b.value_or(1)));
  };
  return off(ttft, ttft_seen) + off(tpot, tpot_seen) + off(e2e, e2e_seen);
}

GpuFactors factors_at(const Point& p) {
  return {.compute = math::exp(p[0]), .memory = math::exp(p[1]), .step = Seconds(p[2] * p[2])};
}

GpuFactors calibrated(const machine::Models& models, const RequestLog& log) {
  const auto loss = [&](const Point& p) {
    const auto records = replayed(with_factors(models, log.query, factors_at(p)), log);
    return records ? miss(log, *records) + 0.02 * (p[0] * p[0] + p[1] * p[1]) : 100.0;
  };
  return factors_at(minimise(loss, {0, 0, 0.03}, {0.2, 0.1, 0.02}, kFactorSearch));
}

struct Calibrated {
  machine::Models models;
  std::string note;
};

std::string factors_text(const GpuFactors& f) {
  return fmt::format("compute x {:.2f}, bandwidth x {:.2f}, {:.1f} ms per step", f.compute,
                     f.memory, f.step.base() * 1e3);
}

struct Figures {
  double values[6];  // in the order of the series
};

Figures figures_of(std::vector<double> ttft, std::vector<double> tpot, std::vector<double> e2e) {
  return {{mean(ttft), mean(tpot), mean(e2e), quantile(ttft, 0.99), quantile(tpot, 0.99),
           quantile(e2e, 0.99)}};
}

Figures measured_figures(const RequestLog& log) {
  std::vector<double> ttft, tpot, e2e;
  for (const LoggedRequest& r : log.requests) {
    ttft.push_back(r.first - r.queued);
    tpot.push_back(r.tpot());
    e2e.push_back(r.last - r.queued);
  }
  return figures_of(std::move(ttft), std::move(tpot), std::move(e2e));
}

Figures predicted_figures(const Records& records) {
  std::vector<double> ttft, tpot, e2e;
  for (const traffic::RequestRecord& r : records) {
    ttft.push_back(r.ttft());
    tpot.push_back(r.tpot());
    e2e.push_back(r.e2e());
  }
  return figures_of(std::move(ttft), std::move(tpot), std::move(e2e));
}

void add_rows(Score& score, const RequestLog& log, const Figures& predicted,
              const std::string& calibration) {
  const Figures measured = measured_figures(log);
  for (std::size_t i = 0; i < score.series.size(); ++i) {
    const double width = i < 3 ? kMeanWidth : kTailWidth;
    const double value = predicted.values[i];
    score.series[i].rows.push_back({.id = log.id,
                                    .predicted = {.value = value,
                                                  .low = value / (1 + width),
                                                  .high = value * (1 + width),
                                                  .basis = Basis::fitted,
                                                  .reference = "docs/models/serving.md"},
                                    .measured = measured.values[i],
                                    .counts = true,
                                    .groups = {"calibration=" + calibration, "log=" + log.id},
                                    .note = {}});
  }
}

}  // namespace

Result<Score> score_requests(const CsvTable& table, const ScoreInputs& inputs) {
  Score score{.kind = "requests",
              .rows = static_cast<int>(table.rows().size()),
              .series = {{"ttft", "ttft_s_mean", {}},
                         {"tpot", "tpot_s_mean", {}},
                         {"e2e", "e2e_s_mean", {}},
                         {"ttft_p99", "ttft_s_p99", {}},
                         {"tpot_p99", "tpot_s_p99", {}},
                         {"e2e_p99", "e2e_s_p99", {}}},
              .skipped = {}};
  std::vector<RequestLog> logs;
  for (const CsvRow& row : table.rows()) {
    auto read = read_logged(table, row, inputs);
    if (read) {
      logs.push_back(std::move(*read));
    } else {
      score.skipped.push_back({std::string(table.text(row, "id")), read.error(), true});
    }
  }
  std::map<std::string, Calibrated> gpus;  // by accelerator
  for (const RequestLog& log : logs) {
    if (!log.calibrates) continue;
    const GpuFactors f = calibrated(inputs.models, log);
    gpus.insert_or_assign(log.query.accelerator->id,
                          Calibrated{with_factors(inputs.models, log.query, f), factors_text(f)});
  }
  for (const RequestLog& log : logs) {
    const auto own = gpus.find(log.query.accelerator->id);
    const bool shipped = own == gpus.end();
    const auto records = replayed(shipped ? inputs.models : own->second.models, log);
    if (!records) {
      score.skipped.push_back({log.id, records.error().front().what, true});
    } else {
      add_rows(score, log, predicted_figures(*records),
               shipped ? "parameters as shipped" : own->second.note);
    }
  }
  return score;
}

}  // namespace orrery::score
