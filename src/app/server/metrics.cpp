#include "app/server/metrics.h"

#include <unistd.h>

#include <fstream>

#include "core/base/text.h"

namespace orrery::server {
namespace {

// Returns a method that we serve, or a common word for all others: the text comes from the client
// and must not create a series or break a line.
std::string_view known_method(std::string_view method) {
  for (const std::string_view known :
       {"GET", "HEAD", "POST", "DELETE", "PUT", "PATCH", "OPTIONS"}) {
    if (method == known) return known;
  }
  return "other";
}

}  // namespace

void Metrics::count(std::string_view route, std::string_view method, int status, double seconds) {
  const std::string name(route.empty() ? "other" : route);
  const std::lock_guard lock(mutex_);
  ++requests_[{name, std::string(known_method(method)), status}];
  Latency& latency = latencies_[name];
  ++latency.count;
  latency.sum += seconds;
  for (std::size_t i = 0; i < kBounds.size(); ++i) {
    if (seconds > kBounds[i]) continue;
    ++latency.below[i];
    break;
  }
}

std::string Metrics::text(const std::vector<Gauge>& gauges) const {
  net::Exposition to;
  const std::lock_guard lock(mutex_);
  to.family("orrery_http_requests_total", "counter", "Requests answered.");
  for (const auto& [key, count] : requests_) {
    const auto& [route, method, status] = key;
    to.sample({{"route", route}, {"method", method}, {"status", std::to_string(status)}},
              static_cast<double>(count));
  }
  to.family("orrery_http_request_seconds", "histogram", "Time in the handler.");
  for (const auto& [route, latency] : latencies_) {
    std::int64_t cumulated = 0;
    for (std::size_t i = 0; i < kBounds.size(); ++i) {
      cumulated += latency.below[i];
      to.sample({{"route", route}, {"le", shortest(kBounds[i])}}, static_cast<double>(cumulated),
                "_bucket");
    }
    const auto count = static_cast<double>(latency.count);
    to.sample({{"route", route}, {"le", "+Inf"}}, count, "_bucket");
    to.sample({{"route", route}}, latency.sum, "_sum");
    to.sample({{"route", route}}, count, "_count");
  }
  std::string_view last;
  for (const Gauge& g : gauges) {
    if (g.name != last) to.family(g.name, g.type, g.help);
    last = g.name;
    to.sample(g.labels, g.value);
  }
  return to.text();
}

double resident_bytes() {
  std::ifstream file("/proc/self/statm");
  double total_pages = 0;
  double resident_pages = 0;
  file >> total_pages >> resident_pages;
  return file ? resident_pages * static_cast<double>(::sysconf(_SC_PAGESIZE)) : 0;
}

}  // namespace orrery::server
