#include "model/jobs/arrivals.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/base/math.h"

namespace orrery::jobs {
namespace {

// Adds the streams along a chain of services. The reader has checked that the chain has no circle,
// so it is no longer than the design.
void add_streams(std::vector<RequestStream>& all, const design::Design& d,
                 const design::Workload& service, double share, std::size_t left) {
  const design::Arrivals& own = std::get<design::Serve>(service.task).arrivals;
  if (own.rate > PerSecond(0)) all.push_back({own.reaching() * share, own.peak});
  if (left == 0) return;
  const std::string name = label_of(d, service);
  for (const design::Workload& w : d.workloads) {
    const auto* serve = std::get_if<design::Serve>(&w.task);
    if (serve == nullptr || !serve->escalate || serve->escalate->service != name) continue;
    add_streams(all, d, w, share * serve->escalate->share, left - 1);
  }
}

}  // namespace

std::vector<RequestStream> streams_into(const design::Design& d, const design::Workload& service) {
  std::vector<RequestStream> all;
  add_streams(all, d, service, 1, d.workloads.size());
  return all;
}

std::array<double, 24> day_of_requests(double mean, double peak) {
  const auto shape = [](double k) {
    std::array<double, 24> hours{};
    double sum = 0;
    for (std::size_t h = 0; h < 24; ++h) {
      const double angle = 2 * std::numbers::pi * (static_cast<double>(h) - 15) / 24;
      sum += hours[h] = math::exp(k * (math::cos(angle) - 1));
    }
    for (double& h : hours) h *= 24 / sum;
    return hours;
  };
  double low = 0;
  double high = 200;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (std::ranges::max(shape(middle)) < peak ? low : high) = middle;
  }
  std::array<double, 24> hours = shape(peak <= 1 ? 0 : (low + high) / 2);
  for (double& h : hours) h *= mean;
  return hours;
}

std::array<double, 24> day_of_streams(const std::vector<RequestStream>& streams, double share) {
  std::array<double, 24> all{};
  for (const RequestStream& s : streams) {
    const auto day = day_of_requests(s.rate.base() * share, s.peak);
    for (std::size_t h = 0; h < all.size(); ++h) all[h] += day[h];
  }
  return all;
}

}  // namespace orrery::jobs
