// What each claim is held against, as its guide gives it; how wide the intervals of what is tried
// and of what stands beside it are; and the sentences that follow.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "model/jobs/predict_training.h"
#include "model/machine/known_fixture.h"
#include "study/calc/claim_trial.h"

namespace orrery::calc {
namespace {

const ClaimCheck& ledger_entry(std::string_view id) {
  static const std::vector<ClaimCheck> all = check_claims(machine::known()).value();
  for (const ClaimCheck& c : all) {
    if (c.claim.id == id) return c;
  }
  ADD_FAILURE() << "no claim " << id;
  return all.front();
}

constexpr double kNo = 1e300;

// Ends in base units; an end of 0 below or 1e300 above is none.
struct GuideSays {
  const char* id;
  double low, high;
  const char* text;
};
constexpr GuideSays kGuides[] = {
    {"hbm-a100", 1.9e12, 2.1e12, "within 5 % of 2 TB/s"},
    {"hbm-h100", 3.1825e12, 3.5175e12, "within 5 % of 3.35 TB/s"},
    {"nvlink3", 570e9, 630e9, "within 5 % of 600 GB/s"},
    {"nvlink4", 855e9, 945e9, "within 5 % of 900 GB/s"},
    {"pcie5", 60.8e9, 67.2e9, "within 5 % of 64 GB/s"},
    {"nic400", 47.5e9, 52.5e9, "within 5 % of 50 GB/s"},
    {"hop-order", 5, 20, "5x to 20x: ten within a factor of two"},
    {"state-live", 15.2, 16.8, "within 5 % of 16 B"},
    {"state-saved", 12, 14, "12 B to 14 B"},
    {"ckpt-70b", 0.95e12, 1.05e12, "within 5 % of 1 TB"},
    {"ckpt-70b-day", 22.8e12, 25.2e12, "within 5 % of 24 TB"},
    {"gqa-llama3", 3.8, 4.2, "within 5 % of 4x"},
    {"quant", 1.9, 4.2, "2x to 4x, ends within 5 %"},
    {"h100-w", 665, 735, "within 5 % of 700 W"},
    {"dgx-h100-kw", 9690, 10710, "within 5 % of 10.2 kW"},
    {"nvl72-kw", 114e3, 126e3, "within 5 % of 120 kW"},
    {"air-limit", 20e3, 30e3, "20 kW to 30 kW"},
    {"gang-7of8", 1, kNo, "nodes stand idle for ever"},
    {"failures-weekly", 0, 604800, "a failure at least every week"},
    {"tgi", 1, kNo, "the catalog's dated fact says the same"},
    {"dra-ga", 1, kNo, "the catalog's dated fact says the same"},
    {"util-80", 0.8, kNo, "a run that nothing starves uses its GPUs 80 % of the time or more"},
    {"util-4060", 0.4, 0.6, "40 % to 60 %"},
    {"util-90", 0.9, kNo, "at least 90 %"},
    {"gpu-direct-us", 0, 50e-6, "at most 50 us"},
    {"hot-tier", 2e12, kNo, "at least 2 TB/s"},
    {"scale-linear", 0.95, 1.05, "within 5 % of linear growth from the smallest system"},
    {"tcp-ceiling", 0, 0.95, "TCP reaches at most 95 % of a 400 Gb/s port"},
    {"slow-ckpt", 0.95, 1.05, "stall within 5 % of the write time"},
    {"mi300x-hbm", 182.4e9, 201.6e9, "within 5 % of 192 GB"},
    {"lowprec-half", 0.475, 0.525, "within 5 % of 0.5x"},
    {"net-above-8", 0.1, kNo, "at least a tenth of the step waits for the network"},
    {"ckpt-fraction", 0, 1, "write time of at most one step"},
    {"node-10kw", 9500, 10500, "within 5 % of 10 kW"},
    {"rack-30-70", 30e3, 70e3, "30 kW to 70 kW"},
    {"batch-3-10x", 3, 10, "3x to 10x"},
    {"inference-more", 1, kNo, "inference costs at least as much as training"},
    {"gpu-price", 30e3, 40e3, "30 kUSD to 40 kUSD"},
    {"chip-w", 400, 700, "400 W to 700 W"},
    {"node-700w", 665, 735, "within 5 % of 700 W"},
    {"spot-discount", 0.6, 0.9, "60 % to 90 %"},
    {"reserved-discount", 0.3, 0.5, "middle of the range within 30 % to 50 %"},
    {"storage-100", 100e9, kNo, "at least 100 GB/s"},
    {"inference-latency", 0, 1e-3, "at most 1 ms"},
    {"rack-100", 100e3, kNo, "at least 100 kW"},
    {"air-30", 0, 30e3, "at most 30 kW"},
    {"cooling-half", 0.5, kNo,
     "overhead of at least 50 % of the site's power, which takes a PUE of 2.0"},
    {"power-share-opex", 0.4, 0.5, "40 % to 50 %"},
    {"gpt4-cost", 58.5e6, 97.5e6, "within 25 % of 78 MUSD"},
    {"inference-share", 0.8, 0.9, "80 % to 90 %"},
    {"net-speed", 25e9, 100e9, "200 Gb/s to 800 Gb/s a port"},
    {"node-net", 50e9, 400e9, "400 Gb/s to 3.2 Tb/s a host"},
    {"campus-mw", 50e6, 100e6, "50 MW to 100 MW"},
    {"av-cluster", 0.9, kNo, "goodput of the example design at least 90 %"},
    {"chat-pod", 8, 16, "8 to 16 GPUs"},
};

TEST(ClaimCriteria, AreWhatTheGuidesSay) {
  EXPECT_EQ(std::size(kGuides), 55U) << "all but the one whose bound is computed";
  for (const GuideSays& row : kGuides) {
    const Criterion& c = ledger_entry(row.id).finding.criterion;
    if (row.low > 0) EXPECT_NEAR(c.low, row.low, 1e-9 * row.low) << row.id;
    if (row.low == 0) EXPECT_LE(c.low, 0) << row.id;
    if (row.high < kNo) EXPECT_NEAR(c.high, row.high, 1e-9 * row.high) << row.id;
    if (row.high == kNo) EXPECT_GE(c.high, kNo) << row.id;
    EXPECT_EQ(c.text, row.text) << row.id;
  }
}

void expect_width(const Estimate& e, double below, double above, const std::string& what) {
  if (e.value == 0) return;
  EXPECT_NEAR(e.low / e.value, 1 - below, 1e-9) << what;
  EXPECT_NEAR(e.high / e.value, 1 + above, 1e-9) << what;
}

TEST(ClaimWidths, OfWhatIsTried) {
  const struct {
    const char* id;
    double width;
  } rows[] = {{"hop-order", 0.02},     {"async-stall", 0.1},    {"util-80", 0.05},
              {"util-4060", 0.1},      {"util-90", 0.1},        {"hot-tier", 0.1},
              {"scale-linear", 0.12},  {"tcp-ceiling", 0.3},    {"quant", 0.05},
              {"lowprec-half", 0.02},  {"net-above-8", 0.3},    {"ckpt-fraction", 0.15},
              {"batch-3-10x", 0.3},    {"inference-more", 0.4}, {"power-share-opex", 0.2},
              {"gpt4-cost", 0.4},      {"cooling-half", 0.1},   {"inference-share", 0.2},
              {"campus-mw", 0.15},     {"av-cluster", 0.05},    {"chat-pod", 0.3},
              {"storage-100", 0.1},    {"nic400", 0},           {"pcie5", 0},
              {"state-live", 0},       {"state-saved", 0},      {"ckpt-70b", 0.005},
              {"ckpt-70b-day", 0.005}, {"gqa-llama3", 0},       {"gang-7of8", 0},
              {"slow-ckpt", 0}};
  for (const auto& row : rows) {
    const auto& cases = ledger_entry(row.id).finding.cases;
    for (const ClaimCase& k : cases) {
      expect_width(k.figure.estimate, row.width, row.width, row.id + (": " + k.figure.label));
    }
  }
}

TEST(ClaimWidths, OfWhatStandsBeside) {
  const struct {
    const char* id;
    std::vector<double> below;
    double more;  // above it beyond what is below
  } rows[] = {{"async-stall", {0.12}, 0},
              {"slow-ckpt", {0.12}, 0},
              {"failures-weekly", {0.4, 0.4}, 0.3},
              {"scale-linear", {0.3, 0.05, 0.3}, 0},
              {"tcp-ceiling", {0.3, 0.3}, 0},
              {"net-above-8", {0.3, 0.3}, 0},
              {"batch-3-10x", {0.3}, 0},
              {"inference-more", {0.25, 0.3}, 0},
              {"inference-share", {0.25, 0.3}, 0},
              {"gpt4-cost", {0.4}, 0},
              {"campus-mw", {0.15, 0.15}, 0},
              {"chat-pod", {0.3, 0.3, 0.3, 0.3}, 0},
              {"gang-7of8", {0}, 0},
              {"air-limit", {0}, 0},
              {"state-live", {0}, 0},
              {"ckpt-70b", {0.005}, 0}};
  for (const auto& row : rows) {
    const auto& beside = ledger_entry(row.id).finding.beside;
    ASSERT_EQ(beside.size(), row.below.size()) << row.id;
    for (std::size_t i = 0; i < beside.size(); ++i) {
      expect_width(beside[i].estimate, row.below[i], row.below[i] + row.more, beside[i].label);
    }
  }
  const auto& step = ledger_entry("ckpt-fraction").finding.beside;
  ASSERT_EQ(step.size(), 3U);
  expect_width(step[1].estimate, 0.15, 0.15, step[1].label);
  expect_width(step[2].estimate, 0.15, 0.15, step[2].label);
  expect_width(ledger_entry("hot-tier").finding.beside.at(0).estimate, 0.1, 0.1, "hot tier");
}

// 987.75 GB at the 80 GB/s of four units are 12.35 s; a rank copies 17.64 + 0.83 GB at 55.1 GB/s
// in 335 ms.
TEST(ClaimStatements, OfSaves) {
  const ClaimCheck& c = ledger_entry("async-stall");
  const double write = 70.5537e9 * 14 / 80e9;
  const double snapshot = (70.5537e9 * 2 / 8 + 70.5537e9 * 12 / 1024) / 55.1e9;
  EXPECT_NEAR(c.finding.criterion.low, snapshot * 0.95, 1e-4 * snapshot);
  EXPECT_NEAR(c.finding.criterion.high, snapshot * 1.05, 1e-4 * snapshot);
  EXPECT_EQ(c.finding.criterion.text, "stall within 5 % of the snapshot time");
  ASSERT_EQ(c.finding.cases.size(), 4U);
  const double stalls[] = {snapshot + write / 2, snapshot + write / 10, snapshot, snapshot};
  const char* labels[] = {"a save every 6.17 s", "a save every 11.1 s", "a save every 10 min",
                          "a save every 1 h"};
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_NEAR(c.finding.cases[i].figure.estimate.value, stalls[i], 1e-4 * stalls[i]) << i;
    EXPECT_EQ(c.finding.cases[i].figure.label, labels[i]);
    EXPECT_EQ(c.finding.cases[i].meets, i >= 2);
  }
  EXPECT_NEAR(c.finding.beside.at(0).estimate.value, write, 1e-4 * write);
  EXPECT_EQ(c.finding.beside.at(0).formula, "988 GB / 80 GB/s");
  EXPECT_EQ(
      c.statement,
      "only if the last drain is over: saves of 70B at least 12.3 s apart at 80 GB/s; sooner, "
      "the job waits for it");
}

TEST(ClaimStatements, WordForWord) {
  const struct {
    const char* id;
    const char* statement;
  } rows[] = {
      {"hbm-a100", "A100 80GB SXM4: 2.04 TB/s; A100 80GB PCIe: 1.94 TB/s"},
      {"pcie5", "only if the link's own rate is meant; a program sees 55.1 GB/s, 87.4 % of it"},
      {"hop-order",
       "only if the hop is HBM to NVLink or NVLink to PCIe; PCIe to NIC is 1.26x, and HBM to NIC "
       "is 67x over three hops"},
      {"state-live",
       "only if gradients stay in 16 bits; frameworks that add them up in fp32 keep 18 B"},
      {"state-saved", "adam-mixed: 14 B; adam-rederived: 12 B"},
      {"gqa-llama3", "only if the model is llama-3-8b; 70B saves 8x and 405B 16x"},
      {"nvl72-kw",
       "only if the draw in training is meant (115 kW); breakers, busbars and coolant must carry "
       "the nameplate, 132 kW"},
      {"failures-weekly",
       "only if the job has 302 GPUs or more (weekly), 2,111 or more (daily), at the rate of the "
       "Llama 3 fleet; fleets differ by a factor of three"},
      {"util-90",
       "only if the host decodes as fast: JPEG for one H100 takes 7.2 cores, and a path past the "
       "host's memory does not decode"},
      {"hot-tier",
       "only if the cluster has 4,096 H100 or more; 1,024 of them are guided to 500 GB/s at best"},
      {"tcp-ceiling",
       "only if fewer than 10 cores serve each 400 Gb/s port; of the 112 in a DGX H100 that is "
       "8.5 %, a cost more than a ceiling"},
      {"gpu-direct-us", "the flash alone takes 60 us, before any network or file system"},
      {"inference-latency",
       "only if weights and caches lie on flash; not on Exos X24 24TB CMR or Object node 24x24TB "
       "EC 8+3"},
      {"node-700w",
       "700 W is one H100 module: a node of eight draws 10.2 kW, a two-socket server 600 W at "
       "work"},
      {"reserved-discount",
       "only if the term is 3-year: 1-year takes 20 % to 35 %, 3-year takes 40 % to 60 %"},
      {"storage-100",
       "only if it trains on images or volumes (resnet50 on a100 from 949 GPUs on, resnet50 on "
       "h100 from 489 GPUs on, unet3d on h100 from 32 GPUs on); 1,024 GPUs on text read 4.1 MB/s"},
      {"lowprec-half",
       "only if it is FP8 weights alone or FP8 weights and cache, 32 requests; INT4 quarters the "
       "weights, and a 16-bit cache keeps its size"},
      {"dra-ga", "Kubernetes release 1.34 and announced 2025-09-01"},
      {"air-30", "air-perimeter: 12 kW; air-contained: 30 kW"},
  };
  for (const auto& row : rows) EXPECT_EQ(ledger_entry(row.id).statement, row.statement) << row.id;
}

// At another price of power the same hall says so, to three digits.
TEST(ClaimStatements, FollowAPriceOfPower) {
  auto changed = std::make_shared<catalog::Knowledge>(*machine::known().knowledge);
  for (catalog::GridRegion& r : changed->catalog.regions) {
    if (r.id == "usa") r.price_low = r.price_high = usd_per_kwh(0.12345);
  }
  machine::Models models = machine::known();
  models.knowledge = changed;
  for (const ClaimRule& rule : money_claims()) {
    if (rule.id != "power-share-opex") continue;
    const ClaimFinding f = rule.check({models, {}});
    EXPECT_EQ(f.cases.at(3).figure.formula, "the same at 0.123 USD/kWh");
    // Odds go with the price: 0.12345 for 0.08.
    const double usual = f.cases.at(2).figure.estimate.value;
    const double odds = usual / (1 - usual) * 0.12345 / 0.08;
    EXPECT_NEAR(f.cases.at(3).figure.estimate.value, odds / (1 + odds), 1e-9);
  }
}

// A fact that has changed: what still holds is meant, and not what does not.
TEST(ClaimStatements, SayWhatIsMeantWhereAFactHasChanged) {
  auto changed = std::make_shared<catalog::Knowledge>(*machine::known().knowledge);
  for (catalog::ServingEngine& e : changed->catalog.engines) {
    if (e.id == "tgi") e.status = catalog::EngineStatus::active;
  }
  machine::Models models = machine::known();
  models.knowledge = changed;
  const auto all = check_claims(models);
  ASSERT_TRUE(all);
  for (const ClaimCheck& c : *all) {
    if (c.claim.id != "tgi") continue;
    EXPECT_EQ(c.statement,
              "only if in maintenance since 2025-12-11 or in that state since 2026-03-21 is meant, "
              "not status active. Its maintainers point to vllm");
  }
}

// Where no case met it, the condition would stand as the right figure.
TEST(ClaimStatements, ConditionsThatAreTheAnswerToo) {
  for (const char* id : {"gpt4-cost", "ckpt-fraction", "cooling-half"}) {
    EXPECT_FALSE(ledger_entry(id).finding.only_if.empty()) << id;
    EXPECT_EQ(ledger_entry(id).finding.instead, ledger_entry(id).finding.only_if) << id;
  }
}

// The layout that the step is of: eight by two of 1,024, optimizer state over the replicas.
TEST(ClaimStatements, TheStepOfASeventyBillionRun) {
  jobs::TrainingQuery q{.model = *machine::known().catalog().model("llama-3-70b"),
                        .accelerator = machine::known().catalog().accelerator("h100-sxm"),
                        .gpus = 1024};
  q.nic = gbits_per_s(400);
  q.sequence = 8192;
  q.batch = 1024;
  q.layout = {.tp = 8, .pp = 2, .vp = 1, .cp = 1, .ep = 1, .microbatch = 1};
  q.layout.sharding = catalog::Sharding::zero1;
  q.layout.recompute = catalog::Recompute::selective;
  const auto p = predict_training(machine::known(), q);
  ASSERT_TRUE(p);
  const ClaimFinding& f = ledger_entry("ckpt-fraction").finding;
  EXPECT_EQ(f.beside.at(0).estimate.value, p->step_time_s.value);
  const double needed = 70.5537e9 * 14 / p->step_time_s.value;
  EXPECT_NEAR(f.beside.at(1).estimate.value, needed, 1e-4 * needed);
  EXPECT_EQ(f.cases.at(0).figure.label, "4 SU store at 'good'");
  EXPECT_EQ(f.cases.at(2).figure.label, "4 SU store at 'best'");
}

// Two directions of 300 GB/s; 8 NICs of 200 Gb/s; 16 stages over 16 microbatches.
TEST(ClaimStatements, FormulasOfCases) {
  const struct {
    const char* id;
    std::size_t at;
    const char* label;
    const char* formula;
  } rows[] = {
      {"nvlink3", 0, "A100 80GB SXM4", "2 directions x 300 GB/s"},
      {"hop-order", 1, "NVLink to PCIe", "450 GB/s / 63 GB/s, one direction"},
      {"state-live", 1, "fp32 gradients", "weight 2 + gradient 4 + master 4 + moments 8 B"},
      {"state-saved", 1, "adam-rederived", "0 + 4 + 8 B"},
      {"gqa-llama3", 2, "llama-3.1-405b", "128 query heads over 8 KV heads"},
      {"failures-weekly", 3, "4,096 GPUs", "1 / (512 nodes x 0.00379 a node-day)"},
      {"util-80", 4, "pp 16, 16 microbatches", "m / (m + p - 1)"},
      {"util-4060", 1, "256 GPUs, resnet50 on h100",
       "58.6 MB/s a GPU of 205 MB/s asked, limit storage"},
      {"util-90", 2, "resnet50 on h100, 4 cores a GPU",
       "5.8 GB/s a GPU of 205 MB/s asked, limit decode"},
      {"hot-tier", 2, "16,384 H100", "64 SU x 125 GB/s (best guidance)"},
      {"scale-linear", 2, "30 data nodes", "887.74 GiB/s / (327.65 x 30 / 10)"},
      {"tcp-ceiling", 0, "1 core on TCP", "min(1, 1 x 42 / 400 Gb/s)"},
      {"tcp-ceiling", 3, "112 cores on TCP", "min(1, 112 x 42 / 400 Gb/s)"},
      {"quant", 3, "4-bit weights, 64 requests of 4,096 tokens",
       "(weights 16.1 GB + cache 34.4 GB) / (weights x 0.25 + cache)"},
      {"lowprec-half", 2, "FP8 weights, 32 requests of 8,192 tokens, 16-bit cache",
       "156 GB / 227 GB"},
      {"rack-30-70", 0, "DGX H100, rear-door-active", "5 x 10.2 kW, bound by rack units"},
      {"rack-100", 0, "GB200 NVL72 rack (18 compute + 9 switch trays), direct-to-chip-1p",
       "1 x 132 kW, bound by the node is a rack"},
      {"cooling-half", 2, "survey mean of 2007", "1 - 1 / PUE 2.5"},
      {"campus-mw", 2, "100,000 H100", "12,500 nodes x 11.2 kW x PUE 1.21"},
      {"net-speed", 7, "p4d.24xlarge", "100 Gb/s a port"},
      {"node-net", 7, "p5.48xlarge", "32 NICs a host x 100 Gb/s"},
      {"node-net", 5, "GB300 NVL72 rack", "4 NICs a host x 800 Gb/s"},
      {"ckpt-70b", 0, "Llama 3 70B, mixed-precision Adam", "70.554B parameters x 14 B = 987.75 GB"},
  };
  for (const auto& row : rows) {
    const figures::Number& f = ledger_entry(row.id).finding.cases.at(row.at).figure;
    EXPECT_EQ(f.label, row.label) << row.id;
    EXPECT_EQ(f.formula, row.formula) << row.id;
  }
  EXPECT_EQ(ledger_entry("node-700w").finding.cases.size(), 5U);
  EXPECT_EQ(ledger_entry("chip-w").finding.cases.size(), 8U);
  EXPECT_EQ(ledger_entry("gpu-price").finding.cases.size(), 7U);
  EXPECT_EQ(ledger_entry("net-above-8").finding.cases.size(), 5U);
}

}  // namespace
}  // namespace orrery::calc
