// The emitted Slurm files with the real slurmctld and slurmd: they start without a complaint, the
// nodes come up, a gang is placed in one leaf, a run saves and requeues itself, a sick node is
// drained, and a cluster of 2,048 nodes answers. The health checks run with a replacement for
// nvidia-smi.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

#include "live/agent/test_folder.h"
#include "model/design_text/read_design.h"
#include "model/design_text/write_design.h"
#include "model/machine/known_fixture.h"
#include "output/emit/slurm.h"
#include "plan/verdict/verdict.h"
#include "slurm_cluster.h"

namespace orrery {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::IsEmpty;
using testing_slurm::Cluster;
using testing_slurm::ClusterOptions;

bool full() { return std::getenv("ORRERY_FULL") != nullptr; }

// Leaves of four nodes, one spare, and a training run on two nodes.
std::string design_of(int nodes) {
  return "orrery: 1\nname: trial\nsite: { region: gcp-us-east4 }\n"
         "fleet: [{ name: n, node: dgx-h100, count: " +
         std::to_string(nodes) +
         ", spares: 1 }]\n"
         "fabric: { compute: { topology: fat-tree, switch: qm9700 } }\n"
         "scheduler: { kind: slurm, topology: tree, preemption: requeue }\n"
         "workloads:\n"
         "  - train: { name: run, nodes: 2, model: llama-3-8b, tokens: 1B, batch: 64,\n"
         "             layout: { tp: 1, recompute: full, sharding: zero3 } }\n";
}

void put(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
  ::chmod(path.c_str(), 0755);
}

class SlurmEmit : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string what = Cluster::missing(); !what.empty()) GTEST_SKIP() << what;
  }
};

// With one node of the first leaf busy, four nodes fit only in another leaf.
void expect_gang_in_one_leaf(const Cluster& c) {
  const std::string blocker = c.ask({"sbatch", "--parsable", "--output=/dev/null", "-w",
                                     c.nodes()[1], "--exclusive", "--wrap", "sleep 60"});
  ASSERT_TRUE(c.wait_for({"squeue", "-h", "-o", "%t"}, "R", 20)) << blocker;
  const agent::CommandResult gang =
      c.run({"srun", "-N4", "--ntasks-per-node=1", "--gres=gpu:h100-sxm:8", "--exclusive",
             "--immediate=20", "sh", "-c", "echo $SLURM_TOPOLOGY_ADDR $CUDA_VISIBLE_DEVICES"});
  ASSERT_TRUE(gang.good()) << gang.err;
  EXPECT_THAT(gang.out, HasSubstr("0,1,2,3,4,5,6,7"));
  std::set<std::string> leaves;
  for (std::size_t at = gang.out.find("su-"); at != std::string::npos;
       at = gang.out.find("su-", at + 1)) {
    leaves.insert(gang.out.substr(at, gang.out.find('.', at) - at));
  }
  EXPECT_EQ(leaves.size(), 1U) << gang.out;
  c.run({"scancel", blocker});
  EXPECT_TRUE(c.wait_for({"squeue", "-h", "-o", "%t"}, "", 20));
}

// Sends at once what Slurm sends near the end of the time limit.
void expect_run_saves_and_requeues(const Cluster& c) {
  const std::string saved = c.dir() + "/saved";
  const std::string job = c.ask(
      {"sbatch", "--parsable", "--output=/dev/null", c.dir() + "/conf/submit-run.sh", "bash", "-c",
       "trap 'echo $ORRERY_CHECKPOINT_INTERVAL_S >>" + saved + "; exit 0' USR1; touch " + saved +
           "; while :; do sleep 0.1; done"});
  ASSERT_TRUE(c.wait_for({"squeue", "-h", "-o", "%t %D"}, "R 2", 20)) << job;
  for (int i = 0; i < 100 && !fs::exists(saved); ++i) c.ask({"sleep", "0.1"});
  ASSERT_TRUE(fs::exists(saved));
  ASSERT_TRUE(c.run({"scancel", "--signal=USR1", "--batch", job}).good());
  EXPECT_TRUE(c.wait_for({"scontrol", "-o", "show", "job", job}, "Restarts=1", 20, true));
  EXPECT_GT(fs::file_size(saved), 0U);
  c.run({"scancel", job});
  EXPECT_TRUE(c.wait_for({"squeue", "-h", "-o", "%t"}, "", 20));
}

