#include "output/report/charts_svg.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "output/report/document.h"

namespace orrery::report {
namespace {

// Pixels: names at the left, numbers at the right, the drawing between them.
constexpr double kWidth = 720;
constexpr double kLeft = 200;
constexpr double kRight = 130;
constexpr double kRow = 28;
constexpr double kPad = 6;
constexpr double kBarHeight = 14;

// Colours that are readable on white and on nearly black paper.
constexpr const char* kGood = "#0f8a83";
constexpr const char* kBad = "#b5531b";

std::string opened(const std::string& title, double height) {
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" "
      "viewBox=\"0 0 {0} {1}\" role=\"img\" aria-label=\"{2}\" font-family=\"sans-serif\" "
      "font-size=\"12\" fill=\"currentColor\" style=\"max-width:100%;height:auto\">\n",
      kWidth, height, html_escaped(title));
}

std::string text_at(double x, double y, const std::string& text) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", x, y, html_escaped(text));
}

// The range of values that a row shows, with the bound and the interval well inside.
struct Span {
  double from = 0;
  double to = 1;

  double x(double value) const {
    const double room = kWidth - kLeft - kRight;
    const double share = to > from ? (value - from) / (to - from) : 0.5;
    return kLeft + std::clamp(share, 0.0, 1.0) * room;
  }
};

Span span_of(const figures::GoalOutcome& g) {
  const double low = std::min({g.actual.low, g.actual.value, g.bound});
  const double high = std::max({g.actual.high, g.actual.value, g.bound});
  const double margin = high > low ? 0.1 * (high - low) : std::max(std::fabs(high), 1.0) * 0.1;
  return {low - margin, high + margin};
}

std::string goal_row(const figures::GoalOutcome& g, double top) {
  const Span span = span_of(g);
  const double middle = top + kRow / 2;
  const char* colour = g.met ? kGood : kBad;
  std::string out = text_at(0, middle + 4, g.text);
  out += fmt::format(
      "<line x1=\"{0:.1f}\" x2=\"{1:.1f}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\" stroke=\"{3}\" "
      "stroke-width=\"5\" stroke-linecap=\"round\" opacity=\"0.5\"/>\n",
      span.x(g.actual.low), span.x(g.actual.high), middle, colour);
  out += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"5\" fill=\"{}\"/>\n",
                     span.x(g.actual.value), middle, colour);
  out += fmt::format(
      "<line x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1:.1f}\" y2=\"{2:.1f}\" stroke=\"currentColor\" "
      "stroke-width=\"2\"><title>the goal</title></line>\n",
      span.x(g.bound), top + 4, top + kRow - 4);
  return out + text_at(kWidth - kRight + 8, middle + 4, show(g.actual.value, g.unit));
}

}  // namespace

std::string goals_svg(std::span<const figures::GoalOutcome> goals) {
  const auto rows = std::ranges::count(goals, true, &figures::GoalOutcome::known);
  std::string out = opened("Goals: the interval of each figure and the goal as a stroke",
                           kRow * static_cast<double>(rows) + 2 * kPad);
  double top = kPad;
  for (const figures::GoalOutcome& g : goals) {
    if (!g.known) continue;
    out += goal_row(g, top);
    top += kRow;
  }
  return out + "</svg>\n";
}

std::string bars_svg(const std::string& title, std::span<const Bar> bars) {
  std::string out = opened(title, kRow * static_cast<double>(bars.size()) + 2 * kPad);
  double most = 0;
  for (const Bar& b : bars) most = std::max(most, b.value);
  double top = kPad;
  for (const Bar& b : bars) {
    const double length = most > 0 ? b.value / most * (kWidth - kLeft - kRight) : 0;
    out += text_at(0, top + kRow / 2 + 4, b.label);
    out += fmt::format(
        "<rect x=\"{}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{}\" rx=\"2\" fill=\"{}\"/>\n",
        kLeft, top + (kRow - kBarHeight) / 2, std::max(length, 1.0), kBarHeight, kGood);
    out += text_at(kLeft + length + 8, top + kRow / 2 + 4, b.shown);
    top += kRow;
  }
  return out + "</svg>\n";
}

}  // namespace orrery::report
