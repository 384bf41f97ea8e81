// For tests of drawings: what an SVG shows.
#pragma once

namespace orrery::report {

// Returns the numbers after `attribute="` in every `<element`, in order.
inline std::vector<double> drawn(const std::string& svg, const std::string& element,
                                 const std::string& attribute) {
  std::vector<double> all;
  for (std::size_t at = svg.find('<' + element + ' '); at != std::string::npos;
       at = svg.find('<' + element + ' ', at + 1)) {
    const std::size_t from = svg.find(' ' + attribute + "=\"", at);
    all.push_back(std::stod(svg.substr(from + attribute.size() + 3)));
  }
  return all;
}

}  // namespace orrery::report
