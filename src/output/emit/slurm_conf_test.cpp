#include <gmock/gmock.h>

#include "output/emit/review_fixture.h"
#include "output/emit/rows_fixture.h"
#include "output/emit/slurm.h"

namespace orrery::emit {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::string partitions_with(std::vector<design::SchedulerPartition> partitions, int spares) {
  design::Design design = read_text(kRowsDesign);
  design.scheduler.partitions = std::move(partitions);
  design.scheduler.preemption = design::Preemption::none;
  design.workloads.clear();
  design.fleet.resize(1);
  design.fleet[0].spares = spares;
  const std::string text = text_of(slurm_of(*reviewed_as_pods(design)), "nodes.conf");
  std::string out;
  for (std::size_t at = 0; (at = text.find("PartitionName=", at)) != std::string::npos; ++at) {
    out += text.substr(at + 14, text.find(" MaxTime", at) - at - 14) + "; ";
  }
  return out;
}

// Spares belong to every partition: after the last of its hosts, or separate.
TEST(SlurmConf, partitions_share_the_spares) {
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

// The usual limit is a day, if the partition allows as much.
TEST(SlurmConf, partitions_have_their_time_limits) {
  const auto limits = [](std::optional<Seconds> limit) {
    design::Design design = read_text(kRowsDesign);
    design.scheduler.partitions[0].time_limit = limit;
    const std::string text = text_of(slurm_of(*reviewed_as_pods(design)), "nodes.conf");
    const std::size_t at = text.find("MaxTime=");
    return text.substr(at, text.find(" PriorityTier", at) - at);
  };
  EXPECT_EQ(limits(std::nullopt), "MaxTime=UNLIMITED DefaultTime=1-00:00:00");
  EXPECT_EQ(limits(hours(23)), "MaxTime=0-23:00:00 DefaultTime=0-23:00:00");
  EXPECT_EQ(limits(hours(25)), "MaxTime=1-01:00:00 DefaultTime=1-00:00:00");
}

// 95 % of 2,048 and of 960 GiB, in MiB; if one fleet's memory is not known, memory is not managed.
TEST(SlurmConf, memory_is_managed_if_known) {
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
    return slurm_of(*reviewed_as_pods(design));
  };
  const EmittedFiles known = conf({"dgx-h100", "gb200-nvl72"});
  EXPECT_THAT(text_of(known, "nodes.conf"), HasSubstr("ThreadsPerCore=1 RealMemory=1992294 Gres"));
  EXPECT_THAT(text_of(known, "nodes.conf"), HasSubstr("ThreadsPerCore=1 RealMemory=933888 Gres"));
  EXPECT_THAT(text_of(known, "slurm.conf"),
              HasSubstr("SelectTypeParameters=CR_Core_Memory\nGresTypes=gpu\n"));
  EXPECT_EQ(directives(text_of(known, "cgroup.conf")),
            "ConstrainCores=yes\nConstrainDevices=yes\nConstrainRAMSpace=yes\n");
  const EmittedFiles plain = conf({"cpu-2s-server"});
  EXPECT_THAT(text_of(plain, "slurm.conf"),
              HasSubstr("SelectTypeParameters=CR_Core\nTopologyPlugin"));
}

// A run with the QOS of one tenant; QOS have their limits, and the default ones are absent.
TEST(SlurmConf, qos_levels_are_written) {
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
  const EmittedFiles files = slurm_of(*reviewed_as_pods(design));
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

EmittedFiles slurm_files(const design::Design& design, const SlurmOptions& options = {}) {
  const auto r = reviewed(design);
  const auto files = emit_slurm(*r->review, r->source, options);
  EXPECT_TRUE(files.has_value()) << (files ? "" : to_text(files.error()));
  return files.value_or(EmittedFiles());
}

TEST(SlurmConf, partitions_of_racks_are_counted_in_hosts) {
  design::Design design = read_template("superpod-gb200");
  design.scheduler.partitions = {{.name = "two", .fleet = "train", .nodes = 2},
                                 {.name = "rest", .fleet = "train", .nodes = 6}};
  EXPECT_THAT(text_of(slurm_files(design), "nodes.conf"),
              AllOf(HasSubstr("PartitionName=two Nodes=train-[001-036,145-162] "),
                    HasSubstr("PartitionName=rest Nodes=train-[037-162] ")));
}

// North: 500 / 1.25 - 3.5 - 4 = 392.5 kW. South: 300 / 1.25 - 3.5 - 7 * 2 = 222.5 kW.
TEST(SlurmConf, each_site_with_a_limit_has_power_licenses) {
  const auto r = planned_sites();
  const EmittedFiles files = slurm_of(*r);
  EXPECT_EQ(line_with(text_of(files, "slurm.conf"), "Licenses="),
            "Licenses=site1_kw:392,site3_kw:222");
  r->review->sites[0].pue.middle = 1000;
  EXPECT_EQ(line_with(text_of(slurm_of(*r), "slurm.conf"), "Licenses="),
            "Licenses=site1_kw:0,site3_kw:222");
}

TEST(SlurmConf, without_power_limits_there_are_no_licenses) {
  const auto r = planned_sites();
  design::Design plain = r->design;
  for (design::Site& s : plain.sites) s.power.reset();
  EXPECT_THAT(text_of(slurm_of(*reviewed_as_pods(plain)), "slurm.conf"),
              Not(HasSubstr("Licenses")));
}

// Backfill looks ahead as far as the longest job may run, and at least a week.
TEST(SlurmConf, backfill_window_covers_the_longest_job) {
  design::Design design = read_template("superpod-h100");
  const auto conf = [&design] { return text_of(slurm_of(*reviewed(design)), "slurm.conf"); };
  EXPECT_THAT(conf(), HasSubstr("bf_window=10080,"));
  design.scheduler.partitions = {
      {.name = "long", .fleet = "train", .nodes = 64, .time_limit = hours(720)},
      {.name = "day", .fleet = "train", .nodes = 63, .time_limit = hours(24)}};
  EXPECT_THAT(conf(), HasSubstr("bf_window=43200,"));
}

TEST(SlurmConf, preemption_adds_a_preemptible_partition) {
  const auto r = reviewed(read_template("superpod-h100"));
  const EmittedFiles files = slurm_of(*r);
  EXPECT_THAT(text_of(files, "slurm.conf"),
              AllOf(HasSubstr("PreemptType=preempt/partition_prio\nPreemptMode=REQUEUE\n"),
                    HasSubstr("bf_job_part_count_reserve=1"), HasSubstr("SlurmdTimeout=45\n")));
  EXPECT_THAT(text_of(files, "nodes.conf"),
              HasSubstr("PartitionName=train-preemptible Nodes=train-[001-127] Default=NO"));
}

// slurmctld asks three times in SlurmdTimeout, so a dead node is found within 4/3 of it.
TEST(SlurmConf, timeouts_follow_the_detection_time) {
  design::Design design = read_template("superpod-h100");
  const auto conf = [&design] { return text_of(slurm_of(*reviewed(design)), "slurm.conf"); };
  design.scheduler.recovery.detect = seconds(20);
  EXPECT_THAT(conf(), HasSubstr("MessageTimeout=3\nSlurmdTimeout=15\n"));
  design.scheduler.recovery.detect = seconds(1);
  EXPECT_THAT(conf(), HasSubstr("SlurmdTimeout=5\n"));
  design.scheduler.recovery.detect.reset();
  EXPECT_THAT(conf(), HasSubstr("MessageTimeout=3\nSlurmdTimeout=5\n"));
  design.scheduler.recovery.detect = seconds(60);
  EXPECT_THAT(conf(), testing::Not(HasSubstr("MessageTimeout=")));
}

// The window covers 200 hours. Of 900 kW at a PUE of 1.25 there are 720 kW for IT, of which
// switches, storage and idle hosts take 33.35 kW.
constexpr std::string_view kConf =
    R"(ClusterName=rows
Include site.conf

SelectType=select/cons_tres
SelectTypeParameters=CR_Core
GresTypes=gpu
TopologyPlugin=topology/tree

SchedulerType=sched/backfill
SchedulerParameters=bf_window=12000,bf_resolution=300,bf_continue,assoc_limit_stop
PreemptType=preempt/partition_prio
PreemptMode=SUSPEND,GANG
PriorityType=priority/multifactor
PriorityWeightPartition=10000
PriorityWeightAge=1000
PriorityWeightFairshare=100000
PriorityWeightQOS=100000
PriorityDecayHalfLife=7-0
Licenses=site1_kw:686

MessageTimeout=3
SlurmdTimeout=5
SlurmctldTimeout=120
KillWait=30
ReturnToService=1
JobRequeue=1
Prolog=/etc/slurm/prolog.sh
Epilog=/etc/slurm/epilog.sh
PrologFlags=Alloc

AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=slurm-controller
AccountingStorageEnforce=associations,limits,qos
AccountingStorageTRES=gres/gpu
JobAcctGatherType=jobacct_gather/cgroup

Include nodes.conf
)";

TEST(SlurmConf, slurm_conf_of_a_cluster) {
  EXPECT_EQ(directives(text_of(slurm_of(*planned_rows()), "slurm.conf")), kConf);
}

constexpr std::string_view kNodes =
    "NodeName=gpus-[01-10] Sockets=2 CoresPerSocket=56 ThreadsPerCore=1 Gres=gpu:h100-sxm:8 "
    "State=UNKNOWN\n"
    R"()"
    "NodeName=gpus-[11-12] Sockets=2 CoresPerSocket=56 ThreadsPerCore=1 Gres=gpu:h100-sxm:8 "
    "State=DRAIN Reason=spare\n"
    "NodeName=cut-[1-3] Sockets=2 CoresPerSocket=56 ThreadsPerCore=1 "
    "Gres=gpu:1g.18gb:24,gpu:2g.35gb:16 State=UNKNOWN\n"
    R"(NodeName=red-[1-2] Sockets=2 CoresPerSocket=64 ThreadsPerCore=1 Gres=gpu:mi300x:8 State=UNKNOWN
NodeName=plain-[1-7] Sockets=2 CoresPerSocket=8 ThreadsPerCore=1 State=UNKNOWN

)"
    "PartitionName=long Nodes=gpus-[01-07,11-12] Default=YES MaxTime=8-08:00:00 "
    "DefaultTime=1-00:00:00 PriorityTier=10 PreemptMode=OFF State=UP\n"
    "PartitionName=long-preemptible Nodes=gpus-[01-07,11-12] Default=NO MaxTime=8-08:00:00 "
    "DefaultTime=1-00:00:00 PriorityTier=1 PreemptMode=SUSPEND State=UP\n"
    "PartitionName=short Nodes=gpus-[08-12] Default=NO MaxTime=0-04:00:00 "
    "DefaultTime=0-04:00:00 PriorityTier=10 PreemptMode=OFF State=UP\n"
    "PartitionName=short-preemptible Nodes=gpus-[08-12] Default=NO MaxTime=0-04:00:00 "
    "DefaultTime=0-04:00:00 PriorityTier=1 PreemptMode=SUSPEND State=UP\n"
    "PartitionName=cut Nodes=cut-[1-3] Default=NO MaxTime=UNLIMITED DefaultTime=1-00:00:00 "
    "PriorityTier=10 PreemptMode=OFF State=UP\n"
    "PartitionName=cut-preemptible Nodes=cut-[1-3] Default=NO MaxTime=UNLIMITED "
    "DefaultTime=1-00:00:00 PriorityTier=1 PreemptMode=SUSPEND State=UP\n"
    "PartitionName=red Nodes=red-[1-2] Default=NO MaxTime=UNLIMITED DefaultTime=1-00:00:00 "
    "PriorityTier=10 PreemptMode=OFF State=UP\n"
    "PartitionName=red-preemptible Nodes=red-[1-2] Default=NO MaxTime=UNLIMITED "
    "DefaultTime=1-00:00:00 PriorityTier=1 PreemptMode=SUSPEND State=UP\n"
    "PartitionName=plain Nodes=plain-[1-7] Default=NO MaxTime=UNLIMITED "
    "DefaultTime=1-00:00:00 PriorityTier=10 PreemptMode=OFF State=UP\n"
    "PartitionName=plain-preemptible Nodes=plain-[1-7] Default=NO MaxTime=UNLIMITED "
    "DefaultTime=1-00:00:00 PriorityTier=1 PreemptMode=SUSPEND State=UP\n";

