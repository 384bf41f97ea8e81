// The queues, labels, devices, claims and buckets of one design, each file whole.
#include <gtest/gtest.h>

#include "output/emit/kubernetes.h"
#include "output/emit/kubernetes_parts.h"
#include "output/emit/pods_fixture.h"

namespace orrery::emit {
namespace {

EmittedFiles pod_files(const ReviewedExample& r, const KubernetesOptions& options = {}) {
  const auto files = emit_kubernetes(*r.review, r.source, options);
  EXPECT_TRUE(files.has_value()) << (files ? "" : to_text(files.error()));
  return files.value_or(EmittedFiles());
}

std::string pod_file(std::string_view path, const KubernetesOptions& options = {}) {
  return unstamped(text_of(pod_files(*reviewed_as_pods(read_text(kPodsDesign)), options), path));
}

// The values behind `key`, in order.
std::vector<std::string> all_after(const std::string& text, std::string_view key) {
  std::vector<std::string> out;
  for (std::size_t at = 0; (at = text.find(key, at)) != std::string::npos;) {
    at += key.size();
    out.push_back(text.substr(at, text.find('\n', at) - at));
  }
  return out;
}

// The tenant has 12 of 80 accelerators, 15 %. Cores: 0.95 * 0.15 of 5 * 112, 3 * 112, 2 * 128 and
// 7 * 16; GiB likewise of 2,048 a host that is known and 8 a core of one that is not.
constexpr std::string_view kVisionsQueue =
    R"(---
apiVersion: kueue.x-k8s.io/v1beta2
kind: Topology
metadata:
  name: fabric
spec:
  levels:
    - nodeLabel: fabric.orrery/unit
    - nodeLabel: kubernetes.io/hostname
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata:
  name: whole
spec:
  nodeLabels:
    fleet.orrery/name: whole
  tolerations:
    - key: nvidia.com/gpu
      operator: Exists
      effect: NoSchedule
  topologyName: fabric
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata:
  name: cut
spec:
  nodeLabels:
    fleet.orrery/name: cut
  tolerations:
    - key: nvidia.com/gpu
      operator: Exists
      effect: NoSchedule
  topologyName: fabric
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata:
  name: red
spec:
  nodeLabels:
    fleet.orrery/name: red
  topologyName: fabric
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata:
  name: plain
spec:
  nodeLabels:
    fleet.orrery/name: plain
  topologyName: fabric
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: WorkloadPriorityClass
metadata:
  name: priority-minus-3
value: -3
description: "of workloads with this priority in the design"
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: WorkloadPriorityClass
metadata:
  name: priority-0
value: 0
description: "of workloads with this priority in the design"
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: WorkloadPriorityClass
metadata:
  name: priority-7
value: 7
description: "of workloads with this priority in the design"
---
apiVersion: v1
kind: Namespace
metadata:
  name: vision
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata:
  name: vision
spec:
  cohortName: pods
  namespaceSelector:
    matchLabels:
      kubernetes.io/metadata.name: vision
  queueingStrategy: StrictFIFO
  preemption:
    reclaimWithinCohort: Any
    withinClusterQueue: LowerPriority
  fairSharing:
    weight: "15"
  resourceGroups:
)"
    "    - coveredResources: [cpu, memory, amd.com/gpu, nvidia.com/gpu, "
    "nvidia.com/mig-1g.18gb, nvidia.com/mig-2g.35gb]\n"
    R"(      flavors:
        - name: whole
          resources:
            - name: cpu
              nominalQuota: "79"
            - name: memory
              nominalQuota: "1459Gi"
            - name: amd.com/gpu
              nominalQuota: "0"
            - name: nvidia.com/gpu
              nominalQuota: "6"
            - name: nvidia.com/mig-1g.18gb
              nominalQuota: "0"
            - name: nvidia.com/mig-2g.35gb
              nominalQuota: "0"
        - name: cut
          resources:
            - name: cpu
              nominalQuota: "47"
            - name: memory
              nominalQuota: "875Gi"
            - name: amd.com/gpu
              nominalQuota: "0"
            - name: nvidia.com/gpu
              nominalQuota: "0"
            - name: nvidia.com/mig-1g.18gb
              nominalQuota: "10"
            - name: nvidia.com/mig-2g.35gb
              nominalQuota: "7"
        - name: red
          resources:
            - name: cpu
              nominalQuota: "36"
            - name: memory
              nominalQuota: "291Gi"
            - name: amd.com/gpu
              nominalQuota: "2"
            - name: nvidia.com/gpu
              nominalQuota: "0"
            - name: nvidia.com/mig-1g.18gb
              nominalQuota: "0"
            - name: nvidia.com/mig-2g.35gb
              nominalQuota: "0"
        - name: plain
          resources:
            - name: cpu
              nominalQuota: "15"
            - name: memory
              nominalQuota: "127Gi"
            - name: amd.com/gpu
              nominalQuota: "0"
            - name: nvidia.com/gpu
              nominalQuota: "0"
            - name: nvidia.com/mig-1g.18gb
              nominalQuota: "0"
            - name: nvidia.com/mig-2g.35gb
              nominalQuota: "0"
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata:
  name: vision
  namespace: vision
spec:
  clusterQueue: vision
)";

