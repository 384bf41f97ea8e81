#include <gmock/gmock.h>

#include "output/emit/rows_fixture.h"
#include "output/emit/slurm.h"

namespace orrery::emit {
namespace {

using testing::HasSubstr;
using testing::Not;

// 61.3 hours plus a tenth are 67 h 25.8 min; four hosts rise by 8.2 kW each; a save takes 18.3 s,
// plus a minute.
constexpr std::string_view kSubmit =
    R"(#!/bin/bash
#SBATCH --job-name=words
#SBATCH --partition=long
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=8
#SBATCH --cpus-per-task=14
#SBATCH --gres=gpu:h100-sxm:8
#SBATCH --exclusive
#SBATCH --time=2-19:26:00
#SBATCH --signal=B:USR1@79
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --switches=1
#SBATCH --reservation=nights
#SBATCH --licenses=site1_kw:33
export ORRERY_LAYOUT='tp2 pp3 dp5'
export ORRERY_STEP_S=2.5
export ORRERY_CHECKPOINT_INTERVAL_S=101
export ORRERY_CHECKPOINT_STEPS=40
export ORRERY_CHECKPOINT_MODE=async
export ORRERY_CHECKPOINT_TIER=files
export ORRERY_CHECKPOINT_SAFE_TIER=files
)";

TEST(SlurmScripts, a_submit_script_asks_for_what_was_planned) {
  const std::string text = directives(text_of(slurm_of(*planned_rows()), "submit-words.sh"));
  EXPECT_EQ(text.substr(0, text.find("\nif [")), kSubmit);
  EXPECT_THAT(text, HasSubstr("\n\nsrun --kill-on-bad-exit=1 -- \"$@\" &\nranks=$!\n"));
}

// 37 % of 120 GPUs are 44.4, rounded to 44; 12 are a tenth.
constexpr std::string_view kTenants =
    R"(ensure cluster rows
ensure qos high
run modify qos high set Priority=100
ensure qos normal
run modify qos normal set Priority=50
ensure qos preemptible
run modify qos preemptible set Priority=0 PreemptMode=requeue
run modify qos high set Preempt=preemptible
run modify qos normal set Preempt=preemptible
ensure account vision Description=vision Organization=vision
run modify account vision set Fairshare=37 GrpTRES=gres/gpu=44
ensure account speech Description=speech Organization=speech
run modify account speech set Fairshare=10 GrpTRES=gres/gpu=12
)";

TEST(SlurmScripts, tenants_are_accounts_with_quotas) {
  const std::string text = text_of(slurm_of(*planned_rows()), "accounting.sh");
  EXPECT_EQ(text.substr(text.find("ensure cluster")), kTenants);
}

std::string line_asked(const std::unique_ptr<ReviewedExample>& r, std::string_view start) {
  return line_with(text_of(slurm_of(*r), "submit-words.sh"), start);
}

// At most a week or the partition's limit, at least ten minutes; a save gets half of it.
TEST(SlurmScripts, wall_time_has_a_margin_and_limits) {
  const auto r = planned_rows();
  review::TrainView& train = r->review->trains.front();
  const auto time = [&](Seconds run, Seconds save) {
    train.run_time = run;
    train.checkpoint->stall.safe = save;
    return line_asked(r, "#SBATCH --time=").substr(15) +
           line_asked(r, "#SBATCH --signal=B:USR1@").substr(24);
  };
  EXPECT_EQ(time(hours(10), seconds(18.3)), "0-11:00:0079");
  EXPECT_EQ(time(hours(500), seconds(18.3)), "7-00:00:0079");
  EXPECT_EQ(time(minutes(1), seconds(18.3)), "0-00:10:0079");
  EXPECT_EQ(time(minutes(1), seconds(1000)), "0-00:10:00300");
  EXPECT_EQ(time(hours(500), seconds(70000)), "7-00:00:0065535");
  EXPECT_EQ(time(hours(500), seconds(65474)), "7-00:00:0065534");
}