constexpr std::string_view kGres =
    R"(NodeName=gpus-[01-12] Name=gpu Type=h100-sxm File=/dev/nvidia[0-7]
NodeName=cut-[1-3] AutoDetect=nvml
NodeName=red-[1-2] Name=gpu Type=mi300x File=/dev/dri/renderD[128-135]
)";

constexpr std::string_view kTree =
    R"(SwitchName=su-1 Nodes=gpus-[01-04]
SwitchName=su-2 Nodes=gpus-[05-08]
SwitchName=su-3 Nodes=gpus-[09-12]
SwitchName=su-4 Nodes=cut-[1-3],red-1
SwitchName=su-5 Nodes=red-2,plain-[1-7]
SwitchName=core Switches=su-1,su-2,su-3,su-4,su-5
)";

TEST(SlurmConf, nodes_conf_of_a_cluster) {
  const EmittedFiles files = slurm_of(*planned_rows());
  EXPECT_EQ(directives(text_of(files, "nodes.conf")), kNodes);
  EXPECT_EQ(directives(text_of(files, "gres.conf")), kGres);
  EXPECT_EQ(directives(text_of(files, "topology.conf")), kTree);
  EXPECT_EQ(directives(text_of(files, "cgroup.conf")),
            "ConstrainCores=yes\nConstrainDevices=yes\n");
}

