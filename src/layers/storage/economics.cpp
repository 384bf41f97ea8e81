#include "layers/storage/economics.h"

#include <algorithm>

namespace orrery::storage {
namespace {

Cheaper smaller(double a, double b) {
  if (a < b) return Cheaper::first;
  return b < a ? Cheaper::second : Cheaper::tie;
}

// Returns what a price of 1 USD/TB adds to the holding cost per usable byte and second.
double price_weight(const HoldingCost& cost, double usd_per_tb_bought) {
  return usd_per_tb_bought > 0 ? (cost.capital + cost.replacement).base() / usd_per_tb_bought : 0;
}

double list_price(const catalog::StorageDevice& device, const OwnTerms& terms) {
  const double low = device.price_per_tb.low.base();
  return low + (device.price_per_tb.high.base() - low) * terms.price_position;
}

}  // namespace

HoldingCost holding_cost(const TierDemand& demand, const catalog::StorageDevice& device,
                         const TierOptions& sizing, const OwnTerms& terms) {
  const TierSize size = size_tier(demand, device, sizing);
  const bool bare = form_of(device) == DeviceForm::drive;
  const double price_factor = bare ? 1 + terms.server_price_share : 1;
  const double power_factor = bare ? 1 + terms.server_power_share : 1;

  const double bought_tb = device.capacity / terabytes(1) * size.devices;
  const Usd price(list_price(device, terms) * bought_tb * price_factor);
  const Watts drive =
      device.active_power * terms.active_share + device.idle_power * (1 - terms.active_share);
  const Watts power = drive * (size.devices * power_factor);
  const Bytes held = demand.capacity;
  const double lives_lost = device.annual_failure_rate.value_or(0) * (terms.life / years(1));

  HoldingCost c;
  c.capital = price / held / terms.life;
  c.replacement = c.capital * (lives_lost / price_factor);
  c.energy = power * terms.tariff * terms.pue / held;
  c.total = c.capital + c.replacement + c.energy;
  c.watts_per_tb = power.base() / (held / terabytes(1));
  c.usd_per_tb = price.base() / (held / terabytes(1));
  return c;
}

DeviceComparison compare_devices(const TierDemand& demand, const catalog::StorageDevice& first,
                                 const catalog::StorageDevice& second, const TierOptions& sizing,
                                 const OwnTerms& terms) {
  DeviceComparison c{.first = holding_cost(demand, first, sizing, terms),
                     .second = holding_cost(demand, second, sizing, terms)};
  c.per_byte = smaller(c.first.total.base(), c.second.total.base());
  c.per_watt = smaller(c.first.watts_per_tb, c.second.watts_per_tb);

  // Both costs are linear in the tariff, so they are equal at most once.
  const UsdPerByteSecond bought_apart =
      (c.second.capital + c.second.replacement) - (c.first.capital + c.first.replacement);
  const double watts_apart = c.first.watts_per_tb - c.second.watts_per_tb;
  const double tariff =
      watts_apart != 0 ? bought_apart.base() * 1e12 / (watts_apart * terms.pue) : 0;
  if (tariff > 0) c.tie_tariff = UsdPerJoule(tariff);

  const double weight = price_weight(c.second, list_price(second, terms));
  const double room = (c.first.total - c.second.energy).base();
  if (weight > 0 && room > 0) c.tie_price_second = room / weight;
  return c;
}

std::optional<Seconds> break_even_age(const Transition& t) {
  const UsdPerByteSecond saved = t.from - t.to;
  if (saved.base() <= 0) return std::nullopt;
  const UsdPerByte move = t.per_object / t.object + t.per_byte + t.retrieval * t.read_back;
  const Seconds earned = move / saved;
  // A byte deleted before the minimum stay is charged for all of it.
  const Seconds owed = t.minimum_stay * (t.to / t.from) + move / t.from;
  return earned < t.minimum_stay ? owed : earned;
}

}  // namespace orrery::storage
