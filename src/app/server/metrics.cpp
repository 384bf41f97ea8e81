#include "app/server/metrics.h"

#include <fmt/core.h>
#include <unistd.h>

#include <fstream>

#include "core/base/text.h"

namespace orrery::server {
namespace {

// Methods are the client's words; what is not one of ours must not become a series or break a line.
std::string_view known_method(std::string_view method) {
  for (const std::string_view known :
       {"GET", "HEAD", "POST", "DELETE", "PUT", "PATCH", "OPTIONS"}) {
    if (method == known) return known;
  }
  return "other";
}

void add_head(std::string& out, std::string_view name, std::string_view help,
              std::string_view type) {
  out += fmt::format("# HELP {0} {1}\n# TYPE {0} {2}\n", name, help, type);
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
  std::string out;
  const std::lock_guard lock(mutex_);
  add_head(out, "orrery_http_requests_total", "Requests answered.", "counter");
  for (const auto& [key, count] : requests_) {
    const auto& [route, method, status] = key;
    out +=
        fmt::format("orrery_http_requests_total{{route=\"{}\",method=\"{}\",status=\"{}\"}} {}\n",
                    route, method, status, count);
  }
  add_head(out, "orrery_http_request_seconds", "Time in the handler.", "histogram");
  for (const auto& [route, latency] : latencies_) {
    std::int64_t cumulated = 0;
    for (std::size_t i = 0; i < kBounds.size(); ++i) {
      cumulated += latency.below[i];
      out += fmt::format("orrery_http_request_seconds_bucket{{route=\"{}\",le=\"{}\"}} {}\n", route,
                         shortest(kBounds[i]), cumulated);
    }
    out += fmt::format("orrery_http_request_seconds_bucket{{route=\"{}\",le=\"+Inf\"}} {}\n", route,
                       latency.count);
    out += fmt::format("orrery_http_request_seconds_sum{{route=\"{}\"}} {}\n", route,
                       shortest(latency.sum));
    out +=
        fmt::format("orrery_http_request_seconds_count{{route=\"{}\"}} {}\n", route, latency.count);
  }
  std::string_view last;
  for (const Gauge& g : gauges) {
    if (g.name != last) add_head(out, g.name, g.help, g.type);
    last = g.name;
    out += g.labels.empty() ? g.name : fmt::format("{}{{{}}}", g.name, g.labels);
    out += fmt::format(" {}\n", shortest(g.value));
  }
  return out;
}

double resident_bytes() {
  std::ifstream file("/proc/self/statm");
  double total_pages = 0;
  double resident_pages = 0;
  file >> total_pages >> resident_pages;
  return file ? resident_pages * static_cast<double>(::sysconf(_SC_PAGESIZE)) : 0;
}

}  // namespace orrery::server
