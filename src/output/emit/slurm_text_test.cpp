// The configuration files of one Slurm cluster, each whole.
#include <gmock/gmock.h>

#include "output/emit/rows_fixture.h"
#include "output/emit/slurm.h"

namespace orrery::emit {
namespace {

using testing::HasSubstr;
using testing::Not;

// The window is that of 200 hours. Of 900 kW at a PUE of 1.25 there are 720 for IT, of which
// switches, storage and idle hosts take 33.35.
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

# A node that gives no answer for SlurmdTimeout is down and its jobs move; every node is asked
# three times in it. A node that hangs as long loses its jobs too, and with a short MessageTimeout
# a busy slurmctld refuses commands sooner: raise them where that happens
# (scheduler: { recovery: { detect: 60 s } }).
MessageTimeout=3
SlurmdTimeout=5
SlurmctldTimeout=120
KillWait=30
ReturnToService=1
JobRequeue=1
Prolog=/etc/slurm/prolog.sh
Epilog=/etc/slurm/epilog.sh
PrologFlags=Alloc

# Tenants and their quotas live in slurmdbd; accounting.sh puts them there.
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=slurm-controller
AccountingStorageEnforce=associations,limits,qos
AccountingStorageTRES=gres/gpu
JobAcctGatherType=jobacct_gather/cgroup

Include nodes.conf
)";

TEST(SlurmText, OfTheCluster) {
  EXPECT_EQ(unstamped(text_of(rows_files(*planned_rows()), "slurm.conf")), kConf);
}

constexpr std::string_view kNodes =
    "NodeName=gpus-[01-10] Sockets=2 CoresPerSocket=56 ThreadsPerCore=1 Gres=gpu:h100-sxm:8 "
    "State=UNKNOWN\n"
    R"(# Spares stand by drained; `scontrol update nodename=... state=resume` calls one up.
)"
    "NodeName=gpus-[11-12] Sockets=2 CoresPerSocket=56 ThreadsPerCore=1 Gres=gpu:h100-sxm:8 "
    "State=DRAIN Reason=spare\n"
    "NodeName=cut-[1-3] Sockets=2 CoresPerSocket=56 ThreadsPerCore=1 "
    "Gres=gpu:1g.18gb:24,gpu:2g.35gb:16 State=UNKNOWN\n"
    R"(# Cores assumed at 16 an accelerator: correct them with what `slurmd -C` prints.
NodeName=red-[1-2] Sockets=2 CoresPerSocket=64 ThreadsPerCore=1 Gres=gpu:mi300x:8 State=UNKNOWN
# Cores assumed at 16 an accelerator: correct them with what `slurmd -C` prints.
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

TEST(SlurmText, OfTheNodes) {
  const EmittedFiles files = rows_files(*planned_rows());
  EXPECT_EQ(unstamped(text_of(files, "nodes.conf")), kNodes);
  EXPECT_EQ(unstamped(text_of(files, "gres.conf")), kGres);
  EXPECT_EQ(unstamped(text_of(files, "topology.conf")), kTree);
  EXPECT_EQ(unstamped(text_of(files, "cgroup.conf")), "ConstrainCores=yes\nConstrainDevices=yes\n");
}

constexpr std::string_view kSite =
    R"(SlurmctldHost=head-7
SlurmUser=slurm
AuthType=auth/munge
StateSaveLocation=/var/spool/slurmctld
SlurmdSpoolDir=/var/spool/slurmd
SlurmctldPidFile=/run/slurmctld.pid
SlurmdPidFile=/run/slurmd.pid
SlurmctldLogFile=/var/log/slurm/slurmctld.log
SlurmdLogFile=/var/log/slurm/slurmd.log
ProctrackType=proctrack/cgroup
TaskPlugin=task/cgroup,task/affinity
MpiDefault=none
)";

