// Law and security at their edges: which tier or fleet inside takes the place of one outside, where
// a workload names it, what an air gap and a tenant's wall let through.
#include <gtest/gtest.h>

#include <memory>

#include "plan/review/lab_fixture.h"
#include "plan/rules/findings_fixture.h"

namespace orrery::rules {
namespace {

// Machines in Germany and in America; of the tiers 'abroad' lies in America.
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

TEST(ResidencyEdits, ATierOfTheSameKindComesFirst) {
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
TEST(ResidencyEdits, TheFirstPlaceThatNamesTheTier) {
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

TEST(ResidencyEdits, OfServicesAndBatches) {
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
TEST(ResidencyEdits, AFleetInside) {
  const auto finding = [](const std::string& fleet, const std::string& residency) {
    const std::string run =
        "  - train: { name: t, fleet: " + fleet + ", residency: " + residency +
        ", network: { params: 30M, forward: 4 GFLOP }, batch: 640, samples: 1M }\n";
    const review::Review r = review::hand_review(two_lands(tier_in("here", "hot", "home"), run));
    return only_finding(r, "policy.residency");
  };
  const Finding f = finding("g", "deu");
  EXPECT_EQ(f.what, "'t' must stay in deu, but fleet 'g' stands in usa.");
  EXPECT_EQ(edit_of(f), "workloads[0].train.fleet = f");
  EXPECT_EQ(edit_of(finding("f", "usa")), "workloads[0].train.fleet = g");
  EXPECT_EQ(edit_of(finding("f", "fra")), "none");
  const std::string cores =
      "  - batch: { name: b, fleet: c, residency: deu, core_hours: 96, tasks: 96 }\n";
  const review::Review r = review::hand_review(two_lands(tier_in("here", "hot", "home"), cores));
  EXPECT_EQ(edit_of(only_finding(r, "policy.residency")), "none") << "cores for cores";
}

TEST(ResidencyEdits, ATierMovesToWhereTheRunIsOnlyIfThatIsInside) {
  const std::string run =
      "  - train: { name: t, fleet: g, residency: deu, network: { params: 30M, forward: 4 GFLOP }, "
      "batch: 640, samples: 1M, dataset: { tier: abroad, samples: 1M, sample_size: 100 kB } }\n";
  const review::Review r = review::hand_review(two_lands(tier_in("abroad", "hot", "away"), run));
  EXPECT_EQ(edits_by(r, "policy.residency"),
            (std::vector<std::string>{"workloads[0].train.fleet = f", "none"}));
  const review::Review regional = review::hand_review(
      two_lands(tier_in("abroad", "hot", "home", ", region: fra"),
                kRunInGermany + ", dataset: { tier: abroad, samples: 1M, sample_size: 1 kB } }\n"));
  expect_said(regional, only_finding(regional, "policy.residency"),
              {.path = "workloads[0].train.residency",
               .what = "'t' must stay in deu, but it stores on tier 'abroad' in fra.",
               .why = "Data of a workload tagged with a region may not lie outside it.",
               .fix = "Use a tier in that region, or change the residency tag.",
               .edit = "storage[0].region = deu"});
}

// The zone's own fleet, or the last of its site that no earlier one is; the service's tag too.
TEST(ResidencyOfZones, SitesOutsideTheServicesOwnTag) {
  review::Review r = review::edited_review(
      "chatbot-zones", {{"workloads[0].serve.residency", "usa"},
                        {"workloads[0].serve.zones[2].residency", ""},
                        {"workloads[0].serve.zones[0].residency", ""},
                        {"workloads[0].serve.zones[0].failover", "[europe]"},
                        {"workloads[0].serve.zones[0].failover_after", "1 min"}});
  const auto all = findings_by(r, "policy.residency");
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].what, "'chatbot in us-east' must stay in usa, but would go to europe.");
  const std::string edit = edit_of(all[0]);
  EXPECT_EQ(edit.find("workloads[0].serve.zones[0] = { site: us-east"), 0U) << edit;
  EXPECT_EQ(edit.find("failover"), std::string::npos) << "nor a time for it: " << edit;
}

TEST(ResidencyOfZones, AZoneWithoutAFleetIsAtTheFirstOfItsSite) {
  const review::Review r =
      review::edited_review("chatbot-zones", {{"workloads[0].serve.zones[2].fleet", ""},
                                              {"workloads[0].serve.zones[2].residency", "usa"}});
  const Finding f = only_finding(r, "policy.residency");
  EXPECT_EQ(f.what, "'chatbot' must stay in usa, but fleet 'europe' stands in gcp-europe-west3.");
  const std::string edit = edit_of(f);
  EXPECT_EQ(edit.find("workloads[0].serve.zones[2] = { site: us-east, fleet: us-east"), 0U) << edit;
  EXPECT_EQ(f.place.line, place_of(r.design(), "workloads[0].serve.residency").line);
}

// Two fleets stand in America: the zone is on the one that it names, or on the first.
TEST(ResidencyOfZones, NameTheirFleet) {
  const auto said = [](const std::string& fleet) {
    const review::Review r = review::hand_review(
        two_lands(tier_in("here", "hot", "home"),
                  "  - serve: { name: s, fleet: f, model: llama-3-8b, tp: 1, arrivals: { rate: 1 "
                  "/s, trace: chat }, zones: [{ site: away, share: 1, residency: deu" +
                      fleet + " }] }\n"));
    return only_finding(r, "policy.residency").what;
  };
  EXPECT_EQ(said(", fleet: c"), "'s' must stay in deu, but fleet 'c' stands in usa.");
  EXPECT_EQ(said(""), "'s' must stay in deu, but fleet 'g' stands in usa.");
}

TEST(ExportRule, NamesThePartTheCountryAndTheRule) {
  const review::Review r = review::edited_review("superpod-h100", {{"site.region", "chn"}});
  const machine::Fleet& f = r.fleets()[design::FleetIndex(0)];
  const catalog::ExportControl* control = r.catalog().export_control(f.accelerator()->id, "chn");
  ASSERT_NE(control, nullptr);
  expect_said(
      r, only_finding(r, "policy.export-control"),
      {.path = "fleet[0].node",
       .what =
           f.accelerator()->name + " may need an export licence for chn (" + control->rule + ").",
       .why = control->provenance.source + "; ask counsel before ordering.",
       .fix = "Choose a part that is not listed for this country, or plan for the licence."});
  const review::Review rented = review::edited_review(
      "superpod-h100",
      {{"site.region", "chn"}, {"fleet[0].rent", "{ provider: aws, price: 2 USD/h }"}});
  EXPECT_TRUE(findings_by(rented, "policy.export-control").empty()) << "somebody else's";
}

TEST(AirGapRule, ATierAtAProviderIsReplacedByOneOfTheSite) {
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
  expect_said(r, only_finding(r, "policy.air-gap"),
              {.path = "workloads[0].train",
               .what = "'t' runs on air-gapped site 'home' but uses tier 'bucket' at aws.",
               .why = "An air-gapped site reaches nothing outside: the call fails on the first "
                      "day.",
               .fix = "Use a tier of the site, or drop air_gapped."});
}

TEST(AirGapRule, StagesThatTakeNothingInFromOutside) {
  const auto with = [](const std::string& stages) {
    return review::edited_review("superpod-h100", {{"site.air_gapped", "true"},
                                                   {"pipeline", "{ stages: [" + stages + "] }"}});
  };
  const std::string take = "{ stage: ingest, name: in, to: hot, size: 10 TB, rate: 100 Gb/s }";
  const review::Review r = with(take);
  expect_said(r, only_finding(r, "policy.air-gap"),
              {.path = "pipeline.stages[0]",
               .what = "Stage 'in' takes in data from outside to air-gapped site '" +
                       r.sites[0].site->name + "'.",
               .why = "An air-gapped site reaches nothing outside: the call fails on the first "
                      "day.",
               .fix = "Carry the data in by hand and begin with a copy between tiers; or drop "
                      "air_gapped."});
  EXPECT_EQ(
      findings_by(with(take + ", { stage: archive, name: out, from: hot, to: cold, size: 1 TB }"),
                  "policy.air-gap")
          .size(),
      1U);
  const review::Review open =
      review::edited_review("superpod-h100", {{"pipeline", "{ stages: [" + take + "] }"}});
  EXPECT_TRUE(findings_by(open, "policy.air-gap").empty());
}

// The hall's encryption is not that of a provider's drives.
TEST(EncryptionRule, ATierAtAProviderEncryptsItself) {
  const std::vector<design_text::Change> asked = {{"workloads[0].train.encrypt_at_rest", "true"},
                                                  {"site.encryption_at_rest", "true"},
                                                  {"storage[0].provider", "aws"}};
  const review::Review r = review::edited_review("superpod-h100", asked);
  EXPECT_EQ(edits_by(r, "policy.encryption-at-rest"),
            std::vector<std::string>{"storage[0].encrypted = true"});
}

TEST(EngineRule, OneThatIsOnlyMaintained) {
  const review::Review r =
      review::edited_review("superpod-h100", {{"workloads[1].serve.engine", "deepspeed-mii"}});
  const Finding f = only_finding(r, "serving.engine-retired");
  EXPECT_EQ(f.fix, "Use vllm.");
  EXPECT_EQ(edit_of(f), "workloads[1].serve.engine = vllm");
}

TEST(EngineStatus, IsToldWithItsDayWhereOneIsKnown) {
  const auto said = [](const std::string& engine) {
    const auto found = findings_by(
        review::hand_review("site: { region: usa }\nfleet: [{ name: f, node: dgx-h100, count: 2 "
                            "}]\nworkloads:\n  - serve: { name: s, model: llama-3-8b, engine: " +
                            engine + ", arrivals: { rate: 1 /s } }\n"),
        "serving.engine-retired");
    return found.empty() ? "" : found.front().what;
  };
  EXPECT_EQ(said("vllm"), "");
  EXPECT_EQ(said("torchserve"), "TorchServe is archived since 2025-08-07.");
  EXPECT_EQ(said("deepspeed-mii"), "DeepSpeed-MII is in maintenance.");
}

}  // namespace
}  // namespace orrery::rules
