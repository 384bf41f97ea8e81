#include "model/jobs/kv_room.h"

#include <algorithm>

#include "model/design/part_ids.h"
#include "model/figures/assumptions.h"

namespace orrery::jobs {
namespace {

using figures::assumptions::kHostFetch;

}  // namespace

KvRoom kv_room(const machine::Machine& m, const design::Serve& serve, const machine::Fleet& fleet,
               const ServingQuery& query, double replicas) {
  if (!serve.kv_tier) return {};
  KvRoom kv{.room = serve.kv_tier->capacity};
  if (serve.kv_tier->tier == design::kHostMemory) {
    kv.rate = host_memory_rate(query);
    kv.first_byte = kHostFetch;
    return kv;
  }
  const machine::Tier* tier = find_tier(m.tiers, serve.kv_tier->tier);
  if (tier == nullptr) return {};
  // All replicas read at once: the replicas of one host share drives in the host, and all replicas
  // share any other tier.
  const double beside = tier->per_node
                            ? std::max(1.0, fleet.accelerators_per_host / query.accelerators())
                            : std::max(1.0, replicas);
  kv.rate = min(reading_rate(m, *tier, fleet), tier->read / beside);
  kv.first_byte = tier->first_byte + m.crossing_to(fleet, *tier).latency();
  return kv;
}

}  // namespace orrery::jobs