TEST(SlurmText, OfTheSite) {
  const EmittedFiles files =
      rows_files(*planned_rows(), {.controller = "head-7", .conf_dir = "/srv/conf"});
  EXPECT_EQ(unstamped(text_of(files, "site.conf")), kSite);
  EXPECT_THAT(text_of(files, "slurm.conf"),
              testing::AllOf(HasSubstr("\nProlog=/srv/conf/prolog.sh\nEpilog=/srv/conf/epilog.sh\n"
                                       "PrologFlags=Alloc\n"),
                             HasSubstr("\nAccountingStorageHost=head-7\n")));
  EXPECT_THAT(text_of(files, "prolog.sh"), HasSubstr("\nexec /srv/conf/health.sh\n"));
  EXPECT_THAT(text_of(files, "epilog.sh"), HasSubstr("\nexec /srv/conf/health.sh\n"));
}

constexpr std::string_view kTrialSite =
    R"(# A trial on one machine: every daemon here, nodes told apart by their ports.
SlurmctldHost=box(127.0.0.1)
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

TEST(SlurmText, OfATrial) {
  SlurmOptions options = trial_options();
  const EmittedFiles files = rows_files(*planned_rows(), options);
  EXPECT_EQ(unstamped(text_of(files, "site.conf")), kTrialSite);
  EXPECT_EQ(unstamped(text_of(files, "gres.conf")), kTrialGres);
  EXPECT_EQ(unstamped(text_of(files, "cgroup.conf")), "ConstrainCores=no\nConstrainDevices=no\n");
  EXPECT_THAT(
      text_of(files, "slurm.conf"),
      testing::AllOf(HasSubstr("PriorityWeightPartition=10000\nLicenses="),
                     HasSubstr("\n\n# A trial has no slurmdbd: tenants' quotas are not held."
                               "\nAccountingStorageType=accounting_storage/none\n"
                               "JobAcctGatherType=jobacct_gather/none\n\nInclude")));
  EXPECT_THAT(
      text_of(files, "health.sh"),
      testing::AllOf(HasSubstr("  gpus-[0-9]*) gpus=0 vendor=none nvlink=0 devices=/dev/null"),
                     HasSubstr("mounts=()\n")));
  options.trial->munge_socket.clear();
  EXPECT_THAT(text_of(rows_files(*planned_rows(), options), "site.conf"),
              Not(HasSubstr("AuthInfo")));
}

// Ports follow the controller's: 10 hosts and 2 spares, then 3, 2 and 7.
TEST(SlurmText, OfATrialsNodes) {
  SlurmOptions options = trial_options();
  const std::string text = text_of(rows_files(*planned_rows(), options), "nodes.conf");
  const std::string at = " NodeHostname=box NodeAddr=127.0.0.1 Port=";
  EXPECT_THAT(text, HasSubstr("NodeName=gpus-[01-10]" + at +
                              "[7002-7011] Sockets=2 CoresPerSocket=56 "
                              "ThreadsPerCore=1 Gres=gpu:h100-sxm:8 State=UNKNOWN\n"));
  EXPECT_THAT(text, HasSubstr("NodeName=gpus-[11-12]" + at + "[7012-7013] "));
  EXPECT_THAT(text, HasSubstr("NodeName=cut-[1-3]" + at + "[7014-7016] "));
  EXPECT_THAT(text, HasSubstr("NodeName=red-[1-2]" + at + "[7017-7018] "));
  EXPECT_THAT(text, HasSubstr("NodeName=plain-[1-7]" + at + "[7019-7025] "));
  options.trial->cloud = true;
  const std::string cloud = text_of(rows_files(*planned_rows(), options), "nodes.conf");
  EXPECT_THAT(cloud, HasSubstr("Gres=gpu:h100-sxm:8 State=CLOUD\n"));
  EXPECT_THAT(cloud, HasSubstr("Gres=gpu:h100-sxm:8 State=DRAIN Reason=spare\n"));
  EXPECT_THAT(cloud, Not(HasSubstr("UNKNOWN")));
}

TEST(SlurmText, FollowsTheScheduler) {
  const auto conf = [](const auto& change) {
    design::Design design = read_text(kRowsDesign);
    change(design.scheduler);
    return text_of(rows_files(*reviewed_as_pods(design)), "slurm.conf");
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