void expect_sick_node_drained(const Cluster& c) {
  put(c.dir() + "/conf/health.sh", "#!/bin/sh\n[ \"$SLURMD_NODENAME\" != " + c.nodes()[0] + " ]\n");
  c.run({"sbatch", "--output=/dev/null", "-w", c.nodes()[0], "--wrap", "true"});
  EXPECT_TRUE(
      c.wait_for({"sinfo", "-h", "-n", c.nodes()[0], "-o", "%T", "-p", "n"}, "drained", 20));
}

TEST_F(SlurmEmit, StartsWithoutAComplaintAndRunsWhatWasPlanned) {
  const auto cluster = Cluster::start({.design = design_of(full() ? 63 : 8)});
  ASSERT_TRUE(cluster.has_value()) << cluster.error();
  const Cluster& c = **cluster;
  EXPECT_THAT(c.complaints(), IsEmpty());
  expect_gang_in_one_leaf(c);
  expect_run_saves_and_requeues(c);
  EXPECT_THAT(c.complaints(), IsEmpty());
  expect_sick_node_drained(c);
}

TEST_F(SlurmEmit, SlicesAreGivenByProfile) {
  const auto cluster = Cluster::start(
      {.design = "orrery: 1\nname: slices\nsite: { region: gcp-us-east4 }\n"
                 "fleet: [{ name: n, node: dgx-h100, count: 2, mig: { 1g.10gb: 3, 2g.20gb: 2 } }]\n"
                 "scheduler: { kind: slurm, topology: none }\n"});
  ASSERT_TRUE(cluster.has_value()) << cluster.error();
  const Cluster& c = **cluster;
  const agent::CommandResult slice = c.run({"srun", "--immediate=20", "--gres=gpu:2g.20gb:2", "-n1",
                                            "sh", "-c", "echo $CUDA_VISIBLE_DEVICES"});
  EXPECT_TRUE(slice.good()) << slice.err;
  EXPECT_EQ(slice.out, "24,25\n");
  EXPECT_THAT(c.complaints(), IsEmpty());
}

TEST_F(SlurmEmit, SchedulesOn2048Nodes) {
  const auto cluster = Cluster::start({.nodes = 2048, .cloud = true});
  ASSERT_TRUE(cluster.has_value()) << cluster.error();
  const Cluster& c = **cluster;
  const auto start = std::chrono::steady_clock::now();
  const agent::CommandResult answer =
      c.run({"sbatch", "--test-only", "-N256", "--gres=gpu:h100-sxm:8", "--wrap", "true"});
  const double took =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  RecordProperty("test_only_ms", static_cast<int>(took * 1e3));
  EXPECT_TRUE(answer.good()) << answer.err;
  EXPECT_THAT(answer.err, HasSubstr("to start at"));
  EXPECT_THAT(c.complaints(), IsEmpty());
}

TEST(SlurmScripts, ShellcheckFindsNothing) {
  auto design =
      design_text::read_design(design_of(8), machine::known().catalog(), {.file = "t.yaml"});
  ASSERT_TRUE(design.has_value());
  // Tenants have a separate script.
  design->scheduler.quotas = {{.tenant = "a", .accelerators = 8}, {.tenant = "b", .share = 0.5}};
  const review::Review review = review::run_stages(*design, machine::known());
  const auto files = emit::emit_slurm(review, {.design = "t", .digest = "d"});
  ASSERT_TRUE(files.has_value());
  const agent::TestFolder folder;
  agent::Command shellcheck{.words = {"shellcheck", "--severity=warning"}};
  for (const emit::EmittedFile& f : *files) {
    if (!f.path.ends_with(".sh")) continue;
    put(folder.at(f.path), f.text);
    shellcheck.words.push_back(folder.at(f.path));
  }
  EXPECT_EQ(shellcheck.words.size(), 2u + 5u);
  const auto result = run_command(shellcheck);
  if (!result || result->exit_code == 127) GTEST_SKIP() << "shellcheck is not installed";
  EXPECT_EQ(result->out + result->err, "");
}

