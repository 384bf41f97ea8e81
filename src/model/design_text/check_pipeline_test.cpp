// Pipelines, reservations, places of tiers, marks of RoCE and plants of sites: each refusal where
// it stands.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "model/design_text/read_design.h"
#include "model/design_text/said_fixture.h"

namespace orrery::design_text {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Two shared tiers, drives in the nodes, and one workload of each kind.
std::string pipeline_text(const std::string& stages, const std::string& every,
                          const std::string& train = "") {
  return "orrery: 1\nname: t\nsite: { region: usa }\nfleet:\n  - { name: a, node: dgx-h100, count: "
         "8 }\nstorage:\n  - { tier: hot, kind: object, capacity: 1 PB }\n  - { tier: cold, kind: "
         "object, capacity: 1 PB }\n  "
         "- { tier: node-nvme, kind: local-nvme, name: local }\nworkloads:\n  - train: { name: "
         "run, model: "
         "llama-3-8b, tokens: 1B, batch: 64" +
         train +
         " }\n  - batch: { name: prep, core_hours: 9 }\n  - serve: { name: ask, model: llama-3-8b, "
         "arrivals: { rate: 1 /s, trace: chat } }\n  - jobs: { rate: 1 /h, mean_duration: 1 h }\n"
         "pipeline:\n" +
         every + "  stages:\n" + stages;
}

std::vector<std::string> stages_said(const std::string& stages,
                                     const std::string& every = "  every: 1 d\n",
                                     const std::string& train = "") {
  return said_of(pipeline_text(stages, every, train));
}

std::string stage(const std::string& fields) { return "    - { stage: " + fields + " }\n"; }

const std::string kIngest = stage("ingest, to: hot, rate: 9 Gb/s, size: 1 TB");

TEST(CheckPipeline, a_whole_one_passes) {
  EXPECT_THAT(stages_said(kIngest + stage("prepare, workload: prep, after: [ingest]") +
                          stage("train, workload: run, after: [begin, prepare]") +
                          stage("register, from: hot, to: cold") + stage("serve, workload: ask")),
              IsEmpty());
}

TEST(CheckPipeline, it_has_stages_with_names) {
  EXPECT_THAT(said_of(pipeline_text("", "").substr(0, pipeline_text("", "").find("  stages:")) +
                      "  every: 1 d\n"),
              ElementsAre("design.pipeline at every:: this pipeline has no stages"));
  EXPECT_THAT(stages_said(kIngest + kIngest),
              ElementsAre("design.duplicate-name at {: two entries are the stage `ingest`"));
  EXPECT_THAT(stages_said(stage("ingest, name: begin, to: hot, rate: 9 Gb/s, size: 1 TB")),
              ElementsAre("design.pipeline at begin: no stage is called `begin`"));
}

TEST(CheckPipeline, what_moves_bytes_says_from_where_to_where) {
  EXPECT_THAT(stages_said(stage("ingest, rate: 9 Gb/s, size: 1 TB")),
              ElementsAre("design.missing at {: a stage of kind ingest lacks `to`"));
  EXPECT_THAT(stages_said(stage("ingest, to: hot, size: 1 TB")),
              ElementsAre("design.missing at {: a stage of kind ingest lacks `rate`"));
  EXPECT_THAT(stages_said(stage("ingest, to: hot, rate: 9 Gb/s")),
              ElementsAre("design.missing at {: a stage of kind ingest lacks `size`"));
  EXPECT_THAT(stages_said(stage("ingest, from: cold, to: hot, rate: 9 Gb/s, size: 1 TB")),
              ElementsAre("design.pipeline at cold: a stage of kind ingest has no `from`"));
  EXPECT_THAT(stages_said(stage("ingest, workload: prep, to: hot, rate: 9 Gb/s, size: 1 TB")),
              ElementsAre("design.pipeline at prep: a stage of kind ingest has no `workload`"));
  EXPECT_THAT(stages_said(stage("archive, to: cold, size: 1 TB")),
              ElementsAre("design.missing at {: a stage of kind archive lacks `from`"));
  EXPECT_THAT(stages_said(stage("archive, from: hot, to: cold, size: 1 TB")), IsEmpty());
  EXPECT_THAT(stages_said(stage("archive, from: hot, to: hot, size: 1 TB")),
              ElementsAre("design.pipeline at hot: `hot` is where it reads"));
  EXPECT_THAT(stages_said(stage("archive, from: hot, to: colt, size: 1 TB")),
              ElementsAre("design.unknown-name at colt: this file has no storage tier `colt`"));
  EXPECT_THAT(stages_said(stage("archive, from: hit, to: cold, size: 1 TB")),
              ElementsAre("design.unknown-name at hit: this file has no storage tier `hit`"));
  EXPECT_THAT(stages_said(stage("archive, from: hot, to: local, size: 1 TB")),
              ElementsAre("design.pipeline at local: `local` lies in the nodes"));
}

TEST(CheckPipeline, weights_are_those_of_a_model_above) {
  const std::string lacks = "design.missing at {: a stage of kind register lacks `size`";
  EXPECT_THAT(stages_said(stage("register, from: hot, to: cold")), ElementsAre(lacks));
  EXPECT_THAT(stages_said(stage("register, from: hot, to: cold, size: 1 GB")), IsEmpty());
  EXPECT_THAT(stages_said(stage("register, from: hot, to: cold") + stage("train, workload: run")),
              ElementsAre(lacks))
      << "it stands below";
  EXPECT_THAT(stages_said(stage("train, workload: run") + stage("deploy, from: hot, to: cold")),
              IsEmpty());
  EXPECT_THAT(stages_said(stage("train, workload: run") + stage("archive, from: hot, to: cold")),
              ElementsAre("design.missing at {: a stage of kind archive lacks `size`"));
}

TEST(CheckPipeline, what_works_is_a_workload) {
  const auto lacking = [](const char* key, const char* value) {
    return stages_said(stage("train, workload: run, " + std::string(key) + ": " + value));
  };
  for (const auto& [key, value] :
       {std::pair{"from", "hot"}, std::pair{"to", "hot"}, std::pair{"size", "7TB"},
        std::pair{"rate", "7GB/s"}, std::pair{"keep", "7d"}}) {
    EXPECT_THAT(lacking(key, value), ElementsAre("design.pipeline at " + std::string(value) +
                                                 ": a stage of kind train has no `" + key + "`"));
  }
  EXPECT_THAT(stages_said(stage("train")),
              ElementsAre("design.missing at {: a stage of kind train lacks `workload`"));
  EXPECT_THAT(stages_said(stage("train, workload: ran")),
              ElementsAre("design.unknown-name at ran: this file has no workload `ran`"));
  EXPECT_THAT(stages_said(stage("train, workload: run") + stage("validate, workload: run")),
              ElementsAre("design.pipeline at run: two stages are the workload `run`",
                          "design.pipeline at run: two stages are the workload `run`"));
  EXPECT_THAT(stages_said(stage("train, workload: prep")),
              ElementsAre("design.pipeline at prep: `prep` is a workload of kind batch"));
  EXPECT_THAT(stages_said(stage("serve, workload: run")),
              ElementsAre("design.pipeline at run: `run` is a workload of kind train"));
  EXPECT_THAT(stages_said(stage("prepare, workload: jobs")),
              ElementsAre("design.pipeline at jobs: `jobs` is a workload of kind jobs"));
  EXPECT_THAT(stages_said(stage("validate, workload: run")), IsEmpty());
}

TEST(CheckPipeline, a_workload_runs_once_in_a_cycle) {
  const std::string train = stage("train, workload: run");
  EXPECT_THAT(stages_said(train, "  every: 1 d\n", ", repeat: { every: 1 d }"), IsEmpty());
  EXPECT_THAT(stages_said(train, "  every: 1 d\n", ", repeat: { every: 2 d }"),
              ElementsAre("design.pipeline at run: `run` repeats in a period of its own"));
  EXPECT_THAT(stages_said(train, "", ", repeat: { every: 2 d }"),
              ElementsAre("design.pipeline at run: `run` repeats in a period of its own"));
  EXPECT_THAT(stages_said(train, "", ", runs: 3"),
              ElementsAre("design.pipeline at run: `run` runs 3 times a year"));
  EXPECT_THAT(stages_said(train, "", ", runs: 1"), IsEmpty());
  const auto once = read_design(pipeline_text(train, ""), design::catalog());
  ASSERT_TRUE(once);
  EXPECT_EQ(std::get<design::Train>(once->workloads[0].task).runs, 1);
  const auto daily = read_design(pipeline_text(train, "  every: 1 d\n"), design::catalog());
  ASSERT_TRUE(daily);
  ASSERT_TRUE(std::get<design::Train>(daily->workloads[0].task).repeat);
  EXPECT_EQ(std::get<design::Train>(daily->workloads[0].task).repeat->every, days(1));
}

TEST(CheckPipeline, a_stage_waits_for_those_above) {
  const std::string archive = "archive, from: hot, to: cold, size: 1 TB, after: ";
  EXPECT_THAT(stages_said(kIngest + stage(archive + "[ingest]")), IsEmpty());
  EXPECT_THAT(stages_said(stage(archive + "[ingest]") + kIngest),
              ElementsAre("design.pipeline at [ingest: `ingest` stands below it"));
  EXPECT_THAT(stages_said(stage(archive + "[archive]")),
              ElementsAre("design.pipeline at [archive: `archive` stands below it"));
  EXPECT_THAT(stages_said(kIngest + stage(archive + "[ingost]")),
              ElementsAre("design.unknown-name at [ingost: this file has no stage `ingost`"));
}

std::vector<std::string> plain_text_said(const std::string& more,
                                         const std::string& site = "region: usa",
                                         const catalog::ReadFile& files = {}) {
  return said_of("orrery: 1\nname: t\nsite: { " + site +
                     " }\nfleet:\n  - { name: all, node: dgx-h100, count: 8 }\n" + more,
                 files);
}

TEST(CheckReservations, windows_are_of_slurms_nodes) {
  const auto with = [](const std::string& fields, const std::string& kind = "slurm") {
    return plain_text_said("scheduler:\n  kind: " + kind +
                           "\n  quotas: [{ tenant: amy, share: 0.5 }]\n  reservations:\n    - { "
                           "name: r, start: 0 h, duration: " +
                           fields + " }\n");
  };
  EXPECT_THAT(with("23 h, repeat: daily, nodes: 8, tenants: [amy], fleet: all"), IsEmpty());
  EXPECT_THAT(with("24 h, repeat: daily"),
              ElementsAre("design.reservation at 24: a window of `r` ends after the next opens"));
  EXPECT_THAT(with("59 min, repeat: hourly"), IsEmpty());
  EXPECT_EQ(with("60 min, repeat: hourly").size(), 1U);
  EXPECT_THAT(with("167 h, repeat: weekly"), IsEmpty());
  EXPECT_EQ(with("168 h, repeat: weekly").size(), 1U);
  EXPECT_THAT(with("999 h"), IsEmpty());
  EXPECT_THAT(with("1 h, nodes: 9"),
              ElementsAre("design.reservation at 9: `r` wants 9 nodes of fleet `all`, which has "
                          "8"));
  EXPECT_THAT(with("1 h, fleet: al"),
              ElementsAre("design.unknown-name at al: this file has no fleet `al`"));
  EXPECT_THAT(with("1 h, tenants: [ann]"),
              ElementsAre("design.unknown-name at [ann: no quota is of the tenant `ann`"));
  EXPECT_THAT(with("1 h", "kubernetes"),
              ElementsAre("design.reservation at {: a reservation is Slurm's, and its fleet is run "
                          "by Kubernetes"));
  EXPECT_THAT(with("1 h }\n    - { name: r, start: 5 h, duration: 1 h"),
              ElementsAre("design.duplicate-name at r: two entries are the reservation `r`"));
  EXPECT_EQ(design::length_of(design::ReservationPeriod::once), Seconds(0));
  EXPECT_EQ(design::length_of(design::ReservationPeriod::hourly), hours(1));
  EXPECT_EQ(design::length_of(design::ReservationPeriod::daily), hours(24));
  EXPECT_EQ(design::length_of(design::ReservationPeriod::weekly), hours(168));
}

TEST(CheckPlaces, a_tier_lies_in_a_pool_or_a_bucket) {
  const auto with = [](const std::string& tier, const std::string& place) {
    return plain_text_said("storage:\n  - { tier: " + tier +
                           ", kind: object, name: n, capacity: 1 TB, place: \"" + place + "\" }\n");
  };
  EXPECT_THAT(with("hot", "rados:pool/a"), IsEmpty());
  EXPECT_THAT(with("warm", "s3+https://h/b"), IsEmpty());
  EXPECT_THAT(with("cold", "s3+http://h/b"), IsEmpty());
  EXPECT_THAT(with("hot", "s3+https://h/b"),
              ElementsAre("design.place at \"s3+https://h/b\": `s3+https://h/b` is no place of a "
                          "hot tier"));
  EXPECT_EQ(with("hot", "/mnt").size(), 1U);
  EXPECT_EQ(with("hot", "rados:a,rados:b").size(), 1U);
  EXPECT_EQ(with("gpu-direct", "rados:a").size(), 1U);
  EXPECT_EQ(with("node-nvme", "rados:a").size(), 1U);
  EXPECT_THAT(
      plain_text_said(
          "storage:\n  - { tier: hot, kind: object, capacity: 1 TB, place: \"rados:a\" }\n  "
          "- { tier: cold, kind: object, capacity: 1 TB, place: \"rados:a\" }\n"),
      ElementsAre("design.place at \"rados:a\": `rados:a` is the place of another tier "
                  "too"));
}

TEST(CheckMarking, marks_grow_and_a_watchdog_waits) {
  const auto with = [](const std::string& network, const std::string& roce) {
    return plain_text_said("fabric:\n  " + network + ": { topology: fat-tree, roce: { " + roce +
                           " } }\n");
  };
  for (const char* network : {"compute", "storage"}) {
    EXPECT_THAT(with(network, "ecn_kmin: 100 kB, ecn_kmax: 101 kB"), IsEmpty());
    EXPECT_THAT(with(network, "ecn_kmin: 100 kB, ecn_kmax: 100 kB"),
                ElementsAre("design.range at 100: `ecn_kmin` of 100 kB is not below `ecn_kmax` of "
                            "100 kB"));
    EXPECT_THAT(with(network, "watchdog_time: 200 ms"),
                ElementsAre("design.watchdog at 200: there is no `pfc_watchdog`"));
    EXPECT_THAT(with(network, "watchdog_time: 200 ms, pfc_watchdog: true"), IsEmpty());
  }
}

TEST(CheckHours, a_plant_carries_outages_that_there_are) {
  const auto with = [](const std::string& fields) {
    return plain_text_said("", "region: usa, " + fields);
  };
  EXPECT_THAT(with("outage: 1 h"),
              ElementsAre("design.outage at 1: the utility of this site never fails"));
  EXPECT_THAT(with("battery: 5 min"),
              ElementsAre("design.outage at 5: the utility of this site never fails"));
  EXPECT_EQ(with("generator: 9 s").size(), 1U);
  EXPECT_THAT(with("outage: 1 h, battery: 5 min, outage_mtbf: 1 y"), IsEmpty());
}

TEST(CheckHours, a_plant_sized_for_a_day_needs_its_weather) {
  const auto with = [](const std::string& fields, const std::string& column) {
    return plain_text_said("", "region: usa, " + fields,
                           [&](std::string_view) -> Result<std::string> {
                             std::string text = column + "\n";
                             for (int i = 0; i < 24; ++i) text += "20\n";
                             return text;
                           });
  };
  EXPECT_THAT(with("cooling_design: 35 C, hours: h.csv", "dry_bulb_c"), IsEmpty());
  EXPECT_THAT(with("cooling_design: -40 C, hours: h.csv", "dry_bulb_c"), IsEmpty());
  const std::string range = ": the dry bulb a plant is sized for is -40 C to 55 C";
  EXPECT_THAT(with("cooling_design: -41 C, hours: h.csv", "dry_bulb_c"),
              ElementsAre("design.range at -41" + range));
  EXPECT_THAT(with("cooling_design: 54.9 C, hours: h.csv", "dry_bulb_c"), IsEmpty());
  EXPECT_THAT(with("cooling_design: 55 C, hours: h.csv", "dry_bulb_c"),
              ElementsAre("design.range at 55" + range));
  const std::string weather = ": the site has no hours with dry_bulb_c";
  EXPECT_THAT(with("cooling_design: 35 C", ""), ElementsAre("design.weather at 35" + weather));
  EXPECT_THAT(with("cooling_design: 35 C, hours: h.csv", "carbon_g_per_kwh"),
              ElementsAre("design.weather at 35" + weather));
  EXPECT_EQ(with("cooling_design: 35 C, hours: h.csv", "nothing").size(), 1U)
      << "that it cannot be read is said, and that alone";
  EXPECT_THAT(with("pue: 1.2, hours: h.csv", "dry_bulb_c"),
              ElementsAre("design.hours-file at 1.2: the site has a `pue`, and its hours say it by "
                          "the hour"));
}

}  // namespace
}  // namespace orrery::design_text
