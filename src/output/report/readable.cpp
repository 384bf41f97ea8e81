#include "output/report/readable.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

namespace orrery::report {
namespace {

using figures::FigureId;
using figures::Layer;
using figures::Unit;

constexpr double kLeastShare = 0.001;
constexpr double kLeastTime_s = 1e-6;
constexpr double kLeastLongTime_s = 1;
constexpr double kLeastMoney_usd = 1;
constexpr double kLeastCount = 0.01;

// Returns the smallest value that is written out; 0 if there is none.
double least_written(Unit unit) {
  switch (unit) {
    case Unit::ratio:
      return kLeastShare;
    case Unit::seconds:
      return kLeastTime_s;
    case Unit::usd:
    case Unit::usd_per_year:
      return kLeastMoney_usd;
    case Unit::count:
      return kLeastCount;
    default:
      return 0;
  }
}

bool is_probability(FigureId kind) {
  return kind == FigureId::loss_per_save || kind == FigureId::cooling_short;
}

double least_written(const figures::Figure& f) {
  const Layer layer = kind_of(f.kind).layer;
  const bool is_slow =
      layer == Layer::cluster || layer == Layer::failure || layer == Layer::facility;
  if (f.unit() == Unit::seconds && is_slow) return kLeastLongTime_s;
  return is_probability(f.kind) ? 0 : least_written(f.unit());
}

// Returns a value of thousands with three significant digits: 809,748 becomes 810,000.
double rounded(double value) {
  const double size = std::fabs(value);
  if (size < 1e3 || size >= 1e6) return value;
  const double step = size < 1e4 ? 10 : size < 1e5 ? 100 : 1000;
  return std::round(value / step) * step;
}

bool is_rate(Unit unit) { return unit == Unit::tokens_per_s || unit == Unit::per_second; }

std::string text_of(double value, Unit unit, double least, bool is_exact) {
  if (value > 0 && value < least) return "under " + show(least, unit);
  return show(is_rate(unit) || (unit == Unit::count && !is_exact) ? rounded(value) : value, unit);
}

std::string interval_text(const Estimate& e, Unit unit, double least) {
  std::string low = text_of(e.low, unit, least, false);
  const std::string high = text_of(e.high, unit, least, false);
  if (low == high) return "";
  return fmt::format("{} .. {}", low, high);
}

bool is_zero(const figures::Figure& f) {
  return f.estimate.value == 0 && f.estimate.low == 0 && f.estimate.high == 0;
}

}  // namespace

bool is_written_as_bound(double value, Unit unit) {
  return value > 0 && value < least_written(unit);
}

std::string readable(double value, Unit unit) {
  return text_of(value, unit, least_written(unit), true);
}

std::string readable(const figures::Figure& figure) {
  const Estimate& e = figure.estimate;
  return text_of(e.value, figure.unit(), least_written(figure), e.low == e.high);
}

std::string readable(const Estimate& e, Unit unit) {
  return text_of(e.value, unit, 0, e.low == e.high);
}

std::string readable_number(double value) { return show(rounded(value), Unit::count); }

std::string readable_interval(const Estimate& e, Unit unit) {
  const double least = least_written(unit);
  return interval_text(e, unit, e.value < least ? 0 : least);
}

std::string readable_interval(const figures::Figure& figure) {
  return interval_text(figure.estimate, figure.unit(), least_written(figure));
}

bool is_silent(const figures::Section& section) {
  if (!section.limit.empty()) return false;
  if (section.figures.empty()) return section.summary.empty();
  return std::ranges::all_of(section.figures, is_zero);
}

}  // namespace orrery::report
