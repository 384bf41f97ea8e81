#include "model/figures/unit.h"

#include <fmt/core.h>

#include <cmath>

#include "core/base/text.h"
#include "core/base/units.h"

namespace orrery::figures {
namespace {

template <class Q>
std::string show_as(double value, int digits) {
  return brief(Q(value), digits);
}

// Shows a rate in the thousands as a whole number with commas, which is easier to read than three
// digits.
std::string rate_text(double value, int digits) {
  const bool thousands = std::fabs(value) >= 1e3 && std::fabs(value) < 1e6;
  return thousands ? grouped(std::llround(value)) : count_to_brief(value, digits);
}

// Shows any share below a millionth as "under 0.0001 %".
std::string share_text(double value, int digits) {
  if (value != 0 && std::fabs(value) < 1e-6) return value > 0 ? "under 0.0001 %" : "0 %";
  return significant(100 * value, digits) + " %";
}

}  // namespace

std::string_view json_suffix(Unit unit) {
  switch (unit) {
    case Unit::ratio:
      return "_ratio";
    case Unit::factor:
      return "_factor";
    case Unit::count:
      return "";
    case Unit::seconds:
      return "_s";
    case Unit::bytes:
      return "_bytes";
    case Unit::bytes_per_s:
      return "_bytes_per_s";
    case Unit::flops_per_s:
      return "_flops_per_s";
    case Unit::watts:
      return "_w";
    case Unit::joules:
      return "_j";
    case Unit::usd:
      return "_usd";
    case Unit::usd_per_year:
      return "_usd_per_year";
    case Unit::usd_per_hour:
      return "_usd_per_hour";
    case Unit::usd_per_mtoken:
      return "_usd_per_mtoken";
    case Unit::tokens_per_s:
      return "_tokens_per_s";
    case Unit::grams_co2:
      return "_g_co2";
    case Unit::litres_per_min:
      return "_l_per_min";
    case Unit::joules_per_token:
      return "_j_per_token";
    case Unit::per_second:
      return "_per_s";
  }
  return "";
}

std::string show(double value, Unit unit, int digits) {
  switch (unit) {
    case Unit::ratio:
      return share_text(value, digits);
    case Unit::factor:
      return significant(value, digits) + "x";
    case Unit::count:
      // Returns true for a value to show in full. Whole counts are not rounded: 1,016 GPUs are not
      // 1,020.
      // A large count that is not whole is an estimate, and from ten million on it is shown with
      // three digits.
      return (value == std::floor(value) && std::fabs(value) < 1e7) ||
                     (std::fabs(value) >= 1e3 && std::fabs(value) < 1e6)
                 ? grouped(std::llround(value))
                 : count_to_brief(value, digits);
    case Unit::seconds:
      return show_as<Seconds>(value, digits);
    case Unit::bytes:
      return show_as<Bytes>(value, digits);
    case Unit::bytes_per_s:
      return show_as<BytesPerSecond>(value, digits);
    case Unit::flops_per_s:
      return show_as<FlopsPerSecond>(value, digits);
    case Unit::watts:
      return show_as<Watts>(value, digits);
    case Unit::joules:
      return show_as<Joules>(value, digits);
    case Unit::usd:
      return show_as<Usd>(value, digits);
    case Unit::usd_per_year:
      return show_as<Usd>(value, digits) + "/y";
    case Unit::usd_per_hour:
      return significant(value, digits) + " USD/h";
    case Unit::usd_per_mtoken:
      return significant(value, digits) + " USD/Mtoken";
    case Unit::tokens_per_s:
      return rate_text(value, digits) + " tokens/s";
    case Unit::grams_co2:
      return show_as<GramsCo2>(value, digits) + " CO2";
    case Unit::litres_per_min:
      return significant(value, digits) + " L/min";
    case Unit::joules_per_token:
      return significant(value, digits) + " J/token";
    case Unit::per_second:
      return rate_text(value, digits) + " /s";
  }
  return shortest(value);
}

std::string show_interval(const Estimate& e, Unit unit) {
  if (e.low == e.high) return "";
  return fmt::format("{} .. {}", show(e.low, unit), show(e.high, unit));
}

}  // namespace orrery::figures
