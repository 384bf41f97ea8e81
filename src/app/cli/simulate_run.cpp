#include "app/cli/simulate_run.h"

#include <fmt/core.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>

#include "core/base/text.h"
#include "core/base/units.h"

namespace orrery::cli {
namespace {

constexpr Seconds kHorizonMax = years(10);
constexpr std::int64_t kReplicationsMax = 10'000;
// Of all replications together: beginning and following them takes a minute or more.
constexpr std::int64_t kHostsLarge = 4'000'000;

Diagnostic usage(std::string what, std::string fix) {
  return {.severity = Severity::error,
          .code = "simulate.usage",
          .place = {},
          .what = std::move(what),
          .why = "",
          .fix = std::move(fix)};
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

// Each replication draws the life of every host before it begins.
void say_if_large(const machine::Machine& machine, const twin::RunOptions& options,
                  Terminal& terminal) {
  std::int64_t hosts = 0;
  for (const machine::Fleet& fleet : machine.fleets) hosts += fleet.hosts;
  if (hosts * options.replications < kHostsLarge) return;
  terminal.err << fmt::format(
      "{} hosts in {} replications: this takes minutes to hours. Fewer --replications, a shorter "
      "--for or a smaller fleet take less.\n",
      grouped(hosts), options.replications);
}

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

}  // namespace

Result<twin::RunOptions> run_options(const std::string& span, std::int64_t replications,
                                     std::uint64_t seed) {
  Diagnostics faults;
  const auto horizon = parse_quantity<Seconds>(span);
  if (!horizon || *horizon < seconds(1) || *horizon > kHorizonMax) {
    faults.push_back(usage("not a span to simulate: " + span, "--for 30d; from 1 s to 10 y"));
  }
  if (replications < 1 || replications > kReplicationsMax) {
    faults.push_back(usage(fmt::format("{} replications", replications),
                           fmt::format("--replications 8; from 1 to {}", kReplicationsMax)));
  }
  if (!faults.empty()) return std::unexpected(std::move(faults));
  return twin::RunOptions{
      .horizon = *horizon, .seed = seed, .replications = static_cast<int>(replications)};
}

std::optional<twin::Run> simulate_design(const machine::Machine& machine,
                                         const twin::RunOptions& options, int jobs,
                                         Terminal& terminal) {
  say_if_large(machine, options, terminal);
  twin::RunOptions stoppable = options;
  stoppable.stop = terminal.interrupted;
  const twin::Simulation simulation(machine, stoppable);
  const std::vector<twin::Replication> done = replicate_all(simulation, jobs, terminal);
  if (done.empty()) return std::nullopt;
  return simulation.run_of(done);
}

}  // namespace orrery::cli
