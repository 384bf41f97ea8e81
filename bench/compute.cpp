// The calls that a layout search makes by the million, and one serving point.
#include "bench/figure.h"
#include "layers/compute/calibration.h"
#include "model/jobs/predict_serving.h"

namespace orrery {
namespace {

constexpr int kRounds = 40;

Result<compute::DeviceModel> h100() {
  const auto models = machine::load_models(catalog::embedded_files());
  if (!models) return std::unexpected(models.error());
  return device_model(*models->catalog().accelerator("h100-sxm"), models->kernels);
}

// Nanoseconds per call over `calls` of them; the sum keeps the compiler from dropping the calls.
template <class Call>
Result<double> nanoseconds_a_call(const compute::DeviceModel& device, const Call& call) {
  double sum = 0;
  int calls = 0;
  const double seconds = seconds_of([&] {
    for (int round = 0; round < kRounds; ++round) {
      for (int i = 1; i <= 100; ++i) {
        for (int j = 1; j <= 100; ++j, ++calls) sum += call(device, i, j).base();
      }
    }
  });
  if (!(sum > 0)) {
    return fail(
        {.severity = Severity::error, .code = "bench.wrong", .what = "the calls took no time"});
  }
  return seconds / calls * 1e9;
}

Result<double> gemm_ns() {
  const auto device = h100();
  if (!device) return std::unexpected(device.error());
  return nanoseconds_a_call(*device, [](const compute::DeviceModel& d, int i, int j) {
    return kernel_time(d, workload::Gemm{.m = 64.0 * i, .n = 128.0 * j, .k = 4096});
  });
}

Result<double> attention_ns() {
  const auto device = h100();
  if (!device) return std::unexpected(device.error());
  return nanoseconds_a_call(*device, [](const compute::DeviceModel& d, int i, int j) {
    const workload::Attention a{.batch = 1.0 * i,
                                .q_heads = 32,
                                .kv_heads = 8,
                                .qk_dim = 128,
                                .v_dim = 128,
                                .q_len = 128.0 * j,
                                .kv_len = 128.0 * j};
    return kernel_time(d, a);
  });
}

Result<double> serving_points() {
  const auto models = machine::load_models(catalog::embedded_files());
  if (!models) return std::unexpected(models.error());
  jobs::ServingQuery query;
  query.model = *models->catalog().model("llama-3-70b");
  query.accelerator = models->catalog().accelerator("h200-sxm");
  query.split.tp = 4;
  const auto replica = replica_of(*models, query);
  if (!replica) return std::unexpected(replica.error());
  const machine::Costs device_costs = serving_costs(*models, query);
  const serving::ServingCosts costs = serving_source(device_costs);
  constexpr int kPoints = 2000;
  double sum = 0;
  const double seconds = seconds_of([&] {
    for (int b = 1; b <= kPoints; ++b) {
      sum += closed_loop(*replica, query.request, b % 200 + 1, costs).tpot.base();
    }
  });
  if (!(sum > 0)) {
    return fail(
        {.severity = Severity::error, .code = "bench.wrong", .what = "the calls took no time"});
  }
  return kPoints / seconds;
}

}  // namespace

std::vector<SpeedFigure> compute_figures() {
  return {
      {.name = "kernel_gemm",
       .unit = "ns",
       .what = "time per matrix product, all of them different",
       .measure = gemm_ns},
      {.name = "kernel_attention",
       .unit = "ns",
       .what = "time per attention kernel, all of them different",
       .measure = attention_ns},
      {.name = "serving_points",
       .unit = "/s",
       .what = "closed-loop points of a 70B replica",
       .measure = serving_points},
  };
}

}  // namespace orrery