TEST(SlurmScripts, the_partition_limits_the_wall_time) {
  design::Design design = read_text(kRowsDesign);
  design.scheduler.partitions[0].time_limit = hours(7.5);
  const auto r = reviewed_as_pods(design);
  r->review->trains.front().run_time = hours(61.3);
  EXPECT_EQ(line_asked(r, "#SBATCH --time="), "#SBATCH --time=0-07:30:00");
  r->review->trains.front().checkpoint.reset();
  EXPECT_EQ(line_asked(r, "#SBATCH --signal="), "#SBATCH --signal=B:USR1@300");
}

// The partition is on the first unit, which has four hosts.
TEST(SlurmScripts, a_run_that_fits_a_unit_asks_for_one_switch) {
  const auto r = planned_rows();
  EXPECT_EQ(line_asked(r, "#SBATCH --switches"), "#SBATCH --switches=1");
  r->review->trains.front().hosts = 5;
  EXPECT_EQ(line_asked(r, "#SBATCH --switches"), "none");
  EXPECT_EQ(line_asked(r, "#SBATCH --nodes"), "#SBATCH --nodes=5");
  EXPECT_EQ(line_asked(r, "#SBATCH --licenses"), "#SBATCH --licenses=site1_kw:41");
}

TEST(SlurmScripts, an_elastic_run_asks_for_a_range_of_nodes) {
  const auto r = planned_rows();
  r->review->trains.front().elastic = jobs::ElasticPlan{.unit_hosts = 2, .units = 7, .least = 3};
  r->review->trains.front().hosts = 14;
  const std::string text = text_of(slurm_of(*r), "submit-words.sh");
  EXPECT_THAT(text, HasSubstr("#SBATCH --nodes=6-14\n"));
  EXPECT_THAT(text, HasSubstr("#SBATCH --requeue\n#SBATCH --no-kill\n#SBATCH --open-mode"));
  EXPECT_THAT(text, HasSubstr("export PET_NNODES=6:14\n"));
  EXPECT_THAT(text, HasSubstr("\n\nsrun --no-kill --kill-on-bad-exit=0 -- \"$@\" &\nranks=$!\n"));
  EXPECT_THAT(line_asked(planned_rows(), "#SBATCH --no-kill"), "none");
}

TEST(SlurmScripts, power_licenses_need_a_site_limit) {
  design::Design design = read_text(kRowsDesign);
  design.scheduler.power_aware = false;
  EXPECT_EQ(line_asked(reviewed_as_pods(design), "#SBATCH --licenses"), "none");
  EXPECT_THAT(text_of(slurm_of(*reviewed_as_pods(design)), "slurm.conf"),
              Not(HasSubstr("Licenses")));
  design.scheduler.power_aware = true;
  design.sites[0].power.reset();
  EXPECT_EQ(line_asked(reviewed_as_pods(design), "#SBATCH --licenses"), "none");
  EXPECT_THAT(text_of(slurm_of(*reviewed_as_pods(design)), "slurm.conf"),
              Not(HasSubstr("Licenses")));
  const auto r = planned_rows();
  r->review->sites.front().pue.middle = 90;  // 10 kW of 33.35 kW
  EXPECT_EQ(line_with(text_of(slurm_of(*r), "slurm.conf"), "Licenses="), "Licenses=site1_kw:0");
}

TEST(SlurmScripts, a_run_of_a_reserved_tenant_names_the_reservation) {
  design::Design design = read_text(kRowsDesign);
  const auto reservation = [&design] {
    return line_asked(reviewed_as_pods(design), "#SBATCH --reservation");
  };
  EXPECT_EQ(reservation(), "#SBATCH --reservation=nights");
  design.scheduler.reservations[0].tenants = {"vision"};
  EXPECT_EQ(reservation(), "none");
  design.scheduler.reservations[0].tenants = {"speech"};
  design.scheduler.reservations.push_back(design.scheduler.reservations[0]);
  design.scheduler.reservations[0].name = "other";
  design.scheduler.reservations[0].fleet = "red";
  EXPECT_EQ(reservation(), "#SBATCH --reservation=nights");
  design.scheduler.reservations[0].fleet = "";
  EXPECT_EQ(reservation(), "#SBATCH --reservation=other");
}

