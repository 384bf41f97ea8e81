// The status of a store: for Prometheus (text exposition format 0.0.4), and as JSON for the console
// and `orrery store status`.
//
// It counts requests by kind with their latencies, reads by tier (and how many of those from slow
// tiers were served by the fast one), moves, scrubbing and rebuilds, drives and the remaining
// redundancy of each tier, buckets, and the queue. Latencies end when the answer begins.
#pragma once

#include "live/net/server.h"
#include "live/s3server/metrics.h"
#include "live/s3server/mover.h"
#include "live/upkeep/mend.h"
#include "live/upkeep/store_folder.h"

namespace orrery::s3server {

struct DriveStatus {
  std::string name;
  std::string tier;
  std::string place = {};  // a folder, or an address
  bool there = false;
  DriveSpace space = {};
};

struct TierStatus {
  std::string name;
  ShardPlan plan = {};
  int drives_away = 0;
  int redundancy_left() const { return plan.parity - drives_away; }  // negative: data is missing
};

// The whole status at one moment.
struct StoreStatus {
  std::string id;
  const GatewayCounts* requests = nullptr;
  const MoveCounts* moves = nullptr;  // null: nothing moves objects
  const net::ServerLoad* load = nullptr;
  drives::HedgeCounts hedges = {};
  ScrubCounts scrub = {};
  std::vector<TierStatus> tiers = {};
  std::vector<DriveStatus> drives = {};
  std::map<std::string, BucketUse> buckets = {};
};

void add_drives(StoreStatus& to, const OpenedFolder& folder);

std::string metrics_text(const StoreStatus& status);
std::string status_json(const StoreStatus& status);

}  // namespace orrery::s3server