constexpr std::string_view kTrialSite =
    R"(SlurmctldHost=box(127.0.0.1)
SlurmctldPort=7001
SlurmUser=me
SlurmdUser=me
AuthType=auth/munge
AuthInfo=socket=/run/m
StateSaveLocation=/tmp/t/state
SlurmdSpoolDir=/tmp/t/spool-%n
SlurmctldPidFile=/tmp/t/slurmctld.pid
SlurmdPidFile=/tmp/t/slurmd-%n.pid
SlurmctldLogFile=/tmp/t/slurmctld.log
SlurmdLogFile=/tmp/t/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
MailProg=/bin/true
SlurmdParameters=config_overrides
)";

constexpr std::string_view kTrialGres =
    R"(NodeName=gpus-[01-12] Name=gpu Type=h100-sxm File=/tmp/t/gpu[0-7]
NodeName=cut-[1-3] Name=gpu Type=1g.18gb File=/tmp/t/gpu[0-23]
NodeName=cut-[1-3] Name=gpu Type=2g.35gb File=/tmp/t/gpu[24-39]
NodeName=red-[1-2] Name=gpu Type=mi300x File=/tmp/t/gpu[0-7]
)";

SlurmOptions trial_options() {
  SlurmOptions options;
  options.trial = SlurmTrial{.host = "box",
                             .dir = "/tmp/t",
                             .munge_socket = "/run/m",
                             .user = "me",
                             .controller_port = 7001};
  return options;
}

