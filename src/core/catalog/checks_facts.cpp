#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <string>

#include "core/base/text.h"
#include "core/catalog/checks.h"

namespace orrery::catalog {
namespace {

void need(bool holds, const Provenance& row, const char* code, std::string what, const char* why,
          Diagnostics& faults) {
  if (!holds) faults.push_back(row_fault(row, code, std::move(what), why));
}

// Returns true if the values that are present never fall; missing ones are skipped.
bool rising(std::initializer_list<std::optional<double>> values) {
  std::optional<double> last;
  for (const auto& v : values) {
    if (!v) continue;
    if (last && *v < *last) return false;
    last = v;
  }
  return true;
}

std::optional<double> base_of(const std::optional<UsdPerSecond>& price) {
  if (!price) return std::nullopt;
  return price->base();
}

void check_range(const std::optional<PriceRange>& price, const Provenance& row,
                 Diagnostics& faults) {
  need(!price || price->low <= price->high, row, "catalog.price-order",
       "the low price is above the high one", "", faults);
}

// Reads "+4x100G" in the breakout column: uplinks in addition to the ports.
BytesPerSecond uplinks(const Switch& s) {
  if (!s.breakout.starts_with('+')) return {};
  const auto at = s.breakout.find('x');
  const auto end = s.breakout.find('G');
  if (at == std::string::npos || end == std::string::npos || end < at) return {};
  const std::string_view text = s.breakout;
  const auto count = parse_number(text.substr(1, at - 1));
  const auto rate = parse_number(text.substr(at + 1, end - at - 1));
  return gbits_per_s(count.value_or(0) * rate.value_or(0));
}

void check_switch(const Switch& s, Diagnostics& faults) {
  const BytesPerSecond total = s.port_rate * s.ports + uplinks(s);
  need(std::abs(total / s.total_one_way - 1) <= kTotalTolerance, s.provenance, "catalog.radix",
       "ports x speed is " + significant(total / gbits_per_s(1e3), 4) + " Tb/s, the row says " +
           significant(s.total_one_way / gbits_per_s(1e3), 4),
       "totals are one-way; a doubled total or a missing port shows up here", faults);
  need(!s.typical_power || !s.max_power || *s.typical_power <= *s.max_power, s.provenance,
       "catalog.power-order", "typical power is above the maximum", "", faults);
  check_range(s.price, s.provenance, faults);
}

void check_nic(const Nic& n, Diagnostics& faults) {
  need(n.total_rate <= n.port_rate * n.ports * (1 + kTotalTolerance), n.provenance, "catalog.radix",
       "the total is above ports x speed", "both directions may have been added", faults);
  need(!n.typical_power || !n.max_power || *n.typical_power <= *n.max_power, n.provenance,
       "catalog.power-order", "typical power is above the maximum", "", faults);
  check_range(n.price, n.provenance, faults);
}

void check_device(const StorageDevice& d, Diagnostics& faults) {
  check_range(d.price_per_tb, d.provenance, faults);
  need(d.idle_power <= d.active_power, d.provenance, "catalog.power-order",
       "idle power is above active power", "", faults);
  need(!d.annual_failure_rate || *d.annual_failure_rate < 0.2, d.provenance, "catalog.fraction",
       "more than a fifth of the drives would fail per year", "the column is in per cent", faults);
}

void check_model(const ModelShape& m, Diagnostics& faults) {
  const bool sized = m.layers > 0 && m.hidden > 0 && m.heads > 0 && m.vocab > 0;
  need(sized, m.provenance, "catalog.model-shape",
       "layers, hidden, heads and vocab must be above 0", "", faults);
  need(m.kv_heads > 0 && m.heads % std::max(1, m.kv_heads) == 0, m.provenance,
       "catalog.model-shape", "kv_heads does not divide heads",
       "each KV head serves a whole group of query heads", faults);
  need(!m.is_moe() || (m.top_k > 0 && m.top_k <= m.experts && m.expert_ffn > 0), m.provenance,
       "catalog.model-shape", "top_k must not exceed experts, and expert_ffn is required", "",
       faults);
  const bool latent = m.kv_lora_rank > 0 && m.qk_rope_dim > 0 && m.v_head_dim > 0;
  need(m.attention != AttentionKind::mla || latent, m.provenance, "catalog.model-shape",
       "latent attention without its ranks", "", faults);
  need(m.attention != AttentionKind::gqa || m.head_dim > 0, m.provenance, "catalog.model-shape",
       "head_dim is blank", "", faults);
}

void check_region(const Catalog& c, const GridRegion& r, Diagnostics& faults) {
  need(r.price_low <= r.price_high, r.provenance, "catalog.price-order",
       "the low price is above the high one", "", faults);
  need(r.price_low >= usd_per_kwh(0.005) && r.price_high <= usd_per_kwh(0.6), r.provenance,
       "catalog.power-price", "electricity outside 0.5 to 60 US cents per kWh",
       "the columns are in cents", faults);
  need(r.carbon <= grams_per_kwh(1200), r.provenance, "catalog.carbon",
       "more than 1,200 g CO2 per kWh", "pure lignite is below that", faults);
  need(r.country.size() == 3, r.provenance, "catalog.country", "country is not ISO alpha-3", "",
       faults);
  bool known = false;
  for (const PueByClimate& p : c.pue_by_climate) known = known || p.climate == r.climate;
  need(known, r.provenance, "catalog.reference", "no climate '" + r.climate + "'", "", faults);
}

}  // namespace

void check_network_parts(const Catalog& catalog, Diagnostics& faults) {
  for (const Switch& s : catalog.switches) check_switch(s, faults);
  for (const Nic& n : catalog.nics) check_nic(n, faults);
  for (const Optic& o : catalog.optics) check_range(o.price, o.provenance, faults);
  for (const StorageDevice& d : catalog.storage_devices) check_device(d, faults);
}

void check_models(const Catalog& catalog, Diagnostics& faults) {
  for (const ModelShape& m : catalog.models) check_model(m, faults);
}

void check_site_facts(const Catalog& catalog, Diagnostics& faults) {
  for (const CoolingMethod& m : catalog.cooling_methods) {
    check_range(m.capex_per_kw, m.provenance, faults);
    need(m.pue_low >= 1 && m.pue_low <= m.pue_high && m.pue_high < 3, m.provenance,
         "catalog.fraction", "PUE must rise from 1 and stay below 3", "", faults);
    need(m.liquid_heat_fraction <= 1, m.provenance, "catalog.fraction",
         "the liquid fraction is above 1", "", faults);
    need(m.rack_low <= m.rack_practical_max, m.provenance, "catalog.order",
         "the smallest rack is above the largest", "", faults);
  }
  for (const PueByClimate& p : catalog.pue_by_climate) {
    need(p.p10 >= 1 && rising({p.p10, p.p50, p.p90}), p.provenance, "catalog.order",
         "PUE p10, p50 and p90 do not rise from 1", "", faults);
    need(catalog.cooling(p.cooling_id), p.provenance, "catalog.reference",
         "no cooling method '" + p.cooling_id + "'", "", faults);
  }
  for (const PowerStage& s : catalog.power_stages) {
    const bool inside = s.efficiency_low > 0.5 && s.efficiency_high <= 1;
    need(inside && rising({s.efficiency_low, s.efficiency_typical, s.efficiency_high}),
         s.provenance, "catalog.fraction", "efficiencies do not rise between 0.5 and 1", "",
         faults);
  }
  for (const Redundancy& r : catalog.redundancies) {
    need(std::abs(r.usable_fraction * r.capacity_multiplier - 1) < 0.01, r.provenance,
         "catalog.redundancy", "usable fraction is not 1 / capacity multiplier", "", faults);
  }
  for (const LeadTime& t : catalog.lead_times) {
    need(rising({t.low.base(), t.typical.base(), t.high.base()}), t.provenance, "catalog.order",
         "low, typical and high do not rise", "", faults);
  }
  for (const GridRegion& r : catalog.regions) check_region(catalog, r, faults);
}

void check_prices(const Catalog& catalog, Diagnostics& faults) {
  for (const Accelerator& a : catalog.accelerators) check_range(a.price, a.provenance, faults);
  for (const Node& n : catalog.nodes) check_range(n.price, n.provenance, faults);
  for (const CloudPrice& p : catalog.cloud_prices) {
    need(rising(
             {base_of(p.on_demand_low), base_of(p.on_demand_median), base_of(p.on_demand_high)}) &&
             rising({base_of(p.spot_low), base_of(p.spot_median), base_of(p.spot_high)}),
         p.provenance, "catalog.price-order", "lowest, median and highest price do not rise", "",
         faults);
    need(p.on_demand_median || p.spot_median, p.provenance, "catalog.missing",
         "neither an on-demand nor a spot price", "", faults);
    need(p.accelerator_id == "unspecified" || catalog.accelerator(p.accelerator_id), p.provenance,
         "catalog.reference", "no accelerator '" + p.accelerator_id + "'", "", faults);
  }
  for (const SpotBand& s : catalog.spot_bands) {
    need(rising({s.low_month, s.high_month}) && s.high_month.value_or(0) <= 1, s.provenance,
         "catalog.order", "the interruption range does not rise within 0 to 100 % per month", "",
         faults);
    need(s.accelerator_id.empty() || catalog.accelerator(s.accelerator_id), s.provenance,
         "catalog.reference", "no accelerator '" + s.accelerator_id + "'", "", faults);
  }
  for (const ReservedDiscount& d : catalog.reserved_discounts) {
    need(rising({d.low, d.high}) && d.high < 1, d.provenance, "catalog.order",
         "the discount does not rise below 1", "", faults);
  }
  for (const TcoParameter& t : catalog.tco_parameters) {
    need(rising({t.low, t.typical, t.high}), t.provenance, "catalog.order",
         "low, typical and high do not rise", "", faults);
  }
  for (const ExportControl& e : catalog.export_controls) {
    need(catalog.accelerator(e.accelerator_id), e.provenance, "catalog.reference",
         "no accelerator '" + e.accelerator_id + "'", "", faults);
    need(!e.countries.empty(), e.provenance, "catalog.missing", "names no country", "", faults);
  }
}

}  // namespace orrery::catalog
