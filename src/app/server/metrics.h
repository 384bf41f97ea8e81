// Counters of the requests in Prometheus' text format (version 0.0.4), for GET /metrics.
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
  // `route` is a pattern of the router, so that the number of series is bounded.
  void count(std::string_view route, std::string_view method, int status, double seconds);
  // The counters, then the gauges; gauges of one name stand together.
  std::string text(const std::vector<Gauge>& gauges) const;

 private:
  // From the 30 ms of a review outwards, in seconds.
  static constexpr std::array<double, 12> kBounds = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05,
                                                     0.1,   0.25,   0.5,   1,    2.5,   5};
  struct Latency {
    std::array<std::int64_t, kBounds.size()> below{};  // of each bound, not cumulated
    std::int64_t count = 0;
    double sum = 0;
  };

  mutable std::mutex mutex_;
  std::map<std::tuple<std::string, std::string, int>, std::int64_t> requests_;
  std::map<std::string, Latency> latencies_;
};

// Memory of this process that is in use now; 0 where the system does not say.
double resident_bytes();

}  // namespace orrery::server
