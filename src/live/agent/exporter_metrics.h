// Metrics as values, and as the text that Prometheus scrapes (exposition format 0.0.4).
//
// A family is a name with its type, its help and its samples. The text is sorted, with HELP and
// TYPE once per family and labels escaped. If a series has two samples, only the first is written.
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

// Reads lines in the same format: `name{label="value"} 1.5`. Skips comments and blank lines. A line
// that is not in the format, has a time stamp, or names a metric that is not in `known` is a fault;
// the other lines are kept.
struct ParsedMetrics {
  MetricFamilies families;  // sorted by name; type and help are those of `known`
  Diagnostics faults;
};
ParsedMetrics parse_metrics(std::string_view text, const std::string& file,
                            const MetricFamilies& known);

// Returns the metrics of data/emit/prometheus/metrics.csv that have this origin, without samples.
Result<MetricFamilies> metrics_from(std::string_view origin);

}  // namespace orrery::agent
