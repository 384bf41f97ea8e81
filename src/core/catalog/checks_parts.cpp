#include <array>
#include <cmath>
#include <string>
#include <utility>

#include "core/base/text.h"
#include "core/catalog/checks.h"

namespace orrery::catalog {
namespace {

std::string number(double v) { return significant(v, 4); }

bool near(double value, double wanted, double tolerance) {
  return std::abs(value - wanted) <= tolerance * wanted;
}

const DenseRatio* ratio_rule(const Catalog& c, const Accelerator& a, Dtype dtype, Dtype of) {
  const DenseRatio* found = nullptr;
  for (const DenseRatio& rule : c.dense_ratios) {
    if (rule.dtype != dtype || rule.of != of || rule.vendor != a.vendor) continue;
    if (rule.accelerator_id == a.id) return &rule;
    if (rule.accelerator_id.empty()) found = &rule;
  }
  return found;
}

// Older parts have fp16 and no bf16. Parts with both have the same rate for both, except Gaudi.
std::optional<FlopsPerSecond> peak_16_bit(const Accelerator& a) {
  return a.peak(Dtype::bf16) ? a.peak(Dtype::bf16) : a.peak(Dtype::fp16);
}

void check_dense_ratios(const Catalog& c, const Accelerator& a, Diagnostics& faults) {
  static constexpr std::array<std::pair<Dtype, Dtype>, 5> kPairs = {{{Dtype::fp16, Dtype::bf16},
                                                                     {Dtype::tf32, Dtype::bf16},
                                                                     {Dtype::fp8, Dtype::bf16},
                                                                     {Dtype::int8, Dtype::bf16},
                                                                     {Dtype::fp4, Dtype::fp8}}};
  for (const auto& [dtype, of] : kPairs) {
    const auto over = a.peak(dtype);
    const auto base = of == Dtype::bf16 ? peak_16_bit(a) : a.peak(of);
    if (!over || !base) continue;
    const double ratio = *over / *base;
    const DenseRatio* rule = ratio_rule(c, a, dtype, of);
    if (rule && near(ratio, rule->ratio, kRatioTolerance)) continue;
    const std::string what =
        std::string(to_text(dtype)) + " is " + number(ratio) + " x " + std::string(to_text(of));
    if (!rule) {
      faults.push_back(row_fault(a.provenance, "catalog.ratio-unknown",
                                 what + " and dense_ratios.csv has no rule for " + a.vendor,
                                 "without a stated ratio this cannot be distinguished from a "
                                 "sparse figure"));
    } else {
      faults.push_back(row_fault(a.provenance, "catalog.sparse",
                                 what + ", dense is " + number(rule->ratio) + " x",
                                 "rates are dense, and vendors print 2:4 sparse ones (" +
                                     rule->provenance.reference + ": " + rule->reason + ")"));
    }
  }
}

void check_rate_against_power(const Catalog& c, const Accelerator& a, Diagnostics& faults) {
  const auto peak = peak_16_bit(a);
  if (!peak || !a.tdp) return;
  const double per_watt = *peak / tflops_per_s(1) / (*a.tdp / watts(1));
  if (per_watt < kLeastTflopsPerWatt || per_watt > kMostTflopsPerWatt) {
    faults.push_back(row_fault(
        a.provenance, "catalog.tflops-per-watt",
        number(per_watt) + " dense 16-bit TFLOP/s per watt is outside 0.3 to 4",
        "no part on sale is"));
  }
  const auto too_dense = [&](Dtype d, double most) {
    const auto rate = a.peak(d);
    if (!rate || *rate / tflops_per_s(1) <= most * (*a.tdp / watts(1))) return;
    faults.push_back(
        row_fault(a.provenance, "catalog.tflops-per-watt",
                  std::string(to_text(d)) + " above " + number(most) + " TFLOP/s per watt",
                  "no announced part is"));
  };
  too_dense(Dtype::fp8, kMostTflopsPerWatt8Bit);
  too_dense(Dtype::int8, kMostTflopsPerWatt8Bit);
  too_dense(Dtype::fp4, kMostTflopsPerWatt4Bit);
  for (const DenseCeiling& ceiling : c.dense_ceilings) {
    if (ceiling.vendor != a.vendor || a.launch_year < ceiling.from_year ||
        a.launch_year > ceiling.to_year || per_watt <= ceiling.tflops_per_watt) {
      continue;
    }
    faults.push_back(
        row_fault(a.provenance, "catalog.sparse-row",
                  number(per_watt) + " TFLOP/s per watt is more than " + a.vendor + " sold then (" +
                      number(ceiling.tflops_per_watt) + ")",
                  "all rates of the row may be sparse, or it may belong to another power class"));
  }
}

void check_ridge(const Accelerator& a, Diagnostics& faults) {
  const auto peak = peak_16_bit(a);
  if (!peak) return;
  const double ridge = (*peak / a.memory_bandwidth).base();
  if (ridge >= kLeastRidge && ridge <= kMostRidge) return;
  faults.push_back(row_fault(a.provenance, "catalog.ridge",
                             number(ridge) + " FLOP per byte is outside 30 to 700",
                             "rate or memory bandwidth is in the wrong unit"));
}

void check_link(const Catalog& c, const Accelerator& a, Diagnostics& faults) {
  if (a.scaleup_link == "none") return;
  const LinkRate* known = nullptr;
  for (const LinkRate& link : c.link_rates) {
    if (a.scaleup_link.starts_with(link.link)) known = &link;
  }
  if (!known) {
    faults.push_back(row_fault(a.provenance, "catalog.link-unknown",
                               "link_rates.csv has no link '" + a.scaleup_link + "'", ""));
  } else if (a.scaleup_per_direction && *a.scaleup_per_direction > known->per_direction * 1.001) {
    faults.push_back(row_fault(a.provenance, "catalog.link-both-directions",
                               number(*a.scaleup_per_direction / gbytes_per_s(1)) +
                                   " GB/s per direction, " + known->link + " has at most " +
                                   number(known->per_direction / gbytes_per_s(1)),
                               "headline figures add both directions (" + known->reason + ")"));
  }
}

// Reads the memory size from a name such as "H100 SXM5 80GB", which must match the memory column.
std::optional<double> gigabytes_in(const std::string& name) {
  const auto at = name.find("GB");
  if (at == std::string::npos || at == 0) return std::nullopt;
  std::size_t from = at;
  while (from > 0 && name[from - 1] >= '0' && name[from - 1] <= '9') --from;
  return parse_number(std::string_view(name).substr(from, at - from));
}

void check_memory(const Accelerator& a, Diagnostics& faults) {
  const double gb = a.memory / gigabytes(1);
  const double steps = a.memory / gib(kGibStep);
  const bool whole_steps = std::abs(steps - std::round(steps)) <= 0.005 * steps;
  if (a.vendor == kGibVendor && !whole_steps) {
    faults.push_back(row_fault(a.provenance, "catalog.gib-as-gb",
                               number(gb) + " GB is not a multiple of 16 GiB",
                               "this vendor counts in GiB; 96 GiB is 103 GB"));
  }
  const auto named = gigabytes_in(a.name);
  if (named && !near(gb, *named, 0.005)) {
    faults.push_back(row_fault(a.provenance, "catalog.gib-as-gb",
                               "the name says " + number(*named) + " GB, the row " + number(gb),
                               "GiB and GB differ by 7 %"));
  }
}

void check_mig(const Catalog& c, const MigProfile& m, Diagnostics& faults) {
  if (!c.accelerator(m.accelerator_id)) {
    faults.push_back(row_fault(m.provenance, "catalog.reference",
                               "no accelerator '" + m.accelerator_id + "'", ""));
    return;
  }
  // The name rounds the instance's share of the whole memory up to a decimal GB; the instance
  // itself gets a little less.
  const auto dot = m.profile.find('.');
  const auto end = m.profile.find("gb");
  if (dot == std::string::npos || end == std::string::npos || end < dot) return;
  const auto named = parse_number(std::string_view(m.profile).substr(dot + 1, end - dot - 1));
  if (named && m.memory > gigabytes(*named * 1.07)) {
    faults.push_back(row_fault(m.provenance, "catalog.gib-as-gb",
                               number(m.memory / gib(1)) + " GiB in a profile named " + m.profile,
                               "an instance is never larger than its name says"));
  }
}

}  // namespace

void check_accelerators(const Catalog& catalog, Diagnostics& faults) {
  for (const Accelerator& a : catalog.accelerators) {
    check_dense_ratios(catalog, a, faults);
    check_rate_against_power(catalog, a, faults);
    check_ridge(a, faults);
    check_link(catalog, a, faults);
    check_memory(a, faults);
    if (a.idle && a.tdp && *a.idle >= *a.tdp) {
      faults.push_back(row_fault(a.provenance, "catalog.power-order", "idle is not below TDP", ""));
    }
  }
  for (const MigProfile& m : catalog.mig_profiles) check_mig(catalog, m, faults);
}

}  // namespace orrery::catalog
