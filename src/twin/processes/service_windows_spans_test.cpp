// Windows of a service's requests: the time that counts, the number of replicas, and the arrivals.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "core/workload/model_math.h"
#include "layers/traffic/apart_fleet.h"
#include "layers/traffic/guests.h"
#include "model/jobs/build_machine.h"
#include "twin/processes/service_plan.h"
#include "twin/world/sample_fixture.h"

namespace orrery::processes {
namespace {

// Short requests on six small replicas, so that a window takes a few milliseconds.
struct Spanned {
  machine::Machine machine;
  ServicePlan plan;
  WindowAsk& ask;
  machine::Costs costs;
  serving::ServingCosts source;

  static design::Design design_of(const std::function<void(design::Serve&)>& change) {
    design::Design d = world::sample_design();
    design::Serve serve;
    serve.model = "llama-3-8b";
    serve.tp = 1;
    serve.replicas = 6;
    serve.arrivals = {.rate = PerSecond(30), .peak = 1.5, .input_tokens = 120, .output_tokens = 8};
    change(serve);
    d.workloads.front().task = serve;
    return d;
  }
  explicit Spanned(const std::function<void(design::Serve&)>& change = [](design::Serve&) {})
      : machine(jobs::build_machine(design_of(change), machine::known())),
        plan(service_plans(jobs::serve_jobs(machine, machine.design().workloads.front()), machine,
                           false)
                 .front()),
        ask(plan.ask),
        costs(serving_costs(machine.models(), ask.query)),
        source(serving_source(costs)) {
    EXPECT_EQ(plan.job.infeasible, "");
    ask.replica.limits.max_sequences = 65;
    ask.start = seconds(4);
  }
  Spanned(const Spanned&) = delete;
  Spanned& operator=(const Spanned&) = delete;

  // A request's stay with `in_flight` requests in a replica.
  double stay_with(double in_flight) const {
    const serving::RequestShape& r = ask.query.request;
    const serving::ServingPoint p = closed_loop(ask.replica, r, in_flight, source);
    return (p.ttft + p.tpot * (r.output - 1)).base();
  }
  double rate_with(double in_flight) const {
    return closed_loop(ask.replica, ask.query.request, in_flight, source).requests.base();
  }
  // What is in flight at a rate, upward to a 1024th of what a replica takes at once.
  double in_flight_at(double rate) const {
    for (int i = 1; i <= 1024; ++i) {
      if (rate_with(1 + i * 64 / 1024.0) >= rate) return 1 + i * 64 / 1024.0;
    }
    return 65;
  }
  double stay_at(double rate) const { return stay_with(in_flight_at(rate)); }

