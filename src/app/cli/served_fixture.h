// For tests of verbs that serve: a small design in a file.
#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sys/stat.h>

#include "live/agent/test_folder.h"
#include "live/net/test_socket.h"

namespace orrery::cli {

inline constexpr const char* kServedDesign = R"(
orrery: 1
name: small
site: { region: usa, power: 100 kW, cooling: rear-door-active, rack: 44 kW }
fleet: [{ name: train, node: dgx-h100, count: 2 }]
fabric: { compute: { topology: rail-fat-tree, switch: qm9700 } }
storage:
  - { tier: hot, kind: parallel-fs, servers: 2, read: 20 GB/s, write: 10 GB/s, capacity: 100 TB }
workloads:
  - train: { name: tune, model: llama-3-8b, tokens: 1B, sequence: 4096, batch: 64,
             layout: { tp: 1, pp: 1 }, checkpoint: { every: 30 min, to: [hot] } }
)";

class ServingVerbs : public testing::Test {
 protected:
  ServingVerbs() { folder.write("d.yaml", kServedDesign); }
  std::string design() const { return folder.at("d.yaml"); }

  agent::TestFolder folder;
};

}  // namespace orrery::cli
