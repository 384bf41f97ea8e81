#include "plan/review/serve_view.h"

#include <algorithm>
#include <cmath>

#include "core/base/constants.h"
#include "core/base/math.h"
#include "layers/serving/disaggregated.h"
#include "model/figures/assumptions.h"
#include "model/jobs/request_shape.h"
#include "plan/review/serve_sizing.h"

namespace orrery::review {
namespace {

using orrery::math::kLog100;
// Precision of a replica's load when it is searched for, as a share of it.
constexpr double kPointWidth = 1e-3;

// Replicas over the hours of a day, if they followed the load at once.
struct Called {
  double mean = 0;
  double peak = 0;
};
Called replicas_called(const ServeView& v) {
  Called called;
  for (const double rate : v.day) {
    const double now = v.replicas_at(rate + v.guests.base());
    called.mean += now / static_cast<double>(v.day.size());
    called.peak = std::max(called.peak, now);
  }
  return called;
}

// Returns the point at which a replica carries its share of the peak, by bisection over the number
// of requests that decode: the more a replica holds, the more it serves.
serving::ServingPoint point_at(const serving::Replica& replica,
                               const serving::RequestShape& request, PerSecond per_replica,
                               double most, const serving::ServingCosts& costs) {
  double low = 0;
  double high = std::max(1.0, most);
  serving::ServingPoint best = steady_arrivals(replica, request, high, costs);
  while (high - low > kPointWidth * high) {
    const double middle = (low + high) / 2;
    const serving::ServingPoint p = steady_arrivals(replica, request, middle, costs);
    if (p.requests >= per_replica) {
      high = middle;
      best = p;
    } else {
      low = middle;
    }
  }
  return best;
}

// Prefill and decode on separate replicas.
void fill_apart(ServeView& v, const serving::ServingCosts& costs) {
  const jobs::ApartSize& size = *v.apart;
  const serving::Replica& replica = v.replica;
  const BytesPerSecond link = v.query.nic_rate * v.query.split.devices();
  const auto point = [&](double concurrency) {
    return disaggregated_loop({.replica = replica, .costs = costs, .replicas = size.prefill},
                              {.replica = replica, .costs = costs, .replicas = size.decode},
                              v.request, concurrency, link);
  };
  serving::DisaggregatedPoint at = point(1);
  for (double c = 1; c < size.decode * size.running && at.requests < v.peak + v.guests; c *= 1.05) {
    at = point(c);
  }
  v.ttft = v.request.before + at.ttft;
  v.tpot = at.tpot;
  const Seconds fixed =
      at.prefill + at.transfer + replica.engine.first_token + replica.tuning.first_token;
  const double longer = std::max(1.0, v.request.input_p99 / v.request.input);
  const Seconds engine =
      fixed + max(Seconds(0), at.ttft - fixed) * kLog100 + at.prefill * (longer - 1);
  const Seconds late = engine - at.ttft;
  const Seconds before = v.request.before_p99 - v.request.before;
  const Seconds both(math::hypot(late.base(), before.base()));
  v.ttft_p99 = engine + v.request.before + (both - late);
  v.tpot_p99 = at.tpot * (1 + 2.33 / std::sqrt(std::max(1.0, at.decoding)));
  const double tokens = std::max(v.request.output, v.request.output_p99);
  v.latency_p99 = v.ttft_p99 + max(v.tpot_p99 * v.request.output, v.tpot * tokens);
  v.answer = v.ttft + v.tpot * (v.request.output - 1);
  v.device_power = at.decode_power;
  v.output_tokens_per_s = v.rate.base() * v.request.output;
}

void fill_point(ServeView& v, const serving::ServingPoint& p) {
  v.ttft = p.ttft;
  v.ttft_p99 = p.ttft_p99;
  v.tpot = p.tpot;
  v.tpot_p99 = p.tpot_p99;
  v.latency_p99 = p.whole_p99;
  v.answer = p.ttft + p.tpot * (v.request.output - 1);
  const traffic::TaskCase task = jobs::task_of(*v.serve, v.request, p);
  v.task = task_mean(task);
  v.task_p99 = task_p99(task);
  v.device_power = p.power;
  v.output_tokens_per_s = v.rate.base() * v.request.output;
}

void fill_joined(ServeView& v, const serving::ServingCosts& costs) {
  double standing = v.replicas;
  if (v.target) {
    const Called called = replicas_called(v);
    v.replicas_mean = called.mean;
    standing = called.peak;
  }
  const serving::ServingPoint at =
      point_at(v.replica, v.request, (v.peak + v.guests) / standing, v.most_running, costs);
  fill_point(v, at);
  v.adapters = jobs::adapter_view(v.replica, at, v.request);
}

// A non-transformer network, as M/M/1.
void fill_plain(ServeView& v) {
  const double left = v.most_per_replica.base() - (v.peak + v.guests).base() / v.replicas;
  v.latency_p99 = left > 0 ? Seconds(kLog100 / left) : years(1);
  if (v.target) v.replicas_mean = replicas_called(v).mean;
}

// The latencies that users see at the peak.
void fill_latencies(ServeView& v, const machine::Machine& m) {
  if (!v.feasible()) return;
  if (v.model == nullptr) {
    fill_plain(v);
  } else {
    const machine::Costs device_costs = serving_costs(m.models(), v.query);
    const serving::ServingCosts costs = serving_source(device_costs);
    v.apart ? fill_apart(v, costs) : fill_joined(v, costs);
  }
  v.availability = v.replicas_up = availability_with(v, v.replicas, m);
}

}  // namespace

std::vector<ServeView> view_serves(const jobs::Jobs& jobs, const machine::Machine& m,
                                   const std::vector<ServeView>* earlier) {
  std::vector<ServeView> views;
  jobs::for_each_job<jobs::ServeJob>(jobs, [&](const jobs::ServeJob& job) {
    ServeView view{job};
    if (earlier != nullptr) {
      view = (*earlier)[views.size()];
      static_cast<jobs::ServeJob&>(view) = job;
    } else {
      fill_latencies(view, m);
    }
    views.push_back(std::move(view));
  });
  if (earlier == nullptr) view_failovers(views, m);
  return views;
}

ServeView with_guests(ServeView view, PerSecond guests, const machine::Machine& m) {
  view.guests = guests;
  fill_latencies(view, m);
  return view;
}

}  // namespace orrery::review
