#include "output/report/run_report.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "core/base/csv.h"
#include "core/base/json_writer.h"
#include "core/base/text.h"
#include "core/base/units.h"
#include "output/report/agreement.h"
#include "output/report/figure_json.h"
#include "output/report/readable.h"

namespace orrery::report {
namespace {

std::string outcome_text(const figures::GoalOutcome& g) {
  return !g.met     ? "missed"
         : g.likely ? "met"
                    : "met on average; may be missed within the 80 % interval";
}

void add_goals(Document& d, const run::Run& run, const verdict::Verdict* review) {
  if (run.goals.empty() && run.goals_left_to_plan.empty()) return;
  d.heading(2, "Goals");
  Table t{.header = {"goal", "outcome", "value", "80 % interval"}};
  const auto add = [&t](const figures::GoalOutcome& g, const char* by) {
    t.rows.push_back({g.text, outcome_text(g) + by, readable(g.actual.value, g.unit),
                      readable_interval(g.actual, g.unit)});
  };
  if (review == nullptr) {
    for (const figures::GoalOutcome& g : run.goals) add(g, "");
    for (const std::string& text : run.goals_left_to_plan) {
      t.rows.push_back({text, "`orrery plan` answers this", "", ""});
    }
  } else {
    for (const JudgedGoal& j : goals_of(run, *review)) {
      if (j.outcome->known) {
        add(*j.outcome, j.by_run ? "" : " (by the review)");
      } else {
        t.rows.push_back({j.outcome->text, "not known", "", ""});
      }
    }
  }
  d.table(std::move(t));
}

// Adds the figures in which a run and the review of the same design differ by more than their
// intervals allow.
void add_differences(Document& d, const run::Run& run, const verdict::Verdict& review) {
  const std::vector<Difference> all = differences(review, run);
  if (all.empty()) return;
  d.heading(2, "Where the run and the review differ");
  Table t{.header = {"figure", "of", "review", "run", "because"},
          .flush_right = {false, false, true, true, false}};
  for (const Difference& f : all) {
    t.rows.push_back({f.run->title(), f.section->name, readable(*f.plan), readable(*f.run),
                      f.because.empty() ? "not known" : std::string(f.because)});
  }
  d.table(std::move(t));
}

const figures::Figure* share_figure(const run::Run& run, const std::string& job,
                                    std::string_view cause) {
  for (const figures::Section& s : run.sections) {
    if (s.name != job) continue;
    for (const figures::Figure& f : s.figures) {
      if (f.kind == figures::FigureId::time_share && f.of == cause) return &f;
    }
  }
  return nullptr;
}

// Adds where a job's time went. Causes too small to write out share a row.
void add_waterfall(Document& d, const run::Run& run, const run::Waterfall& w) {
  d.heading(2, fmt::format("Where the time of {} went", w.job));
  Table t{.header = {"", "share of wall time", "80 % interval", "left"},
          .flush_right = {false, true, true, true}};
  double left = 1;
  double small = 0;
  const auto percent = [](double share) { return readable(share, figures::Unit::ratio); };
  for (const run::WaterfallStep& s : w.steps) {
    if (s.cause == cluster::Cause::productive) continue;
    if (is_written_as_bound(s.share, figures::Unit::ratio)) {
      small += s.share;
      continue;
    }
    left -= s.share;
    const figures::Figure* f = share_figure(run, w.job, word_of(s.cause));
    t.rows.push_back({std::string(word_of(s.cause)), percent(s.share),
                      f != nullptr ? readable_interval(*f) : "", percent(left)});
  }
  left -= small;
  if (small > 0) t.rows.push_back({"other causes", percent(small), "", percent(left)});
  t.rows.push_back({"productive", "", "", percent(left)});
  d.table(std::move(t));
}

void add_book(Document& d, const run::Run& run) {
  d.heading(2, "GPU-seconds");
  Table t{.header = {"", "GPU-seconds", "share"}, .flush_right = {false, true, true}};
  std::int64_t all = 0;
  for (const std::int64_t s : run.gpu_seconds) all += s;
  for (const Word<cluster::Share>& w : words_of(cluster::Share{}).rows()) {
    const std::int64_t s = run.gpu_seconds[static_cast<std::size_t>(w.value)];
    const double share = all > 0 ? static_cast<double>(s) / static_cast<double>(all) : 0;
    t.rows.push_back({std::string(w.word), grouped(s), readable(share, figures::Unit::ratio)});
  }
  t.rows.push_back(
      {fmt::format("{} accelerators x {}", grouped(run.accelerators), brief(run.simulated)),
       grouped(all), ""});
  d.table(std::move(t));
}

// Says which figures a table above has already shown: the shares of a job's time, and those of the
// only fleet.
class ShownAbove {
 public:
  explicit ShownAbove(const run::Run& run) : run_(run) {
    for (const figures::Section& s : run.sections) {
      fleets_ +=
          std::ranges::count(s.figures, figures::FigureId::fleet_share, &figures::Figure::kind) > 0;
    }
  }

