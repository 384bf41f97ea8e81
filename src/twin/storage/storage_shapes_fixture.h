// For tests: small plants, and an observer of what they move.
#pragma once

#include <vector>

#include "twin/storage/storage_plant.h"

namespace orrery::twin_storage {

struct Ends final : TransferObserver {
  std::vector<double> at = std::vector<double>(8, -1.0);  // by tag
  void on_arrived(sim::Kernel& kernel, std::uint64_t tag) override {
    at[tag] = kernel.now().seconds().base();
  }
};

// Two hosts with separate wires for collectives, two with one kind of wires, drives, and a tier.
inline PlantShape two_kinds() {
  return {.hosts = {{.many = 2, .wires = gbytes_per_s(10), .compute = gbytes_per_s(50)},
                    {.many = 2, .wires = gbytes_per_s(5)}},
          .tiers = {{.label = "drives",
                     .in_hosts = true,
                     .read = gbytes_per_s(8),
                     .write = gbytes_per_s(4),
                     .requests = PerSecond(1),
                     .first_byte = milliseconds(20),
                     .client = gbytes_per_s(1)},
                    {.label = "shared",
                     .read = gbytes_per_s(40),
                     .write = gbytes_per_s(20),
                     .first_byte = milliseconds(100),
                     .restore = seconds(3),
                     .client = gbytes_per_s(9)}}};
}

struct LastOf final : TransferObserver {
  std::vector<double> at;
  void on_arrived(sim::Kernel& kernel, std::uint64_t) override {
    at.push_back(kernel.now().seconds().base());
  }
};

// Two hosts of 10 GB/s, then two of 5; drives of 8 and 4; a tier of 40 and 20.
inline PlantShape edge_shape() {
  return {
      .hosts = {{.many = 2, .wires = gbytes_per_s(10)}, {.many = 2, .wires = gbytes_per_s(5)}},
      .tiers = {
          {.label = "drives", .in_hosts = true, .read = gbytes_per_s(8), .write = gbytes_per_s(4)},
          {.label = "shared", .read = gbytes_per_s(40), .write = gbytes_per_s(20)}}};
}

}  // namespace orrery::twin_storage
