#include "layers/traffic/load.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "core/base/math.h"
#include "core/base/statistics.h"

namespace orrery::traffic {
namespace {

constexpr double kNormalQuantile99 = 2.3263478740408408;

// Draws a gamma variate by Marsaglia and Tsang (2000), with their boost for shapes below one.
double draw_gamma(double shape, RandomStream& stream) {
  if (shape < 1) {
    const double boosted = draw_gamma(shape + 1, stream);
    return boosted * math::pow(stream.uniform(), 1 / shape);
  }
  const double d = shape - 1.0 / 3;
  const double c = 1 / std::sqrt(9 * d);
  while (true) {
    const double x = stream.normal();
    const double v = 1 + c * x;
    if (v <= 0) continue;
    const double cube = v * v * v;
    const double u = stream.uniform();
    if (u > 0 && math::log(u) < x * x / 2 + d * (1 - cube + math::log(cube))) return d * cube;
  }
}

double draw_gap(const OpenLoad& load, double rate, RandomStream& stream) {
  if (load.cv <= 0) return 1 / rate;
  if (load.cv == 1) return stream.exponential(1 / rate);
  const double shape = 1 / (load.cv * load.cv);
  return draw_gamma(shape, stream) / (shape * rate);
}

}  // namespace

int draw_length(const LengthLaw& law, RandomStream& stream) {
  const int added = static_cast<int>(law.added);
  if (law.p99 > 0) {
    const double sigma = math::log(law.p99 / law.length) / kNormalQuantile99;
    const double drawn = law.length * math::exp(sigma * stream.normal());
    return added + static_cast<int>(std::max(1.0, drawn));
  }
  const int most = static_cast<int>(law.length);
  if (law.least_share >= 1) return added + std::max(1, most);
  const int least = static_cast<int>(law.length * law.least_share);
  const auto values = static_cast<std::uint64_t>(std::max(1, most - least + 1));
  return added + std::max(1, least + static_cast<int>(stream.below(values)));
}

double mean_length(const LengthLaw& law) {
  if (law.p99 <= 0) return law.added + law.length * (1 + law.least_share) / 2;
  const double sigma = math::log(law.p99 / law.length) / kNormalQuantile99;
  return law.added + law.length * math::exp(sigma * sigma / 2);
}

std::vector<engines::RequestSpec> draw_requests(int count, const LengthLaw& prompt,
                                                const LengthLaw& output, std::uint64_t seed) {
  RandomStream prompts(seed, "serving/prompt");
  RandomStream outputs(seed, "serving/output");
  std::vector<engines::RequestSpec> requests(static_cast<std::size_t>(count));
  for (engines::RequestSpec& r : requests) {
    r.prompt = draw_length(prompt, prompts);
    r.output = draw_length(output, outputs);
  }
  return requests;
}

std::vector<Timed> open_load(const OpenLoad& load) {
  const auto specs = draw_requests(load.requests, load.prompt, load.output, load.seed);
  RandomStream gaps(load.seed, "serving/gap");
  RandomStream thinning(load.seed, "serving/swing");
  const double peak = load.rate * (1 + load.swing);
  std::vector<Timed> arrivals;
  arrivals.reserve(specs.size());
  double at = 0;
  for (const engines::RequestSpec& spec : specs) {
    while (true) {
      at += draw_gap(load, peak, gaps);
      if (load.swing <= 0) break;
      const double phase = 2 * std::numbers::pi * at / load.period;
      if (thinning.uniform() * peak <= load.rate * (1 - load.swing * math::cos(phase))) break;
    }
    arrivals.push_back({.spec = spec, .at = at});
  }
  return arrivals;
}

std::vector<RequestRecord> run_open(ReplicaSim& replica, const std::vector<Timed>& arrivals) {
  for (std::size_t i = 0; i < arrivals.size(); ++i) {
    replica.submit(static_cast<int>(i), arrivals[i].spec, arrivals[i].at);
  }
  replica.advance(kForever);
  return replica.take_finished();
}

std::vector<RequestRecord> run_closed(ReplicaSim& replica,
                                      const std::vector<engines::RequestSpec>& requests,
                                      int clients, double think) {
  std::vector<RequestRecord> records;
  std::size_t next = 0;
  const auto send = [&](double at) {
    if (next >= requests.size()) return;
    replica.submit(static_cast<int>(next), requests[next], at);
    ++next;
  };
  for (int i = 0; i < clients; ++i) send(0);
  // A finished request is followed by its client's next one, so the replica must not run past it.
  while (replica.next_start() < kForever) {
    replica.advance_to_finish();
    for (const RequestRecord& r : replica.take_finished()) {
      records.push_back(r);
      send(r.last + think);
    }
  }
  return records;
}

LatencySummary summarise(const std::vector<RequestRecord>& records) {
  LatencySummary s;
  if (records.empty()) return s;
  std::vector<double> ttft, tpot, e2e;
  double tokens = 0;
  double begin = kForever;
  double end = 0;
  for (const RequestRecord& r : records) {
    ttft.push_back(r.ttft());
    e2e.push_back(r.e2e());
    if (r.output > 1) tpot.push_back(r.tpot());
    tokens += r.output;
    begin = std::min(begin, r.arrived);
    end = std::max(end, r.last);
  }
  s.count = static_cast<double>(records.size());
  s.ttft_mean = mean(ttft), s.ttft_p50 = median(ttft), s.ttft_p99 = quantile(ttft, 0.99);
  s.tpot_mean = mean(tpot), s.tpot_p50 = median(tpot), s.tpot_p99 = quantile(tpot, 0.99);
  s.e2e_mean = mean(e2e), s.e2e_p50 = median(e2e), s.e2e_p99 = quantile(e2e, 0.99);
  if (end > begin) {
    s.output_tokens_per_s = tokens / (end - begin);
    s.requests_per_s = s.count / (end - begin);
  }
  return s;
}

}  // namespace orrery::traffic
