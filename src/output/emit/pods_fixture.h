// For tests that read whole files: a design in which every number differs, and the text of its
// files without comments and stamps.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>

#include "output/emit/review_fixture.h"

namespace orrery::emit {

// 40 whole GPUs, 24 in slices and 16 of another vendor; 12 of the 80 belong to a tenant.
inline constexpr std::string_view kPodsDesign = R"(
orrery: 1
name: pods
site: { region: deu }
fleet:
  - { name: whole, node: dgx-h100, count: 5, spares: 1 }
  - { name: cut, node: dgx-h200, count: 3, mig: { 1g.18gb: 3, 2g.35gb: 2 } }
  - { name: red, node: mi300x-platform, count: 2 }
  - { name: plain, node: cpu-2s-server, count: 7 }
fabric: { compute: { topology: fat-tree, switch: qm9700 } }
storage:
  - { name: files, tier: hot, kind: nfs, capacity: 97 TB, read: 16 GB/s, write: 8 GB/s }
  - { name: disks, tier: warm, kind: block, capacity: 31 TB, read: 9 GB/s, write: 8 GB/s }
  - { name: shelf, tier: cold, kind: object, capacity: 500 TB, read: 8 GB/s, write: 4 GB/s }
scheduler:
  kind: kubernetes
  backfill: none
  preemption: requeue
  topology: tree
  fair_share: true
  quotas: [{ tenant: vision, accelerators: 12 }]
workloads:
  - train:
      name: words
      fleet: whole
      nodes: 4
      model: llama-3-8b
      tokens: 20B
      batch: 256
      tenant: vision
      priority: 7
      dataset: { kind: text, size: 100 GB, tier: files }
      checkpoint: { every: 1 h, to: [files, shelf] }
  - train:
      { name: sounds, fleet: red, nodes: 2, model: llama-3-8b, tokens: 1B, batch: 256,
        priority: -3 }
)";

inline std::unique_ptr<ReviewedExample> reviewed_as_pods(design::Design design) {
  auto r = reviewed(std::move(design));
  r->source = {"pods", "3", "d1"};
  return r;
}

// Returns the part of a file that the target system reads: no comments, descriptions or stamps.
inline std::string directives(std::string_view text) {
  std::string out;
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t end = std::min(rest.find('\n'), rest.size() - 1) + 1;
    const std::string_view line = rest.substr(0, end);
    const std::string_view body = line.substr(std::min(line.find_first_not_of(' '), end - 1));
    rest.remove_prefix(end);
    const bool stamp = body.starts_with("orrery/emitted-from");
    if (stamp) out.erase(out.rfind("  annotations:\n"));
    if (!stamp && !body.starts_with("# ") && !body.starts_with("description")) out += line;
  }
  return out;
}

}  // namespace orrery::emit
