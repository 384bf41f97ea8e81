// What runs, queues, tiers and services ask of Kubernetes, by hand.
#include <gmock/gmock.h>

#include <cmath>

#include "output/emit/kubernetes.h"
#include "output/emit/review_fixture.h"

namespace orrery::emit {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

EmittedFiles kube_files(const design::Design& design) {
  const auto r = reviewed(design);
  const auto files = emit_kubernetes(*r->review, r->source);
  EXPECT_TRUE(files.has_value()) << (files ? "" : to_text(files.error()));
  return files.value_or(EmittedFiles());
}

// 112 cores and 2,048 GiB a host, of which 95 % are for pods and half are a tenant's.
TEST(KubernetesRuns, AQueueGetsItsShareOfAllHosts) {
  design::Design design = read_template("small-lab");
  design.fleet[1].count = 3;
  EXPECT_THAT(text_of(kube_files(design), "queues.yaml"),
              AllOf(HasSubstr("- name: cpu\n              nominalQuota: \"159\"\n"),
                    HasSubstr("- name: memory\n              nominalQuota: \"2918Gi\"\n"),
                    HasSubstr("weight: \"50\"\n")));
}

TEST(KubernetesRuns, QueuesFollowTheScheduler) {
  design::Design design = read_template("small-lab");
  design.scheduler.backfill = design::Backfill::none;
  design.scheduler.preemption = design::Preemption::requeue;
  design.workloads[0].terms.priority = -3;
  EXPECT_THAT(
      text_of(kube_files(design), "queues.yaml"),
      AllOf(HasSubstr("queueingStrategy: StrictFIFO\n"), HasSubstr("reclaimWithinCohort: Any\n"),
            HasSubstr("name: priority-minus-3\n"), HasSubstr("value: -3\n")));
  design.scheduler.backfill = design::Backfill::easy;
  design.scheduler.preemption = design::Preemption::none;
  EXPECT_THAT(text_of(kube_files(design), "queues.yaml"),
              AllOf(HasSubstr("queueingStrategy: BestEffortFIFO\n"),
                    HasSubstr("reclaimWithinCohort: Never\n")));
}

// Every host is labelled once, with its own unit.
TEST(KubernetesRuns, NodesAreLabelledFromTheFirstToTheLastOfTheirUnit) {
  design::Design design = read_template("superpod-h100");
  design.scheduler.kind = design::SchedulerKind::kubernetes;
  EXPECT_THAT(text_of(kube_files(design), "label-nodes.sh"),
              AllOf(HasSubstr("seq -f 'train-%03g' 1 32)"), HasSubstr("seq -f 'train-%03g' 33 64)"),
                    HasSubstr("seq -f 'train-%03g' 97 127)")));
}

TEST(KubernetesRuns, HostsOfARackMeetInAComputeDomain) {
  design::Design design = read_template("superpod-gb200");
  design.scheduler.kind = design::SchedulerKind::kubernetes;
  EXPECT_THAT(text_of(kube_files(design), "devices.yaml"), HasSubstr("kind: ComputeDomain\n"));
  EXPECT_THAT(text_of(kube_files(read_template("cloud-rental")), "devices.yaml"),
              Not(HasSubstr("kind: ComputeDomain\n")));
}

TEST(KubernetesRuns, TheOperatorKnowsSlicesAndDirectStorage) {
  EXPECT_THAT(text_of(kube_files(read_template("small-lab")), "gpu-operator-values.yaml"),
              AllOf(HasSubstr("strategy: mixed\n"), HasSubstr("gds:\n  enabled: false\n")));
  design::Design design = read_template("cloud-rental");
  EXPECT_THAT(text_of(kube_files(design), "gpu-operator-values.yaml"),
              HasSubstr("strategy: single\n"));
  design.storage[0].tier = design::Tier::gpu_direct;
  EXPECT_THAT(text_of(kube_files(design), "gpu-operator-values.yaml"),
              HasSubstr("gds:\n  enabled: true\n"));
}

// 180 TB of NFS, half for each tenant; what is on the nodes goes with its claim.
TEST(KubernetesRuns, TiersAreClaimedByShareAndOutliveTheirClaims) {
  EXPECT_THAT(text_of(kube_files(read_template("small-lab")), "storage.yaml"),
              AllOf(HasSubstr("provisioner: nfs.csi.k8s.io\nreclaimPolicy: Retain\n"),
                    HasSubstr("storage: \"83819Gi\"\n")));
  design::Design rental = read_template("cloud-rental");
  EXPECT_THAT(text_of(kube_files(rental), "storage.yaml"),
              HasSubstr("reclaimPolicy: Delete\nvolumeBindingMode: WaitForFirstConsumer\n"));
  rental.storage[0].provider = "aws";
  EXPECT_THAT(text_of(kube_files(rental), "storage.yaml"),
              HasSubstr("provisioner: fsx.csi.aws.com\nreclaimPolicy: Retain\n"));
}

// Twice the failures that the plan expects, ten at least.
TEST(KubernetesRuns, ARunMayRestartTwiceAsOftenAsItIsExpectedToFail) {
  const auto r = reviewed(read_template("cloud-rental"));
  const review::TrainView& train = r->review->trains.front();
  const double failures = train.run_time / train.failure.mtbf;
  ASSERT_GT(failures, 6);
  EXPECT_THAT(text_of(kube_files(read_template("cloud-rental")), "job-pretrain.yaml"),
              HasSubstr("maxRestarts: " + std::to_string(std::llround(2 * failures)) + '\n'));
}

TEST(KubernetesRuns, AGangThatFitsAUnitMustLieInOne) {
  design::Design design = read_template("superpod-h100");
  design.scheduler.kind = design::SchedulerKind::kubernetes;
  const auto job = [&design] { return text_of(kube_files(design), "job-pretrain.yaml"); };
  EXPECT_THAT(job(), HasSubstr("podset-preferred-topology: fabric.orrery/unit\n"));
  design.workloads[0].terms.nodes = 32;
  EXPECT_THAT(job(), HasSubstr("podset-required-topology: fabric.orrery/unit\n"));
}

// Between what the mean traffic needs and what the peak does, two where one may fail.
TEST(KubernetesRuns, AServiceScalesBetweenItsMeanAndItsPeak) {
  design::Design design = read_template("inference-pod");
  auto& serve = std::get<design::Serve>(design.workloads.front().task);
  serve.arrivals.peak = 4;
  const auto r = reviewed(design);
  const review::ServeView& view = r->review->serves.front();
  ASSERT_TRUE(view.feasible());
  ASSERT_GT(view.replicas_needed, 8);
  const std::string text = text_of(kube_files(design), "service-" + view.label + ".yaml");
  const int least = static_cast<int>(std::ceil(view.replicas_needed / 4));
  EXPECT_THAT(text, HasSubstr("minReplicas: " + std::to_string(least) + '\n'));
  serve.arrivals.rate = serve.arrivals.rate / 1000;
  serve.replicas = 2;
  EXPECT_THAT(text_of(kube_files(design), "service-" + view.label + ".yaml"),
              AllOf(HasSubstr("minReplicas: 2\n"), HasSubstr("maxReplicas: 2\n")));
}

TEST(KubernetesRuns, TheEngineIsToldItsTwoWaysOfBeingCut) {
  design::Design design = read_template("inference-pod");
  auto& serve = std::get<design::Serve>(design.workloads.front().task);
  serve.engine = "vllm";
  serve.tp = 4;
  serve.pp = 2;
  const auto r = reviewed(design);
  const review::ServeView& view = r->review->serves.front();
  ASSERT_TRUE(view.feasible());
  ASSERT_EQ(view.devices_per_replica, 8);
  EXPECT_THAT(text_of(kube_files(design), "service-" + view.label + ".yaml"),
              HasSubstr("\"--tensor-parallel-size\", \"4\", \"--pipeline-parallel-size\", \"2\""));
}

TEST(KubernetesRuns, TheEngineIsToldHowItsWeightsAreStored) {
  const auto emitted = [](catalog::Precision precision) {
    design::Design design = read_template("inference-pod");
    auto& serve = std::get<design::Serve>(design.workloads.front().task);
    serve.precision = precision;
    const auto r = reviewed(design);
    EXPECT_TRUE(r->review->serves.front().feasible());
    return text_of(kube_files(design), "service-" + r->review->serves.front().label + ".yaml");
  };
  const auto told = HasSubstr("\"--quantization\", fp8");
  const auto on_disk = HasSubstr("a checkpoint in 4 bits");
  EXPECT_THAT(emitted(catalog::Precision::fp8), AllOf(told, Not(on_disk)));
  EXPECT_THAT(emitted(catalog::Precision::bf16), AllOf(Not(told), Not(on_disk)));
  EXPECT_THAT(emitted(catalog::Precision::int4), AllOf(Not(told), on_disk));
}

TEST(KubernetesRuns, TheEngineIsToldItsAdapters) {
  const auto emitted = [](const std::string& engine, const design::Adapters& adapters) {
    design::Design design = read_template("inference-pod");
    auto& serve = std::get<design::Serve>(design.workloads.front().task);
    serve.engine = engine;
    serve.adapters = adapters;
    const auto r = reviewed(design);
    EXPECT_TRUE(r->review->serves.front().feasible()) << r->review->serves.front().infeasible;
    return text_of(kube_files(design), "service-" + r->review->serves.front().label + ".yaml");
  };
  const std::string all = emitted("vllm", {.count = 200, .rank = 12, .slots = 8});
  EXPECT_THAT(all, HasSubstr("\"--enable-lora\", \"--max-loras\", \"8\", \"--max-lora-rank\", "
                             "\"16\", \"--max-cpu-loras\", \"200\""));
  EXPECT_THAT(all, Not(HasSubstr("--lora-target-modules")));
  EXPECT_THAT(emitted("vllm", {.count = 2, .slots = 4, .targets = {"qkv", "o"}}),
              HasSubstr("\"--max-cpu-loras\", \"4\", \"--lora-target-modules\", qkv_proj, o_proj"));
  EXPECT_THAT(emitted("sglang", {.count = 200, .rank = 12, .slots = 8, .targets = {"mlp"}}),
              HasSubstr("\"--enable-lora\", \"--max-loras-per-batch\", \"8\", \"--max-lora-rank\", "
                        "\"12\", \"--lora-target-modules\", gate_proj, up_proj, down_proj"));
}

}  // namespace
}  // namespace orrery::emit
