#include "model/jobs/retrieval.h"

#include <algorithm>

#include "model/figures/assumptions.h"
#include "model/jobs/arrivals.h"
#include "model/machine/tier_purchase.h"

namespace orrery::jobs {
namespace {

using figures::assumptions::kFullTier;
using figures::assumptions::kReadTail;
constexpr Seconds kLeastRead = microseconds(1);

// Returns the reads per second of all services that use the tier, at their peaks.
PerSecond reads_asked(const design::Design& d, const std::string& tier) {
  PerSecond asked;
  for (const design::Workload& w : d.workloads) {
    const auto* serve = std::get_if<design::Serve>(&w.task);
    if (serve == nullptr || !serve->retrieval || serve->retrieval->tier != tier) continue;
    for (const RequestStream& s : streams_into(d, w)) {
      asked += s.rate * (s.peak * serve->retrieval->reads);
    }
  }
  return asked;
}

}  // namespace

std::optional<RetrievalAsk> retrieval_of(const machine::Machine& m, const design::Serve& serve,
                                         const machine::Fleet& fleet) {
  const machine::Tier* tier = serve.retrieval ? find_tier(m.tiers, serve.retrieval->tier) : nullptr;
  if (tier == nullptr) return std::nullopt;
  const design::Retrieval& r = *serve.retrieval;
  RetrievalAsk ask{.tier = tier, .asked = reads_asked(m.design(), r.tier)};
  const double hosts = tier->per_node ? std::max(1, fleet.hosts) : 1;
  ask.gives = tier->read / r.read_size * hosts;
  ask.by_rate = true;
  const catalog::StorageDevice* device = device_or_usual(*tier, m.catalog());
  if (device != nullptr && device->random_read_iops && tier->devices > 0) {
    const PerSecond drives(*device->random_read_iops * tier->devices * hosts *
                           options_of(*tier).delivered);
    ask.by_rate = ask.gives <= drives;
    ask.gives = min(ask.gives, drives);
  }
  const double free = 1 - std::min(kFullTier, ask.load());
  const Bytes longer = max(Bytes(0), r.read_size - machine::kLatencyRequest);
  const Seconds idle = max(kLeastRead, tier->latency.total + longer / tier->stream_rate +
                                           m.crossing_to(fleet, *tier).latency());
  const BytesPerSecond rate = machine::reading_rate(m, *tier, fleet);
  ask.law.hops = r.hops;
  ask.law.reads = r.reads / r.hops;
  ask.law.median = idle / free;
  ask.law.p99 = r.read_p99 ? max(idle, *r.read_p99) / free : ask.law.median * kReadTail;
  if (rate > BytesPerSecond(0)) ask.law.sending = r.read_size * ask.law.reads / rate;
  return ask;
}

void add_retrieval(serving::RequestShape& request, const machine::Machine& m,
                   const design::Serve& serve, const machine::Fleet& fleet) {
  const auto ask = retrieval_of(m, serve, fleet);
  if (!ask) return;
  request.before = traffic::retrieval_mean(ask->law);
  request.before_p99 = traffic::retrieval_p99(ask->law);
}

}  // namespace orrery::jobs
