// A storage tier as the review sees it: rates, their limits, and its parts.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/catalog/catalog.h"
#include "layers/storage/gpu_path.h"
#include "layers/storage/tier_sizing.h"
#include "model/design/design.h"
#include "model/figures/assumptions.h"
#include "model/machine/fleet.h"

namespace orrery::machine {

using figures::assumptions::kLatencyRequest;

// What a workload needs from a tier.
struct TierAsk {
  std::string tier;  // label of the tier
  std::string what;  // "samples of 'pretrain'"
  storage::TierDemand demand;
  PerSecond creates;  // files opened or created
};

// The servers of a tier of open size, and the need that sets their number.
struct TierNeed {
  storage::TierSize size;       // by the sum of all needs
  double least = 1;             // fewest servers at which one may be lost
  bool for_durability = false;  // `least` sets the number
  std::string bound_by;         // "write bandwidth: saves of 'pretrain'"
};

struct Tier {
  design::TierIndex index;
  const design::StorageTier* tier = nullptr;
  // Owns the entry of a tier that the design does not list: the drives that come with the nodes.
  std::shared_ptr<const design::StorageTier> implied;
  const catalog::StorageDevice* device = nullptr;
  std::string path;  // "storage[0]"
  std::string label;
  bool per_node = false;  // node-nvme: the rates below are per host
  BytesPerSecond read;
  BytesPerSecond write;
  std::string rate_basis;  // where the rates come from, for references
  bool rates_given = false;
  double rate_error = 0.25;  // half-width of the interval, as a fraction
  bool measured = false;     // by the user's own probe
  Bytes capacity;
  PerSecond creates;  // file creations of the whole tier
  Seconds first_byte;
  BytesPerSecond stream_rate;
  int client_streams = 1;
  double devices = 0;
  double servers = 0;            // 0 if unknown, as for drives in the nodes
  int metadata_servers = 0;      // from the design or from `need`; 0: none of its own
  std::optional<TierNeed> need;  // reason for their number, if the design leaves it open
  storage::RateLimit read_limit = storage::RateLimit::devices;
  storage::RateLimit write_limit = storage::RateLimit::devices;
  storage::GpuPath gpu_path = storage::GpuPath::pinned;  // how its bytes reach accelerators
  storage::AccessLatency latency;                        // for a read of kLatencyRequest bytes

  // Returns true if a copy here survives the loss of the node that wrote it.
  bool durable() const { return !per_node; }
};

// What a probe of the user's own storage found, in the tier's own terms: per node if the tier is in
// the nodes, otherwise for the whole tier. What was not measured stays as planned.
struct TierMeasurement {
  std::string tier;  // label or word of the tier: "scratch", "hot"
  std::optional<BytesPerSecond> read;
  std::optional<BytesPerSecond> write;
  std::optional<PerSecond> creates;
  std::optional<Seconds> first_byte;
  std::optional<BytesPerSecond> stream_rate;
  double error = 0.1;  // half-width of the interval of the rates, as a fraction
  std::string source;
};

using Tiers = IndexedVector<design::TierIndex, Tier>;

// Builds the tiers. `asks` are the needs of the workloads, for tiers of open size.
Tiers build_tiers(const design::Design& design, const catalog::Catalog& catalog,
                  const Fleets& fleets, const std::vector<TierAsk>& asks = {});
// Returns true if the design leaves the number of servers open and the tier is built.
bool is_automatic(const Tier& tier);
// Returns how the tier protects, shapes and serves its data, for sizes, rates and durability.
storage::TierOptions options_of(const Tier& tier);
// Returns the durability at the catalog's drive failure rate times `failures`; nothing if the
// devices are appliances or rented.
std::optional<storage::Durability> durability_of(const Tier& tier, const catalog::Catalog& catalog,
                                                 double failures = 1);
// Applies measurements to the tiers. If a tier has several, the last one counts; those of unknown
// tiers are ignored.
void lay_over(Tiers& tiers, const std::vector<TierMeasurement>& measured);
// Returns the latency that a tier of this class should stay below.
Seconds latency_target(design::Tier tier);
// Returns the time until media that must be fetched first, such as tapes, can be read. Zero for
// drives.
Seconds mount_time(const Tier& tier);
const Tier* find_tier(const Tiers& tiers, const std::string& label);
// Returns true if the fleet's nodes have the tier: false for drives in nodes that have none.
bool stands_in(const Tier& tier, const Fleet& fleet);

}  // namespace orrery::machine
