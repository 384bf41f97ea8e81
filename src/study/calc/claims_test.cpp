#include "study/calc/claims.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cmath>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/text.h"
#include "core/catalog/embedded.h"
#include "layers/cost/rental.h"
#include "model/jobs/predict_serving.h"
#include "model/jobs/predict_training.h"
#include "model/machine/known_fixture.h"
#include "study/calc/claim_trial.h"

namespace orrery::calc {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

// At another price of power the same hall meets the claim, to three digits.
TEST(Claims, power_claims_follow_the_price) {
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
    // The odds are proportional to the price: 0.12345 for 0.08.
    const double usual = f.cases.at(2).figure.estimate.value;
    const double odds = usual / (1 - usual) * 0.12345 / 0.08;
    EXPECT_NEAR(f.cases.at(3).figure.estimate.value, odds / (1 + odds), 1e-9);
  }
}

// If no case met it, the condition would be given as the right figure.
TEST(Claims, conditions_may_be_the_answer) {
  for (const char* id : {"gpt4-cost", "ckpt-fraction", "cooling-half"}) {
    EXPECT_FALSE(ledger_entry(id).finding.only_if.empty()) << id;
    EXPECT_EQ(ledger_entry(id).finding.instead, ledger_entry(id).finding.only_if) << id;
  }
}

// The layout that the step is of: eight by two of 1,024, optimizer state over the replicas.
TEST(Claims, step_time_of_a_70b_run) {
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

const std::vector<ClaimCheck>& all_checks() {
  static const std::vector<ClaimCheck> all = check_claims(machine::known()).value();
  return all;
}

const ClaimCheck& claim(std::string_view id) {
  for (const ClaimCheck& c : all_checks()) {
    if (c.claim.id == id) return c;
  }
  ADD_FAILURE() << "no claim " << id;
  return all_checks().front();
}

double tried(const ClaimCheck& c, std::size_t i) {
  return c.finding.cases.at(i).figure.estimate.value;
}

double shown(const ClaimCheck& c, std::string_view label) {
  for (const figures::Number& f : c.finding.beside) {
    if (f.label == label) return f.estimate.value;
  }
  ADD_FAILURE() << c.claim.id << " shows no '" << label << "'";
  return 0;
}

const catalog::Catalog& claimed_parts() { return machine::known().catalog(); }

// The figures shown are those that were compared.
TEST(Claims, a_case_holds_if_its_figure_is_in_range) {
  for (const ClaimCheck& c : all_checks()) {
    for (const ClaimCase& k : c.finding.cases) {
      EXPECT_EQ(k.meets, c.finding.criterion.meets(k.figure.estimate.value))
          << c.claim.id << ": " << k.figure.label;
    }
  }
}

TEST(Claims, the_statement_follows_the_verdict) {
  for (const ClaimCheck& c : all_checks()) {
    SCOPED_TRACE(c.claim.id);
    const ClaimFinding& f = c.finding;
    if (c.verdict == ClaimVerdict::holds_only_if && !f.only_if.empty()) {
      EXPECT_THAT(c.statement, StartsWith("only if " + f.only_if));
    }
    if (c.verdict == ClaimVerdict::wrong && !f.instead.empty()) {
      EXPECT_THAT(c.statement, StartsWith(f.instead));
    }
    if (c.verdict == ClaimVerdict::holds) {
      EXPECT_THAT(c.statement, StartsWith(f.cases.front().figure.label + ": "));
    }
  }
  EXPECT_NE(claim("tgi").statement, "");
}

// Weights 2, gradients 2 or 4, master 4 and moments 8 bytes; the recipes of Megatron Bridge keep
// gradients in bf16.
TEST(Claims, bytes_of_a_parameter) {
  EXPECT_EQ(tried(claim("state-live"), 0), 16);
  EXPECT_EQ(tried(claim("state-live"), 1), 18);
  EXPECT_EQ(shown(claim("state-live"), "as Megatron stores it"), 2 + 2 + 12);
  EXPECT_EQ(tried(claim("state-saved"), 0), 14);
  EXPECT_EQ(tried(claim("state-saved"), 1), 12);
  // 70.55e9 x 14 B; 24 of them per day.
  EXPECT_NEAR(tried(claim("ckpt-70b"), 0), 70.554e9 * 14, 1e9);
  EXPECT_NEAR(tried(claim("ckpt-70b-day"), 0), 24 * 70.554e9 * 14, 24e9);
}

// The 4 SU store writes 30, 80 or 250 GB/s.
TEST(Claims, a_checkpoint_in_steps) {
  const ClaimCheck& c = claim("ckpt-fraction");
  const double step = shown(c, "step of 70B on 1,024 H100");
  const double size = 70.554e9 * 14;
  const double rates[] = {30e9, 80e9, 250e9};
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_NEAR(tried(c, i), size / rates[i] / step, 0.002 * tried(c, i));
  }
  EXPECT_NEAR(shown(c, "bandwidth that writes it in one step"), size / step, 0.002 * size / step);
  EXPECT_NEAR(shown(c, "and in a tenth of a step"), 10 * size / step, 0.02 * size / step);
}

