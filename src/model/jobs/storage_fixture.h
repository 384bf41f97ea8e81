// For tests of saves, pipelines and what they ask of tiers: four nodes at one of two sites.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "model/design_text/read_design.h"
#include "model/jobs/build_machine.h"
#include "model/jobs/train_job.h"
#include "model/machine/known_fixture.h"
#include "model/machine/machine.h"
#include "model/machine/machine_fixture.h"

namespace orrery::jobs {

inline machine::Machine with_storage(const std::string& storage, const std::string& more = "") {
  return build_machine(machine::storage_design(storage, more), machine::known());
}

inline const std::string kTwoTiers =
    "  - { tier: hot, site: one, kind: parallel-fs, read: 40 GB/s, write: 8 GB/s, capacity: 1 PB "
    "}\n  - { tier: cold, site: two, kind: nfs, read: 9 GB/s, write: 3 GB/s, capacity: 9 PB }\n";

struct SavedRun {
  machine::Machine machine;
  TrainJob job;

  explicit SavedRun(const std::string& checkpoint, const std::string& storage = kTwoTiers)
      : machine(with_storage(storage,
                             "workloads:\n  - train: { network: { params: 300M, forward: 12 "
                             "GFLOP }, batch: 3200, samples: 10B, checkpoint: { " +
                                 checkpoint + " } }\n")),
        job(name_job(machine, machine.design().workloads[0])) {
    fill_step(job, machine);
    fill_costs(job, machine);
  }
};

inline const std::string kStages =
    "workloads:\n  - train: { name: run, network: { params: 300M, forward: 12 GFLOP }, batch: "
    "3200, "
    "samples: 1M, dataset: { samples: 1M, sample_size: 150 kB, tier: hot } }\n"
    "  - batch: { name: prep, core_hours: 9, output: 3 TB, dataset: { size: 7 TB, tier: hot }, "
    "deadline: 2 h }\n"
    "  - serve: { name: ask, model: llama-3-8b, arrivals: { rate: 5 /s, trace: chat, peak: 2 }, "
    "retrieval: { tier: hot, reads: 4, read_size: 8 kB, index: 2 TB } }\n"
    "pipeline:\n  every: 1 d\n  stages:\n"
    "    - { stage: ingest, to: hot, rate: 8 Gb/s, size: 10 TB, keep: 3 d }\n"
    "    - { stage: prepare, workload: prep }\n"
    "    - { stage: train, workload: run, after: [ingest, prepare] }\n"
    "    - { stage: register, from: hot, to: cold }\n"
    "    - { stage: archive, from: hot, to: cold, size: 1 TB, rate: 8 Gb/s, after: [begin] }\n"
    "    - { stage: serve, workload: ask, after: [register] }\n";

inline machine::Machine detailed(const std::string& fleet, const std::string& more) {
  const auto read = design_text::read_design(
      "orrery: 1\nname: t\nsite: { name: one, region: usa, cooling: air-contained }\nfleet:\n  - { "
      "name: a, node: dgx-h100, count: 4" +
          fleet +
          " }\nfabric:\n  compute: { topology: rail-fat-tree, switch: qm9700, oversubscription: 2 "
          "}\nstorage:\n  - { tier: hot, kind: parallel-fs, read: 40 GB/s, write: 50 GB/s, "
          "capacity: 1 PB }\n  - { tier: warm, kind: nfs, read: 9 GB/s, write: 3 GB/s, capacity: "
          "9 PB }\n" +
          more,
      machine::known().catalog());
  EXPECT_TRUE(read) << to_text(read.error());
  return build_machine(read.value(), machine::known());
}

inline const std::string kRun =
    "workloads:\n  - train: { network: { params: 300M, forward: 12 GFLOP }, batch: 3200, samples: "
    "10B";

}  // namespace orrery::jobs
