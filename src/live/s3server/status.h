// The status of a store: for Prometheus (text exposition format 0.0.4), and as JSON for the console
// and `orrery store status`.
//
// What is counted: requests by kind with their latencies, reads by tier and how many of those of
// slow tiers were found in the fast one, moves, scrub and rebuild, drives and what redundancy is
// left of each tier, buckets, the queue. Times are until the answer begins.
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

// Everything, at one moment.
struct StoreStatus {
  std::string id;
  const GatewayCounts* requests = nullptr;
  const MoveCounts* moves = nullptr;  // null: nothing moves
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
