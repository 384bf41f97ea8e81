// How a service's requests are answered at certain loads of a replica: windows of them, simulated
// one by one on engines that decide iteration by iteration (traffic/fleet.h, apart_fleet.h).
//
// A window is a Poisson stream with the lengths of the service's mix on a few replicas behind one
// router. It begins empty, and runs for some mean stays of a request before the first request that
// counts and after the last one: filling and draining are not part of the load. The requests that
// count are divided into parts by time (traffic/load_window.h).
// Levels are the loads that a run meets: from the quietest hour to the busiest with all replicas,
// and the busiest with one of them lost. A separate window loses a replica: its requests start over
// elsewhere, and it is back after its start time. Another takes the traffic of the steepest hour
// with the replicas of the hour before it, which an autoscaler then increases. Wrong if there are
// more replicas than in a window, because they share arrivals more evenly.
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

// The hour in which an autoscaled service's traffic grows most.
struct ServiceRise {
  double before = 0;  // requests per second on all replicas
  double after = 0;
  int replicas = 0;  // replicas that run before the rise
};

// A service whose windows are wanted.
struct WindowAsk {
  const design::Serve* serve = nullptr;
  jobs::ServingQuery query;
  serving::Replica replica;
  jobs::ServeLengths lengths;
  int replicas = 1;
  int prefill = 0;    // replicas for prefill, if prefill and decode are separate
  double low = 0;     // requests per second of one replica, in the quietest hour
  double high = 0;    // requests per second of one replica, in the busiest hour
  double most = 0;    // requests per second that one replica can carry at all
  double guests = 0;  // most requests per second from another site's users
  Seconds start;      // start time of a replica that was lost or added
  std::optional<ServiceRise> rise;
  jobs::KvRoom kv;
  std::optional<double> shared;  // share of a prompt that is shared; none: the share that is found
  std::optional<traffic::RetrievalLaw> retrieval;  // reads that complete a prompt
  // Once it returns true the windows end early, and the result must not be used: the caller no
  // longer waits for it.
  std::function<bool()> stop = {};
};

struct ServiceWindows {
  std::vector<LoadWindow> levels;  // by rate
  LoadWindow loss;                 // the busiest hour, while a replica is lost and comes back
  double restarted = 0;            // requests that start over because of the loss
  std::optional<LoadWindow> rise;  // while replicas follow the steepest hour
};

ServiceWindows simulate_windows(const machine::Models& models, const WindowAsk& ask);
// Simulates windows at given loads, in rising order; loads that a replica cannot carry at all are
// left out.
ServiceWindows simulate_windows(const machine::Models& models, const WindowAsk& ask,
                                std::span<const double> rates);

// Users of a lost site at another site: those whose answers were lost start over there at once, and
// then more arrive at their rate, in addition to the site's own users.
struct GuestAsk {
  double own = 0;    // requests per second of its own users, on all replicas
  double rate = 0;   // requests per second of the guests
  double stay = 0;   // seconds that a guest's request stayed at home
  int replicas = 1;  // running replicas
  Seconds away;      // time that the path adds to a first token
};
struct GuestWindows {
  LoadWindow guests;
  LoadWindow hosts;
  double restarted = 0;  // guests whose requests start over
};
GuestWindows simulate_guests(const machine::Models& models, const WindowAsk& ask,
                             const GuestAsk& guests);

// Returns the requests that arrive at a rate until a time, cut to what a replica can hold.
std::vector<traffic::Timed> window_arrivals(const WindowAsk& ask, double rate, Seconds until,
                                            std::uint64_t seed);

}  // namespace orrery::processes
