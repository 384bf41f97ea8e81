#include "output/report/view_accuracy.h"

#include <algorithm>

#include "core/base/json_writer.h"
#include "study/score/score.h"

namespace orrery::report {
namespace {

// Number of rows listed as the worst.
constexpr int kWorst = 10;

constexpr AccuracyKind kKinds[] = {
    {"training", "training: tokens/s per GPU, peak memory, watts", "validation/training.csv"},
    {"collectives", "collectives: time of nccl-tests and rccl-tests", "validation/collectives.csv"},
    {"storage", "storage: throughput of MLPerf Storage v1.0 training",
     "validation/mlperf_storage_v1.0_training.csv"},
    {"steps", "steps: prefill and decode iterations of one H200", "validation/h200_steps.csv"},
};

const AccuracyKind* find_kind(std::string_view name) {
  const auto found = std::ranges::find(kKinds, name, &AccuracyKind::name);
  return found == std::end(kKinds) ? nullptr : found;
}

void write_summary(JsonWriter& w, const score::ScoreSummary& s) {
  w.begin_object().field("scored", s.scored).field("median_ape_ratio", s.median_ape);
  w.field("mean_ape_ratio", s.mean_ape).field("p90_ape_ratio", s.p90_ape);
  w.field("coverage_ratio", s.coverage).end_object();
}

void write_point(JsonWriter& w, const score::ScoredRow& r) {
  w.begin_object().field("id", r.id).field("predicted", r.predicted.value);
  w.field("low", r.predicted.low).field("high", r.predicted.high);
  w.field("measured", *r.measured).field("ape_ratio", r.ape()).field("covered", r.covered());
  w.field("counts", r.counts).key("groups").begin_array();
  for (const std::string& g : r.groups) w.value(g);
  w.end_array().field("note", r.note).end_object();
}

void write_series(JsonWriter& w, const score::ScoredSeries& s) {
  w.begin_object().field("name", s.name).field("unit", s.unit).key("totals");
  write_summary(w, totals_of(s));
  w.key("groups").begin_array();
  for (const score::GroupSummary& g : groups_of_series(s)) {
    w.begin_object().field("name", g.name).key("summary");
    write_summary(w, g.summary);
    w.end_object();
  }
  w.end_array().key("points").begin_array();
  for (const score::ScoredRow& r : s.rows) {
    if (r.measured) write_point(w, r);
  }
  w.end_array().key("worst").begin_array();
  for (const score::ScoredRow* r : worst_rows(s, kWorst)) w.value(r->id);
  w.end_array().end_object();
}

std::string json_of(const score::Score& score) {
  JsonWriter w(0);
  w.begin_object().field("schema_version", 1).field("kind", "accuracy");
  w.field("name", score.kind).field("rows", score.rows).field("preface", score.preface);
  w.key("series").begin_array();
  for (const score::ScoredSeries& s : score.series) write_series(w, s);
  w.end_array().key("skipped").begin_array();
  for (const score::SkippedRow& s : score.skipped) {
    w.begin_object().field("id", s.id).field("reason", s.reason).end_object();
  }
  w.end_array().end_object();
  return w.text() + '\n';
}

}  // namespace

std::span<const AccuracyKind> accuracy_kinds() { return kKinds; }

std::string accuracy_kinds_json(const catalog::Knowledge& knowledge) {
  JsonWriter w(0);
  w.begin_object().field("schema_version", 1).field("kind", "accuracy-kinds");
  w.key("kinds").begin_array();
  for (const AccuracyKind& k : kKinds) {
    const auto table = knowledge.table(k.file);
    w.begin_object().field("name", k.name).field("label", k.label);
    w.field("rows", table ? table->rows().size() : 0).end_object();
  }
  w.end_array().end_object();
  return w.text() + '\n';
}

Result<std::string> accuracy_view_json(std::string_view kind, const machine::Models& models) {
  const AccuracyKind* known = find_kind(kind);
  if (known == nullptr) {
    return fail({.code = "accuracy.unknown",
                 .what = "there are no measured rows of '" + std::string(kind.substr(0, 40)) + "'",
                 .fix = "GET /api/v1/accuracy lists the kinds"});
  }
  const auto table = models.knowledge->table(known->file);
  if (!table) return std::unexpected(table.error());
  const auto kinds = score::score_kinds();
  const auto scorer = std::ranges::find(kinds, known->name, &score::ScoreKind::name);
  const auto score = scorer->score(*table, {models, nullptr});
  if (!score) return std::unexpected(score.error());
  return json_of(*score);
}

}  // namespace orrery::report
