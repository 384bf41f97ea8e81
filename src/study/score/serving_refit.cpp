#include "study/score/serving_refit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "core/base/math.h"
#include "core/base/simplex.h"
#include "core/base/text.h"
#include "core/workload/model_math.h"
#include "study/score/offline_score.h"
#include "study/score/serving_rows.h"
#include "study/score/serving_score.h"

namespace orrery::score {
namespace {

using engines::ServingTuning;

constexpr double kFar = 0.3;  // log error above which the loss grows more slowly
constexpr double kFarSlope = 0.3;
// How firmly a fit is held at its starting values, in rows. An engine hardly leaves the prior of
// all engines: what it would gain on the models that it was measured with, it would lose on others.
struct Held {
  double engine = 0;
  double accelerator = 0;
};
constexpr Held kBetweenHeld{.engine = 20, .accelerator = 0.5};
constexpr Held kFirstHeld{.engine = 100, .accelerator = 10};
constexpr double kBeyond = 100;
constexpr std::size_t kLeastTuningRows = 20;  // rows of an accelerator that gets its own row
constexpr int kRounds = 2;
// Most load of prefill replicas: above it they limit how many requests decode.
constexpr double kRoomyPrefill = 0.9;
constexpr SimplexOptions kTuningSearch{.steps = 900, .restarts = 3};

// One number of a tuning: its starting value in all fits, and how far a fit may move it.
struct TuningParameter {
  double (*get)(const ServingTuning&);
  void (*set)(ServingTuning&, double);
  double prior;
  double scale;
  double least;
};

template <double ServingTuning::* Member>
constexpr TuningParameter factor(double prior, double scale) {
  return {[](const ServingTuning& t) { return t.*Member; },
          [](ServingTuning& t, double v) { t.*Member = v; }, prior, scale, 0.3};
}
template <Seconds ServingTuning::* Member>
constexpr TuningParameter time_of(double prior, double scale) {
  return {[](const ServingTuning& t) { return (t.*Member).base(); },
          [](ServingTuning& t, double v) { t.*Member = Seconds(v); }, prior, scale, 0};
}

constexpr TuningParameter kBetween[] = {
    factor<&ServingTuning::products>(0.98, 0.1), factor<&ServingTuning::experts>(1.05, 0.15),
    factor<&ServingTuning::decoding>(1.2, 0.15), factor<&ServingTuning::latent>(1.0, 0.1),
    factor<&ServingTuning::prefill>(1.03, 0.1), factor<&ServingTuning::messages>(1.07, 0.15),
    time_of<&ServingTuning::layer>(1.5e-6, 1e-6), time_of<&ServingTuning::expert_layer>(3e-6, 3e-6),
    time_of<&ServingTuning::state_layer>(9.5e-6, 5e-6),
    time_of<&ServingTuning::step>(150e-6, 200e-6),
    // the last: see between_tokens
    time_of<&ServingTuning::sequence>(16e-6, 4e-6)};
constexpr TuningParameter kFirst[] = {
    factor<&ServingTuning::prompt_wait>(1.1, 0.15),
    time_of<&ServingTuning::first_token>(35e-3, 40e-3),
    // an engine that plans one step ahead sees a request one step late
    {[](const ServingTuning& t) { return t.poll_steps; },
     [](ServingTuning& t, double v) { t.poll_steps = v; }, serving::kAheadSteps, 1, 0},
    time_of<&ServingTuning::expert_first>(1.5e-3, 0.8e-3)};

// A prediction that is linear in the parameters around a point.
struct LinearRow {
  double measured = 0;
  double constant = 0;
  std::vector<double> slopes;

