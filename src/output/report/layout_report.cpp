#include "output/report/layout_report.h"

#include <fmt/core.h>

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

}  // namespace

std::string text_of(const search::FoundLayouts& o) {
  const training::SearchCounts& c = o.found.counts;
  std::string out = fmt::format(
      "{} GPUs: {} candidates; {} do not divide evenly, {} do not fit in memory, {} cannot be "
      "faster than the best, {} evaluated{}\n",
      o.gpus, c.candidates, c.refused, c.too_large, c.bounded, c.evaluated,
      o.whole ? "" : " (interrupted: the best found so far)");
  if (o.described.empty()) return out + "nothing fits\n";
  out += fmt::format("{:>4} {:<64} {:>9} {:>12} {:>6} {:>9}\n", "", "layout", "step",
                     "tokens/s/GPU", "MFU", "memory");
  for (std::size_t i = 0; i < o.described.size(); ++i) {
    const jobs::TrainingPrediction& p = o.described[i];
    out += fmt::format("{:>4} {:<64} {:>8.3f}s {:>12.1f} {:>5.1f}% {:>6.1f}GiB", i + 1,
                       to_text(p.layout), p.step.seconds, p.tokens_per_s_per_gpu.value, 100 * p.mfu,
                       p.memory.peak / gib(1));
    out += i == 0 ? "\n" : "  " + why_slower(o.found.best[0], o.found.best[i]) + "\n";
  }
  return out;
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
