#include "study/search/rank.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/math.h"
#include "layers/cost/rental.h"
#include "model/figures/assumptions.h"

namespace orrery::search {
namespace {

using figures::assumptions::kSharedDense;
using figures::assumptions::kSharedExperts;
using figures::assumptions::kWidestTp;

// Returns the format asked for, or the next wider one that the part can multiply in.
std::optional<catalog::Dtype> format_on(const catalog::Accelerator& a, catalog::Dtype wanted) {
  using enum catalog::Dtype;
  const catalog::Dtype widening[] = {fp4, fp8, bf16, fp16};
  bool from_here = false;
  for (const catalog::Dtype d : widening) {
    from_here = from_here || d == wanted;
    if (from_here && a.peak(d)) return d;
  }
  return std::nullopt;
}

// Returns the catalog's node with most of these accelerators in one host, the first of equals.
const catalog::Node* node_with(const catalog::Catalog& catalog, const catalog::Accelerator& a) {
  const catalog::Node* found = nullptr;
  for (const catalog::Node& n : catalog.nodes) {
    if (n.accelerator_id != a.id || !n.max_power || n.accelerators <= 0) continue;
    if (found == nullptr || (found->accelerators < 8 && n.accelerators > found->accelerators)) {
      found = &n;
    }
  }
  return found;
}

jobs::ServingQuery asked(const RankQuery& q, const catalog::Accelerator& a, catalog::Dtype format) {
  jobs::ServingQuery s{.model = q.model, .accelerator = &a, .engine = q.engine};
  s.request = q.request;
  s.precision.products = format;
  s.precision.experts = format;
  // Caches narrower than 8 bits are not modelled.
  s.precision.kv = format == catalog::Dtype::fp4 ? catalog::Dtype::fp8 : format;
  return s;
}

void fill_speed(RankRow& row, const machine::Models& models, const RankQuery& q) {
  const auto format = format_on(*row.accelerator, q.format);
  if (!format) {
    row.refused = "it has none of the number formats";
    return;
  }
  row.format = *format;
  jobs::ServingQuery s = asked(q, *row.accelerator, *format);
  const auto least = least_tp(models, s, kWidestTp);
  if (!least) {
    row.refused = fmt::format("weights and one request do not fit on {} of them", kWidestTp);
    return;
  }
  for (int tp = *least; tp <= kWidestTp; tp *= 2) {
    s.split.tp = tp;
    const auto p = predict_capacity(models, s, q.target);
    if (!p || p->point.concurrency < 1) continue;
    const double each = 1.0 / tp;
    if (p->output_tokens_per_s.value * each <= row.tokens_per_s.value) continue;
    row.devices = tp;
    row.tokens_per_s = p->output_tokens_per_s;
    row.tokens_per_s.value *= each;
    row.tokens_per_s.low *= each;
    row.tokens_per_s.high *= each;
  }
  if (row.tokens_per_s.value <= 0) row.refused = "not even one request meets the target";
}

void fill_yields(RankRow& row, const machine::Models& models, const RankQuery& q) {
  const double tokens = row.tokens_per_s.value;
  if (row.node != nullptr) {
    const Watts each = *row.node->max_power / row.node->accelerators;
    row.per_watt = tokens / each.base();
    row.per_rack = std::floor(q.rack / *row.node->max_power) * row.node->accelerators * tokens;
  }
  const auto price =
      cost::market_price(models.catalog().cloud_prices, row.accelerator->id, "", false);
  if (price) row.per_usd = tokens / price->median.base();
}

}  // namespace

double ratio_error(const Estimate& faster, const Estimate& slower, bool mixture) {
  if (!(slower.value > 0) || !(faster.value > 0)) return std::numeric_limits<double>::infinity();
  const double below = math::log(faster.value / std::max(1e-12, faster.low));
  const double above = math::log(slower.high / slower.value);
  return math::hypot(below, above) * (mixture ? kSharedExperts : kSharedDense);
}

bool is_decided(const Estimate& faster, const Estimate& slower, bool mixture) {
  const double error = ratio_error(faster, slower, mixture);
  return std::isfinite(error) && math::log(faster.value / slower.value) > error;
}

Result<Ranking> rank_accelerators(const machine::Models& models, const RankQuery& q) {
  const catalog::Catalog& catalog = models.catalog();
  Ranking ranking;
  const auto add = [&](const catalog::Accelerator& a) {
    RankRow row{.accelerator = &a, .node = node_with(catalog, a)};
    fill_speed(row, models, q);
    if (row.refused.empty()) fill_yields(row, models, q);
    ranking.rows.push_back(std::move(row));
  };
  for (const std::string& id : q.accelerators) {
    const catalog::Accelerator* a = catalog.accelerator(id);
    if (a == nullptr) {
      return fail({.code = "rank.accelerator",
                   .what = fmt::format("the catalog has no accelerator `{}`", id),
                   .why = "`orrery catalog accelerators` lists them"});
    }
    add(*a);
  }
  if (q.accelerators.empty()) {
    for (const catalog::Accelerator& a : catalog.accelerators) {
      if (node_with(catalog, a) != nullptr) add(a);
    }
  }
  std::ranges::stable_sort(ranking.rows, std::ranges::greater{},
                           [](const RankRow& r) { return r.tokens_per_s.value; });
  for (std::size_t i = 0; i < ranking.rows.size(); ++i) {
    for (std::size_t j = i + 1; j < ranking.rows.size(); ++j) {
      const RankRow& a = ranking.rows[i];
      const RankRow& b = ranking.rows[j];
      if (!a.refused.empty() || !b.refused.empty()) continue;
      ranking.pairs.push_back(
          {.faster = i,
           .slower = j,
           .ratio = a.tokens_per_s.value / b.tokens_per_s.value,
           .factor = math::exp(ratio_error(a.tokens_per_s, b.tokens_per_s, q.model.is_moe())),
           .decided = is_decided(a.tokens_per_s, b.tokens_per_s, q.model.is_moe())});
    }
  }
  return ranking;
}

}  // namespace orrery::search
