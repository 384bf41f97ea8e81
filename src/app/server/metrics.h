// Request counters in Prometheus' text format (version 0.0.4), for GET /metrics.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "live/net/exposition.h"

namespace orrery::server {

struct Gauge {
  std::string name;  // "orrery_jobs"
  net::MetricLabels labels;
  double value = 0;
  std::string help;
  std::string_view type = "gauge";
};

class Metrics {
 public:
  // Counts a request. `route` is a pattern of the router, so that the number of series is bounded.
  void count(std::string_view route, std::string_view method, int status, double seconds);
  // Returns the counters, then the gauges; gauges of the same name are grouped.
  std::string text(const std::vector<Gauge>& gauges) const;

 private:
  // Upper bounds of the histogram in seconds, around the 30 ms of a review.
  static constexpr std::array<double, 12> kBounds = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05,
                                                     0.1,   0.25,   0.5,   1,    2.5,   5};
  struct Latency {
    std::array<std::int64_t, kBounds.size()> below{};  // requests per bucket, not cumulative
    std::int64_t count = 0;
    double sum = 0;
  };

  mutable std::mutex mutex_;
  std::map<std::tuple<std::string, std::string, int>, std::int64_t> requests_;
  std::map<std::string, Latency> latencies_;
};

// Returns the memory in use by this process in bytes; 0 if the system does not say.
double resident_bytes();

}  // namespace orrery::server
