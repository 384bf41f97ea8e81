#include "app/cli/simulate_run.h"

#include <fmt/core.h>

#include <atomic>
#include <chrono>
#include <mutex>

#include "app/server/replicate.h"
#include "core/base/text.h"
#include "core/base/units.h"

namespace orrery::cli {
namespace {

constexpr std::int64_t kReplicationsMax = 10'000;
// Hosts times replications beyond which a run takes a minute or more.
constexpr std::int64_t kHostsLarge = 4'000'000;

Diagnostic usage(std::string what, std::string fix) {
  return {.severity = Severity::error,
          .code = "simulate.usage",
          .place = {},
          .what = std::move(what),
          .why = "",
          .fix = std::move(fix)};
}

// Prints the progress and the time left, on terminals only.
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

// Warns that a large run takes long: each replication draws the failures of every host before it
// begins.
void say_if_large(const machine::Machine& machine, const run::RunOptions& options,
                  Terminal& terminal) {
  std::int64_t hosts = 0;
  for (const machine::Fleet& fleet : machine.fleets) hosts += fleet.hosts;
  if (hosts * options.replications < kHostsLarge) return;
  terminal.err << fmt::format(
      "{} hosts in {} replications take minutes to hours. Fewer --replications, a shorter --for or "
      "a smaller fleet take less.\n",
      grouped(hosts), options.replications);
}

}  // namespace

Result<run::RunOptions> run_options(const std::string& span, std::int64_t replications,
                                    std::uint64_t seed) {
  Diagnostics faults;
  const auto horizon = parse_quantity<Seconds>(span);
  if (!horizon || *horizon < server::kSimulatedMin || *horizon > server::kSimulatedMax) {
    faults.push_back(usage("not a length of time: " + span, "--for 30d; from 1 s to 10 y"));
  }
  if (replications < 1 || replications > kReplicationsMax) {
    faults.push_back(usage(fmt::format("{} replications", replications),
                           fmt::format("--replications 8; from 1 to {}", kReplicationsMax)));
  }
  if (!faults.empty()) return std::unexpected(std::move(faults));
  return run::RunOptions{
      .horizon = *horizon, .seed = seed, .replications = static_cast<int>(replications)};
}

std::optional<run::Run> simulate_design(const jobs::LoadedMachine& loaded,
                                        const run::RunOptions& options, int threads,
                                        Terminal& terminal) {
  if (terminal.interrupted()) return std::nullopt;
  say_if_large(*loaded.machine, options, terminal);
  run::RunOptions stoppable = options;
  stoppable.stop = terminal.interrupted;
  const run::Simulation simulation(*loaded.machine, *loaded.jobs, stoppable);
  Progress progress(terminal, static_cast<std::int64_t>(options.replications) * world::kParts);
  const auto part = [&] {
    progress.step();
    return !terminal.interrupted();
  };
  const auto done = server::replicate_all(simulation,
                                          {.threads = threads, .part = part, .whole = {}});
  if (done.empty()) return std::nullopt;
  return simulation.run_of(done);
}

}  // namespace orrery::cli
