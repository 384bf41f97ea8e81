// The way of a byte from storage into accelerator memory: what a stream of it reaches, which host
// cores it takes, and how long the first of it is underway.
//
//   direct   the device or the NIC writes where the accelerator reads: no copy by the host
//   pinned   the host copies from its page cache into memory the accelerator may read
//   pageable twice: the driver copies once more into memory of its own
//   stream   min(device stream, copy)         cores  bytes x core seconds a byte
//   latency  media + network + service + request/stream + request x copy time
// Copy rates and core seconds are those measured from memory on one H200 host
// (data/validation/h200_file_to_gpu.csv); the rows from disk, which are not fitted, come out within
// 5 % in rate and 6 % in core seconds. The direct row is O_DIRECT into pinned memory, so that a
// peer-to-peer path takes that many core seconds or fewer. Wrong where memory channels are full: a
// bounce crosses host memory twice more.
#pragma once

#include "core/base/quantity.h"
#include "layers/storage/checkpoint.h"

namespace orrery::storage {

enum class GpuPath { direct, pinned, pageable };

struct PathCost {
  BytesPerSecond copy = kUnlimitedRate;  // of one stream
  double core_s_per_byte = 0;
};
PathCost path_cost(GpuPath path);

BytesPerSecond stream_into_gpu(BytesPerSecond device, GpuPath path);
// Core time to move so many bytes.
Seconds core_time(Bytes moved, GpuPath path);

// Of a read of `request` bytes of an open file or object; which part is longest says what to buy.
struct AccessQuestion {
  Seconds media;    // of the device, or of the appliance as a client sees it
  Seconds network;  // there and back
  Seconds service;  // software of client and server
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
