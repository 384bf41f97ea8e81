#include "output/emit/slurm.h"

#include <gmock/gmock.h>

#include "output/emit/hosts.h"
#include "output/emit/review_fixture.h"
#include "output/emit/rows_fixture.h"
#include "output/emit/slurm_parts.h"

namespace orrery::emit {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST(Slurm, times_are_days_hours_and_minutes) {
  EXPECT_EQ(slurm_time(Seconds(0)), "0-00:00:00");
  EXPECT_EQ(slurm_time(seconds(60)), "0-00:01:00");
  EXPECT_EQ(slurm_time(minutes(59.5)), "0-01:00:00");
  EXPECT_EQ(slurm_time(hours(23) + minutes(59)), "0-23:59:00");
  EXPECT_EQ(slurm_time(hours(24)), "1-00:00:00");
  EXPECT_EQ(slurm_time(hours(24 * 17) + hours(3) + minutes(7)), "17-03:07:00");
}

// RA-11333: four scalable units of 32 nodes, here 127 nodes because the last unit is one short.
TEST(Slurm, scalable_units_are_the_leaves) {
  const auto r = reviewed(read_template("superpod-h100"));
  const EmittedFiles files = slurm_of(*r);
  EXPECT_THAT(text_of(files, "topology.conf"),
              AllOf(HasSubstr("SwitchName=su-1 Nodes=train-[001-032]\n"),
                    HasSubstr("SwitchName=su-4 Nodes=train-[097-127]\n"),
                    HasSubstr("SwitchName=core Switches=su-1,su-2,su-3,su-4\n")));
  EXPECT_THAT(text_of(files, "nodes.conf"),
              HasSubstr("NodeName=train-[001-127] Sockets=2 CoresPerSocket=56 ThreadsPerCore=1 "
                        "RealMemory=1992294 Gres=gpu:h100-sxm:8 State=UNKNOWN\n"));
  EXPECT_THAT(text_of(files, "gres.conf"),
              HasSubstr("NodeName=train-[001-127] Name=gpu Type=h100-sxm File=/dev/nvidia[0-7]\n"));
}

TEST(Slurm, the_submit_script_carries_the_plan) {
  const auto r = reviewed(read_template("superpod-h100"));
  const std::string script = text_of(slurm_of(*r), "submit-pretrain.sh");
  ASSERT_TRUE(r->review->trains.front().checkpoint.has_value());
  const double interval = r->review->trains.front().checkpoint->interval / seconds(1);
  const std::size_t at = script.find("ORRERY_CHECKPOINT_INTERVAL_S=");
  ASSERT_NE(at, std::string::npos) << script;
  EXPECT_NEAR(std::stod(script.substr(at + 29)), interval, 0.001 * interval);
  EXPECT_THAT(script,
              AllOf(HasSubstr("#SBATCH --nodes=120\n"), HasSubstr("#SBATCH --signal=B:USR1@"),
                    HasSubstr("#SBATCH --requeue\n")));
}

// 40 replicas of three hosts each, of which 36 are enough.
TEST(Slurm, an_elastic_run_survives_a_lost_node) {
  design::Design design = read_template("superpod-h100");
  auto& train = std::get<design::Train>(design.workloads.front().task);
  train.layout = design::Layout{.tp = 4, .pp = 6, .vp = 8, .dp = 40};
  train.min_replicas = 36;
  const auto r = reviewed(design);
  ASSERT_TRUE(r->review->trains.front().elastic.has_value());
  EXPECT_EQ(r->review->trains.front().elastic->unit_hosts, 3);
  EXPECT_THAT(text_of(slurm_of(*r), "submit-pretrain.sh"),
              AllOf(HasSubstr("#SBATCH --nodes=108-120\n"), HasSubstr("#SBATCH --no-kill\n"),
                    HasSubstr("export PET_NNODES=108:120\n"),
                    HasSubstr("\nsrun --no-kill --kill-on-bad-exit=0 -- \"$@\" &\n")));
}

// Hosts of an NVL72 rack share a domain, which is the leaf below the unit.
TEST(Slurm, an_nvl72_rack_is_a_leaf) {
  const auto r = reviewed(read_template("superpod-gb200"));
  const std::string tree = text_of(slurm_of(*r), "topology.conf");
  EXPECT_THAT(tree, HasSubstr("Switches=domain-"));
  const auto hosts = hosts_of(*r->review, HostsOf::slurm);
  ASSERT_TRUE(hosts.has_value());
  EXPECT_EQ(hosts->fleets.front().hosts_per_node, 18);
  EXPECT_EQ(hosts->tree.front().hosts.front().count, 18);
}

constexpr std::string_view kSmall = R"(
orrery: 1
name: small
site: { region: gcp-us-east4 }
fleet:
  - { name: n, node: dgx-h100, count: 6, spares: 2 }
fabric: { compute: { topology: fat-tree, switch: qm9700 } }
scheduler:
  kind: slurm
  fair_share: true
  quotas: [{ tenant: vision, share: 0.5 }, { tenant: speech, accelerators: 8 }]
  partitions:
    - { name: long, fleet: n, nodes: 4, time_limit: 48 h }
    - { name: short, fleet: n, nodes: 2, time_limit: 4 h }
)";

