// `orrery diff A B`: compares two designs and attributes the differences; fits into a pull request.
#include "study/compare/diff.h"

#include <memory>

#include "app/cli/session.h"
#include "app/cli/simulate_run.h"
#include "app/cli/verb.h"
#include "model/jobs/resolve_jobs.h"
#include "output/report/diff_report.h"
#include "output/report/run_diff.h"

namespace orrery::cli {
namespace {

struct DiffOptions {
  std::string before;
  std::string after;
  bool simulate = false;
  std::string horizon = "30 d";
  std::int64_t replications = 8;
  std::uint64_t seed = 1;
  int jobs = 1;
  Format format = Format::text;
};

std::string rendered(const run::Run& before, const run::Run& after, Format format,
                     const Terminal& terminal) {
  switch (format) {
    case Format::json:
      return report::json_of(before, after);
    case Format::markdown:
      return to_markdown(report::document_of(before, after));
    case Format::html:
      return to_html(report::document_of(before, after));
    default:
      return to_text(report::document_of(before, after), terminal.style);
  }
}

// Compares simulated runs of both designs with the same faults in both.
ExitCode diff_runs(const design::Design& before, const design::Design& after,
                   const machine::Models& models, const DiffOptions& o, Terminal& terminal) {
  auto options = run_options(o.horizon, o.replications, o.seed);
  if (!options) return refuse(terminal, options.error());
  const jobs::LoadedMachine was = jobs::load_machine(before, models);
  const jobs::LoadedMachine is = jobs::load_machine(after, models);
  options->read = files_beside(o.before, terminal);
  const auto first = simulate_design(was, *options, o.jobs, terminal);
  options->read = files_beside(o.after, terminal);
  const auto second = simulate_design(is, *options, o.jobs, terminal);
  if (!first || !second || !first->is_whole || !second->is_whole) return ExitCode::interrupted;
  terminal.out << rendered(*first, *second, o.format, terminal);
  return second->passes() ? ExitCode::good : ExitCode::fails_rule;
}

// Shows file names instead of design names if both designs have the same name.
void name_by_file(compare::DesignDiff& d, const DiffOptions& options) {
  if (d.before_name != d.after_name) return;
  const std::string names = d.before_name + " -> " + d.after_name;
  d.before_name = options.before;
  d.after_name = options.after;
  if (d.verdict.starts_with(names)) {
    d.verdict.replace(0, names.size(), d.before_name + " -> " + d.after_name);
  }
}

ExitCode run_diff(const DiffOptions& options, Terminal& terminal) {
  const auto models = shipped_models();
  if (!models) return refuse(terminal, models.error());
  const auto before = load_design(options.before, models->catalog(), terminal);
  const auto after = load_design(options.after, models->catalog(), terminal);
  Diagnostics faults;
  if (!before) faults.insert(faults.end(), before.error().begin(), before.error().end());
  if (!after) faults.insert(faults.end(), after.error().begin(), after.error().end());
  if (!faults.empty()) return refuse(terminal, faults);
  if (options.simulate) return diff_runs(*before, *after, *models, options, terminal);
  compare::DesignDiff d = compare::compare(*before, *after, *models);
  if (options.format != Format::json) name_by_file(d, options);
  switch (options.format) {
    case Format::json:
      terminal.out << report::json_of(d);
      break;
    case Format::markdown:
      terminal.out << to_markdown(report::document_of(d));
      break;
    case Format::html:
      terminal.out << to_html(report::document_of(d));
      break;
    default:
      terminal.out << to_text(report::document_of(d), terminal.style);
  }
  return d.passes_after ? ExitCode::good : ExitCode::fails_rule;
}

}  // namespace

Verb diff_verb() {
  return {.name = "diff",
          .summary = "Compare two designs: what changed, what it costs, and which change caused it",
          .examples = {"orrery diff before.yaml after.yaml",
                       "orrery diff before.yaml after.yaml --format markdown",
                       "orrery diff before.yaml after.yaml --simulate --for 60d"},
          .prepare = [](Arguments& arguments) -> Run {
            auto options = std::make_shared<DiffOptions>();
            arguments.positional("BEFORE", options->before, "design before the change");
            arguments.positional("AFTER", options->after, "design after the change");
            arguments.flag("--simulate", options->simulate,
                           "compare simulated runs of both designs, with the same faults in both");
            arguments.option("--for", options->horizon, "with --simulate: time to simulate",
                             "TIME");
            arguments.option("--replications", options->replications,
                             "with --simulate: independent replications of each design");
            arguments.seed(options->seed);
            arguments.jobs(options->jobs);
            arguments.format(options->format,
                             {Format::text, Format::json, Format::markdown, Format::html});
            return [options](Terminal& terminal) { return run_diff(*options, terminal); };
          }};
}

}  // namespace orrery::cli
