#include "output/report/tornado_svg.h"

#include <fmt/core.h>

#include <algorithm>

#include "core/base/text.h"
#include "output/report/document.h"

namespace orrery::report {
namespace {

// Pixels. Names are at the left of the bars, the answer is above them, and the ends of the scale
// are below.
constexpr double kWidth = 720;
constexpr double kLeft = 130;
constexpr double kRight = 14;
constexpr double kTop = 18;
constexpr double kRow = 24;
constexpr double kBottom = 22;
constexpr double kBarInset = 4;

// Colours below and above the answer, readable on white and on nearly black paper.
constexpr const char* kDown = "#0f8a83";
constexpr const char* kUp = "#b5531b";

struct Scale {
  double low = 0;
  double high = 0;

  double x(double value) const {
    const double span = high > low ? high - low : 1;
    return kLeft + (value - low) / span * (kWidth - kLeft - kRight);
  }
};

Scale scale_of(const cost::Tornado& t) {
  Scale s{t.value, t.value};
  for (const cost::SensitivityBar& b : t.bars) {
    s.low = std::min({s.low, b.at_low, b.at_high});
    s.high = std::max({s.high, b.at_low, b.at_high});
  }
  return s;
}

struct End {
  double input = 0;
  double answer = 0;
};

std::string half_bar(const cost::Tornado& t, const Scale& s, const std::string& name,
                     const End& end, figures::Unit unit) {
  const double from = s.x(std::min(end.answer, t.value));
  const double to = s.x(std::max(end.answer, t.value));
  return fmt::format(
      "<rect x=\"{:.1f}\" y=\"{}\" width=\"{:.1f}\" height=\"{}\" fill=\"{}\">"
      "<title>{} at {}: {}</title></rect>\n",
      from, kBarInset, to - from, kRow - 2 * kBarInset, end.answer < t.value ? kDown : kUp,
      html_escaped(name), significant(end.input, 3), show(end.answer, unit));
}

std::string number_at(double x, double y, const char* anchor, const std::string& text) {
  return fmt::format(
      "<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"{}\" font-family=\"monospace\">{}</text>\n", x, y,
      anchor, text);
}

}  // namespace

std::string tornado_svg(const cost::Tornado& t, figures::Unit unit) {
  const Scale s = scale_of(t);
  const double height = kTop + kRow * static_cast<double>(t.bars.size()) + kBottom;
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" "
      "viewBox=\"0 0 {0} {1}\" role=\"img\" aria-label=\"Tornado of the inputs\" "
      "font-family=\"sans-serif\" font-size=\"11\" fill=\"currentColor\" "
      "style=\"max-width:100%;height:auto\">\n",
      kWidth, height);
  for (std::size_t i = 0; i < t.bars.size(); ++i) {
    const cost::SensitivityBar& b = t.bars[i];
    out += fmt::format("<g transform=\"translate(0,{})\">\n", kTop + kRow * static_cast<double>(i));
    out += fmt::format("<text x=\"0\" y=\"15\">{}</text>\n", html_escaped(b.name));
    out += half_bar(t, s, b.name, {b.input_low, b.at_low}, unit);
    out += half_bar(t, s, b.name, {b.input_high, b.at_high}, unit) + "</g>\n";
  }
  out += fmt::format(
      "<line x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1}\" y2=\"{2}\" stroke=\"currentColor\"/>\n",
      s.x(t.value), kTop - 2, height - kBottom + 4);
  out += number_at(s.x(t.value), kTop - 7, "middle", show(t.value, unit));
  out += number_at(kLeft, height - 4, "start", show(s.low, unit));
  out += number_at(kWidth - kRight, height - 4, "end", show(s.high, unit));
  return out + "</svg>\n";
}

}  // namespace orrery::report
