// When requests reach a service: its own, and those that other services escalate to it.
//
//   rate(hour) = mean exp(k cos(2 pi (hour - 15) / 24)) / (mean of that), k so that max = peak
// All services have their busiest hour at the same time, so their peaks add up.
#pragma once

#include <array>
#include <vector>

#include "model/design/design.h"

namespace orrery::jobs {

// Requests of one origin: the service's own users, or another service that escalates to it.
struct RequestStream {
  PerSecond rate;   // mean over the day
  double peak = 1;  // rate in the busiest hour over the mean
};

// Returns all streams that reach a service, along every chain of escalations.
std::vector<RequestStream> streams_into(const design::Design& design,
                                        const design::Workload& service);

// Returns requests per second by the hour of the day. The highest over the mean is `peak`, at most
// 24, in the fifteenth hour.
std::array<double, 24> day_of_requests(double mean, double peak);
// Returns the sum of the streams by the hour of the day, times `share`.
std::array<double, 24> day_of_streams(const std::vector<RequestStream>& streams, double share);

}  // namespace orrery::jobs
