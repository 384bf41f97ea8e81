#include "study/score/serving_unsaid.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/math.h"
#include "study/score/serving_rows.h"

namespace orrery::score {
namespace {

constexpr int kHostDevices = 8;
constexpr int kSmallestGroup = 4;
constexpr double kUsualDecodes = 4;
// Guesses per step in TensorRT-LLM's tests, by the requests of an attention rank.
constexpr double kCrowdedRank = 64;
constexpr int kCrowdedGuesses = 1;
constexpr int kGuesses = 3;
// Most load of prefill replicas at which they do not delay decoding.
constexpr double kPrefillLoad = 0.9;
constexpr double kMostPrefill = 24;

struct Group {
  int devices = 1;
  bool by_rank = false;
};

void put_group(jobs::ServingQuery& q, const Group& g) {
  q.split.tp = g.by_rank ? 1 : g.devices;
  q.split.attention_dp = g.by_rank ? g.devices : 1;
  q.split.ep = q.model.is_moe() ? g.devices : 1;
  q.limits = limits_of_test(q);
}

bool holds(const machine::Models& models, jobs::ServingQuery q, const Group& g) {
  put_group(q, g);
  return replica_of(models, q).has_value();
}

// Adds as many prefill replicas as keep the decode replicas busy, at least those that the query
// has.
void add_prefill(const machine::Models& models, jobs::DisaggregatedQuery& query) {
  while (query.prefill_replicas < kMostPrefill) {
    const auto p = predict_disaggregated(models, query);
    if (!p || p->point.prefill_load < kPrefillLoad) return;
    ++query.prefill_replicas;
  }
}

// Returns the ways to use the same devices for decoding: one group whose devices have their own
// attention, and hosts whose devices share it.
std::vector<jobs::DisaggregatedQuery> ways_to_decode(const jobs::DisaggregatedQuery& query,
                                                     int devices) {
  jobs::DisaggregatedQuery wide = query;
  put_group(wide.decode, {.devices = devices, .by_rank = true});
  wide.decode_replicas = 1;
  jobs::DisaggregatedQuery hosts = query;
  const int each = std::min(devices, kHostDevices);
  put_group(hosts.decode, {.devices = each});
  hosts.decode_replicas = static_cast<double>(devices) / each;
  return {wide, hosts};
}

// Chooses the split that answers the most requests, since testers publish the best way to use the
// same devices.
bool split_together(const machine::Models& models, int devices, jobs::DisaggregatedQuery& query) {
  std::optional<jobs::DisaggregatedQuery> best;
  double most = 0;
  int each = 1;
  while (each <= kHostDevices && !holds(models, query.prefill, {.devices = each})) each *= 2;
  for (int decode = kSmallestGroup; decode + each <= devices; decode *= 2) {
    jobs::DisaggregatedQuery trial = query;
    put_group(trial.prefill, {.devices = each});
    trial.prefill_replicas = std::floor(static_cast<double>(devices - decode) / each);
    for (jobs::DisaggregatedQuery& way : ways_to_decode(trial, decode)) {
      const auto p = predict_disaggregated(models, way);
      if (!p || p->point.requests.base() <= most) continue;
      most = p->point.requests.base();
      best = std::move(way);
    }
  }
  if (best) query = *best;
  return best.has_value();
}

void put_guesses(jobs::DisaggregatedQuery& query) {
  const double ranks = query.decode.split.attention_dp;
  const double each = query.decode.concurrency / (query.decode_replicas * ranks);
  set_guesses(query.decode, ranks > 1 && each >= kCrowdedRank ? kCrowdedGuesses : kGuesses);
}

void put_places(jobs::DisaggregatedQuery& query) {
  const double ranks = query.decode_replicas * query.decode.split.attention_dp;
  const double each = std::max(1.0, query.decode.concurrency / ranks);
  query.decode.limits->max_sequences = math::exp2(std::floor(math::log2(each) + 1e-9));
}

}  // namespace

void widen(const machine::Models& models, jobs::ServingQuery& query) {
  const int devices = query.split.devices();
  if (query.split.attention_dp > 1 || devices <= kHostDevices) return;
  put_group(query,
            {.devices = devices, .by_rank = holds(models, query, {.devices = kHostDevices})});
}

void settle_unsaid(const machine::Models& models, const UnsaidAsk& ask,
                   jobs::DisaggregatedQuery& query) {
  const int devices = ask.decode_devices;
  const bool is_group =
      std::has_single_bit(static_cast<unsigned>(devices)) || devices <= kHostDevices;
  const bool together =
      ask.prefill_devices == devices && !is_group && split_together(models, devices, query);
  if (!together) {
    put_group(query.prefill, {.devices = ask.prefill_devices});
    put_group(query.decode, {.devices = devices});
    widen(models, query.decode);
    query.decode_replicas = devices <= kHostDevices ? kUsualDecodes : 1;
  }
  if (ask.guessed) put_guesses(query);
  if (query.decode.engine == "trtllm" && !ask.goes_on) put_places(query);
  if (!together) add_prefill(models, query);
}

}  // namespace orrery::score
