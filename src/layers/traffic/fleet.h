// Replicas behind a router, in simulated time: routing, admission, autoscaling with a cold start by
// parts, and replicas that die.
//
// Replicas run by themselves between two arrivals (ReplicaSim::advance); a router looks at all of
// them at the moment of an arrival:
//   round_robin      in turn
//   least_requests   fewest outstanding requests, then the lowest place
//   least_tokens     fewest outstanding tokens
//   session          the home of whoever asks, by the highest of its hashes with the replicas that
//                    stand (rendezvous: Thaler and Ravishankar 1998, IEEE/ACM ToN 6:1)
//   prefix           the home of the prefix (of a talk, or of what many prompts begin with), unless
//                    it has `spill` more requests than the least loaded
// Admission: with `most_outstanding` > 0 a request that finds every replica that full is turned
// away. Autoscaling (autoscaler.h): new replicas serve after their cold start, surplus ones drain
// and leave.
// Failure: a replica dies after an exponential time of mean `mtbf`; its requests lose their cache
// and are sent anew (the re-prefill storm); it is back after a cold start. Wrong for: routers that
// see load late, links shared by cold starts.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "core/base/random.h"
#include "core/catalog/vocabulary.h"
#include "layers/traffic/autoscaler.h"
#include "layers/traffic/load.h"

namespace orrery::traffic {

using Router = catalog::ServeRouter;
using catalog::kServeRouterWords;

// From process start to a replica that serves.
struct ColdStart {
  double image = 0;    // seconds until the process starts
  double process = 5;  // imports and the device's context
  double weights = 12;
  double graphs = 3.8;  // first steps and captures

  double total() const { return image + process + weights + graphs; }
};

struct FleetOptions {
  int replicas = 1;
  Router router = Router::least_requests;
  double spill = 8;
  double most_outstanding = 0;
  Autoscaler scaler;
  ColdStart cold;
  double mtbf = 0;         // seconds, of one replica; 0: none fails
  double lose_one_at = 0;  // the first replica dies then, whatever mtbf says; 0: it does not
  std::uint64_t seed = 1;
  // Asked before each arrival. Once it is true, and stays so, run() ends at once; what it returns
  // is then not to be used.
  std::function<bool()> stop = {};
};

struct FleetRun {
  double served = 0;
  double refused = 0;
  double failures = 0;
  double restarted_requests = 0;
  double replica_seconds = 0;  // that stood and were paid for
  int most_replicas = 0;
  double cached_tokens = 0;
  double fetched_tokens = 0;  // out of a KV tier
  double prompt_tokens = 0;
  LatencySummary latency;
  std::vector<RequestRecord> records;  // in order of arrival
};

// Whoever asks: requests that are known ahead, and those that an answer brings about.
class Askers {
 public:
  virtual ~Askers() = default;
  // When the next one comes that is known of; kForever: none.
  virtual double next() const = 0;
  virtual Timed take() = 0;
  // Nobody asks sooner than this after an answer that is still to come.
  virtual double patience() const { return kForever; }
  // Request `id`, counted as they were taken, has its last token; or it was turned away.
  virtual void answered(const RequestRecord& /*record*/) {}
  virtual void refused(int /*id*/) {}
};

class Fleet {
 public:
  Fleet(const FleetOptions& options, const engines::EnginePolicy& policy,
        serving::StepClock& clock);
  FleetRun run(const std::vector<Timed>& arrivals);
  FleetRun run(Askers& askers);

 private:
  struct Place {
    std::unique_ptr<ReplicaSim> sim;
    int number = 0;    // among the places, in the order in which they came
    double ready = 0;  // serves from here on
    double began = 0;  // is paid for from here on
    double dies = 0;   // infinity where none fails
    bool draining = false;
    bool gone = false;
  };
  void advance(double until);
  void collect(Place& place);
  void refuse(int id);
  bool is_idle() const;
  int home_of(std::uint64_t name, const std::vector<int>& up) const;
  void fail_one(Place& place);
  void scale(double at);
  void add_place(double at, double ready);
  int choose(const engines::RequestSpec& spec, double at);
  void send(int id, const engines::RequestSpec& spec, double at);
  double load_of(const Place& place) const;

  FleetOptions options_;
  engines::EnginePolicy policy_;
  serving::StepClock& clock_;
  RandomStream lives_;
  std::vector<Place> places_;
  std::size_t turn_ = 0;
  double next_scale_ = 0;
  AutoscalePolicy policy_of_size_;
  std::vector<Timed> asked_;  // by the request's id
  Askers* askers_ = nullptr;
  FleetRun run_;
};

}  // namespace orrery::traffic
