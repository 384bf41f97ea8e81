#include "output/report/run_diff.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "core/base/json_writer.h"
#include "core/base/text.h"
#include "core/base/units.h"
#include "output/report/figure_json.h"
#include "output/report/readable.h"

namespace orrery::report {
namespace {

struct ChangedFigure {
  const figures::Section* section = nullptr;
  const figures::Figure* before = nullptr;
  const figures::Figure* after = nullptr;

  double change() const { return after->estimate.value - before->estimate.value; }
  // Returns true if each value is within the other's interval.
  bool is_within() const {
    const Estimate& a = before->estimate;
    const Estimate& b = after->estimate;
    return a.value >= b.low && a.value <= b.high && b.value >= a.low && b.value <= a.high;
  }
};

const figures::Figure* find(const run::Run& run, const figures::Section& like,
                            const std::string& id) {
  for (const figures::Section& s : run.sections) {
    if (s.layer != like.layer || s.name != like.name) continue;
    const auto found = std::ranges::find(s.figures, id, &figures::Figure::id);
    if (found != s.figures.end()) return &*found;
  }
  return nullptr;
}

std::vector<ChangedFigure> changes_of(const run::Run& before, const run::Run& after) {
  std::vector<ChangedFigure> changes;
  for (const figures::Section& s : before.sections) {
    for (const figures::Figure& f : s.figures) {
      const ChangedFigure c{.section = &s, .before = &f, .after = find(after, s, f.id())};
      if (c.after != nullptr && c.change() != 0) changes.push_back(c);
    }
  }
  return changes;
}

double share_in(const run::Waterfall& w, cluster::Cause cause) {
  const auto found = std::ranges::find(w.steps, cause, &run::WaterfallStep::cause);
  return found == w.steps.end() ? 0 : found->share;
}

struct CauseChange {
  cluster::Cause cause;
  double before = 0;
  double after = 0;
};

// Returns how much more or less of the job's wall time each cause takes; the changes add up to the
// change of goodput.
std::vector<CauseChange> causes_of(const run::Waterfall& before, const run::Waterfall& after) {
  std::vector<CauseChange> changes;
  for (const Word<cluster::Cause>& w : words_of(cluster::Cause{}).rows()) {
    if (w.value == cluster::Cause::productive) continue;
    const CauseChange c{w.value, share_in(before, w.value), share_in(after, w.value)};
    if (c.before != c.after) changes.push_back(c);
  }
  std::ranges::stable_sort(changes, std::ranges::greater(),
                           [](const CauseChange& c) { return std::abs(c.after - c.before); });
  return changes;
}

const run::Waterfall* waterfall_of(const run::Run& run, const std::string& job) {
  const auto found = std::ranges::find(run.waterfalls, job, &run::Waterfall::job);
  return found == run.waterfalls.end() ? nullptr : &*found;
}

void add_causes(Document& d, const run::Waterfall& before, const run::Waterfall& after) {
  const double was = share_in(before, cluster::Cause::productive);
  const double is = share_in(after, cluster::Cause::productive);
  d.heading(2, fmt::format("Goodput of {}: {} -> {}", before.job, show(was, figures::Unit::ratio),
                           show(is, figures::Unit::ratio)));
  Table t{.header = {"cause", "before", "after", "change of goodput"},
          .flush_right = {false, true, true, true}};
  for (const CauseChange& c : causes_of(before, after)) {
    t.rows.push_back({std::string(word_of(c.cause)), readable(c.before, figures::Unit::ratio),
                      readable(c.after, figures::Unit::ratio),
                      fmt::format("{:+.2f} points", 100 * (c.before - c.after))});
  }
  if (!t.rows.empty()) d.table(std::move(t));
}

}  // namespace

Document document_of(const run::Run& before, const run::Run& after) {
  Document d;
  d.heading(1, fmt::format("{} -> {}, simulated for {}", before.design, after.design,
                           brief(after.simulated)));
  d.paragraph(fmt::format("Before: {} After: {}", before.summary, after.summary));
  for (const run::Waterfall& w : before.waterfalls) {
    if (const run::Waterfall* other = waterfall_of(after, w.job)) add_causes(d, w, *other);
  }
  d.heading(2, "Figures that changed");
  Table t{.header = {"layer", "of", "figure", "before", "after", ""},
          .flush_right = {false, false, false, true, true, false}};
  for (const ChangedFigure& c : changes_of(before, after)) {
    t.rows.push_back({to_text(c.section->layer), c.section->name, c.before->title(),
                      readable(*c.before), readable(*c.after),
                      c.is_within() ? "within both intervals" : ""});
  }
  if (t.rows.empty()) {
    d.paragraph("None.");
  } else {
    d.table(std::move(t));
  }
  return d;
}

std::string json_of(const run::Run& before, const run::Run& after) {
  JsonWriter w;
  w.begin_object().field("schema_version", 1).field("kind", "run_diff");
  w.field("before", before.design).field("after", after.design);
  w.field("simulated_s", after.simulated.base()).field("seed", after.seed);
  w.key("jobs").begin_array();
  for (const run::Waterfall& fall : before.waterfalls) {
    const run::Waterfall* other = waterfall_of(after, fall.job);
    if (other == nullptr) continue;
    w.begin_object().field("job", fall.job);
    w.field("goodput_before_ratio", share_in(fall, cluster::Cause::productive));
    w.field("goodput_after_ratio", share_in(*other, cluster::Cause::productive));
    w.key("causes").begin_array();
    for (const CauseChange& c : causes_of(fall, *other)) {
      w.begin_object().field("cause", word_of(c.cause)).field("before_ratio", c.before);
      w.field("after_ratio", c.after).end_object();
    }
    w.end_array().end_object();
  }
  w.end_array().key("figures").begin_array();
  for (const ChangedFigure& c : changes_of(before, after)) {
    w.begin_object().field("layer", to_text(c.section->layer)).field("section", c.section->name);
    w.field("id", c.before->id()).field("unit", unit_name(c.before->unit()));
    w.field("before", c.before->estimate.value).field("after", c.after->estimate.value);
    w.field("within_intervals", c.is_within()).end_object();
  }
  w.end_array().end_object();
  return w.text() + '\n';
}

}  // namespace orrery::report
