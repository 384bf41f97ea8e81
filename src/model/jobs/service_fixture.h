// For tests of services: queries of one replica, and small machines with services, from a design in
// text.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "model/design/goals.h"
#include "model/design_text/read_design.h"
#include "model/jobs/build_machine.h"
#include "model/jobs/predict_serving.h"
#include "model/jobs/request_shape.h"
#include "model/jobs/serving_query.h"
#include "model/machine/known_fixture.h"
#include "model/machine/machine.h"
#include "model/machine/site_load.h"

namespace orrery::jobs {

inline ServingQuery small_serving(const std::string& engine = "vllm") {
  return {.model = *machine::known().catalog().model("llama-3-8b"),
          .accelerator = machine::known().catalog().accelerator("h100-sxm"),
          .engine = engine,
          .request = {.input = 600, .output = 40},
          .concurrency = 4};
}

inline const catalog::ModelShape& model_named(const char* id) {
  return *machine::known().catalog().model(id);
}

inline ServingQuery query_on(const char* model, const char* accelerator = "h100-sxm") {
  return {.model = model_named(model),
          .accelerator = machine::known().catalog().accelerator(accelerator),
          .request = {.input = 1000, .output = 200}};
}

inline design::Design service_design(const std::string& workloads) {
  const auto d = design_text::read_design(
      "orrery: 1\nname: a\nsite: { region: usa }\n"
      "fleet: [{ name: f, node: dgx-h100, count: 4 }]\n"
      "storage:\n"
      "  - { name: fast, tier: hot, kind: parallel-fs, servers: 4, device: tlc-gen4, "
      "devices_per_server: 8, read: 40 GB/s, capacity: 200 TB }\n"
      "workloads:\n" +
          workloads,
      machine::known().catalog());
  EXPECT_TRUE(d) << (d ? "" : to_text(d.error()));
  return d.value();
}

inline const design::Serve& serve_at(const design::Design& d, std::size_t i) {
  return std::get<design::Serve>(d.workloads[i].task);
}

// A fleet of accelerators, one of hosts, a shared tier and the drives of the nodes.
inline machine::Machine asked_machine(const std::string& workloads, const std::string& first = "") {
  const auto d = design_text::read_design(
      "orrery: 1\nname: a\nsite: { region: usa }\nfleet:\n  - { name: f, node: dgx-h100, count: 4" +
          first +
          " }\n  - { name: c, node: cpu-2s-server, count: 2 }\nstorage:\n"
          "  - { name: fast, tier: hot, kind: parallel-fs, servers: 4, device: tlc-gen4, "
          "devices_per_server: 8, read: 40 GB/s, capacity: 200 TB }\n"
          "  - { name: own, tier: node-nvme, kind: local-nvme }\nworkloads:\n" +
          workloads,
      machine::known().catalog());
  EXPECT_TRUE(d) << (d ? "" : to_text(d.error()));
  return build_machine(d.value(), machine::known());
}

inline const design::Serve& asked_serve(const machine::Machine& m, std::size_t i = 0) {
  return std::get<design::Serve>(m.design().workloads[i].task);
}

inline machine::Machine plain_service(const std::string& more) {
  return asked_machine("  - serve: { name: s, model: llama-3-8b, " + more + " }\n");
}

inline machine::Machine edge_service(const std::string& serve, const std::string& fleet = "",
                                     const std::string& fabric = "") {
  const auto d = design_text::read_design(
      "orrery: 1\nname: a\nsites:\n  - { name: one, region: usa }\n  - { name: two, region: deu "
      "}\nfleet:\n  - { name: f, node: dgx-h100, count: 4, site: one" +
          fleet + " }\n  - { name: g, node: dgx-h100, count: 4, site: two }\n" + fabric +
          "storage:\n  - { name: fast, tier: hot, site: one, kind: parallel-fs, read: 40 GB/s, "
          "write: 9 GB/s, capacity: 200 TB }\nworkloads:\n  - serve: { model: llama-3-8b, " +
          serve + " }\n",
      machine::known().catalog());
  EXPECT_TRUE(d) << (d ? "" : to_text(d.error()));
  return build_machine(d.value(), machine::known());
}

inline const design::Serve& edge_serve(const machine::Machine& m) {
  return std::get<design::Serve>(m.design().workloads[0].task);
}

inline machine::Machine served(const std::string& serve, const std::string& fleet = "") {
  const auto d = design_text::read_design(
      "orrery: 1\nname: a\nsites:\n  - { name: one, region: usa }\n  - { name: two, region: usa }\n"
      "  - { name: six, region: deu }\nfleet:\n  - { name: f, node: dgx-h100, count: 4, site: one" +
          fleet +
          " }\n  - { name: g, node: dgx-h100, count: 4, site: two }\n  - { name: h, node: "
          "dgx-h100, "
          "count: 4, site: six }\nfabric:\n  compute: { topology: rail-fat-tree, switch: qm9700 }\n"
          "  wan:\n    - { between: [one, two], rate: 8 Gb/s, latency: 20 ms }\n    - { between: "
          "[one, six], rate: 4 Gb/s, latency: 90 ms }\nstorage:\n  - { name: far, tier: hot, kind: "
          "parallel-fs, site: two, read: 40 GB/s, capacity: 1 PB, first_byte: 3 ms }\n  - { name: "
          "near, tier: hot, kind: parallel-fs, site: one, read: 30 GB/s, capacity: 1 PB, "
          "first_byte: 2 ms }\nworkloads:\n  - serve: { model: llama-3-8b, " +
          serve + " }\n",
      machine::known().catalog());
  EXPECT_TRUE(d) << to_text(d.error());
  return build_machine(d.value(), machine::known());
}

inline const design::Serve& only_serve(const machine::Machine& m) {
  return std::get<design::Serve>(m.design().workloads[0].task);
}

inline design::Design on_fleet(const std::string& fleet, const std::string& more = {}) {
  const auto d = design_text::read_design(
      "orrery: 1\nname: a\nsite: { region: usa }\nfleet: [{ name: f, count: 2, " + fleet +
          " }]\nworkloads:\n  - serve: { name: s, model: llama-3-8b, " + more +
          "arrivals: { rate: 1 /s, input_tokens: 1000, output_tokens: 100 } }\n",
      machine::known().catalog());
  EXPECT_TRUE(d) << (d ? "" : to_text(d.error()));
  return d.value();
}

struct AskedDevice {
  design::Design design;
  machine::Machine machine;
  ServingQuery query;
};

inline AskedDevice ask_device(const std::string& fleet, const std::string& more = {}) {
  AskedDevice a{.design = on_fleet(fleet, more), .machine = {}, .query = {}};
  a.machine = build_machine(a.design, machine::known());
  const auto& serve = std::get<design::Serve>(a.design.workloads[0].task);
  a.query = serving_query(machine::known(), serve,
                          *find_model(a.design, machine::known().catalog(), "llama-3-8b"),
                          a.machine.fleets[design::FleetIndex(0)], request_of(a.machine, serve));
  return a;
}

inline ServingQuery short_query(const char* model = "llama-3-8b") {
  return {.model = *machine::known().catalog().model(model),
          .accelerator = machine::known().catalog().accelerator("h100-sxm"),
          .request = {.input = 500, .output = 100}};
}

}  // namespace orrery::jobs