// The health checks of the real files, on a node whose driver is a script.
class SlurmHealth : public testing::Test {
 protected:
  void SetUp() override {
    const auto design =
        design_text::read_design(design_of(8), machine::known().catalog(), {.file = "t.yaml"});
    ASSERT_TRUE(design.has_value());
    const review::Review review = review::run_stages(*design, machine::known());
    const auto files = emit::emit_slurm(review, {.design = "t", .digest = "d"});
    ASSERT_TRUE(files.has_value());
    for (const emit::EmittedFile& f : *files) put(folder_.at(f.path), f.text);
    put(folder_.at("df"), "#!/bin/sh\necho F B U A P M\necho x 1 1 1 $DISK_USED% /\n");
    put(folder_.at("logger"), "#!/bin/sh\n");
    put(folder_.at("journalctl"), "#!/bin/sh\necho \"$KERNEL_LINE\"\n");
    put(folder_.at("nvidia-smi"),
        "#!/bin/sh\n"
        "case \"$*\" in\n"
        "  *remapped*) echo \"0000:01:00.0, $ROWS\" ;;\n"
        "  *ecc*) for i in $(seq 0 $LAST_GPU); do echo \"$i, $ECC\"; done ;;\n"
        "  nvlink*) echo \"Link 0: $LINK\" ;;\n"
        "esac\n");
  }

  using Environment = std::vector<std::pair<std::string, std::string>>;

  agent::CommandResult check(const Environment& changes) const {
    Environment all = {{"PATH", folder_.path() + ":/usr/bin:/bin"},
                       {"SLURMD_NODENAME", "n-3"},
                       {"DISK_USED", "40"},
                       {"KERNEL_LINE", "NVRM: Xid (PCI:0000:01:00): 13, pid=7"},
                       {"LAST_GPU", "7"},
                       {"ECC", "0"},
                       {"ROWS", "No, No"},
                       {"LINK", "26.562 GB/s"}};
    for (const auto& [name, value] : changes) {
      for (auto& [known, old] : all) {
        if (known == name) old = value;
      }
    }
    const auto result =
        agent::run_command({.words = {"bash", folder_.at("health.sh")}, .environment = all});
    return result.value_or(agent::CommandResult{.exit_code = 127});
  }

 private:
  agent::TestFolder folder_;
};

TEST_F(SlurmHealth, AHealthyNodePasses) {
  const agent::CommandResult result = check({});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.err, "");
}

TEST_F(SlurmHealth, EachFaultIsFoundAndNamed) {
  const std::vector<std::tuple<std::string, std::string, std::string>> faults = {
      {"LAST_GPU", "6", "7 of 8 GPUs answer"},
      {"ECC", "3", "GPU 0 has 3 uncorrected memory errors"},
      {"ROWS", "Yes, No", "waits for a reset to remap a row"},
      {"ROWS", "No, Yes", "has no spare row left"},
      {"LINK", "<inactive>", "1 NVLinks are inactive"},
      {"KERNEL_LINE", "NVRM: Xid (PCI:0000:01:00): 79, pid=7",
       "fatal XID: Xid (PCI:0000:01:00): 79"},
      {"DISK_USED", "97", "/ is 97 % full"},
      {"SLURMD_NODENAME", "other-1", "other-1 is not a host of this cluster"}};
  for (const auto& [name, value, text] : faults) {
    const agent::CommandResult result = check({{name, value}});
    EXPECT_EQ(result.exit_code, 1) << name;
    EXPECT_THAT(result.err, HasSubstr(text));
  }
}

}  // namespace
}  // namespace orrery
