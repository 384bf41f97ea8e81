// For tests of services: reviews of a design with one service, or a few.
#pragma once

#include <gtest/gtest.h>

#include "core/base/units.h"
#include "model/design_text/read_design.h"
#include "model/machine/known_fixture.h"
#include "plan/review/lab_fixture.h"
#include "plan/review/stages.h"

namespace orrery::review {

inline Review review_of(const std::string& workloads,
                        const std::string& node = "dgx-h100, count: 8") {
  const auto d = design_text::read_design(
      "orrery: 1\nname: a\nsite: { region: usa }\n"
      "fleet: [{ name: f, node: " +
          node +
          " }]\n"
          "fabric: { compute: { topology: fat-tree, switch: qm9700 } }\n"
          "storage:\n"
          "  - { name: fast, tier: hot, kind: parallel-fs, servers: 4, device: tlc-gen4, "
          "devices_per_server: 8, read: 40 GB/s, capacity: 200 TB }\n"
          "workloads:\n" +
          workloads,
      machine::known().catalog());
  EXPECT_TRUE(d) << (d ? "" : to_text(d.error()));
  return run_stages(d.value(), machine::known());
}

inline std::string small_service(const std::string& name, const std::string& rest) {
  return "  - serve: { name: " + name + ", model: llama-3-8b, tp: 1, replicas: 4, " + rest + " }\n";
}

inline const std::string kShort = "input_tokens: 800, output_tokens: 100";

inline Review served_on(const std::string& fleet, const std::string& serve) {
  const auto d = design_text::read_design(
      "orrery: 1\nname: a\nsite: { region: usa }\nfleet: [{ name: f, " + fleet +
          " }]\nfabric: { compute: { topology: fat-tree, switch: qm9700 } }\nstorage:\n"
          "  - { name: fast, tier: hot, kind: parallel-fs, servers: 4, device: tlc-gen4, "
          "devices_per_server: 8, read: 40 GB/s, capacity: 200 TB }\nworkloads:\n"
          "  - serve: { name: s, " +
          serve + " }\n",
      machine::known().catalog());
  EXPECT_TRUE(d) << (d ? "" : to_text(d.error()));
  return run_stages(d ? *d : design::Design{}, machine::known());
}

inline const std::string kNodes = "node: dgx-h100, count: 8";

}  // namespace orrery::review
