// `orrery agent stragglers FILE`: finds the slow ranks of a job from measured step times.
#include <fmt/format.h>

#include <memory>

#include "app/cli/verb.h"
#include "core/base/json_writer.h"
#include "core/base/text.h"
#include "live/agent/straggler_input.h"

namespace orrery::cli {
namespace {

struct StragglerOptions {
  std::string file;
  double false_positives = failure::StragglerTest{}.false_positives;
  double slow_min = failure::StragglerTest{}.slow_min;
  double spike_min = failure::StragglerTest{}.spike_min;
  Format format = Format::text;
};

std::string percent(double share) { return significant(share * 100, 3) + " %"; }

// Formats a confidence; never as 100 %, because no finite run gives certainty.
std::string sureness(double confidence) {
  return confidence > 0.9999 ? "> 0.9999" : fmt::format("{:.4f}", confidence);
}

std::string text_of(const failure::StragglerReport& report, const failure::StragglerTest& test) {
  std::string out = fmt::format("{} ranks, {} steps (equivalent to {} independent steps)\n",
                                report.ranks, report.steps, significant(report.steps_effective, 3));
  if (report.slow.empty()) {
    out += fmt::format("no slow rank: none is more than {} slower than the rest\n",
                       percent(test.slow_min));
    return out;
  }
  out += fmt::format("\n{:>6}  {:<16} {:>9}  {:<8} {:>9}  {:>10}  {}\n", "rank", "host",
                     "slower by", "pattern", "of steps", "confidence", "likely layer");
  for (const failure::Straggler& s : report.slow) {
    out += fmt::format("{:>6}  {:<16} {:>9}  {:<8} {:>9}  {:>10}  {}{}\n", s.place.rank,
                       s.place.host.empty() ? "-" : s.place.host, percent(s.excess),
                       to_text(s.pattern), percent(s.step_share), sureness(s.confidence),
                       to_text(s.layer), s.shared.empty() ? "" : ", shared by " + s.shared);
  }
  out += fmt::format(
      "\n"
      "Without them a step would be {} shorter. This test flags a healthy run in at most {} of "
      "cases.\n",
      percent(1 - 1 / (1 + report.step_cost)), percent(test.false_positives));
  return out;
}

std::string json_of(const failure::StragglerReport& report, const failure::StragglerTest& test) {
  JsonWriter w;
  w.begin_object().field("schema_version", 1).field("ranks", report.ranks);
  w.field("steps", report.steps).field("steps_effective", report.steps_effective);
  w.field("false_positives_per_run", test.false_positives).field("step_cost", report.step_cost);
  w.key("slow").begin_array();
  for (const failure::Straggler& s : report.slow) {
    w.begin_object().field("rank", s.place.rank).field("host", s.place.host);
    w.field("leaf", s.place.leaf).field("pattern", to_text(s.pattern)).field("excess", s.excess);
    w.field("step_share", s.step_share).field("confidence", s.confidence);
    w.field("layer", to_text(s.layer)).field("shared", s.shared).end_object();
  }
  w.end_array().end_object();
  return w.text() + "\n";
}

ExitCode run_stragglers(const StragglerOptions& o, Terminal& terminal) {
  const bool fits = o.false_positives > 0 && o.false_positives < 1 && o.slow_min >= 0 &&
                    o.slow_min < 10 && o.spike_min >= 0 && o.spike_min < 1000;
  if (!fits) {
    return refuse(terminal, {{.code = "stragglers.usage",
                              .what = "a share is out of range",
                              .why = {},
                              .fix = "--false-positives 0.01 --slow 0.02 --spike 0.1"}});
  }
  const auto text = terminal.read_file(o.file);
  if (!text) return refuse(terminal, text.error());
  const auto times = agent::read_step_times(*text, o.file);
  if (!times) return refuse(terminal, times.error());
  const failure::StragglerTest test{
      .false_positives = o.false_positives, .slow_min = o.slow_min, .spike_min = o.spike_min};
  const failure::StragglerReport report = find_stragglers(*times, test);
  terminal.out << (o.format == Format::json ? json_of(report, test) : text_of(report, test));
  return report.slow.empty() ? ExitCode::good : ExitCode::fails_rule;
}

}  // namespace

Verb stragglers_verb() {
  return {.name = "stragglers",
          .summary = "Find the slow ranks of a job and the layer that probably slows them",
          .examples = {"orrery agent stragglers steps.csv",
                       "curl -s \"$PROMETHEUS/api/v1/query_range?...\" | orrery agent stragglers -",
                       "orrery agent stragglers steps.csv --false-positives 0.001 --format json"},
          .prepare = [](Arguments& arguments) -> Run {
            auto options = std::make_shared<StragglerOptions>();
            StragglerOptions& o = *options;
            arguments.positional(
                "FILE", o.file,
                "step,rank,seconds[,host][,leaf] as CSV, or a Prometheus range answer as JSON");
            arguments.option("--false-positives", o.false_positives,
                             "share of healthy runs that may be flagged by mistake");
            arguments.option("--slow", o.slow_min,
                             "ignore ranks that are slower by less than this share");
            arguments.option("--spike", o.spike_min,
                             "count a step as a burst if it exceeds the median by this share");
            arguments.format(o.format);
            return [options](Terminal& terminal) { return run_stragglers(*options, terminal); };
          }};
}

}  // namespace orrery::cli
