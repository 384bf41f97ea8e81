#include "output/emit/prometheus.h"

#include <gmock/gmock.h>

#include "output/emit/review_fixture.h"

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

TEST(Prometheus, files_of_a_slurm_cluster) {
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
  const std::string dcgm = text_of(files, "targets/dcgm-train.yml");
  EXPECT_THAT(dcgm, HasSubstr("- targets:\n    - \"train-001:9400\"\n    - \"train-002:9400\"\n"));
  EXPECT_THAT(dcgm, HasSubstr("  labels:\n    fleet: \"train\"\n    leaf: \""));
  EXPECT_THAT(dcgm, HasSubstr("\"train-127:9400\""));
  EXPECT_THAT(dcgm, Not(HasSubstr("\"train-128")));
  EXPECT_THAT(text_of(files, "targets/node-train.yml"), HasSubstr("\"train-001:9100\""));
  EXPECT_THAT(text_of(files, "tests/gpu_test.yml"),
              HasSubstr("rule_files:\n  - ../rules/recording.yml\n  - ../rules/gpu.yml\n"));
}

TEST(Prometheus, pods_without_accelerators_have_no_gpu_targets) {
  const EmittedFiles files = watch_files("fraud-cpu");
  EXPECT_THAT(paths_of(files), Not(testing::Contains("dcgm_counters.csv")));
  EXPECT_THAT(paths_of(files), Not(testing::Contains("targets/dcgm-cpu.yml")));
  const std::string pods = text_of(files, "prometheus-kubernetes.yml");
  EXPECT_THAT(pods, HasSubstr("  - job_name: orrery-node\n    kubernetes_sd_configs:\n"
                              "      - role: pod\n"));
  EXPECT_THAT(pods, HasSubstr("        regex: \".*node-exporter.*\"\n        action: keep\n"));
  EXPECT_THAT(pods, Not(HasSubstr("orrery-dcgm")));
  EXPECT_THAT(text_of(files, "prometheus.yml"), Not(HasSubstr("orrery-dcgm")));
  EXPECT_THAT(text_of(watch_files("inference-pod"), "prometheus-kubernetes.yml"),
              HasSubstr("        regex: \".*dcgm-exporter.*\"\n"));
}

// Only counters that a rule or a panel reads are collected.
TEST(Prometheus, counters_and_runbook_match_the_rules) {
  const EmittedFiles files = watch_files("superpod-h100");
  const std::string counters = text_of(files, "dcgm_counters.csv");
  EXPECT_THAT(counters, HasSubstr("\nDCGM_FI_DEV_SM_CLOCK, gauge, "));
  EXPECT_THAT(counters, HasSubstr("DCGM_EXP_XID_ERRORS_COUNT, gauge, "));
  EXPECT_THAT(counters, HasSubstr("DCGM_FI_PROF_PIPE_TENSOR_ACTIVE, "));
  EXPECT_THAT(counters, Not(HasSubstr("orrery_")));
  const std::string book = text_of(files, "runbook.md");
  EXPECT_THAT(book, HasSubstr("\n## GpuRowRemapFailure (page)\n\n&lt;Hostname>"));
  EXPECT_THAT(book, HasSubstr("`ssh <Hostname> nvidia-smi -q -d ROW_REMAPPER -i <gpu>`\n"));
  std::size_t missing = 0;
  for (std::size_t at = 0; (at = book.find("## MetricMissing", at)) != std::string::npos; ++at) {
    ++missing;
  }
  EXPECT_EQ(missing, 1U);
}

}  // namespace
}  // namespace orrery::emit
