// For tests of Slurm files: a cluster in which every number differs, and one of three sites.
#pragma once

#include <memory>
#include <string_view>

#include "output/emit/pods_fixture.h"
#include "output/emit/slurm.h"

namespace orrery::emit {

inline constexpr std::string_view kRowsDesign = R"(
orrery: 1
name: Rows
site: { region: deu, power: 900 kW }
fleet:
  - { name: gpus, node: dgx-h100, count: 10, spares: 2 }
  - { name: cut, node: dgx-h200, count: 3, mig: { 1g.18gb: 3, 2g.35gb: 2 } }
  - { name: red, node: mi300x-platform, count: 2 }
  - { name: plain, node: cpu-2s-server, count: 7 }
fabric: { compute: { topology: fat-tree, switch: qm9700 } }
storage:
  - { name: files, tier: hot, kind: nfs, capacity: 97 TB, read: 16 GB/s, write: 8 GB/s }
  - { name: wide, tier: warm, kind: parallel-fs, capacity: 31 TB, read: 16 GB/s, write: 8 GB/s }
  - { name: shelf, tier: cold, kind: object, capacity: 500 TB, read: 8 GB/s, write: 4 GB/s }
scheduler:
  kind: slurm
  backfill: conservative
  preemption: suspend
  topology: tree
  fair_share: true
  power_aware: true
  quotas: [{ tenant: vision, share: 0.37 }, { tenant: speech, accelerators: 12 }]
  partitions:
    - { name: long, fleet: gpus, nodes: 7, time_limit: 200 h }
    - { name: short, fleet: gpus, nodes: 3, time_limit: 4 h }
  reservations:
    - name: nights
      fleet: gpus
      nodes: 3
      start: 20 h
      duration: 90 min
      tenants: [speech, vision]
      repeat: daily
workloads:
  - train:
      name: words
      fleet: gpus
      nodes: 4
      model: llama-3-8b
      tokens: 20B
      batch: 256
      tenant: speech
      partition: long
      dataset: { kind: text, size: 100 GB, tier: files }
      checkpoint: { every: 1 h, to: [files, shelf] }
)";

// 900 kW at a PUE of 1.25; a node of `gpus` rises from 1.1 to 9.3 kW. A step takes 2.5 s, the run
// 61.3 h with three failures, and a save every 40.4 steps takes 18.3 s.
inline std::unique_ptr<ReviewedExample> planned_rows() {
  auto r = reviewed_as_pods(read_text(kRowsDesign));
  review::SiteView& site = r->review->sites.front();
  site.pue.middle = 1.25;
  site.fabric = kilowatts(7.5);
  site.storage = kilowatts(3.25);
  for (review::FleetPower& p : site.fleets) p.node.idle = kilowatts(1.1);
  site.fleets[0].node.peak = kilowatts(9.3);
  site.fleets[1].node.idle = kilowatts(1.3);
  site.fleets[2].node.idle = kilowatts(1.7);
  site.fleets[3].node.idle = kilowatts(0.3);
  review::TrainView& train = r->review->trains.front();
  train.step.layout = "tp2 pp3 dp5";
  train.step.step = seconds(2.5);
  train.run_time = hours(61.3);
  train.goodput = 0.87654;
  train.checkpoint->interval = seconds(101);
  train.checkpoint->stall.safe = seconds(18.3);
  return r;
}

inline EmittedFiles slurm_of(const ReviewedExample& r, const SlurmOptions& options = {}) {
  const auto files = emit_slurm(*r.review, r.source, options);
  EXPECT_TRUE(files.has_value()) << (files ? "" : to_text(files.error()));
  return files.value_or(EmittedFiles());
}

inline constexpr std::string_view kSitesDesign = R"(
orrery: 1
name: lands
sites:
  - { name: north, region: deu, power: 500 kW }
  - { name: middle, region: deu }
  - { name: south, region: deu, power: 300 kW }
fleet:
  - { name: ice, site: north, node: dgx-h100, count: 4 }
  - { name: rock, site: middle, node: dgx-h100, count: 2 }
  - { name: sand, site: south, node: dgx-h100, count: 6, spares: 1 }
fabric: { compute: { topology: fat-tree, switch: qm9700 } }
scheduler: { kind: slurm, power_aware: true }
workloads:
  - train: { name: cold, fleet: ice, nodes: 2, model: llama-3-8b, tokens: 20B, batch: 256 }
  - train: { name: hard, fleet: rock, nodes: 2, model: llama-3-8b, tokens: 20B, batch: 256 }
  - train: { name: warm, fleet: sand, nodes: 4, model: llama-3-8b, tokens: 20B, batch: 256 }
)";

// A node of `ice` rises from 1 to 9 kW, one of `sand` from 2 to 9.5 kW.
inline std::unique_ptr<ReviewedExample> planned_sites() {
  auto r = reviewed_as_pods(read_text(kSitesDesign));
  std::vector<review::SiteView>& sites = r->review->sites;
  EXPECT_EQ(sites.size(), 3U);
  for (review::SiteView& s : sites) {
    s.pue.middle = 1.25;
    s.fabric = kilowatts(3);
    s.storage = kilowatts(0.5);
  }
  sites[0].fleets[0].node.idle = kilowatts(1);
  sites[0].fleets[0].node.peak = kilowatts(9);
  sites[2].fleets[0].node.idle = kilowatts(2);
  sites[2].fleets[0].node.peak = kilowatts(9.5);
  return r;
}

inline std::string line_with(const std::string& text, std::string_view start) {
  const std::size_t at = text.find(start);
  if (at == std::string::npos) return "none";
  return text.substr(at, text.find('\n', at) - at);
}

}  // namespace orrery::emit