// HBM 3,350, NVLink 450, PCIe 63.0 and NIC 50 GB/s in one direction.
TEST(Claims, bandwidth_per_hop) {
  const ClaimCheck& c = claim("hop-order");
  EXPECT_NEAR(tried(c, 0), 3350.0 / 450, 0.01);
  EXPECT_NEAR(tried(c, 1), 450 / 63.015, 0.01);
  EXPECT_NEAR(tried(c, 2), 63.015 / 50, 0.001);
  EXPECT_NEAR(tried(claim("pcie5"), 1), 55.1e9, 1e6);
  EXPECT_NEAR(tried(claim("nvlink4"), 0), 900e9, 1e6);
  // A DGX H100 has eight ports of 400 Gb/s, a tray of an NVL72 has four.
  EXPECT_NEAR(tried(claim("node-net"), 1), 400e9, 1);
  EXPECT_NEAR(tried(claim("node-net"), 4), 200e9, 1);
}

TEST(Claims, discounts_and_the_price_of_one_run) {
  const ClaimCheck& reserved = claim("reserved-discount");
  ASSERT_EQ(reserved.finding.cases.size(), claimed_parts().reserved_discounts.size());
  for (std::size_t i = 0; i < reserved.finding.cases.size(); ++i) {
    const catalog::ReservedDiscount& r = claimed_parts().reserved_discounts[i];
    EXPECT_NEAR(tried(reserved, i) - r.low, r.high - tried(reserved, i), 1e-12);
  }
  // 6 x 280e9 x 13e12 FLOP at 0.34 of 312 TFLOP/s are 57.19 million A100-hours.
  const double hours = 6 * 280e9 * 13e12 / (312e12 * 0.34) / 3600;
  const ClaimCheck& run = claim("gpt4-cost");
  EXPECT_NEAR(shown(run, "price of an A100-hour that gives 78 MUSD"), 78e6 / hours, 1e-6);
  const auto market = cost::market_price(claimed_parts().cloud_prices, "a100-80-sxm", "", false);
  ASSERT_TRUE(market);
  EXPECT_NEAR(tried(run, 1), hours * market->low.base() * 3600, 1);
  EXPECT_NEAR(tried(run, 2), hours * market->median.base() * 3600, 1);
}

// The share s at 0.08 USD/kWh is electricity over electricity and the rest; at the price p the odds
// are p / 0.08 times s / (1 - s).
TEST(Claims, power_price_for_40_percent_of_running_costs) {
  const ClaimFinding& f = claim("power-share-opex").finding;
  const double s = f.cases.at(2).figure.estimate.value;
  const auto price = [&](double share) {
    return significant(0.08 * share / (1 - share) * (1 - s) / s, 2);
  };
  EXPECT_THAT(f.only_if, HasSubstr("costs " + price(0.4) + " to " + price(0.5) + " USD"));
}

