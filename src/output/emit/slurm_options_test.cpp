// What is refused of Slurm's options, times as it writes them, partitions and files in their order.
#include <gmock/gmock.h>

#include "output/emit/rows_fixture.h"
#include "output/emit/slurm.h"
#include "output/emit/slurm_parts.h"

namespace orrery::emit {
namespace {

using testing::HasSubstr;

std::string option_faults(const SlurmOptions& options) {
  const auto r = planned_rows();
  const auto files = emit_slurm(*r->review, r->source, options);
  std::string out;
  if (files) return out;
  for (const Diagnostic& d : files.error()) {
    EXPECT_EQ(d.code, "emit.option");
    EXPECT_EQ(d.why, "there a blank or a sign ends the value");
    EXPECT_EQ(d.fix, "use letters, digits, `/`, `.`, `_` and `-`");
    out += d.what + "; ";
  }
  return out;
}

TEST(SlurmOptions, NamesAndFoldersArePlain) {
  EXPECT_EQ(option_faults({.controller = "aZ09-._/"}), "");
  for (const std::string bad : {"a b", "a;", "a`", "a{", "a@", "a[", "a:", "a\n", "a#"}) {
    EXPECT_THAT(option_faults({.controller = bad}),
                testing::StartsWith("the controller's name \"a"))
        << bad;
  }
  EXPECT_EQ(option_faults({.controller = "a..b"}),
            "the controller's name \"a..b\" cannot be written into slurm.conf; ");
  EXPECT_EQ(option_faults({.conf_dir = "/a b"}),
            "the folder \"/a b\" cannot be written into slurm.conf; ");
  SlurmOptions trial;
  trial.trial = SlurmTrial{
      .host = "h h", .dir = "/d d", .munge_socket = "/m m", .user = "u u", .controller_port = 7};
  EXPECT_EQ(option_faults(trial),
            "the trial's host \"h h\" cannot be written into slurm.conf; "
            "the trial's folder \"/d d\" cannot be written into slurm.conf; "
            "the munge socket \"/m m\" cannot be written into slurm.conf; "
            "the user \"u u\" cannot be written into slurm.conf; ");
  EXPECT_EQ(SlurmTrial{}.host, "localhost");
  EXPECT_EQ(SlurmTrial{}.user, "root");
  EXPECT_EQ(SlurmTrial{}.controller_port, 6817);
  EXPECT_FALSE(SlurmTrial{}.cloud);
}

TEST(SlurmOptions, TimesAreDaysHoursAndMinutes) {
  EXPECT_EQ(slurm_time(Seconds(0)), "0-00:00:00");
  EXPECT_EQ(slurm_time(seconds(60)), "0-00:01:00");
  EXPECT_EQ(slurm_time(minutes(59.5)), "0-01:00:00");
  EXPECT_EQ(slurm_time(hours(23) + minutes(59)), "0-23:59:00");
  EXPECT_EQ(slurm_time(hours(24)), "1-00:00:00");
  EXPECT_EQ(slurm_time(hours(24 * 17) + hours(3) + minutes(7)), "17-03:07:00");
}

TEST(SlurmOptions, FilesComeInOrderAndScriptsCanRun) {
  const EmittedFiles files = rows_files(*planned_rows(), {.object_store = "http://s-1:81"});
  std::string names;
  for (const EmittedFile& f : files) names += f.path + (f.executable ? "* " : " ");
  EXPECT_EQ(names,
            "accounting.sh* cgroup.conf epilog.sh* gres.conf health.sh* mount.sh* nodes.conf "
            "prolog.sh* reservations.sh* site.conf slurm.conf submit-words.sh* topology.conf ");
}

TEST(SlurmOptions, ADesignOfKubernetesIsRefusedWithAReason) {
  design::Design design = read_text(kRowsDesign);
  design.scheduler.kind = design::SchedulerKind::kubernetes;
  const auto r = reviewed_as_pods(design);
  const auto files = emit_slurm(*r->review, r->source);
  ASSERT_FALSE(files);
  ASSERT_EQ(files.error().size(), 1U);
  const Diagnostic& d = files.error()[0];
  EXPECT_EQ(d.code, "emit.scheduler");
  EXPECT_EQ(d.what, "the design gives no fleet to Slurm");
  EXPECT_EQ(d.why, "scheduler.kind is kubernetes, or no fleet has `partition: slurm`");
  EXPECT_EQ(d.fix, "set scheduler.kind to slurm or both, or emit kubernetes");
}

std::string partitions_with(std::vector<design::SchedulerPartition> partitions, int spares) {
  design::Design design = read_text(kRowsDesign);
  design.scheduler.partitions = std::move(partitions);
  design.scheduler.preemption = design::Preemption::none;
  design.workloads.clear();
  design.fleet.resize(1);
  design.fleet[0].spares = spares;
  const std::string text = text_of(rows_files(*reviewed_as_pods(design)), "nodes.conf");
  std::string out;
  for (std::size_t at = 0; (at = text.find("PartitionName=", at)) != std::string::npos; ++at) {
    out += text.substr(at + 14, text.find(" MaxTime", at) - at - 14) + "; ";
  }
  return out;
}

// Spares are of every partition: beside the last of its hosts, or apart.
TEST(SlurmOptions, PartitionsShareTheSpares) {
  EXPECT_EQ(partitions_with({}, 2), "gpus Nodes=gpus-[01-12] Default=YES; ");
  EXPECT_EQ(partitions_with({{.name = "p", .fleet = "gpus", .nodes = 10}}, 2),
            "p Nodes=gpus-[01-12] Default=YES; ");
  EXPECT_EQ(partitions_with({{.name = "p", .fleet = "gpus", .nodes = 4},
                             {.name = "q", .fleet = "gpus", .nodes = 6}},
                            2),
            "p Nodes=gpus-[01-04,11-12] Default=YES; q Nodes=gpus-[05-12] Default=NO; ");
  EXPECT_EQ(partitions_with({{.name = "p", .fleet = "gpus", .nodes = 4},
                             {.name = "q", .fleet = "gpus", .nodes = 6}},
                            0),
            "p Nodes=gpus-[01-04] Default=YES; q Nodes=gpus-[05-10] Default=NO; ");
}

// A day is the usual limit where a partition allows as much.
TEST(SlurmOptions, LimitsOfPartitions) {
  const auto limits = [](std::optional<Seconds> limit) {
    design::Design design = read_text(kRowsDesign);
    design.scheduler.partitions[0].time_limit = limit;
    const std::string text = text_of(rows_files(*reviewed_as_pods(design)), "nodes.conf");
    const std::size_t at = text.find("MaxTime=");
    return text.substr(at, text.find(" PriorityTier", at) - at);
  };
  EXPECT_EQ(limits(std::nullopt), "MaxTime=UNLIMITED DefaultTime=1-00:00:00");
  EXPECT_EQ(limits(hours(23)), "MaxTime=0-23:00:00 DefaultTime=0-23:00:00");
  EXPECT_EQ(limits(hours(25)), "MaxTime=1-01:00:00 DefaultTime=1-00:00:00");
}

// 95 % of 2,048 and of 960 GiB, in MiB; where one fleet's is not known none is sold.
TEST(SlurmOptions, MemoryForJobs) {
  const auto conf = [](std::vector<const char*> nodes) {
    design::Design design = read_text(kRowsDesign);
    design.workloads.clear();
    design.scheduler.partitions.clear();
    design.scheduler.reservations.clear();
    design.fleet.clear();
    for (const char* node : nodes) {
      design.fleet.push_back({.name = "f" + std::to_string(design.fleet.size()), .node = node});
      design.fleet.back().count = 2;
    }
    return rows_files(*reviewed_as_pods(design));
  };
  const EmittedFiles known = conf({"dgx-h100", "gb200-nvl72"});
  EXPECT_THAT(text_of(known, "nodes.conf"), HasSubstr("ThreadsPerCore=1 RealMemory=1992294 Gres"));
  EXPECT_THAT(text_of(known, "nodes.conf"), HasSubstr("ThreadsPerCore=1 RealMemory=933888 Gres"));
  EXPECT_THAT(text_of(known, "slurm.conf"),
              HasSubstr("SelectTypeParameters=CR_Core_Memory\nGresTypes=gpu\n"));
  EXPECT_EQ(unstamped(text_of(known, "cgroup.conf")),
            "ConstrainCores=yes\nConstrainDevices=yes\nConstrainRAMSpace=yes\n");
  const EmittedFiles plain = conf({"cpu-2s-server"});
  EXPECT_THAT(text_of(plain, "slurm.conf"),
              HasSubstr("SelectTypeParameters=CR_Core\nTopologyPlugin"));
}

TEST(SlurmOptions, DetectionDecidesTheTimeouts) {
  const auto timeouts = [](std::optional<Seconds> detect) {
    design::Design design = read_text(kRowsDesign);
    design.scheduler.recovery.detect = detect;
    const std::string text = text_of(rows_files(*reviewed_as_pods(design)), "slurm.conf");
    const std::size_t at = text.find("detect: 60 s } }).\n") + 19;
    return text.substr(at, text.find("SlurmctldTimeout", at) - at);
  };
  EXPECT_EQ(timeouts(std::nullopt), "MessageTimeout=3\nSlurmdTimeout=5\n");
  EXPECT_EQ(timeouts(seconds(20)), "MessageTimeout=3\nSlurmdTimeout=15\n");
  EXPECT_EQ(timeouts(seconds(20.1)), "SlurmdTimeout=15\n");
  EXPECT_EQ(timeouts(seconds(90)), "SlurmdTimeout=67\n");
  EXPECT_EQ(timeouts(seconds(6)), "MessageTimeout=3\nSlurmdTimeout=5\n");
}

// A run of one tenant's quality of service; qualities have their limits, and none is stock.
TEST(SlurmOptions, QualitiesOfService) {
  design::Design design = read_text(kRowsDesign);
  design.scheduler.qos = {{.name = "low", .priority = 3},
                          {.name = "high",
                           .priority = 70,
                           .max_nodes = 9,
                           .max_nodes_per_user = 5,
                           .max_jobs_per_user = 2,
                           .time_limit = hours(30),
                           .preempts = {"low", "mid"}}};
  design.workloads[0].terms.qos = "high";
  design.workloads[0].terms.tenant = "";
  const EmittedFiles files = rows_files(*reviewed_as_pods(design));
  const std::string accounts = text_of(files, "accounting.sh");
  EXPECT_THAT(accounts,
              HasSubstr("ensure cluster rows\nensure qos low\nrun modify qos low set Priority=3\n"
                        "run modify cluster rows set QosLevel+=low\nensure qos high\n"
                        "run modify qos high set Priority=70 GrpTRES=node=9 MaxTRESPerUser=node=5 "
                        "MaxJobsPerUser=2 MaxWall=1-06:00:00\n"
                        "run modify cluster rows set QosLevel+=high\n"
                        "run modify qos high set Preempt=low,mid\nensure account vision "));
  EXPECT_THAT(text_of(files, "slurm.conf"), HasSubstr("PreemptType=preempt/qos\nPreemptMode=SUSP"));
  EXPECT_THAT(text_of(files, "submit-words.sh"),
              HasSubstr("#SBATCH --switches=1\n#SBATCH --qos=high\n#SBATCH --licenses"));
}

}  // namespace
}  // namespace orrery::emit
