// The text that Prometheus scrapes (exposition format 0.0.4), family by family.
//
// A family is a name with its type, its help and its samples, which follow one another. Labels and
// help texts are escaped. Numbers are written as the shortest text that reads back as the same
// double.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace orrery::net {

using MetricLabels = std::vector<std::pair<std::string, std::string>>;

// Returns `name{a="b",c="d"}`, or only the name if there are no labels.
std::string series_text(std::string_view name, const MetricLabels& labels);

class Exposition {
 public:
  // Starts a family; `type` is "counter", "gauge" or "histogram".
  void family(std::string_view name, std::string_view type, std::string_view help);
  // Adds a sample to the family. The suffixes of a histogram are "_bucket", "_sum" and "_count".
  void sample(const MetricLabels& labels, double value, std::string_view suffix = {});
  // Adds a sample whose series is given as text, as series_text() returns it.
  void line(std::string_view series, double value);
  // Writes a family that has one sample without labels.
  void single(std::string_view name, std::string_view type, std::string_view help, double value);

  const std::string& text() const { return text_; }

 private:
  std::string name_;
  std::string text_;
};

}  // namespace orrery::net
