// Claims about money: discounts, the share of power, one famous run, training compared with
// serving.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "core/base/text.h"
#include "layers/cost/ownership.h"
#include "layers/cost/rental.h"
#include "layers/cost/egress.h"
#include "model/jobs/predict_serving.h"
#include "study/calc/calc.h"
#include "study/calc/claim_trial.h"

namespace orrery::calc {
namespace {

constexpr const char* kOwnershipPage = "docs/models/ownership.md";

double usd_per_h(UsdPerSecond p) { return p.base() * 3600; }

double accelerator_hours(const Calculation& c) {
  for (const figures::Number& f : c.figures) {
    if (f.id == "accelerator_hours") return f.estimate.value;
  }
  return 0;
}

ClaimFinding spot_discount(const ClaimContext& c) {
  ClaimFinding f{.criterion = between(0.60, 0.90, figures::Unit::ratio)};
  for (const catalog::CloudPrice& p : c.catalog().cloud_prices) {
    const bool asked = p.accelerator_id == "h100-sxm" || p.accelerator_id == "h200-sxm" ||
                       p.accelerator_id == "a100-80-sxm" || p.accelerator_id == "b200-sxm";
    // A row without a discount repeats its on-demand price if no spot price was found.
    if (!asked || !p.on_demand_median || !p.spot_median || !p.spot_discount_median) continue;
    try_case(f, fmt::format("{} {} ({})", p.provider, p.sku, p.accelerator_id),
             fact(*p.spot_discount_median, p.provenance),
             fmt::format("1 - {} / {} USD/h", significant(usd_per_h(*p.spot_median), 3),
                         significant(usd_per_h(*p.on_demand_median), 3)));
  }
  const auto met = std::ranges::count(f.cases, true, &ClaimCase::meets);
  const auto off_of = [](const ClaimCase& k) { return k.figure.estimate.value; };
  if (f.cases.empty()) return f;
  const auto [least, most] = std::ranges::minmax(f.cases, {}, off_of);
  f.only_if =
      fmt::format("the offer is one of {} in {}: {}. Medians run from {} to {}", met,
                  f.cases.size(), labels_of(f, true), show(off_of(least), figures::Unit::ratio),
                  show(off_of(most), figures::Unit::ratio));
  return f;
}

ClaimFinding reserved_discount_claim(const ClaimContext& c) {
  ClaimFinding f{.criterion = between(0.30, 0.50, figures::Unit::ratio)};
  f.criterion.text = "middle of the range within 30 % to 50 %";
  std::string ranges;
  for (const catalog::ReservedDiscount& r : c.catalog().reserved_discounts) {
    Estimate e = fact((r.low + r.high) / 2, r.provenance);
    e.low = r.low;
    e.high = r.high;
    try_case(f, r.id, e,
             fmt::format("{} to {}", show(r.low, figures::Unit::ratio),
                         show(r.high, figures::Unit::ratio)));
    ranges += fmt::format("{}{} takes {} to {}", ranges.empty() ? "" : ", ", r.id,
                          show(r.low, figures::Unit::ratio), show(r.high, figures::Unit::ratio));
  }
  f.only_if = fmt::format("the term is {}: {}", labels_of(f, true), ranges);
  return f;
}

cost::OwnershipInput owned_h100(const ClaimContext& c, bool owned_hall) {
  const catalog::Node& n = c.node("dgx-h100");
  constexpr int kNodes = 127;
  cost::OwnershipInput in = cost::ownership_defaults(
      c.catalog(), 8 * kNodes, n.typical_train_power.value_or(Watts()) * kNodes);
  if (n.price) in.capex = cost::capex_with_adders(c.catalog(), n.price->middle() * kNodes);
  in.contracted = n.max_power.value_or(Watts()) * kNodes;
  if (owned_hall) {
    const catalog::TcoParameter* hall = c.catalog().tco("facility-capex");
    in.colocation = UsdPerJoule();
    in.hall = UsdPerWatt(hall != nullptr ? hall->typical : 0);
  }
  return in;
}

ClaimFinding power_share_opex(const ClaimContext& c) {
  ClaimFinding f{.criterion = between(0.40, 0.50, figures::Unit::ratio)};
  const cost::Ownership rented = owned_cost(owned_h100(c, false));
  const cost::Ownership hall = owned_cost(owned_h100(c, true));
  const auto run = [&](const char* label, double share, const char* formula) {
    try_case(f, label, computed(share, 0.2, kOwnershipPage), formula);
  };
  run("share of all yearly cost", rented.electricity_of_total, "electricity / (capital + running)");
  run("share of running cost, colocation", rented.electricity_of_running,
      "electricity / (electricity + colocation + staff + repair)");
  run("share of running cost, own hall", hall.electricity_of_running,
      "electricity / (electricity + staff + repair)");
  const double usual_kwh = owned_h100(c, true).electricity / usd_per_kwh(1);
  for (const char* id : {"usa", "deu", "gbr"}) {
    const catalog::GridRegion* region = c.catalog().region(id);
    if (region == nullptr) continue;
    cost::OwnershipInput in = owned_h100(c, true);
    in.electricity = (region->price_low + region->price_high) / 2;
    try_case(
        f, fmt::format("share of running cost, own hall in {}", region->name),
        computed(owned_cost(in).electricity_of_running, 0.2, region->provenance.reference),
        fmt::format("the same at {} USD/kWh", significant(in.electricity / usd_per_kwh(1), 3)));
  }
  // The rest of the running cost is constant, so the odds are proportional to the price.
  const double odds = hall.electricity_of_running / (1 - hall.electricity_of_running);
  const auto price_at = [&](double share) { return usual_kwh * share / (1 - share) / odds; };
  f.only_if = fmt::format(
      "depreciation and the hall are left out and a kWh costs {} to {} USD; with "
      "depreciation it is {}",
      significant(price_at(0.4), 2), significant(price_at(0.5), 2),
      show(rented.electricity_of_total, figures::Unit::ratio));
  f.instead = fmt::format(
      "with depreciation {}; without it {} in colocation, {} in an own hall at "
      "0.08 USD/kWh",
      show(rented.electricity_of_total, figures::Unit::ratio),
      show(rented.electricity_of_running, figures::Unit::ratio),
      show(hall.electricity_of_running, figures::Unit::ratio));
  return f;
}

ClaimFinding gpt4_cost(const ClaimContext& c) {
  ClaimFinding f{.criterion = about(78e6, figures::Unit::usd, 0.25)};
  TrainTimeQuestion q{.tokens = c.input("gpt4-tokens").number(),
                      .accelerator = &c.accelerator("a100-80-sxm"),
                      .gpus = 25000,
                      .mfu = c.input("gpt4-mfu").number(),
                      .goodput = 1};
  q.model.parameters = c.input("gpt4-active").number();
  const double hours_used = accelerator_hours(calc_train_time(q));
  const auto run = [&](const std::string& label, double price, std::string reference) {
    try_case(f, label, computed(hours_used * price, 0.4, std::move(reference)),
             fmt::format("{} A100-hours x {} USD", show(hours_used, figures::Unit::count),
                         significant(price, 3)));
  };
  const catalog::Node& n = c.node("dgx-a100");
  const auto owned = calc_tco({.node = &n, .count = 3125}, c.catalog());
  if (owned && !owned->figures.empty()) {
    run("owned, at today's street price", owned->figures.back().estimate.value, kOwnershipPage);
  }
  if (const auto m = cost::market_price(c.catalog().cloud_prices, "a100-80-sxm", "", false)) {
    run("rented at the market's lowest", usd_per_h(m->low), m->reference);
    run("rented at the market's median", usd_per_h(m->median), m->reference);
  }
  const double price = 78e6 / hours_used;
  show_beside(f, "price of an A100-hour that gives 78 MUSD", figures::Unit::usd_per_hour,
              computed(price, 0.4, "claims_inputs/gpt4-active"),
              "6 x 280e9 x 13e12 FLOP at 0.34 of 312 TFLOP/s");
  f.only_if = fmt::format(
      "an A100-hour costs {} to {} USD and the reported size (280B active, 13T "
      "tokens) is right: {}",
      significant(price * 0.75, 3), significant(price * 1.25, 3), labels_of(f, true));
  f.instead = f.only_if;
  return f;
}

// A 70B model that is trained once and served for its life on the same H100s.
struct LifeOf70b {
  double training_hours = 0;
  double tokens_per_hour = 0;  // output tokens of one accelerator at its mean load
  double life_days = 0;