TEST(SlurmScripts, reservations_have_their_window_and_nodes) {
  design::Design design = read_text(kRowsDesign);
  design::Reservation& r = design.scheduler.reservations[0];
  const auto made = [&design] {
    const std::string text = text_of(slurm_of(*reviewed_as_pods(design)), "reservations.sh");
    return line_with(text, "make nights");
  };
  EXPECT_EQ(made(),
            "make nights StartTime=now+1200minutes Duration=90 'Nodes=gpus-[08-10]' "
            "Flags=FLEX,IGNORE_JOBS,OVERLAP,DAILY Accounts=speech,vision");
  r.nodes.reset();
  r.tenants.clear();
  r.repeat = design::ReservationPeriod::once;
  r.duration = seconds(20);
  EXPECT_EQ(made(),
            "make nights StartTime=now+1200minutes Duration=1 'Nodes=gpus-[01-10]' "
            "Flags=MAINT,IGNORE_JOBS Users=root");
  r.nodes = 1;
  r.fleet = "plain";
  r.repeat = design::ReservationPeriod::weekly;
  r.start = minutes(7.6);
  r.duration = minutes(33.4);
  EXPECT_EQ(made(),
            "make nights StartTime=now+8minutes Duration=33 Nodes=plain-7 "
            "Flags=MAINT,IGNORE_JOBS,WEEKLY Users=root");
  r.nodes = 0;
  EXPECT_THAT(made(), HasSubstr("Nodes=plain-8 "));
}