TEST(Slurm, spares_are_drained_and_partitions_are_disjoint) {
  const auto r = reviewed(read_text(kSmall));
  const std::string nodes = text_of(slurm_of(*r), "nodes.conf");
  EXPECT_THAT(nodes, AllOf(HasSubstr("NodeName=n-[7-8] "), HasSubstr("State=DRAIN Reason=spare"),
                           HasSubstr("PartitionName=long Nodes=n-[1-4,7-8] Default=YES "
                                     "MaxTime=2-00:00:00 DefaultTime=1-00:00:00"),
                           HasSubstr("PartitionName=short Nodes=n-[5-8] Default=NO "
                                     "MaxTime=0-04:00:00 DefaultTime=0-04:00:00")));
}

// Without a partition its nodes would be unusable.
TEST(Slurm, a_fleet_without_partitions_is_one_partition) {
  design::Design design = read_text(kSmall);
  design.fleet.push_back(design.fleet.front());
  design.fleet.back().name = "other";
  const auto r = reviewed(design);
  const std::string nodes = text_of(slurm_of(*r), "nodes.conf");
  EXPECT_THAT(nodes, AllOf(HasSubstr("PartitionName=long "), HasSubstr("PartitionName=short "),
                           HasSubstr("PartitionName=other Nodes=other-[1-8] Default=NO ")));
  EXPECT_THAT(nodes, testing::Not(HasSubstr("PartitionName=n ")));
}

TEST(Slurm, quotas_go_to_slurmdbd) {
  const auto r = reviewed(read_text(kSmall));
  const EmittedFiles files = slurm_of(*r);
  EXPECT_THAT(text_of(files, "accounting.sh"),
              AllOf(HasSubstr("modify account vision set Fairshare=50 GrpTRES=gres/gpu=24\n"),
                    HasSubstr("modify account speech set Fairshare=17 GrpTRES=gres/gpu=8\n")));
  EXPECT_THAT(
      text_of(files, "slurm.conf"),
      AllOf(HasSubstr("AccountingStorageEnforce=associations"), HasSubstr(",assoc_limit_stop\n")));
  SlurmOptions trial;
  trial.trial = SlurmTrial{.dir = "/tmp/t"};
  EXPECT_THAT(text_of(slurm_of(*r, trial), "slurm.conf"),
              HasSubstr("AccountingStorageType=accounting_storage/none"));
}

