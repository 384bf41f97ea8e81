// Feeding the accelerators: from object to batch, and which stage is the bottleneck.
//
//   stream rate   size / (t_first_byte + size/B_stream)        half of B_stream at t_first B_stream
//   fetch         min(q streams, B_client, B_server, requests/s x size)
//   mixed         1 / ((1 - r)/fetch(shard) + r/fetch(sample))   r: share of samples read singly
//   samples/s     min(fetch/bytes, cores/(decode + moving), host-to-device, demand of the step)
//   stall         max(0, batch/samples_per_s - t_step) once the prefetch queue is empty
//   AU            t_compute / (t_compute + stall)
//   ideal         batch x record / t_compute                   bytes/s of one accelerator, AU = 1
// AU is MLPerf Storage's accelerator utilisation. Steady state: the queue is assumed deep enough to
// hide jitter, so predictions for short runs are a little low. Decode rates: data kinds in
// dataset.h.
#pragma once

#include "core/base/quantity.h"

namespace orrery::storage {

struct FetchPath {
  Seconds first_byte;
  BytesPerSecond stream;
  double streams = 1;
  BytesPerSecond client;  // network of the reader
  BytesPerSecond server;  // the reader's share of the store
  PerSecond requests;     // the store's share of requests per second
};

enum class FetchLimit { streams, client, server, requests };
const char* to_text(FetchLimit limit);

struct FetchRate {
  BytesPerSecond rate;
  FetchLimit limit = FetchLimit::streams;
};
BytesPerSecond stream_rate(Bytes object, Seconds first_byte, BytesPerSecond stream);
FetchRate fetch_rate(Bytes object, const FetchPath& path);
// The rate for bytes that arrive partly in one way and partly in another: the times add up. The
// limit is that of the slower way.
FetchRate mixed_rate(const FetchRate& usual, const FetchRate& other, double share_of_other);

// One accelerator's share of its host's loader.
struct LoaderProblem {
  double batch = 1;      // samples per step and accelerator
  Bytes sample;          // size as stored
  Seconds compute;       // per step
  BytesPerSecond fetch;  // per accelerator, from fetch_rate, including cache hits
  double cores = 1;      // per accelerator
  Seconds decode;        // core time per sample: decompression and augmentation
  Seconds moving;        // core time per sample for its path through the host (gpu_path.h)
  Bytes decoded_sample;  // size as transferred to the device
  BytesPerSecond to_device;
};

enum class LoaderLimit { compute, storage, decode, device_copy };
const char* to_text(LoaderLimit limit);

struct LoaderRate {
  double samples_per_s = 0;  // delivered to one accelerator
  double storage_samples_per_s = 0;
  double decode_samples_per_s = 0;
  double copy_samples_per_s = 0;
  double demand_samples_per_s = 0;  // rate of a step that never waits
  Seconds stall;                    // per step
  double utilisation = 0;           // AU
  LoaderLimit limit = LoaderLimit::compute;
};
LoaderRate load_rate(const LoaderProblem& problem);

// Returns the bytes per second that one accelerator reads from storage if it never waits.
BytesPerSecond ideal_read_rate(double batch, Bytes record, Seconds compute);
// Returns the cores per accelerator for which decoding is not the bottleneck.
double decode_cores_needed(double batch, Seconds decode, Seconds compute);

// Reads that miss the cache go to the store. Both are read concurrently, so the slower one's time
// counts.
BytesPerSecond rate_through_cache(double hit_rate, BytesPerSecond cache, BytesPerSecond store);

}  // namespace orrery::storage
