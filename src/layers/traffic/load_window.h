// Latencies of a window of requests at one load of a replica, and what many windows say together.
//
// What counts of a window is cut into parts by time; a figure with one part left out in turn tells
// its sampling error (the jackknife).
//   error^2 = (n - 1) / n sum (figure without part i - their mean)^2
// Near its capacity a replica's load swings for longer than a part: then parts are alike, and twice
// as long ones tell more; the wider of the two is taken. A quantile hangs on few requests, which a
// part has or has not, so its own jackknife tells nothing: of the share of requests below it the
// error is found, no less than of independent ones, and its bounds are the quantiles at the bounds
// of that share (Woodruff 1952, J. Am. Stat. Assoc. 47:635). The farther one is stated for both
// sides: the two apart held too few of windows that were drawn anew.
#pragma once

#include <array>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "layers/traffic/fleet.h"
#include "layers/traffic/retrieval.h"

namespace orrery::traffic {

// Latencies of the requests of one part of a window, as so many equally likely values, rising.
inline constexpr std::size_t kLatencyPoints = 200;
using LatencyPoints = std::array<double, kLatencyPoints>;
inline constexpr std::size_t kWindowParts = 8;

struct WindowPart {
  double requests = 0;
  double good = 0;  // share of them within the objectives
  LatencyPoints ttft{};
  LatencyPoints tpot{};
  LatencyPoints whole{};
  double tasks = 0;  // of agents, that began in it
  LatencyPoints task{};
};

struct LoadWindow {
  double rate = 0;     // requests a second of one replica
  double busy = 0;     // share of time in which it computes
  double stay = 0;     // seconds that a request is there, mean
  double found = 0;    // of the prompts' tokens, in the prefix cache
  double fetched = 0;  // of them, out of a KV tier
  std::array<WindowPart, kWindowParts> parts{};
};

// Which requests count: those that come from `begins` on, before `ends`.
struct WindowSpan {
  double begins = 0;
  double ends = 0;
  double last = 0;  // no arrivals after it
};

// How a client sees what a replica's records say.
struct ClientView {
  double aside = 0;                       // seconds of the server around a first token
  double accepted = 1;                    // tokens of a step
  int calls = 0;                          // of an agent's task; 0: requests are no tasks
  std::optional<RetrievalLaw> retrieval;  // that a client waits for before the replica has a prompt
  std::uint64_t seed = 1;                 // of what it takes
  // Beyond these a request is late.
  double ttft = std::numeric_limits<double>::infinity();
  double tpot = std::numeric_limits<double>::infinity();
  double whole = std::numeric_limits<double>::infinity();
};

LoadWindow window_of(const FleetRun& done, double rate, const WindowSpan& span,
                     const ClientView& view);

// Requests that came at a load fall to the levels on both sides of it, the nearer one taking more.
void add_weight(std::span<double> weights, std::span<const LoadWindow> levels, double rate,
                double requests);

struct Sampled {
  double value = 0;
  double error = 0;  // half-width of the 80 % interval of the sampling, over the value
};
// Mean (share 0) or quantile of a latency over levels that stand for so many requests each.
Sampled sampled(std::span<const LoadWindow> levels, std::span<const double> weights,
                LatencyPoints WindowPart::* of, double share);
double good_share(std::span<const LoadWindow> levels, std::span<const double> weights);

// Levels whose parts count tasks in place of requests, and the share of tasks that took no longer.
std::vector<LoadWindow> of_tasks(std::vector<LoadWindow> levels);
double tasks_within(std::span<const LoadWindow> tasks, std::span<const double> weights,
                    double most);

}  // namespace orrery::traffic
