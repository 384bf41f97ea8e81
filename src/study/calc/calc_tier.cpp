// What a tier costs in purchase, power and holding on one kind of drive or another, and from which
// age on data is cheaper on the second.
#include <fmt/format.h>

#include <algorithm>

#include "core/base/text.h"
#include "core/base/units.h"
#include "layers/storage/economics.h"
#include "model/figures/assumptions.h"
#include "study/calc/calc_values.h"
#include "study/calc/parameters.h"

namespace orrery::calc {
namespace {

constexpr const char* kTierPage = "docs/models/storage.md";
using figures::assumptions::kMoveEnergy;
using figures::assumptions::kStreetSpread;

struct TierAsked {
  storage::TierDemand demand;
  const catalog::StorageDevice* first = nullptr;
  const catalog::StorageDevice* second = nullptr;
  storage::OwnTerms terms;
  Bytes object;
};

void add_device(Calculation& c, const TierAsked& a, const catalog::StorageDevice& d,
                const storage::HoldingCost& cost) {
  const storage::TierSize size = size_tier(a.demand, d, {});
  const std::string bought =
      fmt::format("{} devices in {} servers, limited by {}", significant(size.devices, 6),
                  significant(size.servers, 6), to_text(size.limit));
  const auto add = [&](const std::string& id, std::string label, figures::Unit unit, double value) {
    c.figures.push_back({.id = id + "_" + d.id,
                         .label = std::move(label) + " on " + d.id,
                         .unit = unit,
                         .estimate = within(value, kStreetSpread, kStreetSpread, Basis::derived,
                                            d.provenance.reference),
                         .formula = bought});
  };
  add("usd_per_tb", "purchase price per usable TB", figures::Unit::usd, cost.usd_per_tb);
  add("watts_per_tb", "power per usable TB", figures::Unit::watts, cost.watts_per_tb);
  add("hold", "cost per usable TB and month", figures::Unit::usd,
      storage::in_usd_per_tb_month(cost.total));
}

const char* winner(storage::Cheaper c, const TierAsked& a) {
  if (c == storage::Cheaper::tie) return "neither";
  return c == storage::Cheaper::first ? a.first->id.c_str() : a.second->id.c_str();
}

Calculation calc_tier(const TierAsked& a) {
  const storage::DeviceComparison both =
      compare_devices(a.demand, *a.first, *a.second, {}, a.terms);
  Calculation c{.question = fmt::format("What does {} cost on {} and on {}?",
                                        brief(a.demand.capacity), a.first->id, a.second->id)};
  c.answer = fmt::format("{} is cheaper to hold, {} draws less.", winner(both.per_byte, a),
                         winner(both.per_watt, a));
  add_device(c, a, *a.first, both.first);
  add_device(c, a, *a.second, both.second);
  if (both.tie_tariff) {
    c.figures.push_back({.id = "tie_tariff",
                         .label = "price of a MWh at which both cost the same",
                         .unit = figures::Unit::usd,
                         .estimate = within(both.tie_tariff->base() * 3.6e9, kStreetSpread,
                                            kStreetSpread, Basis::derived, kTierPage)});
  }
  if (both.tie_price_second) {
    c.figures.push_back(
        {.id = "tie_price",
         .label = "price of a TB of " + a.second->id + " at which both cost the same",
         .unit = figures::Unit::usd,
         .estimate = within(*both.tie_price_second, 0.25, 0.25, Basis::derived, kTierPage)});
  }
  const bool down = both.first.total > both.second.total;
  const auto age =
      storage::break_even_age({.from = down ? both.first.total : both.second.total,
                               .to = down ? both.second.total : both.first.total,
                               .object = a.object,
                               .per_object = Usd(0),
                               .per_byte = UsdPerByte(a.terms.tariff.base() * kMoveEnergy),
                               .retrieval = UsdPerByte(0),
                               .read_back = 0,
                               .minimum_stay = Seconds(0)});
  if (age) {
    c.figures.push_back({.id = "break_even_age",
                         .label = "age from which a byte is cheaper on the other drive",
                         .unit = figures::Unit::seconds,
                         .estimate = within(age->base(), 0.5, 1.0, Basis::assumed, kTierPage),
                         .formula = "cost of the move / (holding cost here - holding cost there)"});
  }
  c.assumptions = {"erasure code 8 + 2, filled to 80 %; drives deliver 80 % of their rate",
                   "servers add 30 % to the price of bare drives and half to their power",
                   "prices are street ranges; five years; the middle of the range"};
  return c;
}

Result<Calculation> ask_tier(CalcValues& v, const machine::Models&) {
  TierAsked a;
  a.demand.capacity = v.quantity<Bytes>("capacity");
  a.demand.read = v.quantity<BytesPerSecond>("read");
  a.demand.write = v.quantity<BytesPerSecond>("write");
  a.terms.tariff = v.quantity<UsdPerJoule>("power-price");
  a.terms.pue = v.count("pue");
  a.object = megabytes(256);
  a.first = v.catalog().storage_device(v.word("device"));
  a.second = v.catalog().storage_device(v.word("against"));
  if (a.first == nullptr || a.second == nullptr) {
    return fail({.code = "calc.device",
                 .what = fmt::format("the catalog has no storage device `{}`",
                                     v.word(a.first ? "against" : "device")),
                 .why = "`orrery catalog storage_devices` lists them"});
  }
  if (!v.faults().empty()) return Calculation{};
  return calc_tier(a);
}

}  // namespace

Calculator tier_calculator() {
  return {.name = "tier",
          .summary = "Compare the cost of a storage tier on two kinds of drives",
          .example = "orrery calc tier --capacity \"5 PB\" --device hdd-cmr24 --against qlc-122",
          .parameters =
              {amount_parameter("capacity", "usable capacity", "1 PB", "TB", 1, 1e6),
               amount_parameter("read", "read rate of the tier", "20 GB/s", "GB/s", 0.01, 1e4),
               amount_parameter("write", "write rate of the tier", "10 GB/s", "GB/s", 0.01, 1e4),
               part_parameter("device", "storage_devices", "hdd-cmr24", "catalog id of the drive"),
               part_parameter("against", "storage_devices", "qlc-122",
                              "catalog id of the drive to compare with"),
               amount_parameter("power-price", "price of electricity", "0.08 USD/kWh", "USD/kWh",
                                0.02, 0.4),
               {.name = "pue",
                .label = "power usage effectiveness of the hall",
                .kind = ParameterKind::number,
                .preset = "1.3",
                .shown = "X",
                .low = 1,
                .high = 2}},
          .ask = ask_tier};
}

}  // namespace orrery::calc
