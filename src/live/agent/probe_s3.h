// The probe of an object store: small and large objects, one stream and many, a checkpoint as
// multipart upload.
//
// Objects are put below a prefix of the probe's own and deleted at the end, also after Ctrl-C or a
// failure; keys that could not be deleted are reported. Digests of single PUTs are computed before
// the time starts. The checkpoint is digested and every read verified while the time runs, as in a
// real client. A repeated request counts with all its attempts, and the report says how many there
// were.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "layers/storage/probe_sizes.h"
#include "live/agent/probe_report.h"
#include "live/agent/probe_storage.h"
#include "live/s3/client.h"

namespace orrery::agent {

struct BucketProbe {
  s3::Config config;
  std::string target;  // as the user named it
  std::string prefix;
  bool create_bucket = false;
  int streams = 4;
  int small_objects = 200;
  std::size_t small_bytes = 4096;
  int large_objects = 8;
  std::size_t large_bytes = storage::kProbeObjectBytes;
  std::size_t part_bytes = std::size_t{8} << 20;
  double seconds = 10;  // time limit of one measurement
  int repeats = 5;
  net::ClientOptions limits;
  std::function<bool()> stop = [] { return false; };
  ProbeProgress progress = [](std::string_view, double) {};
};

Result<ProbeReport> probe_bucket(const BucketProbe& probe);

}  // namespace orrery::agent
