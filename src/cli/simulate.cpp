// `orrery simulate FILE`: the design in simulated time.
#include <fmt/core.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <memory>
#include <mutex>
#include <thread>

#include "base/text.h"
#include "base/units.h"
#include "cli/session.h"
#include "cli/verb.h"
#include "report/run_report.h"
#include "twin/simulation.h"

namespace orrery::cli {
namespace {

constexpr Seconds kHorizonMax = years(10);
constexpr std::int64_t kReplicationsMax = 10'000;

struct SimulateOptions {
  std::string design;
  std::string horizon = "30 d";
  std::int64_t replications = 8;
  std::uint64_t seed = 1;
  int jobs = 1;
  std::optional<std::string> series;
  std::optional<std::string> trace;
  std::optional<std::string> events;
  Format format = Format::text;
};

Diagnostic usage(std::string what, std::string fix) {
  return {.severity = Severity::error,
          .code = "simulate.usage",
          .place = {},
          .what = std::move(what),
          .why = "",
          .fix = std::move(fix)};
}

Result<twin::RunOptions> run_options(const SimulateOptions& o) {
  Diagnostics faults;
  const auto horizon = parse_quantity<Seconds>(o.horizon);
  if (!horizon || *horizon < seconds(1) || *horizon > kHorizonMax) {
    faults.push_back(usage("not a span to simulate: " + o.horizon, "--for 30d; from 1 s to 10 y"));
  }
  if (o.replications < 1 || o.replications > kReplicationsMax) {
    faults.push_back(usage(fmt::format("{} replications", o.replications),
                           fmt::format("--replications 8; from 1 to {}", kReplicationsMax)));
  }
  if (!faults.empty()) return std::unexpected(std::move(faults));
  return twin::RunOptions{
      .horizon = *horizon, .seed = o.seed, .replications = static_cast<int>(o.replications)};
}

// Says how far it is, by the clock of the reader, on a terminal alone.
class Progress {
 public:
  Progress(Terminal& terminal, std::int64_t parts) : terminal_(terminal), parts_(parts) {}
  ~Progress() {
    if (shown_) terminal_.err << "\r\033[K" << std::flush;
  }

  void step() {
    const std::int64_t done = ++done_;
    if (!terminal_.err_is_tty) return;
    const std::lock_guard lock(mutex_);
    const double share = static_cast<double>(done) / static_cast<double>(parts_);
    const auto spent = std::chrono::duration<double>(std::chrono::steady_clock::now() - began_);
    if (share <= last_ + 0.01 || spent.count() < 0.5) return;
    last_ = share;
    shown_ = true;
    terminal_.err << fmt::format("\r{:3.0f} % simulated, about {} left\033[K", 100 * share,
                                 brief(Seconds(spent.count() * (1 / share - 1)), 2))
                  << std::flush;
  }

 private:
  Terminal& terminal_;
  std::int64_t parts_;
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  std::atomic<std::int64_t> done_ = 0;
  std::mutex mutex_;
  double last_ = 0;
  bool shown_ = false;
};

// Replications run in any order and are joined in theirs, so threads do not change the answer.
std::vector<twin::Replication> replicate_all(const twin::Simulation& simulation, int jobs,
                                             Terminal& terminal) {
  const int all = simulation.options().replications;
  std::vector<std::optional<twin::Replication>> done(static_cast<std::size_t>(all));
  Progress progress(terminal, all * twin::kParts);
  std::atomic<int> next = 0;
  const auto work = [&] {
    for (int n = next++; n < all && !terminal.interrupted(); n = next++) {
      done[static_cast<std::size_t>(n)] = simulation.replicate(n, [&] {
        progress.step();
        return !terminal.interrupted();
      });
    }
  };
  {
    std::vector<std::jthread> threads;
    for (int i = 1; i < jobs; ++i) threads.emplace_back(work);
    work();
  }
  std::vector<twin::Replication> kept;
  for (std::optional<twin::Replication>& r : done) {
    if (r) kept.push_back(std::move(*r));
  }
  return kept;
}

Result<void> write_file(const std::optional<std::string>& path, const std::string& text) {
  if (!path) return {};
  std::ofstream file(*path, std::ios::binary);
  file << text;
  file.flush();
  if (!file)
    return fail(usage("cannot write " + *path, "a folder that is there and may be written"));
  return {};
}

Result<void> write_files(const twin::Run& run, const SimulateOptions& o) {
  if (auto r = write_file(o.series, o.series ? report::series_csv(run) : ""); !r) return r;
  if (auto r = write_file(o.events, o.events ? report::events_jsonl(run) : ""); !r) return r;
  return write_file(o.trace, o.trace ? report::trace_json(run) : "");
}

std::string rendered(const twin::Run& run, Format format) {
  switch (format) {
    case Format::json:
      return report::json_of(run);
    case Format::markdown:
      return to_markdown(report::document_of(run));
    case Format::html:
      return to_html(report::document_of(run));
    default:
      return to_text(report::document_of(run));
  }
}

ExitCode run_simulate(const SimulateOptions& o, Terminal& terminal) {
  const auto options = run_options(o);
  if (!options) return refuse(terminal, options.error());
  const auto models = shipped_models();
  if (!models) return refuse(terminal, models.error());
  auto design = load_design(o.design, models->catalog(), terminal);
  if (!design) return refuse(terminal, design.error());
  const machine::Machine machine = build_machine(*std::move(design), *models);
  const twin::Simulation simulation(machine, *options);
  const std::vector<twin::Replication> done = replicate_all(simulation, o.jobs, terminal);
  if (done.empty()) return ExitCode::interrupted;
  const twin::Run run = simulation.run_of(done);
  if (const auto written = write_files(run, o); !written) return refuse(terminal, written.error());
  terminal.out << rendered(run, o.format);
  if (!run.is_whole) return ExitCode::interrupted;
  return run.passes() ? ExitCode::good : ExitCode::fails_rule;
}

}  // namespace

Verb simulate_verb() {
  return {
      .name = "simulate",
      .summary = "Run a design in simulated time: jobs, failures, checkpoints, power",
      .examples = {"orrery simulate my.yaml", "orrery simulate my.yaml --for 54d --replications 32",
                   "orrery simulate my.yaml --series run.csv --trace run.json"},
      .prepare = [](Arguments& arguments) -> Run {
        auto o = std::make_shared<SimulateOptions>();
        arguments.positional("FILE", o->design, "the design");
        arguments.option("--for", o->horizon, "how much time to simulate", "TIME");
        arguments.option("--replications", o->replications,
                         "independent runs, over which the intervals are taken");
        arguments.option("--series", o->series, "write levels over time as CSV", "FILE");
        arguments.option("--trace", o->trace, "write the first run for Perfetto", "FILE");
        arguments.option("--events", o->events, "write the first run's events, JSON a line",
                         "FILE");
        arguments.seed(o->seed);
        arguments.jobs(o->jobs);
        arguments.format(o->format, {Format::text, Format::json, Format::markdown, Format::html});
        return [o](Terminal& terminal) { return run_simulate(*o, terminal); };
      }};
}

}  // namespace orrery::cli
