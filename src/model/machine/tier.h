// A storage tier as the review sees it: rates, what limits them, and what it is made of.
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

// Something that a workload wants of a tier.
struct TierAsk {
  std::string tier;  // label
  std::string what;  // "samples of 'pretrain'"
  storage::TierDemand demand;
  PerSecond creates;  // files opened or made
};

// How many servers a tier has whose design leaves it open, and for what.
struct TierNeed {
  storage::TierSize size;       // by the sum of what is asked
  double least = 1;             // servers, so that one of them may be lost
  bool for_durability = false;  // `least` binds
  std::string bound_by;         // "write bandwidth: saves of 'pretrain'"
};

struct Tier {
  design::TierIndex index;
  const design::StorageTier* tier = nullptr;
  // Drives that come with the nodes are a tier even where the design does not list them; their
  // entry is made here and owned here.
  std::shared_ptr<const design::StorageTier> implied;
  const catalog::StorageDevice* device = nullptr;
  std::string path;  // "storage[0]"
  std::string label;
  bool per_node = false;  // node-nvme: the rates below are of one host
  BytesPerSecond read;
  BytesPerSecond write;
  std::string rate_basis;  // where the rates come from, for references
  bool rates_given = false;
  double rate_error = 0.25;  // half of the interval, as a fraction
  bool measured = false;     // by the reader's own probe
  Bytes capacity;
  PerSecond creates;  // file creations of the whole tier
  Seconds first_byte;
  BytesPerSecond stream_rate;
  int client_streams = 1;
  double devices = 0;
  double servers = 0;            // 0 where nothing says, as of drives in the nodes
  int metadata_servers = 0;      // counted by the design or by `need`; 0: none of its own
  std::optional<TierNeed> need;  // why there are so many, where the design leaves it open
  storage::RateLimit read_limit = storage::RateLimit::devices;
  storage::RateLimit write_limit = storage::RateLimit::devices;
  storage::GpuPath gpu_path = storage::GpuPath::pinned;  // on which its bytes reach accelerators
  storage::AccessLatency latency;                        // of a read of kLatencyRequest bytes

  // A copy here survives the loss of the node that wrote it.
  bool durable() const { return !per_node; }
};

// What a probe of the reader's own storage found of a tier, in the tier's own terms: of one node
// where the tier is in the nodes, of all of it elsewhere. What was not measured stays as planned.
struct TierMeasurement {
  std::string tier;  // label or word of the tier: "scratch", "hot"
  std::optional<BytesPerSecond> read;
  std::optional<BytesPerSecond> write;
  std::optional<PerSecond> creates;
  std::optional<Seconds> first_byte;
  std::optional<BytesPerSecond> stream_rate;
  double error = 0.1;  // half of the interval of the rates, as a fraction
  std::string source;
};

using Tiers = IndexedVector<design::TierIndex, Tier>;

// `asks` is what workloads want of the tiers whose servers the design leaves open.
Tiers build_tiers(const design::Design& design, const catalog::Catalog& catalog,
                  const Fleets& fleets, const std::vector<TierAsk>& asks = {});
// The design leaves open how many servers it has, and something is built.
bool is_automatic(const Tier& tier);
// How its data is protected, shaped and served, for sizes, rates and durability.
storage::TierOptions options_of(const Tier& tier);
// With failures of drives as often as the catalog says, times `failures`; none where its devices
// are sold as they are, or are somebody else's.
std::optional<storage::Durability> durability_of(const Tier& tier, const catalog::Catalog& catalog,
                                                 double failures = 1);
// Of measurements of one tier the last counts; those of tiers that are not here are left out.
void lay_over(Tiers& tiers, const std::vector<TierMeasurement>& measured);
// What a tier of this name is built to stay under.
Seconds latency_target(design::Tier tier);
// Until media that are fetched before they are read are there: tapes. Zero for drives.
Seconds mount_time(const Tier& tier);
const Tier* find_tier(const Tiers& tiers, const std::string& label);
// Whether the fleet's nodes have it: false for a tier of drives in the nodes where theirs have
// none.
bool stands_in(const Tier& tier, const Fleet& fleet);

}  // namespace orrery::machine
