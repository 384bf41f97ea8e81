#include <gmock/gmock.h>

#include "output/emit/kubernetes.h"
#include "output/emit/kubernetes_fixture.h"
#include "output/emit/pods_fixture.h"
#include "output/emit/review_fixture.h"

namespace orrery::emit {
namespace {

using testing::HasSubstr;
using testing::Not;

// Returns a run of 4 hosts with 12.5 failures that saves every 40.4 steps in 18.3 s.
std::unique_ptr<ReviewedExample> planned_words() {
  auto r = reviewed_as_pods(read_text(kPodsDesign));
  review::TrainView& train = r->review->trains.front();
  train.step.layout = "tp2 pp3 dp5";
  train.step.step = seconds(2.5);
  train.run_time = seconds(1000);
  train.failure.mtbf = seconds(80);
  train.checkpoint->interval = seconds(101);
  train.checkpoint->stall.safe = seconds(18.3);
  return r;
}

std::string words_of(const ReviewedExample& r, const KubernetesOptions& options = {}) {
  const auto files = emit_kubernetes(*r.review, r.source, options);
  EXPECT_TRUE(files.has_value()) << (files ? "" : to_text(files.error()));
  return files ? directives(text_of(*files, "job-words.yaml")) : "";
}

constexpr std::string_view kRunOfWords =
    R"(---
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata:
  name: words
  namespace: vision
  labels:
    kueue.x-k8s.io/queue-name: vision
    kueue.x-k8s.io/priority-class: priority-7
spec:
  suspend: true
  network:
    enableDNSHostnames: true
    subdomain: words
  failurePolicy:
    maxRestarts: 25
  replicatedJobs:
    - name: workers
      replicas: 1
      template:
        spec:
          parallelism: 4
          completions: 4
          completionMode: Indexed
          backoffLimit: 0
          template:
            metadata:
              annotations:
                kueue.x-k8s.io/podset-required-topology: fabric.orrery/unit
            spec:
              restartPolicy: Never
              terminationGracePeriodSeconds: 79
              nodeSelector:
                fleet.orrery/name: whole
              containers:
                - name: train
                  image: "example.invalid/train:1"
                  command: [train]
                  env:
                    - name: MASTER_ADDR
                      value: words-workers-0-0.words
                    - name: NNODES
                      value: "4"
                    - name: GPUS_PER_NODE
                      value: "8"
                    - name: ORRERY_LAYOUT
                      value: "tp2 pp3 dp5"
                    - name: ORRERY_STEP_S
                      value: "2.5"
                    - name: ORRERY_CHECKPOINT_INTERVAL_S
                      value: "101"
                    - name: ORRERY_CHECKPOINT_STEPS
                      value: "40"
                    - name: ORRERY_CHECKPOINT_MODE
                      value: async
                    - name: ORRERY_CHECKPOINT_TIER
                      value: files
                    - name: ORRERY_CHECKPOINT_SAFE_TIER
                      value: files
                  resources:
                    limits:
                      nvidia.com/gpu: 8
                  volumeMounts:
                    - name: files
                      mountPath: "/mnt/files"
              volumes:
                - name: files
                  persistentVolumeClaim:
                    claimName: files
)";

constexpr std::string_view kRayOfWords =
    R"(spec:
  suspend: true
  entrypoint: train
  shutdownAfterJobFinishes: true
  rayClusterSpec:
    headGroupSpec:
      rayStartParams:
        num-gpus: "0"
      template:
        spec:
          containers:
            - name: head
              image: "example.invalid/train:1"
              resources:
                limits:
                  cpu: "8"
                  memory: "32Gi"
    workerGroupSpecs:
      - groupName: workers
        replicas: 4
        minReplicas: 4
        maxReplicas: 4
        rayStartParams: {}
        template:
          metadata:
            annotations:
              kueue.x-k8s.io/podset-required-topology: fabric.orrery/unit
          spec:
            restartPolicy: Never
            terminationGracePeriodSeconds: 79
)";

TEST(KubernetesJobs, a_run_is_a_job_set) { EXPECT_EQ(words_of(*planned_words()), kRunOfWords); }

TEST(KubernetesJobs, a_run_is_a_ray_job_if_asked) {
  const std::string text = words_of(*planned_words(), {.ray = true});
  EXPECT_THAT(text, HasSubstr("apiVersion: ray.io/v1\nkind: RayJob\nmetadata:\n  name: words\n"
                              "  namespace: vision\n  labels:\n"
                              "    kueue.x-k8s.io/queue-name: vision\n"));
  EXPECT_THAT(text, HasSubstr(std::string(kRayOfWords)));
  EXPECT_TRUE(
      text.ends_with("            volumes:\n              - name: files\n"
                     "                persistentVolumeClaim:\n"
                     "                  claimName: files\n"))
      << text;
}

