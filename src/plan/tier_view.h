// A storage tier as the review sees it: rates, what limits them, and what it is made of.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "catalog/catalog.h"
#include "design/design.h"
#include "plan/fleet_view.h"

namespace orrery {

struct TierView {
  const design::StorageTier* tier = nullptr;
  // Drives that come with the nodes are a tier even where the design does not list them; their
  // entry is made here and owned here.
  std::shared_ptr<const design::StorageTier> implied;
  const StorageDevice* device = nullptr;
  std::string path;  // "storage[0]"
  std::string label;
  bool per_node = false;  // node-nvme: the rates below are of one node
  BytesPerSecond read;
  BytesPerSecond write;
  std::string rate_basis;  // where the rates come from, for references
  bool rates_given = false;
  Bytes capacity;
  PerSecond creates;  // file creations of the whole tier
  Seconds first_byte;
  BytesPerSecond stream_rate;
  int client_streams = 1;
  double devices = 0;
  Bytes used;  // by data sets and kept checkpoints, once training has been viewed

  // A copy here survives the loss of the node that wrote it.
  bool durable() const { return !per_node; }
};

std::vector<TierView> view_tiers(const design::Design& design, const Catalog& catalog,
                                 const std::vector<FleetView>& fleets);
const TierView* find_tier_view(const std::vector<TierView>& tiers, const std::string& label);

}  // namespace orrery
