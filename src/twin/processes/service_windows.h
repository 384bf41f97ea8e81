// How a service's requests are answered at some loads of a replica: windows of them, simulated one
// by one on engines that decide iteration by iteration (traffic/fleet.h, apart_fleet.h).
//
// A window is a Poisson stream with the lengths of the service's mix on a few replicas behind one
// router. It begins empty, and goes on for some mean stays of a request before the first that
// counts has come and after the last has: filling and draining are no part of the load. What counts
// is cut into parts by time (traffic/load_window.h).
// Levels are the loads that a run meets: from the quietest hour to the busiest with all replicas,
// and the busiest with one of them lost. A window of its own loses a replica: its requests begin
// anew elsewhere, and it is back after its start. Another meets the traffic of the steepest hour
// with the replicas of the hour before it, which an autoscaler then follows. Wrong where replicas
// in greater number than a window has share arrivals more evenly.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "layers/traffic/load_window.h"
#include "layers/traffic/retrieval.h"
#include "model/jobs/predict_sessions.h"
#include "model/jobs/request_shape.h"

namespace orrery::processes {

using traffic::add_weight;
using traffic::good_share;
using traffic::kLatencyPoints;
using traffic::LatencyPoints;
using traffic::LoadWindow;
using traffic::Sampled;
using traffic::sampled;
using traffic::WindowPart;

// The hour at which an autoscaled service's traffic grows most.
struct ServiceRise {
  double before = 0;  // requests a second, of all replicas
  double after = 0;
  int replicas = 0;  // that stand before
};

// A service whose windows are wanted.
struct WindowAsk {
  const design::Serve* serve = nullptr;
  jobs::ServingQuery query;
  serving::Replica replica;
  jobs::ServeLengths lengths;
  int replicas = 1;
  int prefill = 0;    // of them, where prefill and decode are apart
  double low = 0;     // requests a second of one replica, in the quietest hour
  double high = 0;    // in the busiest
  double most = 0;    // that it can carry at all
  double guests = 0;  // of another site's users, at the most
  Seconds start;      // of a replica that was lost, or is called
  std::optional<ServiceRise> rise;
  jobs::KvRoom kv;
  std::optional<double> shared;  // of a prompt, with others; none: what is found of it
  std::optional<traffic::RetrievalLaw> retrieval;  // before a prompt is whole
  // Once it is true the windows end early, and are not to be used: nobody waits for them any more.
  std::function<bool()> stop = {};
};

struct ServiceWindows {
  std::vector<LoadWindow> levels;  // by rate
  LoadWindow loss;                 // the busiest hour, while a replica is lost and comes back
  double restarted = 0;            // requests that the loss made begin anew
  std::optional<LoadWindow> rise;  // while replicas follow the steepest hour
};

ServiceWindows simulate_windows(const machine::Models& models, const WindowAsk& ask);
// The same at loads of one's own, rising; what a replica cannot carry at all is left out.
ServiceWindows simulate_windows(const machine::Models& models, const WindowAsk& ask,
                                std::span<const double> rates);

// Users of a site that is lost, at another: those whose answers were lost begin anew there at once,
// and then more come at their rate, beside the users of its own.
struct GuestAsk {
  double own = 0;    // requests a second, of all replicas
  double rate = 0;   // of the guests
  double stay = 0;   // seconds that a request of theirs was at home
  int replicas = 1;  // that stand
  Seconds away;      // what the way adds to a first token
};
struct GuestWindows {
  LoadWindow guests;
  LoadWindow hosts;
  double restarted = 0;  // guests that begin anew
};
GuestWindows simulate_guests(const machine::Models& models, const WindowAsk& ask,
                             const GuestAsk& guests);

// Requests as they come at a rate until a time, cut to what a replica holds.
std::vector<traffic::Timed> window_arrivals(const WindowAsk& ask, double rate, Seconds until,
                                            std::uint64_t seed);

}  // namespace orrery::processes
