#include "layers/storage/gpu_path.h"

namespace orrery::storage {
namespace {

// h200_file_to_gpu.csv, "memory, pinned" and "memory, pageable": GB/s and core seconds per GB.
constexpr BytesPerSecond kPinnedCopy = gbytes_per_s(4.064);
constexpr double kPinnedCores = 0.2445e-9;
constexpr BytesPerSecond kPageableCopy = gbytes_per_s(1.439);
constexpr double kPageableCores = 0.3878e-9;
// Row "disk, O_DIRECT, pinned": the cost of the requests alone.
constexpr double kDirectCores = 0.0465e-9;

}  // namespace

PathCost path_cost(GpuPath path) {
  switch (path) {
    case GpuPath::direct:
      return {.core_s_per_byte = kDirectCores};
    case GpuPath::pinned:
      return {.copy = kPinnedCopy, .core_s_per_byte = kPinnedCores};
    case GpuPath::pageable:
      return {.copy = kPageableCopy, .core_s_per_byte = kPageableCores};
  }
  return {};
}

BytesPerSecond stream_into_gpu(BytesPerSecond device, GpuPath path) {
  return min(device, path_cost(path).copy);
}

Seconds core_time(Bytes moved, GpuPath path) {
  return Seconds(moved.base() * path_cost(path).core_s_per_byte);
}

const char* to_text(AccessPart part) {
  switch (part) {
    case AccessPart::media:
      return "the media";
    case AccessPart::network:
      return "the network";
    case AccessPart::service:
      return "the service";
    case AccessPart::transfer:
      return "the transfer";
    case AccessPart::host_copy:
      return "the host's copy";
  }
  return "";
}

AccessLatency access_latency(const AccessQuestion& q) {
  AccessLatency l{.media = q.media,
                  .network = q.network,
                  .service = q.service,
                  .transfer = q.request / q.stream,
                  .host_copy = q.request / path_cost(q.path).copy};
  const Seconds parts[] = {l.media, l.network, l.service, l.transfer, l.host_copy};
  Seconds most = parts[0];
  for (int i = 0; i < 5; ++i) {
    l.total += parts[i];
    if (parts[i] > most) {
      most = parts[i];
      l.longest = static_cast<AccessPart>(i);
    }
  }
  return l;
}

}  // namespace orrery::storage
