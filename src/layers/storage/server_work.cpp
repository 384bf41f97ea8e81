#include "layers/storage/server_work.h"

#include "layers/storage/gpu_path.h"

namespace orrery::storage {
namespace {

// Returns the core time per byte stored or sent, parity or data.
double each_byte(const ServerWork& work) {
  const double moving = path_cost(GpuPath::direct).core_s_per_byte;
  return moving + (work.encrypted ? 1 / kEncryptPerCore.base() : 0);
}

BytesPerSecond bound(int cores, double core_s_per_byte) {
  return cores > 0 ? BytesPerSecond(cores / core_s_per_byte) : kUnlimitedRate;
}

}  // namespace

double read_work(const ServerWork& work) { return each_byte(work); }

double write_work(const ServerWork& work) {
  const double stored = static_cast<double>(work.data + work.parity) / work.data;
  const double coding = work.data > 1 ? work.parity * kCodeCoreSecondsPerByte : 0;
  return each_byte(work) * stored + coding;
}

BytesPerSecond read_bound(int cores, const ServerWork& work) {
  return bound(cores, read_work(work));
}

BytesPerSecond write_bound(int cores, const ServerWork& work) {
  return bound(cores, write_work(work));
}

Seconds encrypt_time(Bytes request) { return request / kEncryptPerCore; }

}  // namespace orrery::storage
