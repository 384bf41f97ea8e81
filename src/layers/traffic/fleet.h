// Replicas behind a router, in simulated time: routing, admission, autoscaling with a detailed cold
// start, and replicas that fail.
//
// Between two arrivals, replicas run independently (ReplicaSim::advance); a router looks at all of
// them when a request arrives:
//   round_robin      in turn
//   least_requests   fewest outstanding requests, then the lowest index
//   least_tokens     fewest outstanding tokens
//   session          the home of the user: the replica with the highest hash of both names
//                    (rendezvous: Thaler and Ravishankar 1998, IEEE/ACM ToN 6:1)
//   prefix           the home of the prefix (a conversation, or a common beginning of prompts),
//                    unless it has `spill` more requests than the least loaded replica
// Admission: with `most_outstanding` > 0, a request is refused if every replica has that many
// outstanding. Autoscaling (autoscaler.h): new replicas serve after their cold start; surplus ones
// drain and leave. Failure: a replica fails after an exponential time with mean `mtbf`; its
// requests lose their cache and are sent again (the re-prefill storm); it is back after a cold
// start. Wrong for: routers that see the load late, links shared by cold starts.
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

// The parts of the time from process start to a replica that serves.
struct ColdStart {
  double image = 0;    // seconds until the process starts
  double process = 5;  // imports, and creating the device's context
  double weights = 12;
  double graphs = 3.8;  // first steps and graph captures

  double total() const { return image + process + weights + graphs; }
};

struct FleetOptions {
  int replicas = 1;
  Router router = Router::least_requests;
  double spill = 8;
  double most_outstanding = 0;
  Autoscaler scaler;
  ColdStart cold;
  double mtbf = 0;         // seconds, per replica; 0: no failures
  double lose_one_at = 0;  // time at which the first replica fails, regardless of mtbf; 0: never
  std::uint64_t seed = 1;
  // Called before each arrival. Once it returns true (and it must stay true), run() ends at once,
  // and its result must not be used.
  std::function<bool()> stop = {};
};

struct FleetRun {
  double served = 0;
  double refused = 0;
  double failures = 0;
  double restarted_requests = 0;
  double replica_seconds = 0;  // replica time that was paid for
  int most_replicas = 0;
  double cached_tokens = 0;
  double fetched_tokens = 0;  // fetched from a KV tier
  double prompt_tokens = 0;
  LatencySummary latency;
  std::vector<RequestRecord> records;  // in order of arrival
};

// The source of requests: those known ahead, and those caused by an answer.
class Askers {
 public:
  virtual ~Askers() = default;
  // Returns the time of the next known request; kForever if there is none.
  virtual double next() const = 0;
  virtual Timed take() = 0;
  // Returns the minimum time between an answer still to come and a request that it causes.
  virtual double patience() const { return kForever; }
  // Request `id`, numbered in the order taken, has its last token. refused(): it was refused.
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
    double dies = 0;   // infinity if replicas do not fail
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
  std::vector<Timed> asked_;  // indexed by request id
  Askers* askers_ = nullptr;
  FleetRun run_;
};

}  // namespace orrery::traffic
