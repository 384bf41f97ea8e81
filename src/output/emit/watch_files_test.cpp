// Files for Prometheus, planned values and DLIO by hand; Kubernetes objects against their schemas.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "output/emit/dlio.h"
#include "output/emit/hosts.h"
#include "output/emit/kubernetes.h"
#include "output/emit/prometheus.h"
#include "output/emit/prometheus_plan.h"
#include "output/emit/review_fixture.h"
#include "output/emit/stamp.h"

namespace orrery::emit {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

EmittedFiles watch_files(const char* name) {
  const auto r = reviewed(read_template(name));
  return emit_prometheus(*r->review, r->source).value();
}

std::vector<std::string> paths_of(const EmittedFiles& files) {
  std::vector<std::string> paths;
  for (const EmittedFile& f : files) paths.push_back(f.path);
  return paths;
}

TEST(WatchFiles, OfASlurmCluster) {
  const EmittedFiles files = watch_files("superpod-h100");
  EXPECT_EQ(paths_of(files),
            (std::vector<std::string>{
                "dcgm_counters.csv", "prometheus.yml", "rules/cluster.yml", "rules/gpu.yml",
                "rules/recording.yml", "rules/storage.yml", "rules/training.yml", "rules/watch.yml",
                "runbook.md", "targets/dcgm-train.yml", "targets/node-train.yml",
                "tests/cluster_test.yml", "tests/gpu_test.yml", "tests/storage_test.yml",
                "tests/training_test.yml", "tests/watch_test.yml"}));
  EXPECT_THAT(text_of(files, "prometheus.yml"),
              HasSubstr("global:\n  scrape_interval: 15s\n  evaluation_interval: 1m\nrule_files:\n"
                        "  - rules/recording.yml\n  - rules/cluster.yml\n  - rules/gpu.yml\n"
                        "  - rules/storage.yml\n  - rules/training.yml\n  - rules/watch.yml\n"
                        "scrape_configs:\n"
                        "  - job_name: orrery-dcgm\n    file_sd_configs:\n"
                        "      - files: [\"targets/dcgm-*.yml\"]\n"
                        "  - job_name: orrery-node\n    file_sd_configs:\n"
                        "      - files: [\"targets/node-*.yml\"]\n"
                        "  - job_name: orrery-exporter\n    static_configs:\n"
                        "      - targets: [\"127.0.0.1:9817\"]\n"));
  EXPECT_THAT(text_of(files, "prometheus.yml"), HasSubstr("promtool check config"));
  const std::string dcgm = text_of(files, "targets/dcgm-train.yml");
  EXPECT_THAT(dcgm, HasSubstr("- targets:\n    - \"train-001:9400\"\n    - \"train-002:9400\"\n"));
  EXPECT_THAT(dcgm, HasSubstr("  labels:\n    fleet: \"train\"\n    leaf: \""));
  EXPECT_THAT(dcgm, HasSubstr("\"train-127:9400\""));
  EXPECT_THAT(dcgm, Not(HasSubstr("\"train-128")));
  EXPECT_THAT(text_of(files, "targets/node-train.yml"), HasSubstr("\"train-001:9100\""));
  EXPECT_THAT(text_of(files, "tests/gpu_test.yml"),
              HasSubstr("rule_files:\n  - ../rules/recording.yml\n  - ../rules/gpu.yml\n"));
}

TEST(WatchFiles, OfPodsWithoutAccelerators) {
  const EmittedFiles files = watch_files("fraud-cpu");
  EXPECT_THAT(paths_of(files), Not(testing::Contains("dcgm_counters.csv")));
  EXPECT_THAT(paths_of(files), Not(testing::Contains("targets/dcgm-cpu.yml")));
  const std::string pods = text_of(files, "prometheus-kubernetes.yml");
  EXPECT_THAT(pods, HasSubstr("  - job_name: orrery-node\n    kubernetes_sd_configs:\n"
                              "      - role: pod\n"));
  EXPECT_THAT(pods, HasSubstr("        regex: \".*node-exporter.*\"\n        action: keep\n"));
  EXPECT_THAT(pods, HasSubstr("Some distributions build Prometheus without that discovery."));
  EXPECT_THAT(pods, Not(HasSubstr("orrery-dcgm")));
  EXPECT_THAT(text_of(files, "prometheus.yml"), Not(HasSubstr("orrery-dcgm")));
  EXPECT_THAT(text_of(watch_files("inference-pod"), "prometheus-kubernetes.yml"),
              HasSubstr("        regex: \".*dcgm-exporter.*\"\n"));
}

// A counter that a rule or a panel reads, and none that nobody does.
TEST(WatchFiles, CountersAndTheRunbook) {
  const EmittedFiles files = watch_files("superpod-h100");
  const std::string counters = text_of(files, "dcgm_counters.csv");
  EXPECT_THAT(counters, HasSubstr("# DCGM field, Prometheus type, help\n"
                                  "DCGM_FI_DEV_SM_CLOCK, gauge, SM clock frequency (in MHz).\n"));
  EXPECT_THAT(counters, HasSubstr("DCGM_EXP_XID_ERRORS_COUNT, gauge, "));
  EXPECT_THAT(counters, HasSubstr("DCGM_FI_PROF_PIPE_TENSOR_ACTIVE, "));
  EXPECT_THAT(counters, Not(HasSubstr("orrery_")));
  const std::string book = text_of(files, "runbook.md");
  EXPECT_EQ(book.find("# Runbook\n\nOf the design with digest "), 0U);
  EXPECT_THAT(book,
              HasSubstr("\n## GpuRowRemapFailure (page)\n\n&lt;Hostname> GPU &lt;gpu> cannot remap "
                        "a bad memory row.\n\nFirst: `ssh <Hostname> nvidia-smi -q -d ROW_REMAPPER "
                        "-i <gpu>`\n\nThen: Drain the node and replace the GPU.\n"));
  std::size_t missing = 0;
  for (std::size_t at = 0; (at = book.find("## MetricMissing", at)) != std::string::npos; ++at) {
    ++missing;
  }
  EXPECT_EQ(missing, 1U) << "one entry for all";
}

PlannedValue planned_one(const review::Review& r, std::string_view metric) {
  const auto all = planned_of(planned_values(r), metric);
  EXPECT_EQ(all.size(), 1U) << metric;
  return all.empty() ? PlannedValue{} : all[0];
}

TEST(PlannedByHand, OfARunsFailuresAndTime) {
  auto r = reviewed(read_template("superpod-h100"));
  review::TrainView& t = r->review->trains[0];
  t.failure.mtbf = hours(8);
  t.failure.rate_low = 0;
  t.failure.rate_high = 0.5;
  t.shares.saving = 0.04;
  t.step.matrix_share = 0.6;
  t.step.error = 0.1;
  PlannedValue daily = planned_one(*r->review, "failures_per_day");
  EXPECT_NEAR(daily.estimate.value, 3, 1e-9);
  EXPECT_NEAR(daily.estimate.low, 3, 1e-9) << "no range below";
  EXPECT_NEAR(daily.estimate.high, 3, 1e-9);
  t.failure.rate_low = 0.5;
  t.failure.rate_high = 4;
  daily = planned_one(*r->review, "failures_per_day");
  EXPECT_NEAR(daily.estimate.low, 1.5, 1e-9);
  EXPECT_NEAR(daily.estimate.high, 12, 1e-9);
  t.failure.rate_low = 2;
  EXPECT_NEAR(planned_one(*r->review, "failures_per_day").estimate.low, 3, 1e-9);
  for (const PlannedValue& v : planned_of(planned_values(*r->review), "time_share_ratio")) {
    if (v.labels != MetricLabels{{"kind", "checkpoint"}, {"workload", "pretrain"}}) continue;
    EXPECT_NEAR(v.estimate.value, 0.04, 1e-12);
    EXPECT_NEAR(v.estimate.low, 0.028, 1e-12);
    EXPECT_NEAR(v.estimate.high, 0.056, 1e-12);
  }
  EXPECT_NEAR(planned_one(*r->review, "matrix_share_ratio").estimate.high, 0.66, 1e-9);
  t.failure.mtbf = Seconds(0);
  EXPECT_TRUE(planned_of(planned_values(*r->review), "failures_per_day").empty());
}

// C = 0.4 waits of 100 s: one in ten longer than 100 ln 4.
TEST(PlannedByHand, OfAQueue) {
  auto r = reviewed(read_template("superpod-h100"));
  cluster::QueueWait& q = r->review->jobs[0].queue;
  q = {};
  q.stable = true;
  q.wait_chance = 0.4;
  q.mean_wait_of_waiting = seconds(100);
  q.mean_wait = seconds(40);
  q.mean_queue = 3;
  q.load = 0.7;
  const Estimate wait = planned_one(*r->review, "queue_wait_p90_seconds").estimate;
  EXPECT_NEAR(wait.value, 100 * std::log(4), 1e-9);
  EXPECT_NEAR(wait.low, 50 * std::log(4), 1e-9);
  EXPECT_NEAR(wait.high, 200 * std::log(4), 1e-9);
  EXPECT_NEAR(planned_one(*r->review, "queue_jobs").estimate.high, 6, 1e-9);
  EXPECT_NEAR(planned_one(*r->review, "queue_load_ratio").estimate.low, 0.63, 1e-9);
  q.wait_chance = 0.1;
  q.mean_wait = seconds(7);
  EXPECT_NEAR(planned_one(*r->review, "queue_wait_p90_seconds").estimate.value, 7, 1e-9);
  q.stable = false;
  EXPECT_TRUE(planned_of(planned_values(*r->review), "queue_jobs").empty());
  q.stable = true;
  r->review->jobs[0].from_trace = true;
  EXPECT_TRUE(planned_of(planned_values(*r->review), "queue_jobs").empty());
}

// A Poisson mean of 2 is above 5 for 0.0166 of the time and above 6 for 0.0045.
TEST(PlannedByHand, OfSparesAndRepairs) {
  auto r = reviewed(read_template("superpod-h100"));
  review::TrainView& t = r->review->trains[0];
  t.failure.mean_in_repair = 2;
  t.failure.node_rate = 1.0 / days(100);
  EXPECT_EQ(planned_one(*r->review, "spare_nodes").estimate.value, 6);
  const Estimate repair = planned_one(*r->review, "nodes_in_repair").estimate;
  EXPECT_NEAR(repair.value, 2, 1e-12);
  EXPECT_NEAR(repair.low, 1, 1e-12);
  EXPECT_NEAR(repair.high, 4, 1e-12);
  EXPECT_NEAR(planned_one(*r->review, "node_failures_per_month").estimate.value, 0.3, 1e-9);
  t.infeasible = "no";
  EXPECT_TRUE(planned_of(planned_values(*r->review), "spare_nodes").empty());
}

// Two runs behind one cache: the one that hits least counts, five per cent either way.
TEST(PlannedByHand, OfACacheThatTwoRunsRead) {
  design::Design d = read_template("av-vision");
  std::get<design::Train>(d.workloads[0].task).dataset.tier = "lake";
  auto r = reviewed(d);
  review::TrainView& first = r->review->trains[0];
  first.feed.hit_rate = 0.8;
  r->review->trains.push_back(first);
  r->review->trains[1].feed.hit_rate = 0.5;
  const Estimate hits = planned_one(*r->review, "cache_hit_ratio").estimate;
  EXPECT_NEAR(hits.value, 0.5, 1e-12);
  EXPECT_NEAR(hits.low, 0.475, 1e-12);
  EXPECT_NEAR(hits.high, 0.525, 1e-12);
  r->review->trains[1].feed.hit_rate = 0;
  EXPECT_NEAR(planned_one(*r->review, "cache_hit_ratio").estimate.value, 0.8, 1e-12);
  r->review->trains[0].feed.hit_rate = 0.99;
  EXPECT_EQ(planned_one(*r->review, "cache_hit_ratio").estimate.high, 1);
}

TEST(DlioByHand, OfEveryNumber) {
  auto r = reviewed(read_template("superpod-h100"));
  review::TrainView& t = r->review->trains[0];
  t.accelerators = 320;  // of a batch of 960: three each
  t.step.step = seconds(2.5);
  t.checkpoint->interval = seconds(100);  // 40 steps: four saves are 160
  t.feed.sample = kilobytes(32);
  t.feed.object = megabytes(1);  // 31 samples a shard
  t.feed.cores = 6.4;
  t.checkpoint->load.busiest_rank = Bytes(123456789);
  const auto text = [&] { return emit_dlio(*r->review, r->source)->at(0).text; };
  EXPECT_EQ(
      text(),
      stamp(r->source, "#") +
          "# First the data, then empty page caches on all hosts, then the run:\n"
          "# mpirun -np 320 dlio_benchmark workload=dlio-pretrain --config-dir=. "
          "++workload.workflow.generate_data=True ++workload.workflow.train=False\n"
          "# mpirun -np 320 dlio_benchmark workload=dlio-pretrain --config-dir=.\n"
          "model:\n  name: pretrain\n  model_size_bytes: 123456789\nframework: pytorch\n"
          "workflow:\n  generate_data: false\n  train: true\n  checkpoint: true\n"
          "dataset:\n  data_folder: \"/mnt/hot/dlio/pretrain\"\n  format: mmap_indexed_binary\n"
          "  num_files_train: 4955\n  num_samples_per_file: 31\n"
          "  record_length_bytes: 32000\n"
          "reader:\n  data_loader: pytorch\n  batch_size: 3\n  read_threads: 6\n"
          "  file_shuffle: " +
          (t.train->dataset.shuffle ? "seed\n  sample_shuffle: seed\n"
                                    : "\"off\"\n  sample_shuffle: \"off\"\n") +
          "train:\n  epochs: 1\n  total_training_steps: 160\n"
          "  # The planned step without waiting for data, in seconds.\n"
          "  computation_time: 2.5\n"
          "checkpoint:\n  checkpoint_folder: \"/mnt/hot/dlio/pretrain-save\"\n"
          "  # Every rank its own part, safe before it counts.\n"
          "  type: all_ranks\n  fsync: true\n  steps_between_checkpoints: 40\n"
          "metric:\n  au: 0.9\n");
  t.checkpoint->safe = nullptr;
  EXPECT_THAT(text(),
              HasSubstr("checkpoint_folder: \"/mnt/" + t.checkpoint->first->label + "/dlio"));
  t.checkpoint->first = nullptr;
  EXPECT_THAT(text(), Not(HasSubstr("checkpoint_folder")));
  t.checkpoint->interval = seconds(10);
  EXPECT_THAT(text(), HasSubstr("total_training_steps: 100\n")) << "a hundred at the least";
  t.checkpoint->interval = hours(10);
  EXPECT_THAT(text(), HasSubstr("total_training_steps: 1000\n")) << "a thousand at the most";
  t.label = "No Name";
  EXPECT_EQ(emit_dlio(*r->review, r->source).error()[0].code, "emit.name");
  t.label = "pretrain";
  t.feed.sample = Bytes(0);
  EXPECT_EQ(emit_dlio(*r->review, r->source).error()[0].code, "emit.no-reads");
}

std::vector<std::string> faults_in(const std::string& kind, const std::string& body) {
  std::vector<std::string> all;
  const std::string yaml = "apiVersion: " + kind + "\nmetadata:\n  name: a\n" + body;
  for (const Diagnostic& d : check_kubernetes(yaml, "f.yaml").faults) all.push_back(d.what);
  return all;
}

const std::string kClass = "storage.k8s.io/v1\nkind: StorageClass";
const std::string kQueue = "kueue.x-k8s.io/v1beta2\nkind: LocalQueue";
const std::string kTopology = "kueue.x-k8s.io/v1beta2\nkind: Topology";

TEST(KubernetesFacts, TypesOfValues) {
  using Texts = std::vector<std::string>;
  EXPECT_EQ(faults_in(kClass,
                      "provisioner: x\nallowVolumeExpansion: true\nreclaimPolicy: Retain\n"
                      "mountOptions: [a]\nparameters: { a.b/c: d }\n"),
            Texts{});
  EXPECT_EQ(faults_in(kClass, "provisioner: 12\n"),
            Texts{"StorageClass provisioner: must be a text, and would be read as something else"});
  EXPECT_EQ(faults_in(kClass, "provisioner: true\n"),
            Texts{"StorageClass provisioner: must be a text, and would be read as something else"});
  EXPECT_EQ(faults_in(kClass, "provisioner: \"12\"\n"), Texts{});
  EXPECT_EQ(faults_in(kClass, "provisioner: [a]\n"),
            Texts{"StorageClass provisioner: must be a single value"});
  EXPECT_EQ(faults_in(kClass, "allowVolumeExpansion: true\n"),
            Texts{"StorageClass provisioner: is required and missing"});
  EXPECT_EQ(faults_in(kClass, "provisioner: x\nallowVolumeExpansion: \"true\"\n"),
            Texts{"StorageClass allowVolumeExpansion: must be true or false"});
  EXPECT_EQ(faults_in(kClass, "provisioner: x\nreclaimPolicy: Keep\n"),
            Texts{"StorageClass reclaimPolicy: `Keep` is not one of the choices"});
  EXPECT_EQ(faults_in(kClass, "provisioner: x\nmountOptions: a\n"),
            Texts{"StorageClass mountOptions: must be a list"});
  EXPECT_EQ(faults_in(kClass, "provisioner: x\nparameters: [a]\n"),
            Texts{"StorageClass parameters: must be a map"});
  EXPECT_EQ(faults_in(kClass, "provisioner: x\nparameters: { \"a b\": c }\n"),
            Texts{"StorageClass parameters: has a key that is no name"});
  EXPECT_EQ(faults_in(kClass, "provisioner: x\nspeed: 1\n"),
            Texts{"StorageClass speed: no such field"});
  EXPECT_EQ(faults_in(kQueue, "spec: a\n"), Texts{"LocalQueue spec: must be a map"});
}

TEST(KubernetesFacts, RequiredFieldsOfItemsAndQuantities) {
  using Texts = std::vector<std::string>;
  EXPECT_EQ(faults_in(kTopology, "spec:\n  levels:\n    - nodeLabel: a\n"), Texts{});
  EXPECT_EQ(faults_in(kTopology, "spec:\n  levels:\n    - {}\n"),
            Texts{"Topology spec.levels[].nodeLabel: is required and missing"});
  EXPECT_EQ(faults_in(kTopology, "spec: {}\n"),
            Texts{"Topology spec.levels: is required and missing"});
  for (const char* good : {"1", "0.5", "500m", "36Gi", "2E", "\"3Ki\""}) {
    EXPECT_EQ(faults_in(kQueue, std::string("spec: { fairSharing: { weight: ") + good + " } }\n"),
              Texts{})
        << good;
  }
  for (const char* bad : {"x", "Gi", "1g", "1GiB", "-1", "1.2.3"}) {
    EXPECT_EQ(faults_in(kQueue, std::string("spec: { fairSharing: { weight: ") + bad + " } }\n"),
              Texts{"LocalQueue spec.fairSharing.weight: is no quantity"})
        << bad;
  }
}

TEST(KubernetesFacts, NamesLabelsAndUnknownKinds) {
  const auto said = [](const std::string& metadata) {
    std::vector<std::string> all;
    const auto check = check_kubernetes(
        "apiVersion: storage.k8s.io/v1\nkind: StorageClass\n"
        "provisioner: x\nmetadata: " +
            metadata + "\n",
        "f.yaml");
    for (const Diagnostic& d : check.faults) all.push_back(d.what);
    return all;
  };
  using Texts = std::vector<std::string>;
  EXPECT_EQ(said("{ name: a.b-c, namespace: n, labels: { x.y/z_1: \"1\" } }"), Texts{});
  EXPECT_EQ(said("{ name: A }"), Texts{"StorageClass metadata.name: no RFC 1123 name"});
  EXPECT_EQ(said("{ name: a, namespace: N }"),
            Texts{"StorageClass metadata.namespace: no RFC 1123 label"});
  EXPECT_EQ(said("{ name: a, labels: { k: 1 } }"),
            Texts{"StorageClass metadata: the value is no text"});
  EXPECT_EQ(said("{ name: a, annotations: { X.y/z: a } }"),
            Texts{"StorageClass metadata: no label key"});
  EXPECT_EQ(said("{ name: a, labels: { a-: b } }"), Texts{"StorageClass metadata: no label key"});
  const auto check = check_kubernetes(
      "# only words\n---\napiVersion: v1\nkind: Pod\nmetadata: { name: a }\n---\napiVersion: "
      "v1\nkind: ConfigMap\nmetadata: { name: a }\nbinaryData: { x: y }\ndata: { a: b }\n",
      "f.yaml");
  ASSERT_EQ(check.objects.size(), 2U);
  EXPECT_FALSE(check.objects[0].known);
  EXPECT_EQ(check.objects[0].kind, "Pod");
  ASSERT_EQ(check.faults.size(), 1U);
  EXPECT_EQ(check.faults[0].what, "no facts about `Pod` of `v1`");
  EXPECT_TRUE(check.objects[1].known);
  EXPECT_EQ(check.objects[1].api_version, "v1");
  EXPECT_EQ(check.objects[1].fields_checked, 4) << "metadata, binaryData, data and its item";
  EXPECT_EQ(check.objects[1].unchecked, Texts{"binaryData.x"});
}

TEST(KubernetesFacts, TheListOfWhatWasChecked) {
  const std::string config = "apiVersion: v1\nkind: ConfigMap\nmetadata: { name: a }\n";
  const EmittedFiles files = {{.path = "gpu-operator-values.yaml", .text = "x: 1\n"},
                              {.path = "a.yaml", .text = config + "---\n" + config},
                              {.path = "b.yaml", .text = config + "binaryData: { x: y }\n"},
                              {.path = "c.md", .text = "text"}};
  const std::string text = kubernetes_check_text(files);
  EXPECT_EQ(text.find("checked against the published schemas: required fields, types, closed sets\n"
                      "  ConfigMap (v1): 3 objects, 4 fields\n    not: binaryData.x\n"
                      "not checked: gpu-operator-values.yaml, c.md (no schema);"),
            0U)
      << text;
  const EmittedFiles one = {{.path = "a.yaml", .text = config}};
  EXPECT_THAT(kubernetes_check_text(one), HasSubstr("  ConfigMap (v1): 1 object, 1 fields\n"));
}

TEST(HostRanges, CountFromNothing) {
  EXPECT_EQ(HostFleet{}.hosts(), 0);
  EXPECT_EQ(HostFleet{}.hosts_per_node, 1);
  EXPECT_EQ(HostFleet{}.digits, 1);
  EXPECT_EQ(HostRange{}.from, 1);
  EXPECT_EQ(HostRange{}.count, 0);
  EXPECT_EQ(HostRange{}.fleet.value(), 0U);
}

}  // namespace
}  // namespace orrery::emit
