// Latencies of a window of requests at one load of a replica, and the results over many windows.
//
// The counted time of a window is divided into parts; recomputing a figure with one part left out
// at a time gives its sampling error (the jackknife):
//   error^2 = (n - 1) / n sum (figure without part i - their mean)^2
// Near its capacity a replica's load varies over times longer than a part. Then neighbouring parts
// are correlated, and parts twice as long are more reliable; the larger of the two errors is used.
// A quantile depends on few requests, which a part either contains or not, so its own jackknife is
// useless. Instead the error is computed for the share of requests below it (at least that of
// independent requests), and the quantiles at the bounds of that share are the bounds (Woodruff
// 1952, J. Am. Stat. Assoc. 47:635). The farther bound is stated for both sides, because separate
// bounds covered too few of the windows that were simulated again.
#pragma once

#include <array>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "layers/traffic/fleet.h"
#include "layers/traffic/retrieval.h"

namespace orrery::traffic {

// Latencies of the requests in one part of a window, as this many equally likely values in rising
// order.
inline constexpr std::size_t kLatencyPoints = 200;
using LatencyPoints = std::array<double, kLatencyPoints>;
inline constexpr std::size_t kWindowParts = 8;

struct WindowPart {
  double requests = 0;
  double good = 0;  // share of them within the objectives
  LatencyPoints ttft{};
  LatencyPoints tpot{};
  LatencyPoints whole{};
  double tasks = 0;  // agent tasks that began in it
  LatencyPoints task{};
};

struct LoadWindow {
  double rate = 0;     // requests per second per replica
  double busy = 0;     // share of time during which it computes
  double stay = 0;     // mean seconds that a request is present
  double found = 0;    // share of prompt tokens found in the prefix cache
  double fetched = 0;  // share of prompt tokens fetched from a KV tier
  std::array<WindowPart, kWindowParts> parts{};
};

// Which requests count: those that arrive from `begins` on and before `ends`.
struct WindowSpan {
  double begins = 0;
  double ends = 0;
  double last = 0;  // there are no arrivals after it
};

// What a client sees in addition to a replica's records.
struct ClientView {
  double aside = 0;                       // seconds that the server adds to a first token
  double accepted = 1;                    // tokens accepted per step
  int calls = 0;                          // calls per agent task; 0: requests are not tasks
  std::optional<RetrievalLaw> retrieval;  // retrieval before the replica gets the prompt
  std::uint64_t seed = 1;                 // seed of the retrieval times
  // Objectives beyond which a request is late.
  double ttft = std::numeric_limits<double>::infinity();
  double tpot = std::numeric_limits<double>::infinity();
  double whole = std::numeric_limits<double>::infinity();
};

LoadWindow window_of(const FleetRun& done, double rate, const WindowSpan& span,
                     const ClientView& view);

// Divides requests that arrive at a load between the levels on both sides of it; the nearer one
// gets more.
void add_weight(std::span<double> weights, std::span<const LoadWindow> levels, double rate,
                double requests);

struct Sampled {
  double value = 0;
  double error = 0;  // half-width of the 80 % sampling interval, relative to the value
};
// Returns the mean (share 0) or a quantile of a latency over levels, each weighted by its number of
// requests.
Sampled sampled(std::span<const LoadWindow> levels, std::span<const double> weights,
                LatencyPoints WindowPart::* of, double share);
double good_share(std::span<const LoadWindow> levels, std::span<const double> weights);

// Returns the levels with tasks in place of requests; a second function gives the share of tasks
// that took no longer than a limit.
std::vector<LoadWindow> of_tasks(std::vector<LoadWindow> levels);
double tasks_within(std::span<const LoadWindow> tasks, std::span<const double> weights,
                    double most);

}  // namespace orrery::traffic
