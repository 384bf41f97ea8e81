#include "layers/traffic/apart_fleet.h"

#include <algorithm>
#include <map>

namespace orrery::traffic {
namespace {

struct Moved {
  int id = 0;
  double ready = 0;  // all its keys have arrived
};

// Schedules one transfer after another out of each replica, in the order in which the prompts
// finished.
std::vector<Moved> moved_keys(std::vector<RequestRecord> prompts, const ApartOptions& options) {
  std::ranges::stable_sort(prompts, {}, &RequestRecord::first);
  std::map<int, double> port_free;
  std::vector<Moved> moved;
  for (const RequestRecord& r : prompts) {
    double& free = port_free[r.place];
    const double begin = std::max(free, r.first);
    const double took =
        options.port_rate > 0 ? r.prompt * options.bytes_per_token / options.port_rate : 0;
    free = begin + took;
    moved.push_back({.id = r.id, .ready = free});
  }
  std::ranges::stable_sort(moved, {}, &Moved::ready);
  return moved;
}

}  // namespace

ApartRun run_apart(const ApartOptions& options, const engines::EnginePolicy& prefill_policy,
                   serving::StepClock& prefill_clock, const engines::EnginePolicy& decode_policy,
                   serving::StepClock& decode_clock, const std::vector<Timed>& arrivals) {
  std::vector<Timed> prompts = arrivals;
  for (Timed& t : prompts) t.spec.output = 1;
  Fleet first(options.prefill, prefill_policy, prefill_clock);
  FleetRun prefilled = first.run(prompts);
  ApartRun apart;
  apart.prefill_seconds = prefilled.replica_seconds;
  std::vector<Timed> handed;
  std::vector<std::size_t> whose;  // index in prefilled.records, by index in `handed`
  std::map<int, std::size_t> by_id;
  for (std::size_t i = 0; i < prefilled.records.size(); ++i) by_id[prefilled.records[i].id] = i;
  for (const Moved& m : moved_keys(prefilled.records, options)) {
    const RequestRecord& r = prefilled.records[by_id[m.id]];
    apart.transfer_mean += (m.ready - r.first) / static_cast<double>(prefilled.records.size());
    engines::RequestSpec spec = arrivals[static_cast<std::size_t>(m.id)].spec;
    spec.transferred = true;
    handed.push_back({.spec = spec, .at = m.ready});
    whose.push_back(by_id[m.id]);
  }
  Fleet second(options.decode, decode_policy, decode_clock);
  apart.run = second.run(handed);
  for (RequestRecord& r : apart.run.records) {
    const RequestRecord& before = prefilled.records[whose[static_cast<std::size_t>(r.id)]];
    r.id = before.id;
    r.arrived = before.arrived;
    r.scheduled = before.scheduled;
    r.first = before.first;
    r.cached = before.cached;
    r.fetched = before.fetched;
  }
  std::ranges::sort(apart.run.records, {}, &RequestRecord::id);
  apart.run.latency = summarise(apart.run.records);
  apart.run.refused += prefilled.refused;
  apart.run.failures += prefilled.failures;
  apart.run.restarted_requests += prefilled.restarted_requests;
  apart.run.replica_seconds += prefilled.replica_seconds;
  apart.run.cached_tokens = prefilled.cached_tokens;
  apart.run.fetched_tokens = prefilled.fetched_tokens;
  apart.run.prompt_tokens = prefilled.prompt_tokens;
  return apart;
}

}  // namespace orrery::traffic