  double ratio(double tokens_per_day) const {
    return tokens_per_day * life_days / tokens_per_hour / training_hours;
  }
  double tokens_per_day_at(double wanted) const {
    return wanted * training_hours * tokens_per_hour / life_days;
  }
};

LifeOf70b life_of_70b(const ClaimContext& c) {
  TrainTimeQuestion t{.tokens = c.input("training-tokens-70b").number(),
                      .accelerator = &c.accelerator("h100-sxm"),
                      .gpus = 16384};
  t.model.shape = &c.model("llama-3-70b");
  jobs::ServingQuery s;
  s.model = *t.model.shape;
  s.accelerator = t.accelerator;
  s.split.tp = 4;
  s.precision = {
      .products = catalog::Dtype::fp8, .experts = catalog::Dtype::fp8, .kv = catalog::Dtype::fp8};
  s.request = {.input = 1024, .output = 256};
  const auto p =
      predict_capacity(c.models, s, {.ttft_p99 = seconds(2), .tpot_p99 = milliseconds(60)});
  LifeOf70b life{.training_hours = accelerator_hours(calc_train_time(t))};
  if (p) {
    life.tokens_per_hour =
        p->point.output_tokens_per_s * 3600 / s.split.devices() * c.input("service-load").number();
  }
  life.life_days = c.input("service-life").number() * 365;
  return life;
}

constexpr std::array kTraffic = {1e9, 1e10, 1e11, 5e11};

std::string per_day(double tokens) {
  return fmt::format("{} output tokens per day", show(tokens, figures::Unit::count));
}

void show_life(ClaimFinding& f, const LifeOf70b& life) {
  show_beside(f, "H100-hours of training", figures::Unit::count,
              computed(life.training_hours, 0.25, "docs/models/training.md"),
              "70B on 15T tokens at MFU 0.4, goodput 0.95");
  show_beside(f, "output tokens per H100-hour, half loaded", figures::Unit::count,
              computed(life.tokens_per_hour, 0.3, "docs/models/serving.md"),
              "FP8, tp 4, 1,024 tokens in and 256 out");
}

ClaimFinding inference_more(const ClaimContext& c) {
  ClaimFinding f{.criterion = at_least(1, figures::Unit::factor)};
  f.criterion.text = "inference costs at least as much as training";
  const LifeOf70b life = life_of_70b(c);
  for (const double tokens : kTraffic) {
    try_case(f, per_day(tokens), computed(life.ratio(tokens), 0.4, "docs/models/cost.md"),
             "H100-hours of serving over two years / H100-hours of training");
  }
  show_life(f, life);
  f.only_if = fmt::format(
      "a 70B model answers more than {} over two years; research models and "
      "those soon replaced do not",
      per_day(life.tokens_per_day_at(1)));
  return f;
}

ClaimFinding inference_share(const ClaimContext& c) {
  ClaimFinding f{.criterion = between(0.80, 0.90, figures::Unit::ratio)};
  const LifeOf70b life = life_of_70b(c);
  // Serving that costs 4 to 9 times as much as training.
  const double low = life.tokens_per_day_at(4);
  const double high = life.tokens_per_day_at(9);
  for (const double tokens : {kTraffic[0], kTraffic[1], std::sqrt(low * high), kTraffic[3]}) {
    const double ratio = life.ratio(tokens);
    try_case(f, per_day(tokens), computed(ratio / (1 + ratio), 0.2, "docs/models/cost.md"),
             "serving / (serving + training), H100-hours over two years");
  }
  show_life(f, life);
  f.only_if = fmt::format(
      "a 70B model answers {} to {} over two years; less traffic makes it less, "
      "more makes it more",
      show(low, figures::Unit::count), per_day(high));
  return f;
}

constexpr std::array kMoneyClaims = {
    ClaimRule{"spot-discount", spot_discount},
    ClaimRule{"reserved-discount", reserved_discount_claim},
    ClaimRule{"power-share-opex", power_share_opex},
    ClaimRule{"gpt4-cost", gpt4_cost},
    ClaimRule{"inference-more", inference_more},
    ClaimRule{"inference-share", inference_share},
};

}  // namespace

std::span<const ClaimRule> money_claims() { return kMoneyClaims; }

}  // namespace orrery::calc
