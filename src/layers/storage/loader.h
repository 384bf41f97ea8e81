// Feeding the accelerators: from object to batch, and what starves.
//
//   stream rate   size / (t_first_byte + size/B_stream)        half of B_stream at t_first B_stream
//   fetch         min(q streams, B_client, B_server, requests/s x size)
//   mixed         1 / ((1 - r)/fetch(shard) + r/fetch(sample))   r of the samples by themselves
//   samples/s     min(fetch/bytes, cores/(decode + moving), host-to-device, what the step asks)
//   stall         max(0, batch/samples_per_s - t_step) once the prefetch queue is empty
//   AU            t_compute / (t_compute + stall)
//   ideal         batch x record / t_compute                   bytes/s of one accelerator, AU = 1
// AU is MLPerf Storage's accelerator utilisation. Steady state: a queue deep enough to hide jitter
// is assumed, so short runs come out a little low. Decode rates: data kinds in dataset.h.
#pragma once

#include "core/base/quantity.h"

namespace orrery::storage {

struct FetchPath {
  Seconds first_byte;
  BytesPerSecond stream;
  double streams = 1;
  BytesPerSecond client;  // network of the reader
  BytesPerSecond server;  // its share of the store
  PerSecond requests;     // the store's share of requests a second
};

enum class FetchLimit { streams, client, server, requests };
const char* to_text(FetchLimit limit);

struct FetchRate {
  BytesPerSecond rate;
  FetchLimit limit = FetchLimit::streams;
};
BytesPerSecond stream_rate(Bytes object, Seconds first_byte, BytesPerSecond stream);
FetchRate fetch_rate(Bytes object, const FetchPath& path);
// Of bytes that come partly in one way and partly in another: the times add up. The limit is that
// of the way that takes longer.
FetchRate mixed_rate(const FetchRate& usual, const FetchRate& other, double share_of_other);

// One accelerator's share of its host's loader.
struct LoaderProblem {
  double batch = 1;      // samples a step, of one accelerator
  Bytes sample;          // as stored
  Seconds compute;       // of one step
  BytesPerSecond fetch;  // of one accelerator, as fetch_rate gives it, cache hits included
  double cores = 1;      // for each accelerator
  Seconds decode;        // core time for one sample, decompression and augmentation
  Seconds moving;        // likewise, for its way through the host (gpu_path.h)
  Bytes decoded_sample;  // as it crosses to the device
  BytesPerSecond to_device;
};

enum class LoaderLimit { compute, storage, decode, device_copy };
const char* to_text(LoaderLimit limit);

struct LoaderRate {
  double samples_per_s = 0;  // delivered to one accelerator
  double storage_samples_per_s = 0;
  double decode_samples_per_s = 0;
  double copy_samples_per_s = 0;
  double demand_samples_per_s = 0;  // of an unstarved step
  Seconds stall;                    // of a step
  double utilisation = 0;           // AU
  LoaderLimit limit = LoaderLimit::compute;
};
LoaderRate load_rate(const LoaderProblem& problem);

// Bytes a second that one accelerator asks of storage when it never waits.
BytesPerSecond ideal_read_rate(double batch, Bytes record, Seconds compute);
// Cores an accelerator needs so that decoding does not bind.
double decode_cores_needed(double batch, Seconds decode, Seconds compute);

// Reads that miss the cache go to the store: the two pull side by side, so the slower one's time
// counts.
BytesPerSecond rate_through_cache(double hit_rate, BytesPerSecond cache, BytesPerSecond store);

}  // namespace orrery::storage