TEST(SlurmScripts, health_checks_know_every_vendor) {
  const auto r = reviewed_as_pods(read_text(R"(
orrery: 1
name: pods
site: { region: deu }
fleet:
  - { name: edge, node: l4-1-edge, count: 3 }
  - { name: gold, node: gaudi3-ubb, count: 2 }
  - { name: red, node: mi300x-platform, count: 2 }
  - { name: tron, node: aws-trn2-ultra, count: 2 }
  - { name: green, node: l40s-8, count: 2 }
  - { name: gpus, node: dgx-h100, count: 2 }
  - { name: plain, node: cpu-2s-server, count: 11, spares: 1 }
fabric: { compute: { topology: fat-tree, switch: sn5600 } }
scheduler: { kind: slurm, topology: none, backfill: none }
)"));
  const EmittedFiles files = slurm_of(*r);
  EXPECT_THAT(
      text_of(files, "health.sh"),
      HasSubstr("case \"$node\" in\n"
                "  green-[0-9]*) gpus=8 vendor=nvidia nvlink=0 devices=/dev/null ;;\n"
                "  plain-[0-9]*) gpus=0 vendor=none nvlink=0 devices=/dev/null ;;\n"
                "  edge-[0-9]*) gpus=1 vendor=nvidia nvlink=0 devices=/dev/null ;;\n"
                "  gold-[0-9]*) gpus=8 vendor=intel nvlink=0 devices='/dev/accel/accel*' ;;\n"
                "  tron-[0-9]*) gpus=16 vendor=aws nvlink=0 devices='/dev/neuron*' ;;\n"
                "  gpus-[0-9]*) gpus=8 vendor=nvidia nvlink=1 devices=/dev/null ;;\n"
                "  red-[0-9]*) gpus=8 vendor=amd nvlink=0 devices='/dev/dri/renderD*' ;;\n"
                "  *) echo"));
  EXPECT_EQ(directives(text_of(files, "gres.conf")),
            "NodeName=edge-[1-3] Name=gpu Type=l4 File=/dev/nvidia0\n"
            "NodeName=gold-[1-2] Name=gpu Type=gaudi3 File=/dev/accel/accel[0-7]\n"
            "NodeName=red-[1-2] Name=gpu Type=mi300x File=/dev/dri/renderD[128-135]\n"
            "NodeName=tron-[1-8] Name=gpu Type=trainium2 File=/dev/neuron[0-15]\n"
            "NodeName=green-[1-2] Name=gpu Type=l40s File=/dev/nvidia[0-7]\n"
            "NodeName=gpus-[1-2] Name=gpu Type=h100-sxm File=/dev/nvidia[0-7]\n");
}

TEST(SlurmScripts, shared_mounts_are_health_checked) {
  EXPECT_THAT(text_of(slurm_of(*planned_rows()), "health.sh"),
              HasSubstr("\nmounts=(/mnt/files /mnt/wide)\n"));
}

TEST(SlurmScripts, names_that_slurm_rejects_are_refused) {
  const auto refused = [](const auto& change) {
    design::Design design = read_text(kRowsDesign);
    change(design);
    const auto r = reviewed_as_pods(design);
    const auto files = emit_slurm(*r->review, r->source);
    return files ? "" : codes_of(files.error());
  };
  EXPECT_EQ(refused([](design::Design& d) { d.name = "A B"; }), "emit.name \"A B\"\n");
  EXPECT_EQ(refused([](design::Design& d) { d.scheduler.quotas[1].tenant = "s/p"; }),
            "emit.name \"s/p\"\n");
  EXPECT_EQ(refused([](design::Design& d) { d.scheduler.reservations[0].name = "n n"; }),
            "emit.name \"n n\"\n");
  EXPECT_EQ(refused([](design::Design& d) { d.scheduler.partitions[1].name = "a b"; }),
            "emit.name \"a b\"\n");
  EXPECT_EQ(refused([](design::Design& d) { d.storage[0].name = "f f"; }), "emit.name \"f f\"\n");
  EXPECT_EQ(refused([](design::Design& d) { d.workloads[0].terms.name = "w w"; }),
            "emit.name \"w w\"\n");
  EXPECT_EQ(refused([](design::Design& d) { d.scheduler.qos = {{.name = "q q"}}; }),
            "emit.name \"q q\"\n");
  EXPECT_EQ(refused([](design::Design& d) { d.fleet[0].name = "g_g"; }), "emit.name \"g_g\"\n");
}

// Two nodes rise by 16 kW, four by 30 kW.
TEST(SlurmScripts, a_run_asks_for_power_of_its_site) {
  const EmittedFiles files = slurm_of(*planned_sites());
  EXPECT_EQ(line_with(text_of(files, "submit-cold.sh"), "#SBATCH --licenses="),
            "#SBATCH --licenses=site1_kw:16");
  EXPECT_EQ(line_with(text_of(files, "submit-hard.sh"), "#SBATCH --licenses="), "none");
  EXPECT_EQ(line_with(text_of(files, "submit-warm.sh"), "#SBATCH --licenses="),
            "#SBATCH --licenses=site3_kw:30");
}

// A rack of gb200-nvl72 has 18 hosts, so two of four racks are the last 36 of 72 hosts.
TEST(SlurmScripts, a_reservation_of_racks_names_their_hosts) {
  design::Design design = read_text(R"(
orrery: 1
name: racks
site: { region: deu }
fleet:
  - { name: rack, node: gb200-nvl72, count: 4 }
fabric: { compute: { topology: fat-tree, switch: qm9700 } }
scheduler:
  kind: slurm
  reservations:
    - { name: firmware, nodes: 2, start: 1 h, duration: 30 min }
)");
  const auto made = [&design] {
    return line_with(text_of(slurm_of(*reviewed_as_pods(design)), "reservations.sh"),
                     "make firmware");
  };
  EXPECT_THAT(made(), HasSubstr("'Nodes=rack-[37-72]'"));
  design.scheduler.reservations[0].nodes = 4;
  EXPECT_THAT(made(), HasSubstr("'Nodes=rack-[01-72]'"));
  design.scheduler.reservations[0].nodes.reset();
  EXPECT_THAT(made(), HasSubstr("'Nodes=rack-[01-72]'"));
}

}  // namespace
}  // namespace orrery::emit