// Two years are 730 days; the fleet is half loaded; a replica is four H100.
TEST(Claims, serving_against_training) {
  const ClaimCheck& c = claim("inference-more");
  const double hours = shown(c, "H100-hours of training");
  const double tokens = shown(c, "output tokens per H100-hour, half loaded");
  const double peak = claimed_parts().accelerator("h100-sxm")->peak(catalog::Dtype::bf16)->base();
  EXPECT_NEAR(hours, 6 * 70.55e9 * 15e12 / (peak * 0.4 * 0.95) / 3600, 0.08 * hours)
      << "6 N D, and attention";
  jobs::ServingQuery s;
  s.model = *claimed_parts().model("llama-3-70b");
  s.accelerator = claimed_parts().accelerator("h100-sxm");
  s.split.tp = 4;
  s.precision = {
      .products = catalog::Dtype::fp8, .experts = catalog::Dtype::fp8, .kv = catalog::Dtype::fp8};
  s.request = {.input = 1024, .output = 256};
  const auto p =
      predict_capacity(machine::known(), s, {.ttft_p99 = seconds(2), .tpot_p99 = milliseconds(60)});
  ASSERT_TRUE(p);
  EXPECT_NEAR(tokens, p->point.output_tokens_per_s * 3600 / 4 * 0.5, 1e-6 * tokens);
  const double ratio = 1e9 * 730 / tokens / hours;
  EXPECT_NEAR(tried(c, 0), ratio, 1e-6 * ratio);
  EXPECT_NEAR(tried(c, 1), 10 * ratio, 1e-5 * ratio);
  EXPECT_NEAR(tried(claim("inference-share"), 0), ratio / (1 + ratio), 1e-6);
  EXPECT_NEAR(tried(claim("inference-share"), 2), 6.0 / 7, 1e-6);
  EXPECT_THAT(
      c.finding.only_if,
      HasSubstr("more than " + show(hours * tokens / 730, figures::Unit::count) + " output"));
}

// Query heads over KV heads: 32, 64 and 128 over 8.
TEST(Claims, caches_and_narrow_weights) {
  const ClaimCheck& gqa = claim("gqa-llama3");
  EXPECT_DOUBLE_EQ(tried(gqa, 0), 4);
  EXPECT_DOUBLE_EQ(tried(gqa, 1), 8);
  EXPECT_DOUBLE_EQ(tried(gqa, 2), 16);
  // 8.03e9 weights of 2 B; 2 x 32 x 8 x 128 x 2 = 131,072 B of cache per token.
  const double w = 2 * 8.0303e9, kv = 131072;
  const ClaimCheck& quant = claim("quant");
  EXPECT_NEAR(tried(quant, 0), (w + 2048 * kv) / (w / 2 + 2048 * kv), 1e-3);
  EXPECT_NEAR(tried(quant, 1), (w + 2048 * kv) / (w / 4 + 2048 * kv), 1e-3);
  EXPECT_NEAR(tried(quant, 2), (w + 64 * 4096 * kv) / (w / 2 + 64 * 4096 * kv), 1e-3);
  EXPECT_NEAR(tried(quant, 3), (w + 64 * 4096 * kv) / (w / 4 + 64 * 4096 * kv), 1e-3);
  // (w + k) / (w / 2 + k) = 1.9 if k = 0.05 w / 0.9: 6,807 tokens.
  EXPECT_THAT(quant.finding.only_if, HasSubstr("up to 6,80"));
  // 70B: 141.1 GB of weights, 32 caches of 8,192 x 327,680 B.
  const double w70 = 2 * 70.554e9, cache = 32.0 * 8192 * 327680;
  const ClaimCheck& half = claim("lowprec-half");
  EXPECT_NEAR(tried(half, 0), 0.5, 1e-9);
  EXPECT_NEAR(tried(half, 1), 0.25, 1e-9);
  EXPECT_NEAR(tried(half, 2), (w70 / 2 + cache) / (w70 + cache), 1e-3);
  EXPECT_NEAR(tried(half, 3), 0.5, 1e-9);
}