TEST(SlurmConf, a_trial_runs_on_one_machine) {
  SlurmOptions options = trial_options();
  const EmittedFiles files = slurm_of(*planned_rows(), options);
  EXPECT_EQ(directives(text_of(files, "site.conf")), kTrialSite);
  EXPECT_EQ(directives(text_of(files, "gres.conf")), kTrialGres);
  EXPECT_EQ(directives(text_of(files, "cgroup.conf")), "ConstrainCores=no\nConstrainDevices=no\n");
  EXPECT_THAT(text_of(files, "slurm.conf"),
              testing::AllOf(HasSubstr("PriorityWeightPartition=10000\nLicenses="),
                             HasSubstr("\nAccountingStorageType=accounting_storage/none\n"
                                       "JobAcctGatherType=jobacct_gather/none\n\nInclude")));
  EXPECT_THAT(
      text_of(files, "health.sh"),
      testing::AllOf(HasSubstr("  gpus-[0-9]*) gpus=0 vendor=none nvlink=0 devices=/dev/null"),
                     HasSubstr("mounts=()\n")));
  options.trial->munge_socket.clear();
  EXPECT_THAT(text_of(slurm_of(*planned_rows(), options), "site.conf"), Not(HasSubstr("AuthInfo")));
}

// Node ports follow the controller's: 10 hosts and 2 spares, then 3, 2 and 7.
TEST(SlurmConf, trial_nodes_have_ports_and_device_files) {
  SlurmOptions options = trial_options();
  const std::string text = text_of(slurm_of(*planned_rows(), options), "nodes.conf");
  const std::string at = " NodeHostname=box NodeAddr=127.0.0.1 Port=";
  EXPECT_THAT(text, HasSubstr("NodeName=gpus-[01-10]" + at +
                              "[7002-7011] Sockets=2 CoresPerSocket=56 "
                              "ThreadsPerCore=1 Gres=gpu:h100-sxm:8 State=UNKNOWN\n"));
  EXPECT_THAT(text, HasSubstr("NodeName=gpus-[11-12]" + at + "[7012-7013] "));
  EXPECT_THAT(text, HasSubstr("NodeName=cut-[1-3]" + at + "[7014-7016] "));
  EXPECT_THAT(text, HasSubstr("NodeName=red-[1-2]" + at + "[7017-7018] "));
  EXPECT_THAT(text, HasSubstr("NodeName=plain-[1-7]" + at + "[7019-7025] "));
  options.trial->cloud = true;
  const std::string cloud = text_of(slurm_of(*planned_rows(), options), "nodes.conf");
  EXPECT_THAT(cloud, HasSubstr("Gres=gpu:h100-sxm:8 State=CLOUD\n"));
  EXPECT_THAT(cloud, HasSubstr("Gres=gpu:h100-sxm:8 State=DRAIN Reason=spare\n"));
  EXPECT_THAT(cloud, Not(HasSubstr("UNKNOWN")));
}

