#include "output/emit/kubernetes.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>

#include "output/emit/kubernetes_fixture.h"
#include "output/emit/pods_fixture.h"
#include "output/emit/review_fixture.h"

namespace orrery::emit {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// A rack is a domain of its 18 hosts, each with four GPUs; 186 GB less 5 % are 164 GiB.
TEST(Kubernetes, racks_are_compute_domains) {
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
  const std::string devices = directives(text_of(*files, "devices.yaml"));
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

TEST(Kubernetes, each_site_is_a_pod) {
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

TEST(Kubernetes, templates_pass_the_schemas) {
  for (const char* name : {"cloud-rental", "inference-pod", "small-lab", "recommender",
                           "chatbot-zones", "fraud-cpu", "medical-imaging"}) {
    const auto r = reviewed(read_template(name));
    for (const EmittedFile& f : kubernetes_of(*r)) {
      if (!f.path.ends_with(".yaml") || f.path == "gpu-operator-values.yaml") continue;
      const KubernetesCheck check = check_kubernetes(f.text, f.path);
      EXPECT_EQ(to_text(check.faults), "") << name << ' ' << f.path;
      EXPECT_FALSE(check.objects.empty()) << f.path;
      for (const KindCheck& k : check.objects) EXPECT_TRUE(k.known) << k.kind;
    }
  }
}

TEST(Kubernetes, quotas_share_the_fleet) {
  design::Design lab = read_template("small-lab");
  lab.workloads.pop_back();  // its service needs slices of one size
  lab.fleet[1].mig = {{.profile = "1g.18gb", .count = 3}, {.profile = "2g.35gb", .count = 2}};
  const auto r = reviewed(lab);
  const EmittedFiles files = kubernetes_of(*r);
  // One dgx-h200 with three and two slices per GPU, half of them for each tenant.
  EXPECT_THAT(
      text_of(files, "queues.yaml"),
      AllOf(HasSubstr("name: vision\n"), HasSubstr("cohortName: small-lab\n"),
            HasSubstr("- name: nvidia.com/mig-1g.18gb\n              nominalQuota: \"12\"\n"),
            HasSubstr("- name: nvidia.com/mig-2g.35gb\n              nominalQuota: \"8\"\n")));
  EXPECT_THAT(text_of(files, "mig.yaml"),
              AllOf(HasSubstr("\"1g.18gb\": 3\n"), HasSubstr("\"2g.35gb\": 2\n")));
  EXPECT_THAT(text_of(files, "devices.yaml"),
              HasSubstr("device.attributes['gpu.nvidia.com'].profile == '1g.18gb'"));
}

// The name with which a vendor's plugin counts devices, for one run on a host of each vendor.
TEST(Kubernetes, each_vendor_has_its_resource_name) {
  const auto job = [](const std::string& node) {
    const auto r = reviewed(read_text(
        "orrery: 1\nname: a\nsite: { region: usa }\nfleet: [{ name: f, node: " + node +
        ", count: 2 }]\nfabric: { compute: { topology: fat-tree, switch: sn5600 } }\n"
        "scheduler: { kind: kubernetes }\n"
        "workloads: [{ train: { name: t, model: llama-3-8b, tokens: 1B, batch: 256 } }]\n"));
    return text_of(kubernetes_of(*r), "job-t.yaml");
  };
  EXPECT_THAT(job("dgx-h100"), HasSubstr("nvidia.com/gpu: 8\n"));
  EXPECT_THAT(job("mi300x-platform"), HasSubstr("amd.com/gpu: 8\n"));
  EXPECT_THAT(job("gaudi3-ubb"), HasSubstr("habana.ai/gaudi: 8\n"));
  EXPECT_THAT(job("aws-trn2-ultra"), HasSubstr("aws.amazon.com/neuron: "));
}

TEST(Kubernetes, a_job_set_carries_the_plan) {
  const auto r = reviewed(read_template("cloud-rental"));
  const EmittedFiles files = kubernetes_of(*r);
  const review::TrainView& train = r->review->trains.front();
  const std::string job = text_of(files, "job-" + train.label + ".yaml");
  EXPECT_THAT(job, AllOf(HasSubstr("parallelism: " + std::to_string(train.hosts) + '\n'),
                         HasSubstr("nvidia.com/gpu: 8\n"), HasSubstr("backoffLimit: 0\n"),
                         HasSubstr("ORRERY_CHECKPOINT_INTERVAL_S")));
  // 80 GB less what the driver reserves.
  EXPECT_THAT(text_of(files, "devices.yaml"), HasSubstr("memory.compareTo(quantity('70Gi')) >= 0"));
}

// The files of a service carry its plan.
TEST(Kubernetes, a_service_is_a_deployment_with_a_scaler) {
  const auto r = reviewed(read_template("inference-pod"));
  const EmittedFiles files = kubernetes_of(*r);
  ASSERT_FALSE(r->review->serves.empty());
  const review::ServeView& s = r->review->serves.front();
  const std::string text = text_of(files, "service-" + s.label + ".yaml");
  EXPECT_THAT(text, AllOf(HasSubstr("kind: Deployment\n"), HasSubstr("kind: Service\n"),
                          HasSubstr("kind: HorizontalPodAutoscaler\n"),
                          HasSubstr("kind: PodDisruptionBudget\n")));
  const std::string replicas = std::to_string(static_cast<int>(std::ceil(s.replicas)));
  EXPECT_THAT(text,
              AllOf(HasSubstr("  replicas: " + replicas + '\n'),
                    HasSubstr("maxReplicas: " + replicas + '\n'),
                    HasSubstr("nvidia.com/gpu: " + std::to_string(s.devices_per_replica) + '\n')));
}

TEST(Kubernetes, a_replica_claims_a_slice_or_a_host) {
  const auto lab = reviewed(read_template("small-lab"));
  EXPECT_THAT(text_of(kubernetes_of(*lab), "service-assistant.yaml"),
              HasSubstr("nvidia.com/mig-2g.35gb: 1\n"));
  design::Design design = read_template("small-lab");
  design.fleet[1] = {.name = "slices", .node = "cpu-2s-server", .count = 4};
  design.fleet[1].partition = lab->review->design().fleet[1].partition;
  design.fleet[1].custom = design::CustomNode{.cores = 96};
  std::get<design::Serve>(design.workloads.back().task).model = "qwen3-0.6b";
  EXPECT_THAT(text_of(kubernetes_of(*reviewed(design)), "service-assistant.yaml"),
              HasSubstr("cpu: \"94\"\n"));
}

TEST(Kubernetes, zones_of_one_site_are_separate_services) {
  design::Design design = read_template("chatbot-zones");
  design.fleet[1].site = design.fleet[0].site;
  auto& chatbot = std::get<design::Serve>(design.workloads.front().task);
  chatbot.zones[1].site = chatbot.zones[0].site;
  const EmittedFiles files = kubernetes_of(*reviewed(design));
  for (const char* name : {"chatbot-in-us-east-us-east", "chatbot-in-us-east-us-west"}) {
    EXPECT_THAT(text_of(files, "service-" + std::string(name) + ".yaml"),
                HasSubstr("name: " + std::string(name) + '\n'));
  }
}

TEST(Kubernetes, an_isolated_tenant_talks_to_itself_only) {
  design::Design design = read_template("inference-pod");
  EXPECT_THAT(text_of(kubernetes_of(*reviewed(design)), "isolation.yaml"), HasSubstr("no file"));
  design.workloads.front().terms.isolate_tenant = true;
  const std::string policy = text_of(kubernetes_of(*reviewed(design)), "isolation.yaml");
  EXPECT_THAT(policy,
              AllOf(HasSubstr("kind: NetworkPolicy\n"), HasSubstr("podSelector: {}\n"),
                    HasSubstr("policyTypes: [Ingress, Egress]\n"), HasSubstr("port: 53\n")));
}

TEST(Kubernetes, every_tenant_claims_the_object_store) {
  const auto r = reviewed(read_template("cloud-rental"));
  const std::string buckets = text_of(kubernetes_of(*r), "buckets.yaml");
  EXPECT_THAT(buckets, AllOf(HasSubstr("kind: BucketClaim\n"), HasSubstr("protocols: [S3]\n")));
}

TEST(Kubernetes, a_given_object_store_is_mounted_by_every_tenant) {
  design::Design design = read_template("inference-pod");
  design.storage.push_back(
      {.name = "shelf", .tier = design::Tier::warm, .kind = design::TierKind::object});
  const auto r = reviewed(design);
  EXPECT_THAT(text_of(kubernetes_of(*r), "object-volumes.yaml"), HasSubstr("no file"));
  const auto files =
      emit_kubernetes(*r->review, r->source, {.object_store = "https://store-1:8118"});
  ASSERT_TRUE(files) << to_text(files.error());
  const std::string volumes = text_of(*files, "object-volumes.yaml");
  EXPECT_THAT(volumes,
              AllOf(HasSubstr("kind: PersistentVolume\n"), HasSubstr("driver: s3.csi.aws.com\n"),
                    HasSubstr("bucketName: shelf\n"), HasSubstr("name: shelf-shared\n"),
                    HasSubstr("endpoint-url https://store-1:8118"), HasSubstr("prefix shared/"),
                    HasSubstr("volumeName: shelf-shared\n")));
  for (const char* wrong : {"store-1:8118", "http://", "https://a b", "http://s/x?y"}) {
    const auto refused = emit_kubernetes(*r->review, r->source, {.object_store = wrong});
    ASSERT_FALSE(refused) << wrong;
    EXPECT_EQ(refused.error().front().code, "emit.object-store");
  }
}

TEST(Kubernetes, a_ray_job_has_the_hosts_of_the_run) {
  const auto r = reviewed(read_template("cloud-rental"));
  const auto files = emit_kubernetes(*r->review, r->source, {.ray = true});
  ASSERT_TRUE(files) << to_text(files.error());
  const review::TrainView& train = r->review->trains.front();
  const std::string job = text_of(*files, "job-" + train.label + ".yaml");
  EXPECT_THAT(job, AllOf(HasSubstr("kind: RayJob\n"),
                         HasSubstr("minReplicas: " + std::to_string(train.hosts) + '\n'),
                         HasSubstr("nvidia.com/gpu: 8\n")));
}

TEST(Kubernetes, a_slurm_design_is_refused) {
  const auto r = reviewed(read_template("superpod-h100"));
  const auto files = emit_kubernetes(*r->review, r->source);
  ASSERT_FALSE(files.has_value());
  EXPECT_EQ(files.error().front().code, "emit.scheduler");
}

}  // namespace
}  // namespace orrery::emit