  double at(const Point& p) const {
    double sum = constant;
    for (std::size_t i = 0; i < p.size(); ++i) sum += slopes[i] * p[i];
    return sum;
  }
};

double shy(double error) {
  const double e = std::abs(error);
  return e < kFar ? e : kFar + kFarSlope * (e - kFar);
}

Point fitted(std::span<const TuningParameter> parameters, const Point& prior,
             const std::vector<const LinearRow*>& rows, double firmness) {
  const auto loss = [&](const Point& u) {
    Point p(u.size());
    double held = 0;
    for (std::size_t i = 0; i < u.size(); ++i) {
      p[i] = prior[i] + u[i] * parameters[i].scale;
      if (p[i] < parameters[i].least) return kBeyond;
      held += u[i] * u[i];
    }
    double sum = 0;
    for (const LinearRow* r : rows) {
      sum += shy(math::log(std::max(1e-9, r->at(p)) / r->measured));
    }
    return (sum + firmness * held) / static_cast<double>(rows.size());
  };
  const Point u = minimise(loss, Point(prior.size(), 0.0), Point(prior.size(), 0.4), kTuningSearch);
  Point p(prior.size());
  for (std::size_t i = 0; i < u.size(); ++i) p[i] = prior[i] + u[i] * parameters[i].scale;
  return p;
}

struct TuningGroup {
  std::string accelerator;  // "*": all
  std::string engine;
  std::vector<std::size_t> rows;
};

std::string engine_of(const machine::Models& models, const ServedRow& row) {
  const engines::Engine* engine = find_engine(models.engines, row.query.engine);
  return engine != nullptr ? engine->id : row.query.engine;
}

// Returns the engines first, then their accelerators with enough rows.
std::vector<TuningGroup> tuning_groups(const machine::Models& models,
                                       const std::vector<ServedRow>& rows) {
  std::map<std::string, std::map<std::string, TuningGroup>> all;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::string engine = engine_of(models, rows[i]);
    for (const std::string& device : {std::string("*"), rows[i].query.accelerator->id}) {
      TuningGroup& g = all[engine][device];
      g.accelerator = device, g.engine = engine;
      g.rows.push_back(i);
    }
  }
  std::vector<TuningGroup> groups;
  for (const auto& [engine, devices] : all) {
    for (const auto& [device, group] : devices) {
      if (device == "*" || group.rows.size() >= kLeastTuningRows) groups.push_back(group);
    }
  }
  return groups;
}

engines::TuningRow& tuning_row(std::vector<engines::TuningRow>& tunings, const TuningGroup& g) {
  const auto at = std::ranges::find_if(tunings, [&g](const engines::TuningRow& t) {
    return t.accelerator == g.accelerator && t.engine == g.engine;
  });
  if (at != tunings.end()) return *at;
  tunings.push_back({.accelerator = g.accelerator, .engine = g.engine, .tuning = {}});
  return tunings.back();
}

// Fits each group; an accelerator's prior is what its engine got.
void fit_groups(std::span<const TuningParameter> parameters, const Held& held,
                const std::vector<TuningGroup>& groups, const std::vector<LinearRow>& linear,
                std::vector<engines::TuningRow>& tunings) {
  Point engine;
  for (const TuningGroup& g : groups) {
    const bool any = g.accelerator == "*";
    Point prior(parameters.size());
    for (std::size_t i = 0; i < prior.size(); ++i) prior[i] = parameters[i].prior;
    if (!any) prior = engine;
    std::vector<const LinearRow*> rows;
    for (const std::size_t i : g.rows) {
      if (linear[i].measured > 0) rows.push_back(&linear[i]);
    }
    const double firmness = any ? held.engine : held.accelerator;
    const Point p = rows.empty() ? prior : fitted(parameters, prior, rows, firmness);
    if (any) engine = p;
    engines::TuningRow& row = tuning_row(tunings, g);
    for (std::size_t i = 0; i < p.size(); ++i) parameters[i].set(row.tuning, p[i]);
  }
}

// Returns the derivatives of a replica's time, by small changes of each parameter.
template <class Time>
LinearRow moved(serving::Replica replica, double measured, double scale, Time seconds) {
  const double here = seconds(replica);
  LinearRow linear{.measured = measured, .constant = here * scale, .slopes = {}};
  for (const TuningParameter& p : kBetween) {
    const ServingTuning kept = replica.tuning;
    p.set(replica.tuning, p.get(kept) + p.scale);
    linear.slopes.push_back(scale * (seconds(replica) - here) / p.scale);
    linear.constant -= linear.slopes.back() * p.get(kept);
    replica.tuning = kept;
  }
  return linear;
}

// Returns the step of a decode replica with as many requests as the test keeps in it.
LinearRow decode_step(const machine::Models& models, const ServedRow& row) {
  const auto at = predict_disaggregated(models, *row.apart);
  const jobs::ServingQuery& q = row.apart->decode;
  const auto replica = replica_of(models, q);
  if (!at || !replica || at->point.prefill_load > kRoomyPrefill) return {};
  const machine::Costs costs = serving_costs(models, q);
  const serving::ServingCosts source = serving_source(costs);
  const serving::Iteration step{
      .decoding = std::max(1.0, at->point.decoding / row.apart->decode_replicas) / q.split.pp,
      .context = q.request.input + q.request.output / 2};
  return moved(*replica, row.tpot, 1,
               [&](const serving::Replica& r) { return step_time(r, step, source).total.base(); });
}

// Returns the closed form of a row's time between tokens.
LinearRow between_tokens(const machine::Models& models, const ServedRow& row) {
  if (row.apart) return decode_step(models, row);
  jobs::ServingQuery q = row.query;
  const bool offline = row.requests > 0;
  if (offline) {
    q.concurrency = row.requests;
  } else {
    q.request.input *= kServedMeanLength;
    q.request.output *= kServedMeanLength;
  }
  const auto at = predict_serving(models, q);
  if (!at) return {};
  const machine::Costs costs = serving_costs(models, q);
  const serving::ServingCosts source = serving_source(costs);
  const auto seconds = [offline](const serving::ServingPoint& p) {
    return offline ? 1 / p.output_tokens_per_s : p.tpot.base();
  };
  const double here = seconds(at->point);
  double scale = 1;
  if (offline) {
    const auto simulated = predict_offline(models, q, row.requests);
    scale = simulated ? 1 / (simulated->value * here) : 1;
  }
  LinearRow linear = moved(at->replica, row.tpot, scale, [&](const serving::Replica& r) {
    return seconds(closed_loop(r, q.request, q.concurrency, source));
  });
  // Results collected offline are not streamed, whatever a tuning says.
  if (!q.streams) {
    double& streamed = linear.slopes.back();
    linear.constant += streamed * kBetween[std::size(kBetween) - 1].get(at->replica.tuning);
    streamed = 0;
  }
  return linear;
}

// Simulates the test without the tuning's own time around the first token.
LinearRow first_token(const machine::Models& bare, const ServedRow& row) {
  if (row.ttft <= 0) return {};
  const auto p = predict_benchmark(bare, row.query, load_of_test(row.query));
  if (!p) return {};
  const double around = p->replica.engine.first_token.base();
  return {.measured = row.ttft,
          .constant = around,
          .slopes = {p->point.ttft.base() - around, 1, p->point.tpot.base(),
                     1.0 * workload::moe_layer_count(row.query.model)}};
}

// Returns one name for models of one shape under several names and formats.
std::string family_of(std::string_view model) {
  const std::string name = lowered(model);
  if (name.find("deepseek") != std::string::npos) return "deepseek";
  std::string_view family = name;
  family.remove_prefix(name.find('/') + 1);
  for (const std::string_view end : {"-fp8", "-nvfp4", "-instruct"}) {
    if (family.ends_with(end)) family.remove_suffix(end.size());
  }
  return std::string(family);
}

std::vector<ServedRow> offline_rows(const CsvTable& table, const ScoreInputs& inputs) {
  std::vector<ServedRow> rows;
  for (const CsvRow& row : table.rows()) {
    const auto read = read_offline_row(table, row, inputs);
    const auto value = table.number(row, "value");
    if (!read || !value || *value <= 0) continue;
    rows.push_back({.id = std::string(table.text(row, "id")),
                    .model = std::string(table.text(row, "model")),
                    .query = read->query,
                    .tpot = 1 / (*value * read->devices),
                    .requests = read->requests});
  }
  return rows;
}

// Returns tests with separate prefill and decode that name their replicas: none of those dumps uses
// speculation.
std::vector<ServedRow> rows_apart(const CsvTable& table, const ScoreInputs& inputs) {
  std::vector<ServedRow> rows;
  const ApartRows apart(table, inputs);
  for (const CsvRow& row : table.rows()) {
    if (table.text(row, "mode") == "agg" || !table.number(row, "decode_num_workers")) continue;
    const auto read = apart.read(row, inputs);
    const auto tpot = table.number(row, "silicon_tpot_ms");
    if (!read || !tpot || *tpot <= 0 || read->query.decode.request.checked_per_step > 1) continue;
    rows.push_back({.id = std::string(table.text(row, "id")),
                    .model = std::string(table.text(row, "model_path")),
                    .query = read->query.decode,
                    .tpot = *tpot / 1e3,
                    .apart = read->query});
  }
  return rows;
}

void put_priors(std::span<const TuningParameter> parameters,
                std::vector<engines::TuningRow>& tunings) {
  for (engines::TuningRow& row : tunings) {
    for (const TuningParameter& p : parameters) p.set(row.tuning, p.prior);
  }
}

}  // namespace