TEST(Claims, batches_and_pods) {
  const ClaimCheck& batch = claim("batch-3-10x");
  EXPECT_GE(tried(batch, 0), 1);
  EXPECT_GT(tried(batch, 1), tried(batch, 0));
  EXPECT_GT(tried(batch, 2), tried(batch, 1));
  EXPECT_GT(shown(batch, "against no batching at all"), tried(batch, 2));
  // Replicas of four GPUs at 80 % of what each carries: two of them on eight GPUs.
  const ClaimCheck& pod = claim("chat-pod");
  const double eight = shown(pod, "70B on A100: load of 8 GPUs");
  EXPECT_NEAR(shown(pod, "70B on A100: load of 16 GPUs"), 2 * eight, 1e-9);
  const double rates[] = {1, 10, 100};
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(tried(pod, i), 4 * std::ceil(rates[i] / (eight / 2) - 1e-9));
    const double small = shown(pod, "8B on L40S: load of 8 GPUs");
    EXPECT_EQ(tried(pod, 3 + i), std::ceil(rates[i] / (small / 8) - 1e-9));
  }
}

// Uptime's surveys: 1.54, 1.58 and 2.5.
TEST(Claims, hall_and_campus_power) {
  const ClaimCheck& cooling = claim("cooling-half");
  EXPECT_NEAR(tried(cooling, 0), 1 - 1 / 1.54, 1e-9);
  EXPECT_NEAR(tried(cooling, 1), 1 - 1 / 1.58, 1e-9);
  EXPECT_NEAR(tried(cooling, 2), 0.6, 1e-9);
  EXPECT_THAT(cooling.finding.only_if, HasSubstr("today's mean of 1.54"));
  for (const ClaimCase& k : claim("air-30").finding.cases) {
    EXPECT_THAT(k.figure.label, StartsWith("air"));
  }
  // 10.2 kW and a tenth for network and storage, times the PUE: 1.05 to 1.6.
  const ClaimCheck& campus = claim("campus-mw");
  const double each = tried(campus, 0) / 2048;
  EXPECT_GT(each, 10.2e3 * 1.1 * 1.05);
  EXPECT_LT(each, 10.2e3 * 1.1 * 1.6);
  EXPECT_THAT(campus.finding.cases[0].figure.formula, HasSubstr("2,048 nodes x 11.2 kW x"));
  EXPECT_NEAR(tried(campus, 2), 12500 * each, 1);
  EXPECT_EQ(shown(campus, "H100 that fit 50 MW"), 8 * std::floor(50e6 / each));
  EXPECT_EQ(shown(campus, "H100 that fit 100 MW"), 8 * std::floor(100e6 / each));
}