TEST(KubernetesText, QueuesOfATenant) {
  const std::string text = pod_file("queues.yaml");
  EXPECT_EQ(
      text.substr(0, text.find("---\napiVersion: v1\nkind: Namespace\nmetadata:\n  name: sh")),
      kVisionsQueue);
}

// The other 85 %.
TEST(KubernetesText, QuotasOfWhatIsShared) {
  const std::string text = pod_file("queues.yaml");
  using Quotas = std::vector<std::string>;
  const Quotas all = all_after(text, "nominalQuota: ");
  ASSERT_EQ(all.size(), 48U);
  EXPECT_EQ(Quotas(all.begin() + 24, all.end()),
            (Quotas{R"("452")", R"("8268Gi")", R"("0")",  R"("34")", R"("0")",  R"("0")",
                    R"("271")", R"("4961Gi")", R"("0")",  R"("0")",  R"("61")", R"("40")",
                    R"("206")", R"("1653Gi")", R"("13")", R"("0")",  R"("0")",  R"("0")",
                    R"("90")",  R"("723Gi")",  R"("0")",  R"("0")",  R"("0")",  R"("0")"}));
  EXPECT_EQ(all_after(text, "weight: "), (Quotas{R"("15")", R"("85")"}));
}

constexpr std::string_view kLabels =
    R"(#!/bin/bash
# Tells Kubernetes where each node stands. For the operator to read and run.
set -eu

for n in $(seq -f 'whole-%01g' 1 4); do
  kubectl label --overwrite node "$n" fleet.orrery/name=whole fabric.orrery/unit=su-1
done
for n in $(seq -f 'whole-%01g' 5 6); do
  kubectl label --overwrite node "$n" fleet.orrery/name=whole fabric.orrery/unit=su-2
done
for n in $(seq -f 'cut-%01g' 1 2); do
)"
    "  kubectl label --overwrite node \"$n\" fleet.orrery/name=cut fabric.orrery/unit=su-2 "
    "nvidia.com/mig.config=cut\n"
    R"(done
for n in $(seq -f 'cut-%01g' 3 3); do
)"
    "  kubectl label --overwrite node \"$n\" fleet.orrery/name=cut fabric.orrery/unit=su-3 "
    "nvidia.com/mig.config=cut\n"
    R"(done
for n in $(seq -f 'red-%01g' 1 2); do
  kubectl label --overwrite node "$n" fleet.orrery/name=red fabric.orrery/unit=su-3
done
for n in $(seq -f 'plain-%01g' 1 7); do
  kubectl label --overwrite node "$n" fleet.orrery/name=plain fabric.orrery/unit=su-3
done
)";

TEST(KubernetesText, LabelsOfTheNodes) { EXPECT_EQ(pod_file("label-nodes.sh"), kLabels); }

}  // namespace
}  // namespace orrery::emit
