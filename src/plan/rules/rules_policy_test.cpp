// Law and security: residency, export control, air gaps, encryption, tenants, retired engines.
#include <gtest/gtest.h>

#include "plan/review/lab_fixture.h"
#include "plan/rules/findings_fixture.h"

namespace orrery::rules {
namespace {

TEST(RulesPolicy, work_outside_its_region) {
  const review::Review r =
      review::edited_review("superpod-h100", {{"workloads[0].train.residency", "deu"}});
  const auto all = findings_by(r, "policy.residency");
  ASSERT_EQ(all.size(), 3U);
  expect_finding(r, all[0], "workloads[0].train.residency");
  expect_finding(r, all[1], "workloads[0].train.residency");
}

// The hot tier is in America: the cold tier inside the region replaces it wherever it is named.
TEST(RulesPolicy, data_outside_its_region) {
  const auto edits = [](const review::Review& r) {
    std::vector<std::string> all;
    for (const Finding& f : findings_by(r, "policy.residency")) all.push_back(edit_of(f));
    return all;
  };
  const review::Review data =
      review::edited_review("medical-imaging", {{"storage[0].region", "usa"}});
  EXPECT_EQ(edits(data), std::vector<std::string>{"workloads[0].train.dataset.tier = cold"});
  const review::Review saves = review::edited_review(
      "medical-imaging",
      {{"storage[0].region", "usa"}, {"workloads[0].train.dataset.tier", "cold"}});
  EXPECT_EQ(edits(saves), std::vector<std::string>{"workloads[0].train.checkpoint.to = [cold]"});
  // With no other tier inside the region, the tier itself moves to the run.
  const review::Review alone =
      review::edited_review("medical-imaging", {{"storage[0].region", "usa"},
                                                {"storage[1].region", "usa"},
                                                {"storage[2].region", "usa"},
                                                {"storage[3].region", "usa"},
                                                {"workloads[0].train.checkpoint", ""}});
  EXPECT_EQ(edits(alone),
            std::vector<std::string>{"storage[0].region = " + alone.fleets()[design::FleetIndex(0)].region->id});
}

TEST(RulesPolicy, zone_with_a_fleet_outside_its_region) {
  const review::Review r =
      review::edited_review("chatbot-zones", {{"workloads[0].serve.zones[0].residency", "eu"},
                                              {"workloads[0].serve.zones[0].failover", ""}});
  const Finding f = only_finding(r, "policy.residency");
  const std::string edit = edit_of(f);
  EXPECT_EQ(edit.find("workloads[0].serve.zones[0] = { site: europe, fleet: europe"), 0U) << edit;
}

TEST(RulesPolicy, zone_that_fails_over_outside_its_region) {
  const review::Review r = review::edited_review(
      "chatbot-zones", {{"workloads[0].serve.zones[0].failover", "[us-west, europe]"}});
  const Finding f = only_finding(r, "policy.residency");
  const std::string edit = edit_of(f);
  EXPECT_NE(edit.find("failover: [us-west]"), std::string::npos) << edit;
  EXPECT_EQ(f.place.line, place_of(r.design(), "workloads[0].serve.zones[0].failover").line);
  EXPECT_TRUE(findings_by(review::lab_review("chatbot-zones"), "policy.residency").empty());
}

// Machines in Germany and in America; the tier 'abroad' is in America.
std::string two_lands(const std::string& storage, const std::string& workloads) {
  return "sites: [{ name: home, region: deu }, { name: away, region: usa }]\nfleet:\n  - { name: "
         "f, node: dgx-h100, count: 4, site: home }\n  - { name: g, node: dgx-h100, count: 4, "
         "site: away }\n  - { name: c, node: cpu-2s-server, count: 4, site: away }\nfabric: { wan: "
         "[{ between: [home, away], rate: 10 Gb/s, latency: 90 ms, price: 1 kUSD/y }] "
         "}\nstorage:\n" +
         storage + "workloads:\n" + workloads;
}

std::string tier_in(const std::string& name, const std::string& tier, const std::string& site,
                    const std::string& more = "") {
  return "  - { name: " + name + ", tier: " + tier + ", kind: parallel-fs, site: " + site +
         ", read: 9 GB/s, write: 9 GB/s, capacity: 9 PB" + more + " }\n";
}

const std::string kRunInGermany =
    "  - train: { name: t, fleet: f, residency: deu, network: { params: 30M, forward: 4 GFLOP }, "
    "batch: 640, samples: 1M";

TEST(RulesPolicy, tier_of_the_same_kind_comes_first) {
  const std::string run =
      kRunInGermany + ", dataset: { tier: abroad, samples: 1M, sample_size: 100 kB } }\n";
  const auto edits = [&](const std::string& others) {
    return edits_by(review::hand_review(two_lands(tier_in("abroad", "hot", "away") + others, run)),
                    "policy.residency");
  };
  const auto one = [](const std::string& edit) { return std::vector<std::string>{edit}; };
  const std::string path = "workloads[0].train.dataset.tier = ";
  const std::string warm = tier_in("warm-here", "warm", "home");
  const std::string hot = tier_in("hot-here", "hot", "home");
  EXPECT_EQ(edits(warm), one(path + "warm-here"));
  EXPECT_EQ(edits(warm + hot), one(path + "hot-here"));
  EXPECT_EQ(edits(warm + tier_in("cold-here", "cold", "home")), one(path + "warm-here"))
      << "the first of others";
  EXPECT_EQ(edits(tier_in("near", "hot", "home", ", caches: abroad") + warm),
            one(path + "warm-here"))
      << "a cache is no place of its own";
  EXPECT_EQ(edits("  - { name: drives, tier: node-nvme, kind: local-nvme, site: home }\n" + warm),
            one(path + "warm-here"));
  EXPECT_EQ(edits(tier_in("hot-there", "hot", "away") + warm), one(path + "warm-here"));
  EXPECT_EQ(edits(""), one("storage[0].site = home")) << "none inside: it moves";
}

// Wherever the run names it: data, then events, then saves.
TEST(RulesPolicy, first_field_that_names_the_tier_is_edited) {
  const auto edits = [](const std::string& rest) {
    return edits_by(review::hand_review(
                        two_lands(tier_in("abroad", "hot", "away") + tier_in("here", "hot", "home"),
                                  kRunInGermany + rest + " }\n")),
                    "policy.residency");
  };
  const auto one = [](const std::string& edit) { return std::vector<std::string>{edit}; };
  EXPECT_EQ(edits(", features: { tier: abroad, rate: 10 /s, size: 1 kB, retention: 1 d }"),
            one("workloads[0].train.features.tier = here"));
  EXPECT_EQ(edits(", checkpoint: { to: [abroad, here] }"),
            one("workloads[0].train.checkpoint.to = [here]"));
  EXPECT_EQ(edits(", features: { tier: here, rate: 10 /s, size: 1 kB, retention: 1 d }, "
                  "checkpoint: { to: [node-nvme, abroad] }"),
            one("workloads[0].train.checkpoint.to = [node-nvme, here]"));
  EXPECT_TRUE(edits(", checkpoint: { to: [here] }").empty());
}

TEST(RulesPolicy, residency_of_services_and_batches) {
  const std::string tiers = tier_in("abroad", "hot", "away") + tier_in("here", "hot", "home");
  const auto edits = [&](const std::string& work) {
    return edits_by(review::hand_review(two_lands(tiers, work)), "policy.residency");
  };
  const auto one = [](const std::string& edit) { return std::vector<std::string>{edit}; };
  const std::string serve =
      "  - serve: { name: s, fleet: f, residency: deu, model: llama-3-8b, tp: 1, arrivals: { rate: "
      "1 /s, trace: chat }, ";
  EXPECT_EQ(edits(serve + "weights_tier: abroad }\n"),
            one("workloads[0].serve.weights_tier = here"));
  EXPECT_EQ(edits(serve + "kv_tier: { tier: abroad, capacity: 1 TB } }\n"), one("none"));
  const std::string batch =
      "  - batch: { name: b, fleet: f, residency: deu, core_hours: 96, tasks: 96, dataset: { "
      "kind: tabular, size: 1 TB, tier: abroad } }\n";
  EXPECT_EQ(edits(batch), one("workloads[0].batch.dataset.tier = here"));
}

// A fleet inside with accelerators where the present one has them.
TEST(RulesPolicy, fleet_inside_the_region_is_offered) {
  const auto finding = [](const std::string& fleet, const std::string& residency) {
    const std::string run =
        "  - train: { name: t, fleet: " + fleet + ", residency: " + residency +
        ", network: { params: 30M, forward: 4 GFLOP }, batch: 640, samples: 1M }\n";
    const review::Review r = review::hand_review(two_lands(tier_in("here", "hot", "home"), run));
    return only_finding(r, "policy.residency");
  };
  const Finding f = finding("g", "deu");
  EXPECT_EQ(edit_of(f), "workloads[0].train.fleet = f");
  EXPECT_EQ(edit_of(finding("f", "usa")), "workloads[0].train.fleet = g");
  EXPECT_EQ(edit_of(finding("f", "fra")), "none");
  const std::string cores =
      "  - batch: { name: b, fleet: c, residency: deu, core_hours: 96, tasks: 96 }\n";
  const review::Review r = review::hand_review(two_lands(tier_in("here", "hot", "home"), cores));
  EXPECT_EQ(edit_of(only_finding(r, "policy.residency")), "none") << "cores for cores";
}

TEST(RulesPolicy, tier_moves_only_to_a_site_inside) {
  const std::string run =
      "  - train: { name: t, fleet: g, residency: deu, network: { params: 30M, forward: 4 GFLOP }, "
      "batch: 640, samples: 1M, dataset: { tier: abroad, samples: 1M, sample_size: 100 kB } }\n";
  const review::Review r = review::hand_review(two_lands(tier_in("abroad", "hot", "away"), run));
  EXPECT_EQ(edits_by(r, "policy.residency"),
            (std::vector<std::string>{"workloads[0].train.fleet = f", "none"}));
  const review::Review regional = review::hand_review(
      two_lands(tier_in("abroad", "hot", "home", ", region: fra"),
                kRunInGermany + ", dataset: { tier: abroad, samples: 1M, sample_size: 1 kB } }\n"));
  expect_finding(regional, only_finding(regional, "policy.residency"),
                 "workloads[0].train.residency", "storage[0].region = deu");
}

// The zone's own fleet, or the last fleet of its site that no earlier zone uses; the service's
// residency too.
TEST(RulesPolicy, failover_outside_the_services_residency) {
  review::Review r = review::edited_review(
      "chatbot-zones", {{"workloads[0].serve.residency", "usa"},
                        {"workloads[0].serve.zones[2].residency", ""},
                        {"workloads[0].serve.zones[0].residency", ""},
                        {"workloads[0].serve.zones[0].failover", "[europe]"},
                        {"workloads[0].serve.zones[0].failover_after", "1 min"}});
  const auto all = findings_by(r, "policy.residency");
  ASSERT_EQ(all.size(), 1U);
  const std::string edit = edit_of(all[0]);
  EXPECT_EQ(edit.find("workloads[0].serve.zones[0] = { site: us-east"), 0U) << edit;
  EXPECT_EQ(edit.find("failover"), std::string::npos) << "nor a time for it: " << edit;
}

TEST(RulesPolicy, zone_without_a_fleet_uses_the_first_of_its_site) {
  const review::Review r =
      review::edited_review("chatbot-zones", {{"workloads[0].serve.zones[2].fleet", ""},
                                              {"workloads[0].serve.zones[2].residency", "usa"}});
  const Finding f = only_finding(r, "policy.residency");
  const std::string edit = edit_of(f);
  EXPECT_EQ(edit.find("workloads[0].serve.zones[2] = { site: us-east, fleet: us-east"), 0U) << edit;
  EXPECT_EQ(f.place.line, place_of(r.design(), "workloads[0].serve.residency").line);
}

// Two fleets are in America: the zone is on the one that it names, or on the first.
TEST(RulesPolicy, finding_names_the_zones_fleet) {
  const auto names = [](const std::string& fleet, const char* named) {
    const review::Review r = review::hand_review(
        two_lands(tier_in("here", "hot", "home"),
                  "  - serve: { name: s, fleet: f, model: llama-3-8b, tp: 1, arrivals: { rate: 1 "
                  "/s, trace: chat }, zones: [{ site: away, share: 1, residency: deu" +
                      fleet + " }] }\n"));
    return only_finding(r, "policy.residency").what.contains(named);
  };
  EXPECT_TRUE(names(", fleet: c", "'c'"));
  EXPECT_TRUE(names("", "'g'"));
}

TEST(RulesPolicy, export_licence_for_a_listed_part) {
  const review::Review r = review::edited_review("superpod-h100", {{"site.region", "chn"}});
  const Finding f = only_finding(r, "policy.export-control");
  EXPECT_EQ(f.place.line, place_of(r.design(), "fleet[0].node").line);
  EXPECT_TRUE(findings_by(review::lab_review("superpod-h100"), "policy.export-control").empty());
}

TEST(RulesPolicy, rented_parts_need_no_export_licence) {
  const review::Review r = review::edited_review("superpod-h100", {{"site.region", "chn"}});
  expect_finding(r, only_finding(r, "policy.export-control"), "fleet[0].node");
  const review::Review rented = review::edited_review(
      "superpod-h100",
      {{"site.region", "chn"}, {"fleet[0].rent", "{ provider: aws, price: 2 USD/h }"}});
  EXPECT_TRUE(findings_by(rented, "policy.export-control").empty()) << "somebody else's";
}

TEST(RulesPolicy, calls_out_of_an_air_gap) {
  const review::Review calls = review::edited_review(
      "superpod-h100", {{"site.air_gapped", "true"}, {"workloads[0].train.external", "[a, b]"}});
  expect_finding(calls, only_finding(calls, "policy.air-gap"), "workloads[0].train.external",
                 "workloads[0].train.external = ");
  const review::Review cloud = review::edited_review(
      "superpod-h100", {{"site.air_gapped", "true"}, {"storage[0].provider", "aws"}});
  const auto all = findings_by(cloud, "policy.air-gap");
  ASSERT_GE(all.size(), 1U);
  EXPECT_EQ(edit_of(all[0]), "workloads[0].train.dataset.tier = cold");
  const review::Review stage = review::edited_review(
      "superpod-h100",
      {{"site.air_gapped", "true"},
       {"pipeline", "{ stages: [{ stage: ingest, to: hot, size: 10 TB, rate: 100 Gb/s }] }"}});
  const Finding f = only_finding(stage, "policy.air-gap");
  EXPECT_EQ(f.place.line, place_of(stage.design(), "pipeline.stages[0]").line);
  EXPECT_TRUE(findings_by(review::edited_review("superpod-h100", {{"site.air_gapped", "true"}}),
                          "policy.air-gap")
                  .empty());
}

TEST(RulesPolicy, provider_tier_behind_an_air_gap) {
  const std::string gap =
      "sites: [{ name: home, region: deu, air_gapped: true }, { name: away, region: deu }]\nfleet: "
      "[{ name: f, node: dgx-h100, count: 4, site: home }]\nfabric: { wan: [{ between: [home, "
      "away], rate: 10 Gb/s, latency: 9 ms, price: 1 kUSD/y }] }\nstorage:\n" +
      tier_in("bucket", "hot", "home", ", provider: aws");
  const std::string run =
      "workloads:\n  - train: { name: t, fleet: f, network: { params: 30M, forward: 4 GFLOP }, "
      "batch: 640, samples: 1M, dataset: { tier: bucket, samples: 1M, sample_size: 100 kB } }\n";
  const auto edits = [&](const std::string& others) {
    return edits_by(review::hand_review(gap + others + run), "policy.air-gap");
  };
  const auto one = [](const std::string& edit) { return std::vector<std::string>{edit}; };
  EXPECT_EQ(edits(""), one("none"));
  EXPECT_EQ(edits(tier_in("own", "warm", "home")), one("workloads[0].train.dataset.tier = own"));
  EXPECT_EQ(edits(tier_in("other", "warm", "away")), one("none")) << "of another site";
  EXPECT_EQ(edits(tier_in("rented", "warm", "home", ", provider: gcp")), one("none"));
  const review::Review r = review::hand_review(gap + run);
  expect_finding(r, only_finding(r, "policy.air-gap"), "workloads[0].train");
}

TEST(RulesPolicy, ingest_into_an_air_gap) {
  const auto with = [](const std::string& stages) {
    return review::edited_review("superpod-h100", {{"site.air_gapped", "true"},
                                                   {"pipeline", "{ stages: [" + stages + "] }"}});
  };
  const std::string take = "{ stage: ingest, name: in, to: hot, size: 10 TB, rate: 100 Gb/s }";
  const review::Review r = with(take);
  expect_finding(r, only_finding(r, "policy.air-gap"), "pipeline.stages[0]");
  EXPECT_EQ(
      findings_by(with(take + ", { stage: archive, name: out, from: hot, to: cold, size: 1 TB }"),
                  "policy.air-gap")
          .size(),
      1U);
  const review::Review open =
      review::edited_review("superpod-h100", {{"pipeline", "{ stages: [" + take + "] }"}});
  EXPECT_TRUE(findings_by(open, "policy.air-gap").empty());
}

TEST(RulesPolicy, encryption_asked_for_but_not_offered) {
  const review::Review rest = review::edited_review(
      "superpod-h100",
      {{"workloads[0].train.encrypt_at_rest", "true"}, {"storage[1].encrypted", "true"}});
  expect_finding(rest, only_finding(rest, "policy.encryption-at-rest"),
                 "workloads[0].train.encrypt_at_rest", "storage[0].encrypted = true");
  const review::Review offered = review::edited_review(
      "superpod-h100",
      {{"workloads[0].train.encrypt_at_rest", "true"}, {"site.encryption_at_rest", "true"}});
  EXPECT_TRUE(findings_by(offered, "policy.encryption-at-rest").empty());
  const review::Review way =
      review::edited_review("superpod-h100", {{"workloads[0].train.encrypt_in_transit", "true"}});
  expect_finding(way, only_finding(way, "policy.encryption-in-transit"),
                 "workloads[0].train.encrypt_in_transit", "site.encryption_in_transit = true");
  const auto with = [](std::vector<design_text::Change> more) {
    more.push_back({"workloads[0].train.encrypt_in_transit", "true"});
    return findings_by(review::edited_review("superpod-h100", more), "policy.encryption-in-transit")
        .size();
  };
  EXPECT_EQ(with({{"site.encryption_in_transit", "true"}}), 0U);
  EXPECT_EQ(with({{"fabric.compute.encrypted", "true"}}), 1U) << "both networks";
  EXPECT_EQ(with({{"fabric.compute.encrypted", "true"}, {"fabric.storage.encrypted", "true"}}), 0U);
}

// The hall's encryption does not cover a provider's drives.
TEST(RulesPolicy, site_encryption_does_not_cover_a_provider_tier) {
  const std::vector<design_text::Change> asked = {{"workloads[0].train.encrypt_at_rest", "true"},
                                                  {"site.encryption_at_rest", "true"},
                                                  {"storage[0].provider", "aws"}};
  const review::Review r = review::edited_review("superpod-h100", asked);
  EXPECT_EQ(edits_by(r, "policy.encryption-at-rest"),
            std::vector<std::string>{"storage[0].encrypted = true"});
}

TEST(RulesPolicy, tenant_isolation_and_retired_engines) {
  const review::Review tenant =
      review::edited_review("superpod-h100", {{"workloads[0].train.isolate_tenant", "true"}});
  expect_finding(tenant, only_finding(tenant, "policy.tenant-isolation"),
                 "workloads[0].train.isolate_tenant", "site.tenant_isolation = true");
  EXPECT_TRUE(findings_by(review::lab_review("fraud-cpu"), "policy.tenant-isolation").empty());
  const review::Review engine =
      review::edited_review("superpod-h100", {{"workloads[1].serve.engine", "tgi"}});
  const std::string& next = engine.catalog().engine("tgi")->replaced_by;
  expect_finding(engine, only_finding(engine, "serving.engine-retired"),
                 "workloads[1].serve.engine",
                 "workloads[1].serve.engine = " + (next.empty() ? "vllm" : next));
  EXPECT_TRUE(findings_by(review::lab_review("superpod-h100"), "serving.engine-retired").empty());
}

TEST(RulesPolicy, engine_in_maintenance) {
  const review::Review r =
      review::edited_review("superpod-h100", {{"workloads[1].serve.engine", "deepspeed-mii"}});
  const Finding f = only_finding(r, "serving.engine-retired");
  EXPECT_EQ(edit_of(f), "workloads[1].serve.engine = vllm");
}

}  // namespace
}  // namespace orrery::rules