// The lowest guideline gives 15 GB/s to 256 GPUs; ResNet-50 needs 400 x 114,660 B in 0.435 s.
TEST(Claims, readers_against_their_storage) {
  const ClaimCheck& util = claim("util-4060");
  const double each = 15e9 / 256;
  EXPECT_NEAR(tried(util, 0), each / (400.0 * 114660 / 0.435), 0.01);
  EXPECT_NEAR(tried(util, 1), each / (400.0 * 114660 / 0.224), 0.01);
  EXPECT_NEAR(tried(util, 2), each / (7.0 * 146600628 / 0.323), 0.005);
  EXPECT_NEAR(tried(util, 3), 1, 1e-6) << "4,000 B/s of text";
  // Four drives for eight GPUs at 0.8 of their rate; decoding 4.48 ms per picture on 4 cores.
  const ClaimCheck& busy = claim("util-90");
  const double fetch = claimed_parts().storage_device("tlc-gen5")->read.base() * 4 * 0.8 / 8;
  EXPECT_THAT(busy.finding.cases.at(0).figure.formula,
              StartsWith(figures::show(fetch, figures::Unit::bytes_per_s) + " per GPU of "));
  EXPECT_NEAR(tried(busy, 1), std::min(1.0, fetch / (7.0 * 146600628 / 0.323)), 0.02);
  EXPECT_NEAR(tried(busy, 2), 0.224 / (400 * 4.48e-3 / 4), 0.02);
  EXPECT_NEAR(tried(busy, 0), 1, 0.02);
  // 125 GB/s per scalable unit of 256 GPUs at best: 16 units for 2 TB/s.
  const ClaimCheck& hot = claim("hot-tier");
  EXPECT_NEAR(tried(hot, 0), 125e9, 1);
  EXPECT_NEAR(tried(hot, 2), 64 * 125e9, 1);
  EXPECT_EQ(shown(hot, "H100s that ask 2 TB/s at best guidance"), 4096);
  const ClaimCheck& hundred = claim("storage-100");
  EXPECT_NEAR(tried(hundred, 0), 1024.0 * 400 * 114660 / 0.435, 1e3);
  // 100 GB/s over 204.75 MB/s: 488.4, so 489 GPUs.
  EXPECT_THAT(hundred.finding.only_if, HasSubstr("489 GPUs"));
  EXPECT_THAT(hundred.finding.only_if, HasSubstr("32 GPUs"));
}

// One core receives 42 Gb/s.
TEST(Claims, cores_per_network_port) {
  const ClaimCheck& tcp = claim("tcp-ceiling");
  EXPECT_NEAR(tried(tcp, 0), 42.0 / 400, 1e-9);
  EXPECT_NEAR(tried(tcp, 1), 168.0 / 400, 1e-9);
  EXPECT_EQ(tried(tcp, 2), 1);
  EXPECT_NEAR(shown(tcp, "cores that fill a 400 Gb/s port"), 400.0 / 42, 1e-9);
  EXPECT_NEAR(shown(tcp, "cores for each GB/s"), 8.0 / 42, 1e-9);
}

// t = t0 + S / (K b): 0.95 of linear from K1 nodes where K t0 + S / b is 1 / 0.95 of K1 t0 + S / b.
TEST(Claims, nodes_at_which_storage_falls_behind) {
  const ClaimCheck& c = claim("scale-linear");
  const double fixed = shown(c, "fixed cost of every checkpoint");
  const double rate = shown(c, "rate of one data node");
  const double limit = shown(c, "nodes at which the fit falls to 0.95 of linear");
  EXPECT_GT(limit, 10);
  const auto of_linear = [&](double nodes, double size) {
    return (10 * fixed + size / rate) / (nodes * fixed + size / rate);
  };
  // The first row of the 70B, 405B or 1T shape.
  int fits = 0;
  for (const double size : {912e9, 988e9, 5.68e12, 5.64e12, 17.9e12, 18e12, 15e12, 16.5e12}) {
    fits += of_linear(limit, size) > 0.945 && of_linear(limit + 1, size) < 0.955 ? 1 : 0;
  }
  EXPECT_GT(fits, 0);
}

