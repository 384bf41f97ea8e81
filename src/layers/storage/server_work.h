// The core time that a storage server spends per byte, and the rate at which its cores are
// saturated.
//
//   read    core s/B = moving + aes                                         per byte of data
//   write   core s/B = (moving + aes) (k+m)/k + m coding                     k > 1; copies: no code
//   rate    = cores / (core s/B)
// moving: a byte from drive to network without a copy by the host, as measured with O_DIRECT into
// pinned memory (gpu_path.h, 0.0465 core s/GB). aes: AES-256-GCM, 4.0 GB/s per core by `openssl
// speed -evp aes-256-gcm` (3.0.x, blocks of 1 MiB, one core of an AMD EPYC, 2026-11, 3.7 to 4.25
// over three runs). For comparison, Drucker, Gueron and Krasnov 2018 give 0.64 cycles per byte for
// AES-128-GCM, which with 14 rounds instead of 10 and 3 GHz is 3.3 GB/s, and expect a quarter of
// that time from vectorised instructions. coding: 0.024 core s/GB per parity shard, ISA-L 2.30 on
// the same core, blocks of 1 MiB (8+2: 19.0 GB/s of data, 8+3: 16.2, 8+4: 12.2, 10+4: 10.8; 8+1
// takes 0.043). Shards are encrypted as stored, so parity is encrypted too.
//
// Not included: checksums, compression, a file system's own work, and memory bandwidth.
// Self-encrypting drives take no cores, and do not count as `encrypted` here.
#pragma once

#include "core/base/quantity.h"

namespace orrery::storage {

inline constexpr BytesPerSecond kEncryptPerCore = gbytes_per_s(4.0);
inline constexpr double kCodeCoreSecondsPerByte = 0.024e-9;  // per parity shard

struct ServerWork {
  int data = 1;  // data shards; 1: copies
  int parity = 0;
  bool encrypted = false;
};

// Returns the core seconds per byte of data, as clients count bytes.
double read_work(const ServerWork& work);
double write_work(const ServerWork& work);

// Returns the rate that `cores` cores sustain; unlimited if the count is 0, which means servers
// that are sold with their rates.
BytesPerSecond read_bound(int cores, const ServerWork& work);
BytesPerSecond write_bound(int cores, const ServerWork& work);

// Returns the time that encryption adds to a request of this size.
Seconds encrypt_time(Bytes request);

}  // namespace orrery::storage
