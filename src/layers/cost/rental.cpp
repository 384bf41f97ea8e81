#include "layers/cost/rental.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "core/base/math.h"
#include "core/base/statistics.h"

namespace orrery::cost {

namespace {

constexpr double kHoursPerMonth = 720;

PerSecond gang_hazard(const Gang& gang) {
  return spot_hazard(gang.monthly_share) * (gang.nodes * gang.correlation);
}

}  // namespace

PerSecond spot_hazard(double monthly_share) {
  const double p = std::clamp(monthly_share, 0.0, 1 - 1e-12);
  return -math::log1p(-p) / hours(kHoursPerMonth);
}

Seconds mean_time_between_interruptions(const Gang& gang) {
  const PerSecond hazard = gang_hazard(gang);
  if (hazard <= PerSecond()) return Seconds(std::numeric_limits<double>::infinity());
  return 1.0 / hazard;
}

GoodputAt simple_goodput(const SimpleRestart& r) {
  return [r](Seconds mtbi) {
    const double writing = r.checkpoint_interval / (r.checkpoint_interval + r.checkpoint_stall);
    const double lost = (r.checkpoint_interval / 2 + r.restart) / mtbi;
    return writing / (1 + lost);
  };
}

Rental rented_cost(const RentalInput& input) {
  Rental rental;
  const double discount = input.kind == catalog::Contract::on_demand ? 0 : input.discount;
  rental.billed = input.list * (1 - discount) * (1 + input.support);
  rental.goodput = input.goodput;
  if (input.kind == catalog::Contract::spot) {
    rental.between_interruptions = mean_time_between_interruptions(input.gang);
    const GoodputAt goodput = input.spot_goodput ? input.spot_goodput : simple_goodput({});
    rental.goodput *= goodput(*rental.between_interruptions);
  }
  const double useful = input.utilisation * rental.goodput;
  if (useful > 0) rental.useful = rental.billed / useful;
  return rental;
}

std::optional<MarketPrice> market_price(std::span<const catalog::CloudPrice> prices,
                                        std::string_view accelerator_id, std::string_view provider,
                                        bool spot) {
  MarketPrice market;
  std::vector<UsdPerSecond> medians;
  for (const catalog::CloudPrice& p : prices) {
    if (p.accelerator_id != accelerator_id) continue;
    if (!provider.empty() && p.provider != provider) continue;
    const auto& wanted = spot ? p.spot_median : p.on_demand_median;
    if (!wanted || *wanted <= UsdPerSecond()) continue;
    const UsdPerSecond low = (spot ? p.spot_low : p.on_demand_low).value_or(*wanted);
    const UsdPerSecond high = (spot ? p.spot_high : p.on_demand_high).value_or(*wanted);
    market.low = medians.empty() ? low : min(market.low, low);
    market.high = medians.empty() ? high : max(market.high, high);
    if (medians.empty()) market.reference = p.provenance.reference;
    medians.push_back(*wanted);
  }
  if (medians.empty()) return std::nullopt;
  market.rows = static_cast<int>(medians.size());
  market.median = median(std::move(medians));
  return market;
}

}  // namespace orrery::cost
