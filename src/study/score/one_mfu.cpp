#include "study/score/one_mfu.h"

#include <map>
#include <utility>

#include "core/base/statistics.h"
#include "core/workload/model_math.h"
#include "study/score/training_rows.h"

namespace orrery::score {
namespace {

struct MfuRow {
  std::string id;
  double ideal = 0;  // tokens/s per GPU at peak
  double measured = 0;
};

double median_mfu(const std::vector<MfuRow>& rows) {
  std::vector<double> all;
  for (const MfuRow& r : rows) all.push_back(r.measured / r.ideal);
  return median(std::move(all));
}

}  // namespace

ScoreSummary score_one_mfu(const CsvTable& table, const ScoreInputs& inputs) {
  std::map<std::string, std::vector<MfuRow>> groups;
  for (const CsvRow& row : table.rows()) {
    const auto r = read_training_row(table, row, inputs);
    if (!r || !r->counts || !r->tokens_per_s_per_gpu || r->query.model.is_moe()) continue;
    const jobs::TrainingQuery& q = r->query;
    const auto peak = q.accelerator->peak(workload::product_dtype(q.precision));
    if (!peak) continue;
    const Flops token =
        training_flops_per_token(q.model, q.sequence, workload::FlopConvention::causal_half);
    groups[q.accelerator->id + std::string(to_text(q.precision))].push_back(
        {r->id, peak->base() / token.base(), *r->tokens_per_s_per_gpu});
  }
  std::vector<ScoredRow> rows;
  for (const auto& [name, members] : groups) {
    const double mfu = median_mfu(members);
    for (const MfuRow& m : members) {
      rows.push_back({.id = m.id,
                      .predicted = exact(m.ideal * mfu, Basis::fitted, "one MFU"),
                      .measured = m.measured});
    }
  }
  std::vector<const ScoredRow*> pointers;
  for (const ScoredRow& r : rows) pointers.push_back(&r);
  return summarise(pointers);
}

}  // namespace orrery::score
