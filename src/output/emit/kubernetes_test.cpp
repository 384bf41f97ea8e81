// The Kubernetes objects of known designs, and the check that reads them back.
#include "output/emit/kubernetes.h"

#include <gmock/gmock.h>

#include <cmath>

#include "output/emit/review_fixture.h"

namespace orrery::emit {
namespace {

using testing::AllOf;
using testing::HasSubstr;

EmittedFiles kubernetes_of(const ReviewedExample& r) {
  const auto files = emit_kubernetes(*r.review, r.source);
  EXPECT_TRUE(files.has_value()) << (files ? "" : to_text(files.error()));
  return files.value_or(EmittedFiles());
}

TEST(EmitKubernetes, EveryTemplateForItPassesTheSchemas) {
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

TEST(EmitKubernetes, QuotasShareTheFleet) {
  design::Design lab = read_template("small-lab");
  lab.workloads.pop_back();  // its service wants slices of one size
  lab.fleet[1].mig = {{.profile = "1g.18gb", .count = 3}, {.profile = "2g.35gb", .count = 2}};
  const auto r = reviewed(lab);
  const EmittedFiles files = kubernetes_of(*r);
  // One dgx-h200 in three and two slices a GPU, half of them for each tenant.
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

// The name by which a vendor's plugin counts devices, for one run on a host of each.
TEST(EmitKubernetes, EveryVendorHasItsResource) {
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

TEST(EmitKubernetes, ATrainingRunIsAJobSetWithThePlan) {
  const auto r = reviewed(read_template("cloud-rental"));
  const EmittedFiles files = kubernetes_of(*r);
  const review::TrainView& train = r->review->trains.front();
  const std::string job = text_of(files, "job-" + train.label + ".yaml");
  EXPECT_THAT(job, AllOf(HasSubstr("parallelism: " + std::to_string(train.hosts) + '\n'),
                         HasSubstr("nvidia.com/gpu: 8\n"), HasSubstr("backoffLimit: 0\n"),
                         HasSubstr("ORRERY_CHECKPOINT_INTERVAL_S")));
  // 80 GB, less what the driver keeps.
  EXPECT_THAT(text_of(files, "devices.yaml"), HasSubstr("memory.compareTo(quantity('70Gi')) >= 0"));
}

// What the plan says of a service stands in its files.
TEST(EmitKubernetes, AServiceIsADeploymentWithItsScaler) {
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

TEST(EmitKubernetes, AReplicaAsksForItsSliceOrItsHost) {
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

TEST(EmitKubernetes, ZonesOfOneSiteAreServicesOfTheirFleets) {
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

TEST(EmitKubernetes, AnIsolatedTenantMayOnlySpeakToItself) {
  design::Design design = read_template("inference-pod");
  EXPECT_THAT(text_of(kubernetes_of(*reviewed(design)), "isolation.yaml"), HasSubstr("no file"));
  design.workloads.front().terms.isolate_tenant = true;
  const std::string policy = text_of(kubernetes_of(*reviewed(design)), "isolation.yaml");
  EXPECT_THAT(policy,
              AllOf(HasSubstr("kind: NetworkPolicy\n"), HasSubstr("podSelector: {}\n"),
                    HasSubstr("policyTypes: [Ingress, Egress]\n"), HasSubstr("port: 53\n")));
}

TEST(EmitKubernetes, AnObjectStoreIsClaimedByEveryTenant) {
  const auto r = reviewed(read_template("cloud-rental"));
  const std::string buckets = text_of(kubernetes_of(*r), "buckets.yaml");
  EXPECT_THAT(buckets, AllOf(HasSubstr("kind: BucketClaim\n"), HasSubstr("protocols: [S3]\n")));
}

TEST(EmitKubernetes, AnObjectStoreThatStandsIsMountedByEveryTenant) {
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

TEST(EmitKubernetes, ARunIsARayJobWhereAsked) {
  const auto r = reviewed(read_template("cloud-rental"));
  const auto files = emit_kubernetes(*r->review, r->source, {.ray = true});
  ASSERT_TRUE(files) << to_text(files.error());
  const review::TrainView& train = r->review->trains.front();
  const std::string job = text_of(*files, "job-" + train.label + ".yaml");
  EXPECT_THAT(job, AllOf(HasSubstr("kind: RayJob\n"),
                         HasSubstr("minReplicas: " + std::to_string(train.hosts) + '\n'),
                         HasSubstr("nvidia.com/gpu: 8\n")));
}

std::string faults_of(std::string_view yaml) {
  std::string out;
  for (const Diagnostic& d : check_kubernetes(yaml, "t.yaml").faults) out += d.what + '\n';
  return out;
}

constexpr std::string_view kGood = R"(
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: { name: a }
spec:
  queueingStrategy: StrictFIFO
  resourceGroups:
    - coveredResources: [cpu]
      flavors: [{ name: f, resources: [{ name: cpu, nominalQuota: "9" }] }]
)";

std::string broken(std::string_view from, std::string_view to) {
  std::string text(kGood);
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(CheckKubernetes, FindsEachKindOfFault) {
  EXPECT_EQ(faults_of(kGood), "");
  EXPECT_THAT(faults_of(broken("nominalQuota", "nominalQuta")),
              AllOf(HasSubstr("no such field"), HasSubstr("is required and missing")));
  EXPECT_THAT(faults_of(broken("StrictFIFO", "Strict")), HasSubstr("not one of the choices"));
  EXPECT_THAT(faults_of(broken("\"9\"", "nine")), HasSubstr("is no quantity"));
  EXPECT_THAT(faults_of(broken("[cpu]", "cpu")), HasSubstr("must be a list"));
  EXPECT_THAT(faults_of(broken("name: f,", "name: 7,")), HasSubstr("must be a text"));
  EXPECT_THAT(faults_of(broken("name: a", "name: A_b")), HasSubstr("no RFC 1123 name"));
  EXPECT_THAT(faults_of(broken("kind: ClusterQueue", "kind: Clusterqueue")),
              HasSubstr("no facts about"));
  EXPECT_FALSE(faults_of("a: [").empty());
}

TEST(CheckKubernetes, SaysWhatItDidNotCheck) {
  const auto r = reviewed(read_template("cloud-rental"));
  const std::string text = kubernetes_check_text(kubernetes_of(*r));
  EXPECT_THAT(text, AllOf(HasSubstr("JobSet (jobset.x-k8s.io/v1alpha2): 1 object"),
                          HasSubstr("not checked: gpu-operator-values.yaml"),
                          HasSubstr("CEL expressions")));
}

TEST(EmitKubernetes, RefusesADesignOfSlurmAlone) {
  const auto r = reviewed(read_template("superpod-h100"));
  const auto files = emit_kubernetes(*r->review, r->source);
  ASSERT_FALSE(files.has_value());
  EXPECT_EQ(files.error().front().code, "emit.scheduler");
}

}  // namespace
}  // namespace orrery::emit
