// `orrery simulate`: runs a design, or a trace of jobs, in simulated time.
#include <fmt/core.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>

#include "app/cli/replay.h"
#include "app/cli/session.h"
#include "app/cli/simulate_run.h"
#include "app/cli/verb.h"
#include "model/jobs/resolve_jobs.h"
#include "output/report/run_report.h"
#include "plan/verdict/verdict.h"

namespace orrery::cli {
namespace {

struct SimulateOptions {
  std::string design;
  std::vector<std::string> calibrations;
  std::string horizon = "30 d";
  std::int64_t replications = 8;
  std::uint64_t seed = 1;
  int jobs = 1;
  std::optional<std::string> series;
  std::optional<std::string> trace;
  std::optional<std::string> events;
  bool explain = false;
  Format format = Format::text;
  ReplayArguments replay;
};

// Writes a file. Removes it again if it could not be written completely, unless it is a pipe or a
// device.
Result<void> write_file(const std::optional<std::string>& path, const std::string& text) {
  if (!path) return {};
  std::ofstream file(*path, std::ios::binary);
  const bool opened = file.is_open();
  file << text;
  file.flush();
  if (file) return {};
  const int error = errno;
  std::error_code ignored;
  if (opened && std::filesystem::is_regular_file(*path, ignored))
    std::filesystem::remove(*path, ignored);
  return fail({.code = "simulate.write",
               .what = fmt::format("cannot write {}: {}", *path, std::strerror(error)),
               .fix = error == ENOSPC || error == EDQUOT
                          ? "make room on that disk, or name a file on another"
                          : "name a file in a folder that exists and that you may write to"});
}

Result<void> write_files(const run::Run& run, const SimulateOptions& o) {
  if (auto r = write_file(o.series, o.series ? report::series_csv(run) : ""); !r) return r;
  if (auto r = write_file(o.events, o.events ? report::events_jsonl(run) : ""); !r) return r;
  return write_file(o.trace, o.trace ? report::trace_json(run) : "");
}

std::string rendered(const run::Run& run, const verdict::Verdict& review, const SimulateOptions& o,
                     const Terminal& terminal) {
  const report::RunView view{.explain = o.explain};
  switch (o.format) {
    case Format::json:
      return report::json_of(run, review);
    case Format::markdown:
      return to_markdown(report::document_of(run, &review, view));
    case Format::html:
      return to_html(report::document_of(run, &review, view));
    default:
      return to_text(report::document_of(run, &review, view), terminal.style);
  }
}

ExitCode run_simulate(const SimulateOptions& o, Terminal& terminal) {
  if (!o.replay.file.empty()) {
    return run_replay(o.replay, o.design, o.seed, o.format, terminal);
  }
  if (o.design.empty()) {
    return refuse(terminal, {{.code = "simulate.usage",
                              .what = "nothing to simulate was named",
                              .fix = "name a design file, or a trace of jobs with --replay FILE"}});
  }
  auto options = run_options(o.horizon, o.replications, o.seed);
  if (!options) return refuse(terminal, options.error());
  options->read = files_beside(o.design, terminal);
  const auto models = calibrated_models(o.calibrations, terminal);
  if (!models) return refuse(terminal, models.error());
  auto design = load_design(o.design, models->catalog(), terminal);
  if (!design) return refuse(terminal, design.error());
  warn_of_unknown_tiers(*models, *design, o.calibrations, terminal);
  const jobs::LoadedMachine loaded = jobs::load_machine(*std::move(design), *models);
  const std::optional<run::Run> run = simulate_design(loaded, *options, o.jobs, terminal);
  if (!run) return ExitCode::interrupted;
  if (const auto written = write_files(*run, o); !written) return refuse(terminal, written.error());
  const verdict::Verdict review =
      verdict::verdict_of(review::run_stages(loaded), {.spends = false, .insist = false});
  terminal.out << rendered(*run, review, o, terminal);
  if (!run->is_whole) return ExitCode::interrupted;
  return run->passes() ? ExitCode::good : ExitCode::fails_rule;
}

}  // namespace

Verb simulate_verb() {
  return {
      .name = "simulate",
      .summary = "Run a design in simulated time: jobs, failures, checkpoints, power",
      .examples = {"orrery simulate my.yaml", "orrery simulate my.yaml --for 54d --replications 32",
                   "orrery simulate my.yaml --series run.csv --trace run.json",
                   "orrery simulate --replay jobs.csv --gpus 384 --policy fifo --policy easy",
                   "orrery simulate my.yaml --replay sacct.txt --policy slurm",
                   "orrery simulate --replay log.swf --nodes 64 --placement tree --mtbf 200d"},
      .prepare = [](Arguments& arguments) -> Run {
        auto o = std::make_shared<SimulateOptions>();
        arguments.optional_positional(
            "DESIGN", o->design,
            "design file to run; with --replay, the design with the fleet and scheduler");
        arguments.option("--for", o->horizon, "time to simulate", "TIME");
        arguments.option("--replications", o->replications,
                         "independent runs; their spread gives the intervals");
        arguments.option("--calibration", o->calibrations,
                         "file from `orrery calibrate` with parameters of your own machine or "
                         "storage; repeatable",
                         "FILE");
        arguments.flag("--explain", o->explain,
                       "print figures that repeat a table above, and sections that are all zero");
        arguments.option("--series", o->series, "write time series as CSV", "FILE");
        arguments.option("--trace", o->trace, "write a trace of the first run for Perfetto",
                         "FILE");
        arguments.option("--events", o->events,
                         "write the events of the first run, one JSON object per line", "FILE");
        bind_replay(o->replay, arguments);
        arguments.seed(o->seed);
        arguments.jobs(o->jobs);
        arguments.format(o->format, {Format::text, Format::json, Format::markdown, Format::html});
        return [o](Terminal& terminal) { return run_simulate(*o, terminal); };
      }};
}

}  // namespace orrery::cli