// The last nodes in service, without spares; Slurm 22.05.8 accepted these words.
TEST(Slurm, reservations_are_made_by_a_script) {
  design::Design design = read_text(kSmall);
  EXPECT_EQ(text_of(slurm_of(*reviewed(design)), "reservations.sh"), "no file reservations.sh");
  design.scheduler.reservations = {{.name = "firmware",
                                    .nodes = 2,
                                    .start = days(3),
                                    .duration = hours(4),
                                    .repeat = design::ReservationPeriod::weekly},
                                   {.name = "nights",
                                    .fleet = "n",
                                    .start = hours(20),
                                    .duration = minutes(90),
                                    .tenants = {"vision"}}};
  const std::string script = text_of(slurm_of(*reviewed(design)), "reservations.sh");
  EXPECT_THAT(
      script,
      AllOf(HasSubstr("make firmware StartTime=now+4320minutes Duration=240 'Nodes=n-[5-6]' "
                      "Flags=MAINT,IGNORE_JOBS,WEEKLY Users=root\n"),
            HasSubstr("make nights StartTime=now+1200minutes Duration=90 'Nodes=n-[1-6]' "
                      "Flags=FLEX,IGNORE_JOBS,OVERLAP Accounts=vision\n")));
  design = read_template("superpod-h100");
  design.scheduler.quotas = {{.tenant = "lab", .share = 0.5}};
  design.scheduler.reservations = {
      {.name = "nights", .start = hours(20), .duration = hours(1), .tenants = {"lab"}}};
  const auto submits = [&] {
    for (const EmittedFile& f : slurm_of(*reviewed(design))) {
      if (f.text.find("#SBATCH --reservation=nights\n") != std::string::npos) return true;
    }
    return false;
  };
  EXPECT_FALSE(submits());
  design.workloads.front().terms.tenant = "lab";
  EXPECT_TRUE(submits());
}

TEST(Slurm, a_given_object_store_is_mounted_by_the_prolog) {
  design::Design design = read_template("superpod-h100");
  design.storage.push_back(
      {.name = "shelf", .tier = design::Tier::warm, .kind = design::TierKind::object});
  const auto r = reviewed(design);
  EXPECT_THAT(text_of(slurm_of(*r), "mount.sh"), HasSubstr("no file"));
  EXPECT_THAT(text_of(slurm_of(*r), "prolog.sh"), Not(HasSubstr("mount")));
  const EmittedFiles files = slurm_of(*r, {.object_store = "http://store-1:8118"});
  EXPECT_THAT(text_of(files, "prolog.sh"),
              HasSubstr("/etc/slurm/mount.sh || exit 1\nexec /etc/slurm/health.sh\n"));
  EXPECT_THAT(text_of(files, "mount.sh"),
              AllOf(HasSubstr("url=http://store-1:8118\n"),
                    HasSubstr("mount_bucket shelf /mnt/shelf || exit 1\n")));
  const auto refused = emit_slurm(*r->review, r->source, {.object_store = "store-1;reboot"});
  ASSERT_FALSE(refused);
  EXPECT_EQ(codes_of(refused.error()), "emit.object-store \"store-1;reboot\"\n");
}

TEST(Slurm, qos_go_to_slurmdbd_and_the_scripts) {
  auto design = read_template("superpod-h100");
  design.scheduler.preemption = design::Preemption::requeue;
  design.scheduler.qos = {{.name = "low", .priority = 1, .time_limit = hours(4)},
                          {.name = "high",
                           .priority = 100,
                           .max_nodes = 120,
                           .max_nodes_per_user = 64,
                           .max_jobs_per_user = 3,
                           .preempts = {"low"}}};
  design.workloads.front().terms.qos = "high";
  const auto r = reviewed(design);
  const EmittedFiles files = slurm_of(*r);
  EXPECT_THAT(
      text_of(files, "accounting.sh"),
      AllOf(HasSubstr("run modify qos low set Priority=1 MaxWall=0-04:00:00\n"),
            HasSubstr("ensure qos high\nrun modify qos high set Priority=100 GrpTRES=node=120 "
                      "MaxTRESPerUser=node=64 MaxJobsPerUser=3\n"),
            HasSubstr("run modify qos high set Preempt=low\n")));
  EXPECT_THAT(text_of(files, "accounting.sh"), testing::Not(HasSubstr("preemptible")));
  EXPECT_THAT(text_of(files, "slurm.conf"), HasSubstr("PreemptType=preempt/qos\n"));
  EXPECT_THAT(text_of(files, "submit-pretrain.sh"), HasSubstr("#SBATCH --qos=high\n"));
}

// Slices are counted by profile; on real nodes nvml finds their device files.
TEST(Slurm, mig_slices_are_gpus_named_by_profile) {
  auto design = read_text(kSmall);
  design.fleet[0].mig = {{"1g.10gb", 3}, {"2g.20gb", 2}};
  const auto r = reviewed(design);
  const EmittedFiles files = slurm_of(*r);
  EXPECT_THAT(text_of(files, "nodes.conf"), HasSubstr("Gres=gpu:1g.10gb:24,gpu:2g.20gb:16 "));
  EXPECT_THAT(text_of(files, "gres.conf"), HasSubstr("NodeName=n-[1-8] AutoDetect=nvml\n"));
  SlurmOptions trial;
  trial.trial = SlurmTrial{.dir = "/tmp/t"};
  EXPECT_THAT(text_of(slurm_of(*r, trial), "gres.conf"),
              AllOf(HasSubstr("Type=1g.10gb File=/tmp/t/gpu[0-23]\n"),
                    HasSubstr("Type=2g.20gb File=/tmp/t/gpu[24-39]\n")));
}