  bool has(const figures::Section& s, const figures::Figure& f) const {
    if (f.kind == figures::FigureId::fleet_share) return fleets_ == 1;
    return f.kind == figures::FigureId::time_share &&
           std::ranges::find(run_.waterfalls, s.name, &run::Waterfall::job) !=
               run_.waterfalls.end();
  }

 private:
  const run::Run& run_;
  int fleets_ = 0;
};

void add_section(Document& d, const figures::Section& s, const ShownAbove& above, RunView view) {
  if (!s.name.empty()) d.heading(3, s.name);
  if (!s.summary.empty()) d.paragraph(s.summary);
  Table t{.flush_right = {false, true, false, false}};
  for (const figures::Figure& f : s.figures) {
    if (!view.explain && above.has(s, f)) continue;
    t.rows.push_back(
        {f.title(), readable(f), readable_interval(f), std::string(to_text(f.estimate.basis))});
  }
  if (!t.rows.empty()) d.table(std::move(t));
  if (!s.limit.empty()) d.paragraph("limit: " + s.limit);
}

void write_console_goals(JsonWriter& w, const run::Run& run) {
  w.key("goals").begin_array();
  for (const figures::GoalOutcome& g : run.goals) {
    w.begin_object().field("text", g.text).field("metric", g.metric).field("met", g.met);
    w.field("met_over_interval", g.likely);
    write_goal_numbers(w, g);
    w.end_object();
  }
  w.end_array().key("goals_left_to_plan").begin_array();
  for (const std::string& text : run.goals_left_to_plan) w.value(text);
  w.end_array();
}

// Writes the goals in the order of the design: those that the run measures, and those that it
// leaves to the review.
void write_goals(JsonWriter& w, const run::Run& run, const verdict::Verdict& review) {
  w.key("goals").begin_array();
  for (const JudgedGoal& j : goals_of(run, review)) {
    const figures::GoalOutcome& g = *j.outcome;
    w.begin_object().field("text", g.text).field("outcome", outcome_word(g));
    w.field("said_by", j.by_run ? "run" : "review");
    w.field("metric", g.metric).field("met", g.met).field("met_over_interval", g.likely);
    write_goal_numbers(w, g);
    w.end_object();
  }
  w.end_array();
}

void write_differences(JsonWriter& w, const run::Run& run, const verdict::Verdict& review) {
  w.key("differs_from_plan").begin_array();
  for (const Difference& d : differences(review, run)) {
    w.begin_object().field("layer", to_text(d.section->layer)).field("section", d.section->name);
    w.field("id", d.run->id()).field("unit", unit_name(d.run->unit()));
    w.field("plan", d.plan->estimate.value).field("run", d.run->estimate.value);
    w.field("because", d.because).end_object();
  }
  w.end_array();
}

void write_limits(JsonWriter& w, const run::Run& run) {
  w.key("limits").begin_array();
  for (const figures::Section& s : run.sections) {
    if (s.limit.empty()) continue;
    w.begin_object().field("layer", to_text(s.layer)).field("section", s.name);
    w.field("limit", s.limit).end_object();
  }
  w.end_array();
}

void write_waterfalls(JsonWriter& w, const run::Run& run) {
  w.key("waterfalls").begin_array();
  for (const run::Waterfall& fall : run.waterfalls) {
    w.begin_object().field("job", fall.job).key("steps").begin_array();
    for (const run::WaterfallStep& s : fall.steps) {
      w.begin_object().field("cause", word_of(s.cause)).field("share", s.share).end_object();
    }
    w.end_array().end_object();
  }
  w.end_array();
}

void write_racks(JsonWriter& w, std::string_view key, const std::vector<run::RackPower>& all) {
  w.key(key).begin_array();
  for (const run::RackPower& r : all) {
    w.begin_object().field("fleet", r.fleet).field("number", r.number).field("hosts", r.hosts);
    w.field("mean_w", r.mean.base()).field("highest_w", r.highest.base());
    w.field("limit_w", r.limit.base()).end_object();
  }
  w.end_array();
}

std::string_view kind_word(sim::TraceKind kind) {
  switch (kind) {
    case sim::TraceKind::begin:
      return "begin";
    case sim::TraceKind::end:
      return "end";
    case sim::TraceKind::instant:
      return "instant";
    case sim::TraceKind::value:
      break;
  }
  return "value";
}

// Phases of the trace event format: B and E begin and end a span of a thread, i is a point; times
// are in microseconds.
char phase_letter(sim::TraceKind kind) {
  switch (kind) {
    case sim::TraceKind::begin:
      return 'B';
    case sim::TraceKind::end:
      return 'E';
    case sim::TraceKind::instant:
      return 'i';
    case sim::TraceKind::value:
      break;
  }
  return 'C';
}

}  // namespace

Document document_of(const run::Run& run, const verdict::Verdict* review, RunView view) {
  Document d;
  d.heading(1, fmt::format("{}, simulated for {}", run.design, brief(run.simulated)));
  d.paragraph(run.summary);
  if (!run.is_whole) d.paragraph("Interrupted: only the finished replications are counted.");
  for (const std::string& why : run.infeasible) d.paragraph(why + ".");
  if (!run.diagnosis.empty()) d.paragraph(run.diagnosis);
  add_goals(d, run, review);
  for (const run::Waterfall& w : run.waterfalls) add_waterfall(d, run, w);
  add_book(d, run);
  std::string last;
  const ShownAbove above(run);
  for (const figures::Section& s : run.sections) {
    if (!view.explain && is_silent(s)) continue;
    if (last != to_text(s.layer)) d.heading(2, last = to_text(s.layer));
    add_section(d, s, above, view);
  }
  if (review != nullptr) add_differences(d, run, *review);
  d.heading(2, "Limits of this run");
  d.bullets(run.notes);
  d.paragraph(fmt::format("seed {}, {} replication{}, {} events, design digest {}", run.seed,
                          run.replications, run.replications == 1 ? "" : "s",
                          grouped(static_cast<std::int64_t>(run.events)), run.digest));
  return d;
}

namespace {

// Writes the contract of `orrery simulate` if a review is given, else the form that the console
// reads.
std::string run_json_in(const run::Run& run, const verdict::Verdict* review) {
  JsonWriter w;
  w.begin_object()
      .field("schema_version", review != nullptr ? 2 : 1)
      .field("kind", "run")
      .field("design", run.design);
  w.field("version", run.version).field("digest", run.digest).field("seed", run.seed);
  w.field("simulated_s", run.simulated.base()).field("events", run.events);
  w.field("replications", run.replications).field("is_whole", run.is_whole);
  w.field("passes", run.passes()).field("summary", run.summary);
  review != nullptr ? write_goals(w, run, *review) : write_console_goals(w, run);
  write_figure_list(w, run.sections);
  if (review != nullptr) write_differences(w, run, *review);
  write_limits(w, run);
  w.field("accelerators", run.accelerators).key("gpu_seconds").begin_object();
  for (const Word<cluster::Share>& word : words_of(cluster::Share{}).rows()) {
    w.field(word.word, run.gpu_seconds[static_cast<std::size_t>(word.value)]);
  }
  w.end_object().field("energy_j", run.energy_j);
  write_waterfalls(w, run);
  write_racks(w, "racks", run.racks);
  write_racks(w, "pdus", run.pdus);
  w.key("infeasible").begin_array();
  for (const std::string& why : run.infeasible) w.value(why);
  w.end_array().field("diagnosis", run.diagnosis).key("notes").begin_array();
  for (const std::string& n : run.notes) w.value(n);
  w.end_array().end_object();
  return w.text() + '\n';
}

}  // namespace

std::string json_of(const run::Run& run, const verdict::Verdict& review) {
  return run_json_in(run, &review);
}

std::string console_json_of(const run::Run& run) { return run_json_in(run, nullptr); }

std::string series_csv(const run::Run& run) {
  std::string out = "t_s";
  for (const std::string& c : run.series.columns) out += "," + csv_field(c);
  out += '\n';
  for (std::size_t row = 0; row < run.series.means.size(); ++row) {
    out += shortest(static_cast<double>(row) * run.series.bin.base());
    for (const double v : run.series.means[row]) out += "," + shortest(v);
    out += '\n';
  }
  return out;
}

std::string events_jsonl(const run::Run& run) {
  std::string out;
  for (const world::RunEvent& e : run.log) {
    JsonWriter w(0);
    w.begin_object().field("t_s", e.at.seconds().base()).field("kind", kind_word(e.kind));
    w.field("track", e.track).field("name", e.name);
    if (e.kind == sim::TraceKind::instant) w.field("host", e.value);
    if (e.kind == sim::TraceKind::value) w.field("value", e.value);
    w.end_object();
    out += w.text() + '\n';
  }
  return out;
}

std::string trace_json(const run::Run& run) {
  std::map<std::string, int> threads;
  for (const world::RunEvent& e : run.log) {
    threads.emplace(e.track, static_cast<int>(threads.size()) + 1);
  }
  JsonWriter w(0);
  w.begin_object().field("displayTimeUnit", "ms").key("traceEvents").begin_array();
  for (const auto& [track, thread] : threads) {
    w.begin_object().field("ph", "M").field("name", "thread_name").field("pid", 1);
    w.field("tid", thread).key("args").begin_object().field("name", track).end_object();
    w.end_object();
  }
  for (const world::RunEvent& e : run.log) {
    w.begin_object().field("ph", std::string_view(std::string(1, phase_letter(e.kind))));
    w.field("name", e.name).field("pid", 1).field("tid", threads[e.track]);
    w.field("ts", static_cast<double>(e.at.ns()) / 1e3);
    if (e.kind == sim::TraceKind::instant) w.field("s", "t");
    if (e.kind == sim::TraceKind::value) {
      w.key("args").begin_object().field("value", e.value).end_object();
    }
    w.end_object();
  }
  w.end_array().end_object();
  return w.text() + '\n';
}

}  // namespace orrery::report
