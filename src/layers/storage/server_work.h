// What the cores of a storage server do to every byte, and the rate at which they run out.
//
//   read    core s/B = moving + aes                                         of a byte of data
//   write   core s/B = (moving + aes) (k+m)/k + m coding                     k > 1; copies: no code
//   rate    = cores / (core s/B)
// moving: a byte from drive to network without the host's copy, as O_DIRECT into pinned memory took
// it (gpu_path.h, 0.0465 core s/GB). aes: AES-256-GCM, 4.0 GB/s a core by `openssl speed -evp
// aes-256-gcm` (3.0.x, blocks of 1 MiB, one core of an AMD EPYC, 2026-11, 3.7 to 4.25 over three
// runs); Drucker, Gueron and Krasnov 2018 give 0.64 cycles a byte for AES-128-GCM, which at 14
// rounds instead of 10 and 3 GHz is 3.3 GB/s, and expect a quarter of that from vectorised
// instructions. coding: 0.024 core s/GB for each parity shard, ISA-L 2.30 on the same core, blocks
// of 1 MiB (8+2: 19.0 GB/s of data, 8+3: 16.2, 8+4: 12.2, 10+4: 10.8; 8+1 takes 0.043). What is
// stored is encrypted shard by shard, so parity is encrypted too.
//
// Where it is wrong: checksums, compression and a file system's own work are not in it, nor memory
// bandwidth; drives that encrypt by themselves take no cores, and are not `encrypted` in this
// sense.
#pragma once

#include "core/base/quantity.h"

namespace orrery::storage {

inline constexpr BytesPerSecond kEncryptPerCore = gbytes_per_s(4.0);
inline constexpr double kCodeCoreSecondsPerByte = 0.024e-9;  // for each parity shard

struct ServerWork {
  int data = 1;  // shards; 1: copies
  int parity = 0;
  bool encrypted = false;
};

// Core seconds for a byte of data, as clients count bytes.
double read_work(const ServerWork& work);
double write_work(const ServerWork& work);

// What so many cores carry; unlimited where the count is 0, of servers that are sold with their
// rates.
BytesPerSecond read_bound(int cores, const ServerWork& work);
BytesPerSecond write_bound(int cores, const ServerWork& work);

// What encryption adds to a request of this size.
Seconds encrypt_time(Bytes request);

}  // namespace orrery::storage