TEST(Slurm, designs_that_cannot_be_written_are_refused) {
  auto design = read_text(kSmall);
  design.scheduler.partitions[1].name = "a b";
  const auto many = reviewed(design);
  const auto files = emit_slurm(*many->review, many->source);
  ASSERT_FALSE(files.has_value());
  EXPECT_EQ(codes_of(files.error()), "emit.name \"a b\"\n");
  design.scheduler.partitions[1].name = "short";
  design.scheduler.kind = design::SchedulerKind::kubernetes;
  const auto other = reviewed(design);
  EXPECT_EQ(codes_of(emit_slurm(*other->review, other->source).error()), "emit.scheduler\n");
  const auto good = reviewed(read_text(kSmall));
  EXPECT_EQ(codes_of(emit_slurm(*good->review, good->source, {.controller = "a b"}).error()),
            "emit.option \"a b\"\n");
}

// Faults that Slurm would only warn about.
TEST(Slurm, a_broken_tree_is_refused) {
  const auto r = reviewed(read_text(kSmall));
  const auto whole = hosts_of(*r->review, HostsOf::slurm);
  ASSERT_TRUE(whole.has_value());
  EXPECT_THAT(check_tree(*whole), testing::IsEmpty());
  const auto refusal = [&whole](const auto& change) {
    Hosts hosts = *whole;
    change(hosts);
    const Diagnostics faults = check_tree(hosts);
    return faults.empty() ? "" : faults.front().code;
  };
  EXPECT_EQ(refusal([](Hosts& h) { h.tree[1].hosts.push_back({HostFleetIndex(0), 1, 1}); }), "emit.tree");
  EXPECT_EQ(refusal([](Hosts& h) { h.tree[1].hosts.front().count -= 1; }), "emit.tree");
  EXPECT_EQ(refusal([](Hosts& h) { h.tree[0].hosts.push_back({HostFleetIndex(0), 99, 1}); }), "emit.tree");
  EXPECT_EQ(refusal([](Hosts& h) { h.tree.back().switches.pop_back(); }), "emit.tree");
}

TEST(Slurm, files_are_stamped_and_deterministic) {
  const auto r = reviewed(read_template("small-lab"));
  const EmittedFiles files = slurm_of(*r);
  EXPECT_EQ(files, slurm_of(*r));
  for (const EmittedFile& f : files) {
    EXPECT_THAT(f.text, HasSubstr("# orrery-emit: design \"small-lab\"")) << f.path;
    EXPECT_THAT(f.text, HasSubstr("digest " + r->source.digest)) << f.path;
    EXPECT_EQ(f.executable, f.path.ends_with(".sh"));
  }
}

// The fleets of the other scheduler are left out.
TEST(Slurm, a_mixed_design_gives_slurm_its_fleets_only) {
  const auto r = reviewed(read_template("small-lab"));
  EXPECT_THAT(text_of(slurm_of(*r), "nodes.conf"), Not(HasSubstr("slices-")));
}

TEST(Slurm, times_round_up) {
  EXPECT_EQ(slurm_time(hours(28.5)), "1-04:30:00");
  EXPECT_EQ(slurm_time(seconds(61)), "0-00:02:00");
}

TEST(Slurm, hostlists_fold_ranges) {
  const auto r = reviewed(read_template("superpod-h100"));
  const auto hosts = hosts_of(*r->review, HostsOf::all);
  ASSERT_TRUE(hosts.has_value());
  EXPECT_EQ(hostlist(*hosts, {{HostFleetIndex(0), 1, 3}, {HostFleetIndex(0), 9, 1}}), "train-[001-003,009]");
  EXPECT_EQ(hostlist(*hosts, {{HostFleetIndex(0), 9, 1}}), "train-009");
}

}  // namespace
}  // namespace orrery::emit
