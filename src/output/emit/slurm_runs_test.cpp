// What a run asks of Slurm, and what a cluster of racks, of unknown hosts or of little power is
// told.
#include <gmock/gmock.h>

#include <cmath>

#include "output/emit/review_fixture.h"
#include "output/emit/run_terms.h"
#include "output/emit/slurm.h"
#include "output/emit/slurm_parts.h"

namespace orrery::emit {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

EmittedFiles slurm_files(const design::Design& design, const SlurmOptions& options = {}) {
  const auto r = reviewed(design);
  const auto files = emit_slurm(*r->review, r->source, options);
  EXPECT_TRUE(files.has_value()) << (files ? "" : to_text(files.error()));
  return files.value_or(EmittedFiles());
}

// The number behind `key` in a text.
double number_after(const std::string& text, const std::string& key) {
  const std::size_t at = text.find(key);
  EXPECT_NE(at, std::string::npos) << key << " in\n" << text;
  return at == std::string::npos ? 0 : std::stod(text.substr(at + key.size()));
}

design::Train& run_of(design::Design& design) {
  return std::get<design::Train>(design.workloads.front().task);
}

TEST(SlurmRuns, AskForTheirCoresTheirTimeAndTheTimeToSave) {
  design::Design design = read_template("superpod-h100");
  run_of(design).tokens = *run_of(design).tokens / 20;
  const auto r = reviewed(design);
  const review::TrainView& train = r->review->trains.front();
  ASSERT_LT(train.run_time, hours(24 * 6));
  const std::string script = text_of(slurm_files(design), "submit-pretrain.sh");
  EXPECT_THAT(script, AllOf(HasSubstr("--ntasks-per-node=8\n"), HasSubstr("--cpus-per-task=14\n"),
                            HasSubstr("--time=" + slurm_time(train.run_time * 1.1) + '\n')));
  EXPECT_EQ(number_after(script, "--signal=B:USR1@"), std::ceil(time_to_save(train) / seconds(1)));
  EXPECT_THAT(script, Not(HasSubstr("--switches")));  // 120 hosts are on four units
}

TEST(SlurmRuns, KeepToTheirPartitionAndToOneUnitWhereTheyFit) {
  design::Design design = read_template("superpod-h100");
  design.scheduler.partitions = {{.name = "day", .fleet = "train", .time_limit = hours(24)}};
  design.workloads.front().terms.nodes = 32;
  const std::string script = text_of(slurm_files(design), "submit-pretrain.sh");
  EXPECT_THAT(script, AllOf(HasSubstr("--partition=day\n"), HasSubstr("--time=1-00:00:00\n"),
                            HasSubstr("--switches=1\n")));
  design.scheduler.partitions.push_back({.name = "night", .fleet = "train"});
  design.workloads.front().terms.partition = "night";
  EXPECT_THAT(text_of(slurm_files(design), "submit-pretrain.sh"), HasSubstr("--partition=night\n"));
}

TEST(SlurmRuns, PartitionsOfRacksAreCountedInHosts) {
  design::Design design = read_template("superpod-gb200");
  design.scheduler.partitions = {{.name = "two", .fleet = "train", .nodes = 2},
                                 {.name = "rest", .fleet = "train", .nodes = 6}};
  EXPECT_THAT(text_of(slurm_files(design), "nodes.conf"),
              AllOf(HasSubstr("PartitionName=two Nodes=train-[001-036,145-162] "),
                    HasSubstr("PartitionName=rest Nodes=train-[037-162] ")));
}

// Licences stand for kilowatts: a rack of 132 kW asks for its rise above idle, not for that of its
// hosts each, and spares that idle leave less for jobs.
TEST(SlurmRuns, PowerIsSharedByKilowatts) {
  design::Design design = read_template("superpod-gb200");
  design.scheduler.power_aware = true;
  const EmittedFiles files = slurm_files(design);
  const double left = number_after(text_of(files, "slurm.conf"), "Licenses=site1_kw:");
  const double asked = number_after(text_of(files, "submit-pretrain.sh"), "--licenses=site1_kw:");
  EXPECT_GT(left, 100);
  EXPECT_LT(left, 1900);
  EXPECT_GT(asked, 8 * 30);
  EXPECT_LT(asked, 8 * 132);
  design.fleet[0].spares += 1;
  const double less =
      number_after(text_of(slurm_files(design), "slurm.conf"), "Licenses=site1_kw:");
  const auto r = reviewed(design);
  const double idle = r->review->sites.front().fleets.front().node.idle / kilowatts(1);
  ASSERT_GT(idle, 5);
  EXPECT_LE(less, left - idle + 1);
  EXPECT_GT(less, left - 132);
}

TEST(SlurmRuns, MemoryOfHostsThatNobodyToldIsNotSold) {
  design::Design design = read_template("superpod-h100");
  EXPECT_THAT(text_of(slurm_files(design), "slurm.conf"), HasSubstr("=CR_Core_Memory\n"));
  EXPECT_THAT(text_of(slurm_files(design), "cgroup.conf"), HasSubstr("ConstrainRAMSpace=yes"));
  design.fleet[0].node = "hgx-h100-dlc";
  EXPECT_THAT(text_of(slurm_files(design), "slurm.conf"), HasSubstr("=CR_Core\n"));
  EXPECT_THAT(text_of(slurm_files(design), "nodes.conf"),
              AllOf(Not(HasSubstr("RealMemory")), HasSubstr("Cores assumed at 16")));
}

TEST(SlurmRuns, DaemonsOfATrialHavePortsOfTheirOwn) {
  SlurmOptions options;
  options.trial = SlurmTrial{.dir = "/tmp/t", .controller_port = 7000};
  design::Design design = read_template("small-lab");
  design.fleet[0].spares = 1;
  EXPECT_THAT(text_of(slurm_files(design, options), "nodes.conf"),
              AllOf(HasSubstr(" Port=[7001-7003] "), HasSubstr(" Port=7004 ")));
}

// `a-1-07` is of fleet `a-1`, though the pattern of `a` takes it too: the longer name comes first.
TEST(SlurmRuns, HealthChecksKnowTheirFleet) {
  design::Design design = read_template("superpod-h100");
  design.fleet[0].name = "a";
  design.fleet.push_back(design.fleet[0]);
  design.fleet[1].name = "a-1";
  design.fleet[1].count = 2;
  const std::string script = text_of(slurm_files(design), "health.sh");
  ASSERT_NE(script.find("a-1-[0-9]*)"), std::string::npos) << script;
  EXPECT_LT(script.find("a-1-[0-9]*)"), script.find(" a-[0-9]*)"));
  EXPECT_THAT(script, HasSubstr("nvlink=1"));
  design.fleet[0].node = "l40s-8";
  EXPECT_THAT(text_of(slurm_files(design), "health.sh"),
              AllOf(HasSubstr(" a-[0-9]*) gpus=8 vendor=nvidia nvlink=0"), HasSubstr("nvlink=1")));
}

}  // namespace
}  // namespace orrery::emit