// Twice the expected failures, and at least ten.
TEST(KubernetesJobs, restart_limit_follows_the_expected_failures) {
  auto r = planned_words();
  review::TrainView& train = r->review->trains.front();
  train.failure.mtbf = seconds(200);
  EXPECT_THAT(words_of(*r), HasSubstr("    maxRestarts: 10\n"));
  train.failure.mtbf = seconds(182);  // 5.49
  EXPECT_THAT(words_of(*r), HasSubstr("    maxRestarts: 11\n"));
  train.failure.mtbf = seconds(0);
  EXPECT_THAT(words_of(*r), HasSubstr("    maxRestarts: 10\n"));
}

// Four hosts of the fleet are on the first unit, two on the second.
TEST(KubernetesJobs, a_run_that_fits_a_unit_must_stay_in_one) {
  auto r = planned_words();
  review::TrainView& train = r->review->trains.front();
  train.hosts = 5;
  EXPECT_THAT(words_of(*r), HasSubstr("                kueue.x-k8s.io/podset-preferred-topology: "
                                      "fabric.orrery/unit\n"));
  train.hosts = 1;
  EXPECT_THAT(words_of(*r), HasSubstr("podset-required-topology: fabric.orrery/unit\n"));
}

TEST(KubernetesJobs, without_a_topology_there_is_no_placement) {
  design::Design design = read_text(kPodsDesign);
  design.scheduler.topology = design::PlacementTopology::none;
  const auto r = reviewed_as_pods(design);
  EXPECT_THAT(words_of(*r), Not(HasSubstr("topology")));
  const auto files = emit_kubernetes(*r->review, r->source);
  ASSERT_TRUE(files);
  EXPECT_THAT(text_of(*files, "queues.yaml"), Not(HasSubstr("opology")));
}

// Only tiers that a pod can mount and others can reach: no object store and no node-local disks.
TEST(KubernetesJobs, each_tier_is_mounted_once) {
  auto r = planned_words();
  review::TrainView& train = r->review->trains.front();
  const auto& tiers = r->review->tiers();
  const auto tier = [&tiers](std::string_view label) {
    return &*std::ranges::find(tiers, label, &machine::Tier::label);
  };
  train.feed.tier = tier("shelf");
  train.checkpoint->first = tier("node-nvme");
  train.checkpoint->safe = tier("disks");
  EXPECT_THAT(words_of(*r), Not(HasSubstr("volume")));
  train.checkpoint->safe = tier("files");
  EXPECT_THAT(words_of(*r), HasSubstr("                  volumeMounts:\n"
                                      "                    - name: files\n"
                                      "                      mountPath: \"/mnt/files\"\n"
                                      "              volumes:\n"
                                      "                - name: files\n"
                                      "                  persistentVolumeClaim:\n"
                                      "                    claimName: files\n"));
  train.checkpoint->safe = nullptr;
  train.checkpoint->first = tier("files");
  EXPECT_THAT(words_of(*r), HasSubstr("claimName: files\n"));
}

// Names of a design that are checked, each with its place.
TEST(KubernetesJobs, names_that_no_object_can_have_are_refused) {
  const auto refused = [](const auto& change) {
    design::Design design = read_text(kPodsDesign);
    change(design);
    const auto r = reviewed_as_pods(design);
    const auto files = emit_kubernetes(*r->review, r->source);
    return files ? "" : codes_of(files.error());
  };
  EXPECT_EQ(refused([](design::Design&) {}), "");
  EXPECT_EQ(refused([](design::Design& d) { d.name = "A B"; }), "emit.name \"A B\"\n");
  EXPECT_EQ(refused([](design::Design& d) { d.scheduler.quotas[0].tenant = "V"; }),
            "emit.name \"V\"\n");
  EXPECT_EQ(refused([](design::Design& d) { d.storage[0].name = "F_s"; }), "emit.name \"F_s\"\n");
  EXPECT_EQ(refused([](design::Design& d) { d.storage[2].name = "S_s"; }), "emit.name \"S_s\"\n");
  EXPECT_EQ(refused([](design::Design& d) { d.workloads[1].terms.name = "S s"; }),
            "emit.name \"S s\"\n");
  EXPECT_EQ(refused([](design::Design& d) {
              d.name = "A B";
              d.scheduler.quotas[0].tenant = "V";
            }),
            "emit.name \"V\"\nemit.name \"A B\"\n");
}

}  // namespace
}  // namespace orrery::emit