  traffic::FleetRun run(const traffic::FleetOptions& options,
                        const std::vector<traffic::Timed>& load) const {
    serving::StepClock clock(ask.replica, source, ask.query.request.checked_per_step);
    engines::EnginePolicy policy = traffic::policy_of(ask.replica);
    policy.prefix_cache = ask.serve->prefix_cache;
    return traffic::Fleet(options, policy, clock).run(load);
  }
  traffic::ClientView view() const {
    const serving::Replica& r = ask.replica;
    traffic::ClientView v{.aside = (r.engine.first_token + r.tuning.first_token).base()};
    const design::Objective& o = ask.serve->objective;
    if (o.ttft_p99) v.ttft = o.ttft_p99->base();
    if (o.tpot_p99) v.tpot = o.tpot_p99->base();
    if (o.latency_p99) v.whole = o.latency_p99->base();
    return v;
  }
  ServiceWindows windows_at(double rate) const {
    const double rates[] = {rate};
    return simulate_windows(machine.models(), ask, rates);
  }
};

void expect_same(const LoadWindow& got, const LoadWindow& wanted) {
  EXPECT_EQ(got.rate, wanted.rate);
  EXPECT_EQ(got.stay, wanted.stay);
  EXPECT_EQ(got.busy, wanted.busy);
  EXPECT_EQ(got.found, wanted.found);
  double requests = 0;
  for (std::size_t i = 0; i < got.parts.size(); ++i) {
    const WindowPart& a = got.parts[i];
    const WindowPart& b = wanted.parts[i];
    EXPECT_EQ(a.requests, b.requests) << i;
    EXPECT_EQ(a.good, b.good) << i;
    EXPECT_EQ(a.ttft, b.ttft) << i;
    EXPECT_EQ(a.tpot, b.tpot) << i;
    EXPECT_EQ(a.whole, b.whole) << i;
    requests += a.requests;
  }
  EXPECT_GT(requests, 0);
}

// Four of the six replicas, three stays before what counts and two after it; 400 requests where
// twelve stays have fewer, 1600 where they have more.
TEST(ServiceWindowsSpans, a_level_counts_twelve_mean_stays) {
  Spanned s([](design::Serve& serve) {
    serve.objective.ttft_p99 = milliseconds(100);
    serve.objective.tpot_p99 = milliseconds(20);
  });
  for (const double in_flight : {1.5, 18.0, 45.0}) {
    SCOPED_TRACE(in_flight);
    const double rate = s.rate_with(in_flight);
    ASSERT_LE(rate, s.ask.most);
    const double stay = s.stay_at(rate);
    const double in_stays = 12 * stay * rate * 4;
    const double counted = std::min(1600.0, std::max(400.0, in_stays));
    EXPECT_EQ(counted, in_flight < 2 ? 400 : in_flight > 40 ? 1600 : in_stays);
    const double begins = 3 * stay;
    const double ends = begins + counted / (rate * 4);
    const double last = ends + 2 * stay;
    const auto load = window_arrivals(s.ask, rate * 4, Seconds(last), 1);
    const traffic::FleetRun done = s.run({.replicas = 4, .router = s.ask.serve->router}, load);
    expect_same(s.windows_at(rate).levels.front(),
                traffic::window_of(done, rate, {begins, ends, last}, s.view()));
  }
}

// 16 of 18 replicas are simulated; the first fails when they have filled and is back after its
// start time, at most a minute. What counts begins a stay before that and ends a stay after it is
// back.
TEST(ServiceWindowsSpans, a_loss_window_spans_a_stay_on_either_side) {
  for (const double start : {4.0, 70.0}) {
    Spanned s([](design::Serve& serve) { serve.objective.latency_p99 = milliseconds(200); });
    s.ask.replicas = 18;
    s.ask.high = s.rate_with(1.5) / 8;
    s.ask.start = seconds(start);
    const double rate = s.ask.high;
    const double stay = s.stay_at(rate);
    const double back = std::min(start, 60.0);
    const double filled = 3 * stay;
    const traffic::WindowSpan span{filled - stay, filled + back + stay, filled + back + 3 * stay};
    traffic::FleetOptions options{
        .replicas = 16, .router = s.ask.serve->router, .lose_one_at = filled};
    options.cold = {.image = 0, .process = 0, .weights = back, .graphs = 0};
    const traffic::FleetRun done =
        s.run(options, window_arrivals(s.ask, rate * 16, Seconds(span.last), 1));
    const ServiceWindows got = s.windows_at(rate);
    expect_same(got.loss, traffic::window_of(done, rate, span, s.view()));
    EXPECT_EQ(got.restarted, done.restarted_requests);
    EXPECT_FALSE(got.rise);
  }
}

struct RiseCase {
  double start, period, lag, hold, in_flight, per;
};

// The steepest hour is met by the replicas of the hour before it, twenty of which 16 are simulated.
TEST(ServiceWindowsSpans, a_rise_window_spans_twice_the_scaling_delay) {
  for (const RiseCase& c : {RiseCase{0.3, 0.2, 0.1, 0.2, 4, 1}, RiseCase{400, 2, 3, 4, 1.2, 400}}) {
    Spanned s([&c](design::Serve& serve) {
      serve.replicas.reset();
      serve.autoscale = design::Autoscale{.min = 10,
                                          .max = 30,
                                          .target = 2,
                                          .period = seconds(c.period),
                                          .lag = seconds(c.lag),
                                          .hold = seconds(c.hold)};
    });
    s.ask.replicas = 30;
    s.ask.start = seconds(c.start);
    const double each = s.rate_with(c.in_flight) / c.per;
    s.ask.rise = ServiceRise{.before = 20 * each, .after = 31 * each, .replicas = 20};
    const double stay = s.stay_at(each);
    const double filled = 3 * stay;
    const double follows = std::min(2 * (c.lag + c.period + c.start), 600.0);
    const traffic::WindowSpan span{filled, filled + follows + stay, filled + follows + 3 * stay};
    auto load = window_arrivals(s.ask, 16 * each, Seconds(filled), 1);
    auto more = window_arrivals(s.ask, 24.8 * each, Seconds(span.last - filled), 2);
    for (traffic::Timed& t : more) t.at += filled;
    load.insert(load.end(), more.begin(), more.end());
    traffic::FleetOptions options{.replicas = 16, .router = s.ask.serve->router};
    options.scaler = {
        .target = 2, .period = c.period, .lag = c.lag, .hold = c.hold, .least = 8, .most = 24};
    options.cold = {.image = 0, .process = 0, .weights = c.start, .graphs = 0};
    const ServiceWindows got = s.windows_at(s.rate_with(1.2) / 400);
    ASSERT_TRUE(got.rise);
    expect_same(*got.rise,
                traffic::window_of(s.run(options, load), 31 * each / 20, span, s.view()));
  }
}

// Users of a lost site on 16 of 20 replicas: those whose answers were lost start over at once.
TEST(ServiceWindowsSpans, guests_share_the_replicas_with_local_users) {
  Spanned s;
  const double each = s.rate_with(1.5) / 30;
  const GuestAsk g{
      .own = 12 * each, .rate = 8 * each, .stay = 30, .replicas = 20, .away = milliseconds(80)};
  const GuestWindows got = simulate_guests(s.machine.models(), s.ask, g);
  const double stay = s.stay_at(each);
  const double begins = 3 * stay;
  const traffic::WindowSpan span{begins, begins + 60 + stay, begins + 60 + 3 * stay};
  auto sent = window_arrivals(s.ask, 0.8 * g.rate, seconds(30), 3);
  EXPECT_EQ(got.restarted, static_cast<double>(sent.size()) / 0.8);
  for (traffic::Timed& t : sent) t.at = begins;
  auto more = window_arrivals(s.ask, 0.8 * g.rate, Seconds(span.last - begins), 2);
  for (traffic::Timed& t : more) t.at += begins;
  sent.insert(sent.end(), more.begin(), more.end());
  const auto load = traffic::with_guests(window_arrivals(s.ask, 0.8 * g.own, Seconds(span.last), 1),
                                         std::move(sent));
  const traffic::FleetRun done = s.run({.replicas = 16, .router = s.ask.serve->router}, load.all);
  traffic::ClientView view = s.view();
  expect_same(got.hosts, traffic::window_of(records_of(done, load, false), each, span, view));
  view.aside += 0.08;
  expect_same(got.guests, traffic::window_of(records_of(done, load, true), each, span, view));
}

// No users are there before them, and none of theirs was being answered.
TEST(ServiceWindowsSpans, guests_without_local_users_have_all_replicas) {
  Spanned s;
  const double each = s.rate_with(1.5) / 30;
  const GuestWindows got = simulate_guests(s.machine.models(), s.ask,
                                           {.own = 0, .rate = 4 * each, .stay = 0, .replicas = 4});
  EXPECT_EQ(got.restarted, 0);
  for (const WindowPart& part : got.hosts.parts) EXPECT_EQ(part.requests, 0);
  EXPECT_GT(got.guests.parts[3].requests, 0);
}

// A quarter of 12 replicas do prefill: one of the four that are simulated.
TEST(ServiceWindowsSpans, separate_prefill_has_its_share_of_the_replicas) {
  Spanned s([](design::Serve& serve) {
    serve.disaggregated = true;
    serve.prefill_replicas = 3;
    serve.replicas = 12;
  });
  EXPECT_EQ(s.ask.prefill, 3);
  EXPECT_EQ(s.ask.replicas, 12);
  const double rate = s.rate_with(1.5) / 2;
  s.ask.most = 2 * rate;
  const double stay = s.stay_at(rate);
  const double counted = std::max(400.0, 12 * stay * rate * 4);
  const traffic::WindowSpan span{3 * stay, 3 * stay + counted / (rate * 4),
                                 5 * stay + counted / (rate * 4)};
  traffic::FleetOptions options{.replicas = 4, .router = s.ask.serve->router};
  options.cold = {.image = 0, .process = 0, .weights = 4, .graphs = 0};
  traffic::ApartOptions apart{.prefill = options, .decode = options};
  apart.prefill.replicas = 1;
  apart.decode.replicas = 3;
  apart.bytes_per_token = workload::kv_bytes(s.ask.query.model, 1, s.ask.query.precision.kv).base();
  apart.port_rate = s.ask.query.nic_rate.base();
  serving::StepClock clock(s.ask.replica, s.source, s.ask.query.request.checked_per_step);
  engines::EnginePolicy policy = traffic::policy_of(s.ask.replica);
  policy.prefix_cache = s.ask.serve->prefix_cache;
  const auto load = window_arrivals(s.ask, rate * 4, Seconds(span.last), 1);
  const traffic::FleetRun done = run_apart(apart, policy, clock, policy, clock, load).run;
  expect_same(s.windows_at(rate).levels.front(), traffic::window_of(done, rate, span, s.view()));
}

// Four levels from the quietest hour to the busiest, and the busiest on one replica less.
TEST(ServiceWindowsSpans, levels_span_the_loads_of_a_run) {
  Spanned s;
  const auto rates = [&] {
    std::vector<double> all;
    for (const LoadWindow& w : simulate_windows(s.machine.models(), s.ask).levels) {
      all.push_back(w.rate);
    }
    return all;
  };
  const auto expect_rates = [&](const std::vector<double>& wanted) {
    const std::vector<double> got = rates();
    ASSERT_EQ(got.size(), wanted.size());
    for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], wanted[i], 1e-9);
  };
  s.ask.low = 1;
  s.ask.high = 4;
  s.ask.most = 20;
  s.ask.replicas = 5;
  expect_rates({1, 2, 3, 4, 5});
  s.ask.guests = 2.5;
  expect_rates({1, 2, 3, 4, 5, 6.5});
  s.ask.guests = 0.5;  // fewer than a loss adds
  s.ask.most = 4.5;
  expect_rates({1, 2, 3, 4, 4.5});
  s.ask.most = 4.1;  // 2.5 % more is the same load
  expect_rates({1, 2, 3, 4});
  s.ask.replicas = 1;
  s.ask.guests = 0;
  s.ask.most = 20;
  s.ask.low = 4;
  expect_rates({4});
  s.ask.low = 0;
  s.ask.high = 3;
  expect_rates({1, 2, 3});
}