TEST(SlurmConf, directives_follow_the_scheduler_section) {
  const auto conf = [](const auto& change) {
    design::Design design = read_text(kRowsDesign);
    change(design.scheduler);
    return text_of(slurm_of(*reviewed_as_pods(design)), "slurm.conf");
  };
  using design::Scheduler;
  EXPECT_THAT(conf([](Scheduler& s) { s.backfill = design::Backfill::none; }),
              testing::AllOf(HasSubstr("\n\nSchedulerType=sched/builtin\nPreemptType"),
                             Not(HasSubstr("SchedulerParameters"))));
  EXPECT_THAT(conf([](Scheduler& s) { s.backfill = design::Backfill::easy; }),
              HasSubstr("=bf_window=12000,bf_resolution=300,bf_continue,"
                        "bf_job_part_count_reserve=1,assoc_limit_stop\n"));
  EXPECT_THAT(conf([](Scheduler& s) { s.preemption = design::Preemption::none; }),
              HasSubstr("assoc_limit_stop\nPreemptMode=OFF\nPriorityType"));
  EXPECT_THAT(conf([](Scheduler& s) { s.preemption = design::Preemption::requeue; }),
              HasSubstr("PreemptType=preempt/partition_prio\nPreemptMode=REQUEUE\n"));
  EXPECT_THAT(conf([](Scheduler& s) { s.fair_share_by = catalog::FairShareBy::classic; }),
              HasSubstr("PriorityDecayHalfLife=7-0\nPriorityFlags=NO_FAIR_TREE\nLicenses"));
  const std::string unfair = conf([](Scheduler& s) {
    s.fair_share = false;
    s.fair_share_by = catalog::FairShareBy::classic;
  });
  EXPECT_THAT(unfair, HasSubstr("PriorityWeightFairshare=0\nPriorityWeightQOS=100000\n"
                                "PriorityDecayHalfLife=7-0\nLicenses"));
  const std::string alone = conf([](Scheduler& s) {
    s.fair_share = false;
    s.quotas.clear();
    s.reservations.clear();
  });
  EXPECT_THAT(alone, HasSubstr("bf_continue\n"));
  EXPECT_THAT(alone, HasSubstr("PriorityWeightPartition=10000\nLicenses"));
  EXPECT_THAT(alone, HasSubstr("\n\nAccountingStorageType=accounting_storage/none\n"
                               "JobAcctGatherType=jobacct_gather/cgroup\n\nInclude nodes.conf\n"));
}

}  // namespace
}  // namespace orrery::emit
