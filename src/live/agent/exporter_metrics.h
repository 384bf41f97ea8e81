// Metrics as values, and as the text that Prometheus scrapes (exposition format 0.0.4).
//
// A family is a name with its type, its help and its samples. Text comes out sorted, with HELP and
// TYPE once, labels escaped; a series that stands twice is written once, the first wins.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/diagnostic.h"
#include "live/net/exposition.h"

namespace orrery::agent {

struct MetricSample {
  net::MetricLabels labels;
  double value = 0;
};

struct MetricFamily {
  std::string name;
  std::string type = "gauge";
  std::string help;
  std::vector<MetricSample> samples;
};
using MetricFamilies = std::vector<MetricFamily>;

std::string exposition(MetricFamilies families);

// Reads lines of the same format: `name{label="value"} 1.5`. Comments and blank lines are passed
// over; a line that is not in the format, has a time stamp, or names a metric that is not in
// `known` is a fault, and the rest is kept.
struct ParsedMetrics {
  MetricFamilies families;  // in the order in which names appear; type and help as `known` has them
  Diagnostics faults;
};
ParsedMetrics parse_metrics(std::string_view text, const std::string& file,
                            const MetricFamilies& known);

// The metrics of data/emit/prometheus/metrics.csv that come from `origin`, without samples.
Result<MetricFamilies> metrics_from(std::string_view origin);

}  // namespace orrery::agent
