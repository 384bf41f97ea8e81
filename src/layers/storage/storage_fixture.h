// Plain drives, tiers and lifecycle situations for the tests of this room.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "layers/storage/lifecycle.h"
#include "layers/storage/lifecycle_driver.h"
#include "layers/storage/lifecycle_memory.h"
#include "layers/storage/node_cache.h"
#include "layers/storage/tier_sizing.h"

namespace orrery::storage {

// Drives of 10 TB, 7 and 4 GB/s, 500,000 reads per second.
inline catalog::StorageDevice plain_drive() {
  catalog::StorageDevice d;
  d.device_class = "TLC NVMe";
  d.capacity = terabytes(10);
  d.read = gbytes_per_s(7);
  d.write = gbytes_per_s(4);
  d.random_read_iops = 500'000;
  d.active_power = watts(15);
  d.idle_power = watts(5);
  d.annual_failure_rate = 0.02;
  d.price_per_tb = {usd(60), usd(100)};
  return d;
}

// 6 + 3, three quarters full: half of what is bought is usable, and 1.5 bytes are written per byte
// of data.
inline TierOptions six_and_three() {
  TierOptions o;
  o.protection = {.data = 6, .parity = 3, .fill = 0.75};
  o.server.devices = 10;
  o.server.network = gbytes_per_s(20);
  return o;
}

inline catalog::StorageDevice plain_device(const char* device_class) {
  catalog::StorageDevice d;
  d.device_class = device_class;
  d.capacity = terabytes(10);
  d.read = gbytes_per_s(1);
  d.write = gbytes_per_s(0.5);
  d.active_power = watts(10);
  d.idle_power = watts(4);
  d.annual_failure_rate = 0.02;
  d.price_per_tb = {usd(20), usd(40)};
  return d;
}
inline const TierOptions kRaw{
    .protection = kApplianceProtection, .server = {.devices = 10}, .delivered = 1};
inline const TierDemand kHundred{
    .capacity = terabytes(100), .read = {}, .write = {}, .requests = {}};

inline constexpr Seconds kThen = days(200) + hours(6);

struct Situation {
  LifecycleLook look{.now = kThen};
  LifecycleMemory memory;
  LifecyclePolicy policy;

  ItemView& item(const std::string& id, Seconds age) {
    look.items.push_back({.id = id, .run = "r", .made = kThen - age});
    return look.items.back();
  }
  void copy(ItemView& of, const std::string& place, bool good, Bytes size = gigabytes(1)) {
    of.copies.push_back(
        {.place = place, .size = size, .complete = true, .stamp = "s", .written = kThen});
    if (!good) return;
    apply(memory, {.kind = LifecycleEventKind::verified,
                   .item = of.id,
                   .place = place,
                   .stamp = "s",
                   .digest = "d"});
  }
  std::vector<std::string> asked() const {
    std::vector<std::string> out;
    for (const LifecycleAction& a : decide(look, memory, policy).actions) {
      out.push_back(fmt::format("{} {} {}", word_of(a.kind), a.place, a.item));
    }
    return out;
  }
};

}  // namespace orrery::storage