// 3.79 failures in 1,000 node-days: eight nodes fail every 33 days.
TEST(Claims, failures_and_idle_pipelines) {
  const ClaimCheck& weekly = claim("failures-weekly");
  EXPECT_NEAR(tried(weekly, 0) / 86400, 1000 / (3.79 * 8), 0.1);
  EXPECT_NEAR(tried(weekly, 4) / 3600, 24 * 1000 / (3.79 * 2048), 0.02);
  const ClaimCheck& gang = claim("gang-7of8");
  EXPECT_EQ(tried(gang, 0), 8);
  EXPECT_EQ(tried(gang, 1), 7);
  EXPECT_EQ(tried(gang, 2), 0);
  // m / (m + p - 1).
  const ClaimCheck& use = claim("util-80");
  EXPECT_NEAR(tried(use, 0), 1, 1e-9);
  EXPECT_NEAR(tried(use, 1), 32.0 / 35, 1e-9);
  EXPECT_NEAR(tried(use, 2), 64.0 / 71, 1e-9);
  EXPECT_NEAR(tried(use, 3), 8.0 / 15, 1e-9);
  EXPECT_NEAR(tried(use, 4), 16.0 / 31, 1e-9);
}

// A slower network causes longer waits, never the whole step; the rate at which a tenth of it waits
// is between one that meets the claim and one that does not.
TEST(Claims, network_share_of_a_step) {
  const ClaimCheck& c = claim("net-above-8");
  EXPECT_LT(tried(c, 0), tried(c, 1));
  EXPECT_LT(tried(c, 1), tried(c, 2));
  EXPECT_LT(tried(c, 3), tried(c, 4));
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_LT(tried(c, i), 1);
  }
  const double rate = shown(c, "network rate per GPU at which 64 H100 wait a tenth of the step");
  const double gbits[] = {400, 100, 25};
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(tried(c, i) >= 0.1, gbits[i] * 1e9 / 8 <= rate) << gbits[i];
  }
}

// Computed once: some claims predict training steps and serving replicas.
const std::vector<ClaimCheck>& checks() {
  static const std::vector<ClaimCheck> all = check_claims(machine::known()).value();
  return all;
}

const ClaimCheck& check(std::string_view id) {
  for (const ClaimCheck& c : checks()) {
    if (c.claim.id == id) return c;
  }
  ADD_FAILURE() << "no claim " << id;
  return checks().front();
}

double beside(const ClaimCheck& c, std::string_view label) {
  for (const figures::Number& f : c.finding.beside) {
    if (f.label == label) return f.estimate.value;
  }
  ADD_FAILURE() << c.claim.id << " shows no '" << label << "'";
  return 0;
}

TEST(Claims, verdicts_are_those_recorded) {
  EXPECT_EQ(checks().size(), 56u);
  for (const ClaimCheck& c : checks()) {
    EXPECT_EQ(c.verdict, c.claim.recorded)
        << c.claim.id << " was '" << to_text(c.claim.recorded)
        << "' in data/claims.csv and is now '" << to_text(c.verdict) << "': " << c.statement;
  }
}

TEST(Claims, claims_have_cases_and_sources) {
  for (const ClaimCheck& c : checks()) {
    SCOPED_TRACE(c.claim.id);
    EXPECT_FALSE(c.finding.cases.empty());
    EXPECT_FALSE(c.statement.empty());
    EXPECT_FALSE(c.finding.criterion.text.empty());
    std::set<std::string> ids;
    const auto look = [&](const figures::Number& f) {
      EXPECT_TRUE(ids.insert(f.id).second) << f.id << " twice";
      EXPECT_FALSE(f.estimate.reference.empty()) << f.label;
      EXPECT_TRUE(std::isfinite(f.estimate.value)) << f.label;
    };
    for (const ClaimCase& k : c.finding.cases) look(k.figure);
    for (const figures::Number& f : c.finding.beside) look(f);
  }
}

