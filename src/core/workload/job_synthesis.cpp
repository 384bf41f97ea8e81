#include "core/workload/job_synthesis.h"

#include <algorithm>
#include <numbers>

#include "core/base/math.h"
#include "core/base/random.h"

namespace orrery::workload {
namespace {

struct Drawn {
  const JobClass* of = nullptr;
  int gpus = 1;
};

Drawn draw_width(std::span<const JobClass> classes, double u) {
  double sum = 0;
  for (const JobClass& c : classes) {
    for (const WidthShare& w : c.widths) sum += w.weight;
  }
  Drawn last;
  for (const JobClass& c : classes) {
    for (const WidthShare& w : c.widths) {
      last = {.of = &c, .gpus = w.gpus};
      u -= w.weight / sum;
      if (u < 0) return last;
    }
  }
  return last;
}

// Draws Poisson arrivals with a varying rate by thinning arrivals at the highest rate.
std::vector<double> draw_arrivals(const JobMix& mix, RandomStream& random) {
  constexpr double kDay = 86400;
  const double swing = std::clamp(mix.day_swing, 0.0, 1.0);
  const double gap = mix.span.base() / mix.jobs / (1 + swing);
  std::vector<double> arrivals;
  double now = 0;
  while (std::ssize(arrivals) < mix.jobs) {
    now += random.exponential(gap);
    const double rate = (1 + swing * math::cos(2 * std::numbers::pi * now / kDay)) / (1 + swing);
    if (random.uniform() < rate) arrivals.push_back(now);
  }
  return arrivals;
}

}  // namespace

Seconds quantile_of(std::span<const QuantilePoint> points, double share) {
  if (points.empty()) return Seconds();
  for (std::size_t i = 1; i < points.size(); ++i) {
    if (share > points[i].share) continue;
    const QuantilePoint& a = points[i - 1];
    const QuantilePoint& b = points[i];
    const double part = (share - a.share) / (b.share - a.share);
    const double from = math::log(a.run.base());
    return Seconds(math::exp(from + part * (math::log(b.run.base()) - from)));
  }
  return points.back().run;
}

JobTrace synthesize_jobs(const JobMix& mix, std::uint64_t seed) {
  RandomStream arrivals(seed, "jobs/arrivals");
  RandomStream widths(seed, "jobs/widths");
  RandomStream runs(seed, "jobs/runs");
  RandomStream limits(seed, "jobs/limits");
  RandomStream users(seed, "jobs/users");
  JobTrace trace;
  for (int u = 0; u < mix.users; ++u) trace.users.push_back("user-" + std::to_string(u));
  trace.has_limits = mix.limit_factor > 1;
  for (const double submit : draw_arrivals(mix, arrivals)) {
    JobRecord job;
    job.submit = Seconds(submit);
    const Drawn drawn = draw_width(mix.classes, widths.uniform());
    job.gpus = drawn.gpus;
    job.run = drawn.of == nullptr ? seconds(1) : quantile_of(drawn.of->runs, runs.uniform());
    job.limit = job.run * math::exp(limits.uniform() * math::log(mix.limit_factor));
    job.user = static_cast<int>(users.below(static_cast<std::uint64_t>(std::max(1, mix.users))));
    trace.jobs.push_back(job);
  }
  return trace;
}

JobMix philly_mix() {
  const auto runs = [](std::initializer_list<double> at) {
    constexpr double kShares[] = {0, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999, 1};
    std::vector<QuantilePoint> points;
    for (const double run : at) points.push_back({kShares[points.size()], seconds(run)});
    return points;
  };
  return {
      .jobs = 82'247,
      .span = days(108.9),
      .classes = {{.widths = {{1, 76627}},
                   .runs = runs({1, 62, 122, 1117, 2716, 8512, 135'404, 868'927, 3'256'045})},
                  {.widths = {{2, 1818}, {4, 1870}},
                   .runs = runs({1, 15, 21, 367, 45'476, 166'199, 748'678, 2'416'865, 2'750'674})},
                  {.widths = {{8, 1643}, {16, 206}, {32, 74}, {64, 6}, {128, 3}},
                   .runs = runs({2, 190, 1600, 23'300, 160'000, 340'000, 1'080'000, 2'600'000,
                                 4'628'226})}}};
}

}  // namespace orrery::workload
