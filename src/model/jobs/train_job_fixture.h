// For tests of training jobs: small runs on four DGX H100 nodes, resolved from a design in text.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "layers/fabric/collective_model.h"
#include "model/design/design.h"
#include "model/design_text/read_design.h"
#include "model/jobs/build_machine.h"
#include "model/jobs/train_job.h"
#include "model/machine/known_fixture.h"
#include "model/machine/machine.h"

namespace orrery::jobs {

// Four nodes of eight H100: 989.4 dense TFLOP/s, 3,350 GB/s of memory, a NIC of 400 Gb/s each.
struct PlainRun {
  std::optional<machine::Machine> machine;
  TrainJob job;

  explicit PlainRun(const std::string& train, const std::string& fleet = "",
                    const std::string& more = "",
                    const machine::Models& models = machine::known()) {
    const auto read = design_text::read_design(
        "orrery: 1\nname: t\nsite: { region: usa, cooling: air-contained }\nfleet:\n"
        "  - { name: a, node: dgx-h100, count: 4" +
            fleet +
            " }\nfabric:\n  compute: { topology: rail-fat-tree, switch: qm9700 }\n"
            "storage:\n"
            "  - { tier: hot, kind: parallel-fs, read: 40 GB/s, write: 12 GB/s, capacity: 1 PB }\n"
            "  - { tier: cold, kind: object, read: 9 GB/s, write: 3 GB/s, capacity: 9 PB }\n" +
            more + "workloads:\n  - train: { " + train + " }\n",
        models.catalog());
    EXPECT_TRUE(read) << to_text(read.error());
    machine = build_machine(read.value(), models);
    job = name_job(*machine, machine->design().workloads[0]);
    fill_step(job, *machine);
  }
  const TrainJob& costs() {
    fill_costs(job, *machine);
    return job;
  }
};

inline const std::string kNet = "network: { params: 300M, forward: 12 GFLOP, activations: 50 MB }";

// Four nodes of eight.
struct HandRun {
  machine::Machine machine;
  TrainJob job;

  explicit HandRun(const std::string& train, const std::string& fleet = "",
                   const std::string& tiers = "", const std::string& compute = "") {
    const auto read = design_text::read_design(
        "orrery: 1\nname: t\nsite: { region: usa }\nfleet:\n  - { name: a, node: dgx-h100, count: "
        "4" +
            fleet + " }\nfabric:\n  compute: { topology: rail-fat-tree, switch: qm9700" + compute +
            " }\nstorage:\n" + tiers +
            "  - { tier: hot, kind: parallel-fs, read: 40 GB/s, write: 12 GB/s, capacity: 1 PB }\n"
            "workloads:\n  - train: { " +
            train + " }\n",
        machine::known().catalog());
    EXPECT_TRUE(read) << to_text(read.error());
    machine = build_machine(read.value(), machine::known());
    job = name_job(machine, machine.design().workloads[0]);
    fill_step(job, machine);
  }
};

inline const std::string kLlama = "model: llama-3-8b, batch: 64, sequence: 4096, tokens: 2B";
inline const std::string kPlainNetwork =
    "network: { params: 300M, forward: 12 GFLOP }, samples: 1M";

// 32 accelerators in four hosts; a batch of 3,200 samples.
struct FedRun {
  machine::Machine machine;
  TrainJob job;

  explicit FedRun(const std::string& tier, const std::string& dataset,
                  const std::string& storage_net = "", const std::string& train = "samples: 1M") {
    const auto read = design_text::read_design(
        "orrery: 1\nname: t\nsite: { region: usa }\nfleet: [{ name: a, node: dgx-h100, count: 4 "
        "}]\nfabric:\n  compute: { topology: rail-fat-tree, switch: qm9700 }\n" +
            storage_net +
            "storage:\n  - { name: t, tier: hot, kind: parallel-fs, capacity: 9 PB, " + tier +
            " }\nworkloads:\n  - train: { network: { params: 300M, forward: 12 GFLOP }, batch: "
            "3200, " +
            train + ", dataset: { tier: t, " + dataset + " } }\n",
        machine::known().catalog());
    EXPECT_TRUE(read) << (read ? "" : to_text(read.error()));
    machine = build_machine(read ? *read : design::Design{}, machine::known());
    job = name_job(machine, machine.design().workloads.at(0));
    fill_step(job, machine);
    fill_costs(job, machine);
  }
};

}  // namespace orrery::jobs
