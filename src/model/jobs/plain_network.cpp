#include "model/jobs/plain_network.h"

#include "model/figures/assumptions.h"

namespace orrery::jobs {
namespace {

// Share of the dense peak that a non-transformer network reaches: assumed, as in train_step.cpp; on
// CPU cores, the share that matrix products reach (`cpu` in data/calibration/gemm.csv).
using figures::assumptions::kHostEfficiency;
using figures::assumptions::kPlainEfficiency;

}  // namespace

std::optional<FlopsPerSecond> plain_rate(const machine::Machine& m, const machine::Fleet& fleet) {
  const catalog::Accelerator& a = *fleet.device();
  const auto peak =
      a.peak(catalog::Dtype::bf16) ? a.peak(catalog::Dtype::bf16) : a.peak(catalog::Dtype::fp16);
  if (!peak) return std::nullopt;
  if (fleet.host) return *peak * kHostEfficiency;
  if (fleet.slice() == nullptr) return *peak * kPlainEfficiency;
  const double units = device_model(a, m.models().kernels).units;
  return *peak * (kPlainEfficiency * fleet.slice()->profile->multiprocessors / units);
}

}  // namespace orrery::jobs
