#include "app/server/run_job.h"

#include <fmt/core.h>

#include <algorithm>

#include "app/server/json_body.h"
#include "app/server/replicate.h"
#include "app/server/served_files.h"
#include "core/base/text.h"
#include "core/base/units.h"
#include "model/design_text/read_design.h"
#include "model/jobs/build_machine.h"
#include "model/machine/machine.h"
#include "output/report/run_report.h"
#include "twin/run/simulation.h"

namespace orrery::server {
namespace {

constexpr NumberRange kReplications{1, 256};
constexpr NumberRange kSeeds{0, 1e9};
constexpr std::size_t kKept = 4;  // runs in memory: two side by side, and the two before them

struct RunRequest {
  design::Design design;
  run::RunOptions options;
};

Result<Seconds> span_of(const std::string& text) {
  const auto span = parse_quantity<Seconds>(text);
  if (span && *span >= kSimulatedMin && *span <= kSimulatedMax) return *span;
  return fail({.code = "simulate.usage",
               .what = "not a length of time: " + text,
               .fix = "\"span\": \"30 d\"; from 1 s to 10 y"});
}

Result<RunRequest> read_body(JsonBody& body, const machine::Models& models,
                             const catalog::ReadFile& files) {
  const std::string yaml = body.text("design", kDesignBytes);
  const std::string span = body.optional_text("span", kNameBytes).value_or("30 d");
  run::RunOptions options{.replications = 8};
  options.replications = static_cast<int>(
      body.optional_integer("replications", kReplications).value_or(options.replications));
  options.seed = static_cast<std::uint64_t>(body.optional_integer("seed", kSeeds).value_or(1));
  if (Diagnostics faults = body.faults(); !faults.empty()) return std::unexpected(faults);
  const auto horizon = span_of(span);
  if (!horizon) return std::unexpected(horizon.error());
  options.horizon = *horizon;
  auto design =
      design_text::read_design(yaml, models.catalog(), {.file = "design.yaml", .read_file = files});
  if (!design) return std::unexpected(design.error());
  return RunRequest{.design = std::move(*design), .options = options};
}

// Reads a stored request with the files that its design names.
Result<RunRequest> read_kept(const std::string& text, const machine::Models& models) {
  auto body = JsonBody::parse(text);
  if (!body) return std::unexpected(body.error());
  const catalog::ReadFile files = kept_files(*body);
  return read_body(*body, models, files);
}

// Reports how many replications are done, and the time left at this pace.
class Teller {
 public:
  explicit Teller(JobRun& run, int replications) : run_(run) {
    run_.job.candidates = replications * world::kParts;
    run_.job.done = 0;
    run_.job.evaluated = 0;
  }

  // Returns false if it was asked to stop.
  bool part() {
    Job& job = run_.job;
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start_;
    if (job.done > 0) {
      job.remaining_s = spent.count() / static_cast<double>(job.done) *
                        static_cast<double>(job.candidates - job.done);
    }
    ++job.done;
    run_.report();
    return !run_.should_stop();
  }

  void replication() { ++run_.job.evaluated; }

 private:
  JobRun& run_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace

Result<Job> RunJobs::job_of(const std::string& request) const {
  auto body = JsonBody::parse(request);
  if (!body) return std::unexpected(body.error());
  FileTexts files;
  const auto read = read_body(*body, models_, keeping_reader(files_, files));
  if (!read) return std::unexpected(read.error());
  return Job{.task = kRunTask,
             .title = fmt::format("{} for {}, {} replication{}, seed {}", read->design.name,
                                  brief(read->options.horizon), read->options.replications,
                                  read->options.replications == 1 ? "" : "s", read->options.seed),
             .request = with_files(request, files)};
}

Result<void> RunJobs::work(JobRun& run) const {
  auto request = read_kept(run.job.request, models_);
  if (!request) return std::unexpected(request.error());
  const machine::Machine machine = jobs::build_machine(std::move(request->design), models_);
  const run::Simulation simulation(machine, request->options);
  Teller teller(run, request->options.replications);
  // One thread only: the others serve requests.
  const auto done = replicate_all(simulation, {.threads = 1,
                                               .part = [&teller] { return teller.part(); },
                                               .whole = [&teller] { teller.replication(); }});
  const bool is_whole = static_cast<int>(done.size()) == request->options.replications;
  if (done.empty() || (!is_whole && !run.cancelled())) return {};
  auto whole = std::make_shared<const run::Run>(simulation.run_of(done));
  run.job.result = report::console_json_of(*whole);
  keep(run.job.id, std::move(whole));
  return {};
}

Result<std::shared_ptr<const run::Run>> RunJobs::first_replication(const Job& job) const {
  {
    const std::lock_guard lock(mutex_);
    const auto kept = std::ranges::find(kept_, job.id, [](const auto& k) { return k.first; });
    if (kept != kept_.end()) return kept->second;
  }
  auto request = read_kept(job.request, models_);
  if (!request) return std::unexpected(request.error());
  const machine::Machine machine = jobs::build_machine(std::move(request->design), models_);
  const run::Simulation simulation(machine, request->options);
  const auto first = simulation.replicate(0);
  auto run = std::make_shared<const run::Run>(simulation.run_of(std::span(&*first, 1)));
  keep(job.id, run);
  return run;
}

Result<design::Design> RunJobs::design_of(const Job& job) const {
  auto request = read_kept(job.request, models_);
  if (!request) return std::unexpected(request.error());
  return std::move(request->design);
}

void RunJobs::keep(std::int64_t id, std::shared_ptr<const run::Run> run) const {
  const std::lock_guard lock(mutex_);
  std::erase_if(kept_, [id](const auto& k) { return k.first == id; });
  kept_.emplace_back(id, std::move(run));
  if (kept_.size() > kKept) kept_.pop_front();
}

}  // namespace orrery::server
