#include "output/report/layout_report.h"

#include <fmt/core.h>

#include <cmath>

#include "core/base/text.h"
#include "core/base/units.h"
#include "model/figures/unit.h"

namespace orrery::report {
namespace {

void write_found(JsonWriter& w, const search::FoundLayouts& o) {
  const training::SearchCounts& c = o.found.counts;
  w.begin_object()
      .field("gpus", o.gpus)
      .field("complete", o.whole)
      .field("candidates", c.candidates)
      .field("refused", c.refused)
      .field("too_large", c.too_large)
      .field("bounded", c.bounded)
      .field("evaluated", c.evaluated);
  w.key("layouts").begin_array();
  for (std::size_t i = 0; i < o.described.size(); ++i) write_search_row(w, o, i);
  w.end_array().end_object();
}

std::string misfit_text(const search::FoundLayouts& o, const std::optional<LayoutMisfit>& misfit) {
  if (o.found.counts.too_large == 0) {
    return fmt::format("No layout divides the model and the batch evenly over {} accelerators.",
                       o.gpus);
  }
  if (!misfit) return "No layout fits in memory.";
  std::string text = fmt::format(
      "No layout fits in memory: the smallest needs {} per accelerator, and {} are usable.",
      brief(misfit->needed), brief(misfit->usable));
  if (misfit->gpus > 0) text += fmt::format(" A layout fits on {} accelerators.", misfit->gpus);
  return text;
}

}  // namespace

Document document_of(const search::FoundLayouts& o, const std::optional<LayoutMisfit>& misfit) {
  const training::SearchCounts& c = o.found.counts;
  Document d;
  d.paragraph(fmt::format(
      "{} GPUs: {} candidates; {} do not divide evenly, {} do not fit in memory, {} cannot be "
      "faster than the best, {} evaluated{}",
      o.gpus, grouped(c.candidates), grouped(c.refused), grouped(c.too_large), grouped(c.bounded),
      grouped(c.evaluated), o.whole ? "" : " (interrupted: the best found so far)"));
  if (o.described.empty()) {
    d.paragraph(misfit_text(o, misfit));
    return d;
  }
  Table t{
      .header = {"", "layout", "step", "tokens/s/GPU", "MFU", "memory", "slower than the first"},
      .rows = {},
      .flush_right = {true, false, true, true, true, true, false}};
  for (std::size_t i = 0; i < o.described.size(); ++i) {
    const jobs::TrainingPrediction& p = o.described[i];
    t.rows.push_back({std::to_string(i + 1), to_text(p.layout), brief(seconds(p.step.seconds)),
                      grouped(std::llround(p.tokens_per_s_per_gpu.value)),
                      show(p.mfu, figures::Unit::ratio),
                      fmt::format("{:.1f} GiB", p.memory.peak / gib(1)),
                      i == 0 ? "" : why_slower(o.found.best[0], o.found.best[i])});
  }
  d.table(std::move(t));
  return d;
}

void write_search_row(JsonWriter& w, const search::FoundLayouts& o, std::size_t row) {
  const jobs::TrainingPrediction& p = o.described[row];
  w.begin_object()
      .field("layout", to_text(p.layout))
      .field("step_time_s", p.step.seconds)
      .field("step_time_low_s", p.step_time_s.low)
      .field("step_time_high_s", p.step_time_s.high)
      .field("tokens_per_s_per_gpu", p.tokens_per_s_per_gpu.value)
      .field("mfu", p.mfu)
      .field("memory_gib", p.memory.peak / gib(1))
      .field("watts", p.step.watts);
  w.key("parts_s").begin_object();
  for (int part = 0; part < training::kStepPhaseCount; ++part) {
    const auto phase = static_cast<training::StepPhase>(part);
    w.field(to_text(phase), p.step.part(phase));
  }
  w.end_object();
  if (row > 0) w.field("why_slower", why_slower(o.found.best[0], o.found.best[row]));
  w.end_object();
}

std::string json_of(const std::string& model, std::span<const search::FoundLayouts> searches) {
  JsonWriter w;
  w.begin_object().field("schema_version", 1).field("model", model).key("searches").begin_array();
  for (const search::FoundLayouts& found : searches) write_found(w, found);
  w.end_array().end_object();
  return w.text() + '\n';
}

}  // namespace orrery::report