// Until replicas have followed, the others have up to 0.98 of what they carry at all.
TEST(ServiceWindowsSpans, an_autoscaled_service_has_levels_above_its_load) {
  Spanned s([](design::Serve& serve) {
    serve.replicas.reset();
    serve.autoscale = design::Autoscale{.min = 1, .max = 5, .target = 2};
  });
  s.ask.rise.reset();
  s.ask.low = 1;
  s.ask.high = 4;
  s.ask.most = 20;
  s.ask.replicas = 5;
  const ServiceWindows got = simulate_windows(s.machine.models(), s.ask);
  const double wanted[] = {1, 2, 3, 4, 5, (5 + 19.6) / 2, 19.6};
  ASSERT_EQ(got.levels.size(), std::size(wanted));
  for (std::size_t i = 0; i < std::size(wanted); ++i) {
    EXPECT_NEAR(got.levels[i].rate, wanted[i], 1e-9);
  }
}

TEST(ServiceWindowsSpans, zero_load_and_overload_have_no_window) {
  Spanned s;
  s.ask.most = 3;
  const double rates[] = {0, 1, 3, 3.1};
  const ServiceWindows got = simulate_windows(s.machine.models(), s.ask, rates);
  ASSERT_EQ(got.levels.size(), 2U);
  EXPECT_EQ(got.levels[0].rate, 1);
  EXPECT_EQ(got.levels[1].rate, 3);
  s.ask.rise = ServiceRise{.before = 1, .after = 2, .replicas = 1};
  const ServiceWindows none = simulate_windows(s.machine.models(), s.ask, std::span(rates, 1));
  EXPECT_TRUE(none.levels.empty());
  EXPECT_FALSE(none.rise);
  EXPECT_EQ(none.loss.rate, 0);
}

}  // namespace
}  // namespace orrery::processes
