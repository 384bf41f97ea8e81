// How a service's requests are answered at some loads of a replica: windows of them, simulated one
// by one on engines that decide iteration by iteration (serving/fleet.h, apart_fleet.h).
//
// A window is a Poisson stream with the lengths of the service's mix on a few replicas behind one
// router. It begins empty, and goes on for some mean stays of a request before the first that
// counts has come and after the last has: filling and draining are no part of the load. What counts
// is cut into parts by time; a figure with one part left out in turn tells its sampling error (the
// jackknife).
//   error^2 = (n - 1) / n sum (figure without part i - their mean)^2
// Near its capacity a replica's load swings for longer than a part: then parts are alike, and twice
// as long ones tell more; the wider of the two is taken. A quantile hangs on few requests, which a
// part has or has not, so its own jackknife tells nothing: of the share of requests below it the
// error is found, no less than of independent ones, and its bounds are the quantiles at the bounds
// of that share (Woodruff 1952, J. Am. Stat. Assoc. 47:635). The farther one is stated for both
// sides: the two apart held too few of windows that were drawn anew.
// Levels are the loads that a run meets: from the quietest hour to the busiest with all replicas,
// and the busiest with one of them lost. A window of its own loses a replica: its requests begin
// anew elsewhere, and it is back after its start.
// Wrong where replicas in greater number than a window has share arrivals more evenly.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "machine/serve_job.h"

namespace orrery::twin {

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
};

struct LoadWindow {
  double rate = 0;   // requests a second of one replica
  double busy = 0;   // share of time in which it computes
  double found = 0;  // of the prompts' tokens, in the prefix cache
  std::array<WindowPart, kWindowParts> parts{};
};

// A service whose windows are wanted.
struct WindowAsk {
  const design::Serve* serve = nullptr;
  machine::ServingQuery query;
  serving::Replica replica;
  machine::ServeLengths lengths;
  int replicas = 1;
  int prefill = 0;  // of them, where prefill and decode are apart
  double low = 0;   // requests a second of one replica, in the quietest hour
  double high = 0;  // in the busiest
  double most = 0;  // that it can carry at all
  Seconds start;    // of a replica that was lost
};

struct ServiceWindows {
  std::vector<LoadWindow> levels;  // by rate
  LoadWindow loss;                 // the busiest hour, while a replica is lost and comes back
  double restarted = 0;            // requests that the loss made begin anew
};

ServiceWindows simulate_windows(const machine::Models& models, const WindowAsk& ask);
// The same at loads of one's own, rising; what a replica cannot carry at all is left out.
ServiceWindows simulate_windows(const machine::Models& models, const WindowAsk& ask,
                                std::span<const double> rates);
// Requests as they come at a rate until a time, cut to what a replica holds.
std::vector<serving::Timed> window_arrivals(const WindowAsk& ask, double rate, Seconds until,
                                            std::uint64_t seed);

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

}  // namespace orrery::twin
