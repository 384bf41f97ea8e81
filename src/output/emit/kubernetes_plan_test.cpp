// Plans for Kubernetes by hand: trees of pods, shares of tenants, names of classes, refusals.
#include <gmock/gmock.h>

#include <algorithm>

#include "output/emit/kubernetes.h"
#include "output/emit/kubernetes_parts.h"
#include "output/emit/pods_fixture.h"

namespace orrery::emit {
namespace {

using testing::HasSubstr;
using testing::Not;

// Two pods over three units, one of them with a domain below it.
KubePlan pods_by_hand(const ReviewedExample& r) {
  KubePlan plan{.review = *r.review, .source = r.source};
  plan.hosts = hosts_of(*r.review, HostsOf::kubernetes).value();
  plan.hosts.fleets[HostFleetIndex(0)].digits = 3;
  plan.hosts.tree = {{"domain-whole-1", {}, {{HostFleetIndex(0), 1, 2}}},
                     {"su-2", {}, {{HostFleetIndex(0), 3, 1}, {HostFleetIndex(1), 1, 3}}},
                     {"su-3", {}, {{HostFleetIndex(2), 1, 2}}},
                     {"su-1", {"domain-whole-1"}, {}},
                     {"pod-1", {"su-1", "su-2"}, {}},
                     {"pod-2", {"su-3"}, {}},
                     {"core", {"pod-1", "pod-2"}, {}}};
  plan.fleets.resize(4);
  plan.tenants = {{"vision", 0.004}, {"shared", 0}};
  plan.cohort = "all";
  plan.topology = true;
  return plan;
}

TEST(KubernetesPlan, NodesKnowTheirUnitAndTheirPod) {
  const auto r = reviewed_as_pods(read_text(kPodsDesign));
  const KubePlan plan = pods_by_hand(*r);
  const auto lines = [](const char* range, const std::string& labels) {
    return std::string("for n in $(seq -f ") + range +
           "); do\n  kubectl label --overwrite node \"$n\" " + labels + "\ndone\n";
  };
  EXPECT_EQ(unstamped(label_script(plan)),
            "#!/bin/bash\n# Tells Kubernetes where each node stands. For the operator to read and "
            "run.\nset -eu\n\n" +
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

std::string levels_of(const KubePlan& plan) {
  const std::string text = queues_yaml(plan);
  const std::size_t at = text.find("  levels:\n");
  return at == std::string::npos ? "none" : text.substr(at, text.find("---", at) - at);
}

TEST(KubernetesPlan, LevelsOfTheTopology) {
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

// A share of 0.4 % and none at all weigh as one.
TEST(KubernetesPlan, ATenantWeighsSomething) {
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

TEST(KubernetesPlan, NamesAndQuantities) {
  EXPECT_EQ(quantity_gib(gib(3)), "3Gi");
  EXPECT_EQ(quantity_gib(gib(2.999)), "2Gi");
  EXPECT_EQ(quantity_gib(gib(3 - 1e-10)), "3Gi");
  EXPECT_EQ(quantity_gib(terabytes(2)), "1862Gi");
  EXPECT_EQ(mig_class("1g.18gb+me"), "mig-1g-18gb-me");
  catalog::Accelerator part;
  part.memory = gigabytes(94);
  EXPECT_EQ(device_class(part), "gpu-83gi");  // 89.3 GB
  const auto r = reviewed_as_pods(read_text(kPodsDesign));
  const KubePlan plan = pods_by_hand(*r);
  EXPECT_EQ(claim_name(plan.hosts.fleets[HostFleetIndex(1)]), "cut-host");
  design::Workload workload;
  EXPECT_EQ(tenant_of(plan, workload).name, "shared");
  workload.terms.tenant = "vision";
  EXPECT_EQ(tenant_of(plan, workload).name, "vision");
  workload.terms.tenant = "nobody";
  EXPECT_EQ(tenant_of(plan, workload).name, "shared");
}

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

TEST(KubernetesPlan, TenantsShareWhatThereIs) {
  EXPECT_EQ(weights_with({}), R"(shared "100" )");
  EXPECT_EQ(weights_with({{.tenant = "a", .share = 0.37}, {.tenant = "b", .accelerators = 20}}),
            R"(a "37" b "25" shared "38" )");
  EXPECT_EQ(weights_with({{.tenant = "a", .share = 0.75}, {.tenant = "b", .share = 0.5}}),
            R"(a "75" b "50" shared "1" )");
  EXPECT_EQ(weights_with({{.tenant = "shared", .share = 0.25}, {.tenant = "b", .share = 0.5}}),
            R"(shared "25" b "50" )");
}

TEST(KubernetesPlan, ADesignOfSlurmIsRefusedWithAReason) {
  design::Design design = read_text(kPodsDesign);
  design.scheduler.kind = design::SchedulerKind::slurm;
  const auto r = reviewed_as_pods(design);
  const auto files = emit_kubernetes(*r->review, r->source);
  ASSERT_FALSE(files);
  ASSERT_EQ(files.error().size(), 1U);
  const Diagnostic& d = files.error()[0];
  EXPECT_EQ(d.what, "the design gives no fleet to Kubernetes");
  EXPECT_EQ(d.why, "scheduler.kind is slurm, or no fleet has `partition: kubernetes`");
  EXPECT_EQ(d.fix, "set scheduler.kind to kubernetes or both, or emit slurm");
  EXPECT_EQ(d.place.line, 16);
}

// A rack is a domain of its 18 hosts, each of four GPUs; 186 GB, less 5 %, are 164 GiB.
TEST(KubernetesPlan, RacksAreDomains) {
  const auto r = reviewed_as_pods(read_text(R"(
orrery: 1
name: pods
site: { region: deu }
fleet:
  - { name: gold, node: gaudi3-ubb, count: 2 }
  - { name: racks, node: gb200-nvl72, count: 2, spares: 1 }
  - { name: loose, node: dgx-h100, count: 1, rent: { provider: aws } }
fabric: { compute: { topology: fat-tree, switch: qm9700 } }
scheduler: { kind: kubernetes, topology: tree }
)"));
  const auto files = emit_kubernetes(*r->review, r->source);
  ASSERT_TRUE(files) << to_text(files.error());
  const std::string queues = text_of(*files, "queues.yaml");
  EXPECT_THAT(queues, HasSubstr("    - nodeLabel: fabric.orrery/unit\n"
                                "    - nodeLabel: nvidia.com/gpu.clique\n"));
  EXPECT_THAT(queues, HasSubstr("  queueingStrategy: BestEffortFIFO\n  preemption:\n"
                                "    reclaimWithinCohort: Never\n"
                                "    withinClusterQueue: Never\n  resourceGroups:\n"));
  const std::string devices = unstamped(text_of(*files, "devices.yaml"));
  EXPECT_THAT(devices, HasSubstr("            deviceClassName: gpu-164gi\n"
                                 "            allocationMode: ExactCount\n            count: 4\n"
                                 "---\napiVersion: resource.nvidia.com/v1beta1\n"
                                 "kind: ComputeDomain\nmetadata:\n  name: racks-domain\n"
                                 "  namespace: shared\nspec:\n  numNodes: 0\n  channel:\n"
                                 "    resourceClaimTemplate:\n      name: racks-channel\n---\n"));
  EXPECT_EQ(devices.find("ComputeDomain"), devices.rfind("ComputeDomain"));
  EXPECT_THAT(devices, Not(HasSubstr("gold")));
  EXPECT_THAT(text_of(*files, "label-nodes.sh"),
              testing::AllOf(HasSubstr("'racks-%02g' 1 18)"), HasSubstr("'racks-%02g' 37 54)"),
                             HasSubstr("fleet.orrery/name=loose fabric.orrery/unit=net-loose\n")));
  EXPECT_THAT(text_of(*files, "mig.yaml"), HasSubstr("no file"));
  EXPECT_THAT(
      text_of(*files, "gpu-operator-values.yaml"),
      HasSubstr("mig:\n  strategy: single\nmigManager:\n  enabled: false\ndcgmExporter:\n"));
}

TEST(KubernetesPlan, TwoSitesArePods) {
  const auto r = reviewed_as_pods(read_text(R"(
orrery: 1
name: pods
sites:
  - { name: a, region: deu }
  - { name: b, region: fra }
fleet:
  - { name: one, site: a, node: dgx-h100, count: 2 }
  - { name: two, site: b, node: dgx-h100, count: 3 }
fabric: { compute: { topology: fat-tree, switch: qm9700 } }
scheduler: { kind: kubernetes, topology: tree }
)"));
  const auto files = emit_kubernetes(*r->review, r->source);
  ASSERT_TRUE(files) << to_text(files.error());
  EXPECT_THAT(text_of(*files, "queues.yaml"),
              HasSubstr("  levels:\n    - nodeLabel: fabric.orrery/pod\n"
                        "    - nodeLabel: fabric.orrery/unit\n"
                        "    - nodeLabel: kubernetes.io/hostname\n"));
  EXPECT_THAT(text_of(*files, "label-nodes.sh"),
              HasSubstr("fleet.orrery/name=two fabric.orrery/unit=su-2 fabric.orrery/pod=pod-2\n"));
  const bool is_script =
      std::ranges::find(*files, "label-nodes.sh", &EmittedFile::path)->executable;
  EXPECT_TRUE(is_script);
}

// By kind of tier and seller; what nobody makes for us cannot grow either.
TEST(KubernetesPlan, TiersAreMadeByTheirDriver) {
  const auto made = [](design::TierKind kind, const std::string& provider) {
    design::Design design = read_text(kPodsDesign);
    design.storage[0].kind = kind;
    design.storage[0].provider = provider;
    const auto r = reviewed_as_pods(design);
    const auto files = emit_kubernetes(*r->review, r->source);
    if (!files) return to_text(files.error());
    const std::string text = text_of(*files, "storage.yaml");
    const std::size_t at = text.find("provisioner: ");
    const std::size_t grows = text.find("allowVolumeExpansion: ", at) + 22;
    return text.substr(at + 13, text.find('\n', at) - at - 13) + ' ' +
           text.substr(grows, text.find('\n', grows) - grows);
  };
  using design::TierKind;
  EXPECT_EQ(made(TierKind::nfs, ""), "nfs.csi.k8s.io true");
  EXPECT_EQ(made(TierKind::nfs, "gcp"), "filestore.csi.storage.gke.io true");
  EXPECT_EQ(made(TierKind::nfs, "elsewhere"), "nfs.csi.k8s.io true");
  EXPECT_EQ(made(TierKind::parallel_fs, "azure"), "azurelustre.csi.azure.com true");
  EXPECT_EQ(made(TierKind::parallel_fs, ""), "kubernetes.io/no-provisioner false");
}

}  // namespace
}  // namespace orrery::emit