std::vector<ServedRow> served_rows(const CsvTable& table, const ScoreInputs& inputs) {
  if (table.column("metric")) return offline_rows(table, inputs);
  std::vector<ServedRow> rows = rows_apart(table, inputs);
  for (const CsvRow& row : table.rows()) {
    if (table.text(row, "mode") != "agg" || table.text(row, "mtp") == "1") continue;
    const auto q = read_serving_row(table, row, inputs, "");
    const auto tpot = table.number(row, "silicon_tpot_ms");
    const auto ttft = table.number(row, "silicon_ttft_ms");
    if (!q || !tpot || !ttft || *tpot <= 0 || *ttft <= 0) continue;
    rows.push_back({.id = std::string(table.text(row, "id")),
                    .model = std::string(table.text(row, "model_path")),
                    .query = *q,
                    .tpot = *tpot / 1e3,
                    .ttft = *ttft / 1e3});
  }
  return rows;
}

std::vector<engines::TuningRow> refit_serving(const machine::Models& models,
                                              const std::vector<ServedRow>& rows) {
  machine::Models changed = models;
  const std::vector<TuningGroup> groups = tuning_groups(models, rows);
  changed.tunings.clear();
  for (const TuningGroup& g : groups) tuning_row(changed.tunings, g);
  put_priors(kBetween, changed.tunings);
  for (int round = 0; round < kRounds; ++round) {
    std::vector<LinearRow> linear;
    for (const ServedRow& row : rows) linear.push_back(between_tokens(changed, row));
    fit_groups(kBetween, kBetweenHeld, groups, linear, changed.tunings);
  }
  machine::Models bare = changed;
  for (engines::TuningRow& row : bare.tunings) {
    row.tuning.prompt_wait = 1;
    row.tuning.first_token = Seconds(0);
    row.tuning.poll_steps = 0;
    row.tuning.expert_first = Seconds(0);
  }
  std::vector<LinearRow> first;
  for (const ServedRow& row : rows) first.push_back(first_token(bare, row));
  fit_groups(kFirst, kFirstHeld, groups, first, changed.tunings);
  return changed.tunings;
}

