// Serving in simulated time: iterations of an engine per second, one replica and a fleet.
#include "bench/figure.h"
#include "layers/traffic/fleet.h"
#include "model/jobs/predict_serving.h"

namespace orrery {
namespace {

struct Stand {
  machine::Models models;
  serving::Replica replica;
  std::unique_ptr<machine::Costs> costs;
};

Result<Stand> stand_of(const char* model, int tp) {
  auto models = machine::load_models(catalog::embedded_files());
  if (!models) return std::unexpected(models.error());
  jobs::ServingQuery query;
  query.model = *models->catalog().model(model);
  query.accelerator = models->catalog().accelerator("h100-sxm");
  query.split.tp = tp;
  auto replica = replica_of(*models, query);
  if (!replica) return std::unexpected(replica.error());
  auto costs = std::make_unique<machine::Costs>(serving_costs(*models, query));
  return Stand{std::move(*models), std::move(*replica), std::move(costs)};
}

Result<double> wrong(const char* what) {
  return fail({.severity = Severity::error, .code = "bench.wrong", .what = what});
}

// A busy replica of an 8B model: 64 clients with different lengths, so that every step differs.
Result<double> iterations(bool merge) {
  const auto stand = stand_of("llama-3-8b", 1);
  if (!stand) return std::unexpected(stand.error());
  serving::StepClock clock(stand->replica, serving_source(*stand->costs));
  const auto requests =
      traffic::draw_requests(merge ? 6400 : 40000, {.length = 512, .least_share = 0.5},
                             {.length = merge ? 2048.0 : 256.0, .least_share = 0.5}, 1);
  double count = 0;
  const double seconds = seconds_of([&] {
    traffic::ReplicaSim sim(traffic::policy_of(stand->replica), clock, {.merge = merge});
    run_closed(sim, requests, merge ? 16 : 64);
    count = sim.counts().iterations;
  });
  return count > 0 ? Result<double>(count / seconds) : wrong("there were no iterations");
}

Result<double> iterations_merged() { return iterations(true); }
Result<double> iterations_unmerged() { return iterations(false); }

// The case of Vidur's event loop: 5,000 requests with Poisson arrivals on one replica of an 8B
// model.
Result<double> vidur_case() {
  const auto stand = stand_of("llama-3-8b", 1);
  if (!stand) return std::unexpected(stand.error());
  std::size_t served = 0;
  const double seconds = seconds_of([&] {
    serving::StepClock clock(stand->replica, serving_source(*stand->costs));
    traffic::ReplicaSim sim(traffic::policy_of(stand->replica), clock);
    const auto load = traffic::open_load({.rate = 6.75,
                                          .requests = 5000,
                                          .prompt = {.length = 1020, .p99 = 4142},
                                          .output = {.length = 129, .p99 = 601}});
    served = run_open(sim, load).size();
  });
  return served == 5000 ? Result<double>(seconds) : wrong("requests were lost");
}

// A million requests with the lengths of Azure's conversation trace on 64 replicas, at 70 % of
// their capacity, routed to the replica with the fewest outstanding requests.
Result<double> fleet_day() {
  const auto stand = stand_of("llama-3-8b", 1);
  if (!stand) return std::unexpected(stand.error());
  constexpr int kReplicas = 64;
  constexpr int kRequests = 1000000;
  double served = 0;
  const double seconds = seconds_of([&] {
    serving::StepClock clock(stand->replica, serving_source(*stand->costs));
    const traffic::LengthLaw prompt{.length = 1020, .p99 = 4142};
    const traffic::LengthLaw output{.length = 129, .p99 = 601};
    traffic::ReplicaSim probe(traffic::policy_of(stand->replica), clock);
    const auto trial = traffic::draw_requests(2000, prompt, output, 2);
    const double most = summarise(run_closed(probe, trial, 256)).requests_per_s;
    const auto load = traffic::open_load({.rate = 0.7 * most * kReplicas,
                                          .requests = kRequests,
                                          .prompt = prompt,
                                          .output = output});
    traffic::Fleet fleet({.replicas = kReplicas, .router = traffic::Router::least_requests},
                         traffic::policy_of(stand->replica), clock);
    served = fleet.run(load).served;
  });
  return served == kRequests ? Result<double>(seconds) : wrong("requests were lost");
}

}  // namespace

std::vector<SpeedFigure> serving_figures() {
  return {
      {.name = "serve_iterations_unmerged_per_s",
       .unit = "/s",
       .what = "engine iterations of a busy replica, each decided and timed separately",
       .measure = iterations_unmerged},
      {.name = "serve_iterations_per_s",
       .unit = "/s",
       .what = "engine iterations with equal decode steps merged",
       .measure = iterations_merged},
      {.name = "serve_vidur_case",
       .unit = "s",
       .what = "5,000 requests with Poisson arrivals on one replica",
       .measure = vidur_case},
      {.name = "serve_fleet_day",
       .unit = "s",
       .what = "1,000,000 requests on 64 replicas at 70 % of their capacity",
       .measure = fleet_day},
  };
}

}  // namespace orrery