TEST(Claims, claims_follow_the_catalog) {
  auto changed = std::make_shared<catalog::Knowledge>(*machine::known().knowledge);
  for (catalog::Accelerator& a : changed->catalog.accelerators) {
    if (a.id == "h100-sxm") a.memory_bandwidth = gbytes_per_s(2500);
    if (a.id == "mi300x") a.memory = gigabytes(128);
  }
  for (catalog::ServingEngine& e : changed->catalog.engines) {
    if (e.id == "tgi") e.status = catalog::EngineStatus::active;
  }
  machine::Models models = machine::known();
  models.knowledge = changed;
  const auto checks = check_claims(models);
  ASSERT_TRUE(checks.has_value());
  for (const ClaimCheck& c : *checks) {
    if (c.claim.id == "hbm-h100" || c.claim.id == "mi300x-hbm") {
      EXPECT_EQ(c.verdict, ClaimVerdict::wrong) << c.claim.id;
    }
    if (c.claim.id == "tgi") {
      EXPECT_EQ(c.verdict, ClaimVerdict::holds_only_if);
    }
  }
}

TEST(Claims, a_verdict_is_all_some_or_none) {
  ClaimFinding f{.criterion = about(100, figures::Unit::count)};
  try_case(f, "near", exact(104, Basis::derived, "test"));
  EXPECT_EQ(verdict_of(f), ClaimVerdict::holds);
  try_case(f, "far", exact(106, Basis::derived, "test"));
  EXPECT_EQ(verdict_of(f), ClaimVerdict::holds_only_if);
  f.cases.erase(f.cases.begin());
  EXPECT_EQ(verdict_of(f), ClaimVerdict::wrong);
  f.cases.clear();
  EXPECT_EQ(verdict_of(f), ClaimVerdict::wrong);
}

// The shipped ledger with one text of it changed.
std::string ledger_fault(std::string_view from, const std::string& to) {
  std::vector<catalog::EmbeddedFile> files(catalog::embedded_files().begin(),
                                           catalog::embedded_files().end());
  std::string text;
  for (catalog::EmbeddedFile& file : files) {
    if (file.path != "claims.csv") continue;
    text = file.text;
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    text.replace(at, from.size(), to);
    file.text = text;
  }
  machine::Models models = machine::known();
  models.knowledge = std::make_shared<catalog::Knowledge>(load_knowledge(files).value());
  const auto checks = check_claims(models);
  return checks ? "" : checks.error().front().code;
}

TEST(Claims, ledger_and_checks_have_the_same_claims) {
  EXPECT_EQ(ledger_fault("hbm-h100", "hbm-h100"), "");
  EXPECT_EQ(ledger_fault("hbm-h100", "hbm-h101"), "claims.unknown");
  EXPECT_EQ(ledger_fault("\nhbm-h100", "\nnobody,asks,1,x,y,holds\nhbm-h100"), "claims.unchecked");
  EXPECT_EQ(ledger_fault(",holds", ",perhaps"), "claims.verdict");
}

// 3.79 failures per 1,000 node-days of 8 GPUs (arXiv 2407.21783): 1000 / (3.79 x 7) = 37.7 nodes.
TEST(Claims, failures_are_weekly_at_302_gpus) {
  EXPECT_EQ(beside(check("failures-weekly"), "GPUs at which a failure a week is the mean"), 302);
  EXPECT_EQ(beside(check("failures-weekly"), "and a failure a day"), 2111);
}

// 887.74 / (327.65 x 3): the published rows, 30 data nodes against 10.
TEST(Claims, thirty_storage_nodes_reach_90_percent_of_linear) {
  const ClaimCheck& c = check("scale-linear");
  ASSERT_EQ(c.finding.cases.size(), 3u);
  EXPECT_NEAR(c.finding.cases[2].figure.estimate.value, 0.903, 0.001);
  EXPECT_TRUE(c.finding.cases[0].meets);
  EXPECT_FALSE(c.finding.cases[2].meets);
}

// 32 GT/s x 16 x 128/130 / 8 = 63.0 GB/s.
TEST(Claims, pcie_bandwidth_is_that_of_the_link) {
  const ClaimCheck& c = check("pcie5");
  EXPECT_NEAR(c.finding.cases[0].figure.estimate.value, 63.0e9, 0.05e9);
  EXPECT_FALSE(c.finding.cases[1].meets);
}

}  // namespace
}  // namespace orrery::calc
