#include "study/score/serving_score.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>

#include "core/base/text.h"
#include "model/jobs/predict_serving.h"
#include "study/score/serving_rows.h"

namespace orrery::score {
namespace {

// How far TPOT may be off if the number of prefill and decode replicas is not published: four
// fifths of such rows are within. Undeclared guesses make tokens come sooner; hardly anything makes
// them come later.
constexpr double kGuessedUnseen = 1.9;
constexpr double kFewerReplicas = 1.3;
constexpr double kUnseenQueueBelow = 5;
constexpr double kUnseenQueueAbove = 8;

const char* replicas_word(ReplicasFrom from) {
  if (from == ReplicasFrom::row) return "workers=apart, published";
  if (from == ReplicasFrom::settings) return "workers=apart, by the test's settings";
  return from == ReplicasFrom::same_test ? "workers=apart, published of the same test"
                                         : "workers=apart, unpublished";
}

std::vector<std::string> groups_of(const CsvTable& t, const CsvRow& row,
                                   const jobs::ServingQuery& q, ReplicasFrom from) {
  const std::string engine(t.text(row, "backend"));
  const bool apart = t.text(row, "mode") != "agg";
  return {"gpu=" + q.accelerator->id,
          "engine=" + engine,
          "model=" + std::string(t.text(row, "model_path")),
          "precision=" + std::string(t.text(row, "precision")),
          "gpu, engine=" + q.accelerator->id + " " + engine,
          q.model.is_moe() ? "class=moe" : "class=dense",
          "mode=" + std::string(t.text(row, "mode")),
          apart ? replicas_word(from) : "workers=one kind",
          "mode, speculation=" + std::string(t.text(row, "mode")) +
              (t.text(row, "mtp") == "1" ? " on" : " off or unknown")};
}

Estimate in_ms(const Estimate& seconds) { return seconds * 1e3; }

struct Scored {
  jobs::ServingQuery query;
  Estimate tpot_s;
  Estimate ttft_s;
  ReplicasFrom from = ReplicasFrom::row;
};

std::expected<Scored, std::string> score_joined(const CsvTable& t, const CsvRow& row,
                                                const ScoreInputs& inputs) {
  const auto q = read_serving_row(t, row, inputs, "");
  if (!q) return std::unexpected(q.error());
  const auto p = predict_benchmark(inputs.models, *q, load_of_test(*q));
  if (!p) return std::unexpected(p.error().front().what);
  return Scored{*q, p->tpot_s, p->ttft_s};
}

std::expected<Scored, std::string> score_apart(const ApartRows& rows, const CsvRow& row,
                                               const ScoreInputs& inputs) {
  const auto read = rows.read(row, inputs);
  if (!read) return std::unexpected(read.error());
  const auto p = predict_disaggregated(inputs.models, read->query);
  if (!p) return std::unexpected(p.error().front().what);
  Scored scored{read->query.decode, p->tpot_s, p->ttft_s, read->from};
  if (read->from != ReplicasFrom::usual) return scored;
  // A row that is taken to use guesses may not have used them.
  const double sooner = read->guessed ? kFewerReplicas : kGuessedUnseen;
  const double later = read->guessed ? kGuessedUnseen : kFewerReplicas;
  scored.tpot_s.low = scored.tpot_s.value / sooner;
  scored.tpot_s.high = scored.tpot_s.value * later;
  scored.ttft_s.low = scored.ttft_s.value / kUnseenQueueBelow;
  scored.ttft_s.high = scored.ttft_s.value * kUnseenQueueAbove;
  return scored;
}

// Returns both times of each row.
std::string predictions_of(const Score& score) {
  std::string out = "id,predicted,low,high,basis,ttft_ms,ttft_low_ms,ttft_high_ms\n";
  for (std::size_t i = 0; i < score.series[0].rows.size(); ++i) {
    const ScoredRow& row = score.series[0].rows[i];
    const Estimate& first = score.series[1].rows[i].predicted;
    out += fmt::format("{},{:.6g},{:.6g},{:.6g},{},{:.6g},{:.6g},{:.6g}\n", csv_field(row.id),
                       row.predicted.value, row.predicted.low, row.predicted.high,
                       to_text(row.predicted.basis), first.value, first.low, first.high);
  }
  return out;
}

}  // namespace

Result<Score> score_serving(const CsvTable& table, const ScoreInputs& inputs) {
  return score_serving_by(table, inputs,
                          [all = &inputs](std::string_view) -> const ScoreInputs& { return *all; });
}

Score score_serving_by(const CsvTable& table, const ScoreInputs& inputs,
                       const InputsOf& inputs_of) {
  Score score{.kind = "serving",
              .rows = static_cast<int>(table.rows().size()),
              .series = {{"tpot", "silicon_tpot_ms", {}}, {"ttft", "silicon_ttft_ms", {}}},
              .skipped = {}};
  const ApartRows apart(table, inputs);
  for (const CsvRow& row : table.rows()) {
    const std::string id(table.text(row, "id"));
    const bool joined = table.text(row, "mode") == "agg";
    const ScoreInputs& own = inputs_of(table.text(row, "model_path"));
    const auto p = joined ? score_joined(table, row, own) : score_apart(apart, row, own);
    if (!p) {
      score.skipped.push_back({id, p.error(), true});
      continue;
    }
    ScoredRow scored{.id = id,
                     .predicted = in_ms(p->tpot_s),
                     .measured = table.number(row, "silicon_tpot_ms"),
                     .counts = true,
                     .groups = groups_of(table, row, p->query, p->from),
                     .note = {}};
    score.series[0].rows.push_back(scored);
    scored.predicted = in_ms(p->ttft_s);
    scored.measured = table.number(row, "silicon_ttft_ms");
    score.series[1].rows.push_back(scored);
  }
  score.predictions = predictions_of(score);
  return score;
}

}  // namespace orrery::score
