// The path of a byte from storage into accelerator memory: the rate of a stream, the host cores it
// takes, and the latency.
//
//   direct   the device or the NIC writes where the accelerator reads: no copy by the host
//   pinned   the host copies from its page cache into memory that the accelerator may read
//   pageable twice: the driver copies again, into its own memory
//   stream   min(device stream, copy)         cores  bytes x core seconds per byte
//   latency  media + network + service + request/stream + request x copy time
// Copy rates and core seconds were measured from memory on one H200 host
// (data/validation/h200_file_to_gpu.csv). The rows from disk, which are not fitted, are predicted
// within 5 % in rate and 6 % in core seconds. The direct row is O_DIRECT into pinned memory; a
// peer-to-peer path takes that many core seconds or fewer. Wrong if memory channels are saturated:
// a bounce buffer crosses host memory twice more.
#pragma once

#include "core/base/quantity.h"
#include "layers/storage/checkpoint.h"

namespace orrery::storage {

enum class GpuPath { direct, pinned, pageable };

struct PathCost {
  BytesPerSecond copy = kUnlimitedRate;  // per stream
  double core_s_per_byte = 0;
};
PathCost path_cost(GpuPath path);

BytesPerSecond stream_into_gpu(BytesPerSecond device, GpuPath path);
// Returns the core time to move these bytes.
Seconds core_time(Bytes moved, GpuPath path);

// A read of `request` bytes of an open file or object; the longest part says what to buy.
struct AccessQuestion {
  Seconds media;    // latency of the device, or of the appliance as seen by a client
  Seconds network;  // round trip
  Seconds service;  // software on client and server
  Bytes request;
  BytesPerSecond stream = kUnlimitedRate;
  GpuPath path = GpuPath::pinned;
};
enum class AccessPart { media, network, service, transfer, host_copy };
const char* to_text(AccessPart part);

struct AccessLatency {
  Seconds media;
  Seconds network;
  Seconds service;
  Seconds transfer;
  Seconds host_copy;
  Seconds total;
  AccessPart longest = AccessPart::media;
};
AccessLatency access_latency(const AccessQuestion& question);

}  // namespace orrery::storage
