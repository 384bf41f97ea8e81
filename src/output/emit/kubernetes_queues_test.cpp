#include <gmock/gmock.h>

#include "output/emit/kubernetes.h"
#include "output/emit/kubernetes_fixture.h"
#include "output/emit/kubernetes_parts.h"
#include "output/emit/pods_fixture.h"
#include "output/emit/review_fixture.h"

namespace orrery::emit {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::string weights_with(std::vector<design::Quota> quotas) {
  design::Design design = read_text(kPodsDesign);
  design.scheduler.quotas = std::move(quotas);
  const auto r = reviewed_as_pods(design);
  const auto files = emit_kubernetes(*r->review, r->source);
  if (!files) return to_text(files.error());
  const std::string text = text_of(*files, "queues.yaml");
  std::string out;
  for (std::size_t at = 0; (at = text.find("kind: ClusterQueue\n", at)) != std::string::npos;
       ++at) {
    const std::size_t name = text.find("  name: ", at) + 8;
    const std::size_t weight = text.find("weight: ", at) + 8;
    out += text.substr(name, text.find('\n', name) - name) + ' ' +
           text.substr(weight, text.find('\n', weight) - weight) + ' ';
  }
  return out;
}

std::string levels_of(const KubePlan& plan) {
  const std::string text = queues_yaml(plan);
  const std::size_t at = text.find("  levels:\n");
  return at == std::string::npos ? "none" : text.substr(at, text.find("---", at) - at);
}

// Returns two pods over three units, one of which has a domain.
KubePlan pods_by_hand(const ReviewedExample& r) {
  KubePlan plan{.review = *r.review, .source = r.source};
  plan.hosts = hosts_of(*r.review, HostsOf::kubernetes).value();
  plan.hosts.fleets[HostFleetIndex(0)].digits = 3;
  plan.hosts.tree = {{"domain-whole-1", {}, {{HostFleetIndex(0), 1, 2}}}, {"su-2", {}, {{HostFleetIndex(0), 3, 1}, {HostFleetIndex(1), 1, 3}}},
                     {"su-3", {}, {{HostFleetIndex(2), 1, 2}}},           {"su-1", {"domain-whole-1"}, {}},
                     {"pod-1", {"su-1", "su-2"}, {}},     {"pod-2", {"su-3"}, {}},
                     {"core", {"pod-1", "pod-2"}, {}}};
  plan.fleets.resize(4);
  plan.tenants = {{"vision", 0.004}, {"shared", 0}};
  plan.cohort = "all";
  plan.topology = true;
  return plan;
}

TEST(KubernetesQueues, nodes_are_labelled_with_unit_and_pod) {
  const auto r = reviewed_as_pods(read_text(kPodsDesign));
  const KubePlan plan = pods_by_hand(*r);
  const auto lines = [](const char* range, const std::string& labels) {
    return std::string("for n in $(seq -f ") + range +
           "); do\n  kubectl label --overwrite node \"$n\" " + labels + "\ndone\n";
  };
  EXPECT_EQ(directives(label_script(plan)),
            "#!/bin/bash\nset -eu\n\n" +
                lines("'whole-%03g' 1 2",
                      "fleet.orrery/name=whole fabric.orrery/unit=su-1 "
                      "fabric.orrery/pod=pod-1") +
                lines("'whole-%03g' 3 3",
                      "fleet.orrery/name=whole fabric.orrery/unit=su-2 "
                      "fabric.orrery/pod=pod-1") +
                lines("'cut-%01g' 1 3",
                      "fleet.orrery/name=cut fabric.orrery/unit=su-2 "
                      "fabric.orrery/pod=pod-1 nvidia.com/mig.config=cut") +
                lines("'red-%01g' 1 2",
                      "fleet.orrery/name=red fabric.orrery/unit=su-3 "
                      "fabric.orrery/pod=pod-2"));
}

TEST(KubernetesQueues, topology_levels_follow_the_fabric) {
  const auto r = reviewed_as_pods(read_text(kPodsDesign));
  KubePlan plan = pods_by_hand(*r);
  EXPECT_EQ(levels_of(plan),
            "  levels:\n    - nodeLabel: fabric.orrery/unit\n"
            "    - nodeLabel: kubernetes.io/hostname\n");
  plan.pods = true;
  plan.domains = true;
  EXPECT_EQ(levels_of(plan),
            "  levels:\n    - nodeLabel: fabric.orrery/pod\n    - nodeLabel: fabric.orrery/unit\n"
            "    - nodeLabel: nvidia.com/gpu.clique\n    - nodeLabel: kubernetes.io/hostname\n");
  plan.topology = false;
  EXPECT_EQ(levels_of(plan), "none");
}

// A share of 0.4 % and a share of zero both have weight one.
TEST(KubernetesQueues, every_tenant_has_a_weight) {
  const auto r = reviewed_as_pods(read_text(kPodsDesign));
  KubePlan plan = pods_by_hand(*r);
  const std::string text = queues_yaml(plan);
  EXPECT_THAT(text, Not(HasSubstr("weight: \"0\"")));
  EXPECT_THAT(text, HasSubstr("  fairSharing:\n    weight: \"1\"\n  resourceGroups:\n"
                              "    - coveredResources: [cpu, memory]\n"));
  plan.tenants[0].share = 0.0251;
  EXPECT_THAT(queues_yaml(plan), HasSubstr("weight: \"3\"\n"));
  design::Design design = read_text(kPodsDesign);
  design.scheduler.fair_share = false;
  const auto unfair = reviewed_as_pods(design);
  EXPECT_THAT(queues_yaml(pods_by_hand(*unfair)), Not(HasSubstr("fairSharing")));
}

TEST(KubernetesQueues, weights_add_up_to_the_fleet) {
  EXPECT_EQ(weights_with({}), R"(shared "100" )");
  EXPECT_EQ(weights_with({{.tenant = "a", .share = 0.37}, {.tenant = "b", .accelerators = 20}}),
            R"(a "37" b "25" shared "38" )");
  EXPECT_EQ(weights_with({{.tenant = "a", .share = 0.75}, {.tenant = "b", .share = 0.5}}),
            R"(a "75" b "50" shared "1" )");
  EXPECT_EQ(weights_with({{.tenant = "shared", .share = 0.25}, {.tenant = "b", .share = 0.5}}),
            R"(shared "25" b "50" )");
}

EmittedFiles pod_files(const ReviewedExample& r, const KubernetesOptions& options = {}) {
  const auto files = emit_kubernetes(*r.review, r.source, options);
  EXPECT_TRUE(files.has_value()) << (files ? "" : to_text(files.error()));
  return files.value_or(EmittedFiles());
}

std::string pod_file(std::string_view path, const KubernetesOptions& options = {}) {
  return directives(text_of(pod_files(*reviewed_as_pods(read_text(kPodsDesign)), options), path));
}

// Returns the values of `key`, in order.
std::vector<std::string> all_after(const std::string& text, std::string_view key) {
  std::vector<std::string> out;
  for (std::size_t at = 0; (at = text.find(key, at)) != std::string::npos;) {
    at += key.size();
    out.push_back(text.substr(at, text.find('\n', at) - at));
  }
  return out;
}

// The tenant has 12 of 80 accelerators, 15 %. Cores: 0.95 * 0.15 of 5 * 112, 3 * 112, 2 * 128 and 7
// * 16; GiB likewise of 2,048 per known host and 8 per core of an unknown one.
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
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: WorkloadPriorityClass
metadata:
  name: priority-0
value: 0
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: WorkloadPriorityClass
metadata:
  name: priority-7
value: 7
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

TEST(KubernetesQueues, a_tenant_has_a_queue_with_its_quota) {
  const std::string text = pod_file("queues.yaml");
  EXPECT_EQ(
      text.substr(0, text.find("---\napiVersion: v1\nkind: Namespace\nmetadata:\n  name: sh")),
      kVisionsQueue);
}

// The remaining 85 %.
TEST(KubernetesQueues, the_shared_queue_has_the_rest) {
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

TEST(KubernetesQueues, node_labels_are_set_by_a_script) {
  EXPECT_EQ(pod_file("label-nodes.sh"), kLabels);
}

TEST(KubernetesQueues, queues_follow_the_scheduler) {
  design::Design design = read_template("small-lab");
  design.scheduler.backfill = design::Backfill::none;
  design.scheduler.preemption = design::Preemption::requeue;
  design.workloads[0].terms.priority = -3;
  EXPECT_THAT(
      text_of(kubernetes_of(*reviewed(design)), "queues.yaml"),
      AllOf(HasSubstr("queueingStrategy: StrictFIFO\n"), HasSubstr("reclaimWithinCohort: Any\n"),
            HasSubstr("name: priority-minus-3\n"), HasSubstr("value: -3\n")));
  design.scheduler.backfill = design::Backfill::easy;
  design.scheduler.preemption = design::Preemption::none;
  EXPECT_THAT(text_of(kubernetes_of(*reviewed(design)), "queues.yaml"),
              AllOf(HasSubstr("queueingStrategy: BestEffortFIFO\n"),
                    HasSubstr("reclaimWithinCohort: Never\n")));
}

}  // namespace
}  // namespace orrery::emit