std::string refitted_tuning_csv(const CsvTable& table, const ScoreInputs& inputs) {
  const std::vector<ServedRow> rows = served_rows(table, inputs);
  const std::vector<TuningGroup> groups = tuning_groups(inputs.models, rows);
  const char* source = table.column("metric")
                           ? "published offline throughputs (TensorRT-LLM 0.15 to 0.21)"
                           : "published closed-loop rows (InferenceX dumps of 2025-12 to 2026-04)";
  std::string out =
      "accelerator,engine,products,experts,decoding,latent,prefill,messages,layer_us,"
      "expert_layer_us,state_layer_us,step_us,sequence_us,expert_first_us,first_token_ms,"
      "poll_steps,prompt_wait,rows,basis,source\n";
  for (const engines::TuningRow& row : refit_serving(inputs.models, rows)) {
    const ServingTuning& t = row.tuning;
    const auto group = std::ranges::find_if(groups, [&row](const TuningGroup& g) {
      return g.accelerator == row.accelerator && g.engine == row.engine;
    });
    const auto us = [](Seconds s) { return s.base() * 1e6; };
    out += fmt::format(
        "{},{},{:.3f},{:.3f},{:.3f},{:.3f},{:.3f},{:.3f},{:.2f},{:.2f},{:.2f},{:.1f},{:.2f},{:.1f},"
        "{:."
        "2f},"
        "{:.2f},{:.3f},{},fitted,\"`orrery calibrate` on "
        "{}; docs/models/serving.md\"\n",
        row.accelerator, row.engine, t.products, t.experts, t.decoding, t.latent, t.prefill,
        t.messages, us(t.layer), us(t.expert_layer), us(t.state_layer), us(t.step), us(t.sequence),
        us(t.expert_first), t.first_token.base() * 1e3, t.poll_steps, t.prompt_wait,
        group == groups.end() ? 0 : group->rows.size(), source);
  }
  return out;
}

Result<Score> score_serving_held_out(const CsvTable& table, const ScoreInputs& inputs) {
  const std::vector<ServedRow> rows = served_rows(table, inputs);
  std::map<std::string, machine::Models> folds;
  for (const ServedRow& row : rows) {
    const std::string family = family_of(row.model);
    if (folds.contains(family)) continue;
    std::vector<ServedRow> others;
    std::ranges::copy_if(rows, std::back_inserter(others),
                         [&](const ServedRow& r) { return family_of(r.model) != family; });
    machine::Models fold = inputs.models;
    fold.tunings = refit_serving(inputs.models, others);
    folds.emplace(family, std::move(fold));
  }
  std::map<std::string, ScoreInputs> fold_inputs;
  for (const auto& [family, fold] : folds) {
    fold_inputs.emplace(
        family, ScoreInputs{fold, inputs.model, inputs.log, inputs.tests, /*left_out=*/true});
  }
  return score_serving_by(table, inputs, [&](std::string_view model) -> const ScoreInputs& {
    const auto at = fold_inputs.find(family_of(model));
    return at == fold_inputs.end() ? inputs : at->second;
  });
}

}  // namespace orrery::score
