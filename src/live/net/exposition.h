// The text that Prometheus scrapes (exposition format 0.0.4), family by family.
//
// A family is a name with its type, its help and its samples, which follow one another. Labels and
// helps are escaped; numbers are the shortest text that reads back as the same double.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace orrery::net {

using MetricLabels = std::vector<std::pair<std::string, std::string>>;

// `name{a="b",c="d"}`, or the name alone.
std::string series_text(std::string_view name, const MetricLabels& labels);

class Exposition {
 public:
  // Begins a family; `type` is "counter", "gauge" or "histogram".
  void family(std::string_view name, std::string_view type, std::string_view help);
  // One sample of the family; a histogram's end in "_bucket", "_sum" and "_count".
  void sample(const MetricLabels& labels, double value, std::string_view suffix = {});
  // The same with the series as series_text() gives it.
  void line(std::string_view series, double value);
  // A family of one sample without labels.
  void single(std::string_view name, std::string_view type, std::string_view help, double value);

  const std::string& text() const { return text_; }

 private:
  std::string name_;
  std::string text_;
};

}  // namespace orrery::net
