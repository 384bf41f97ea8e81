// What a data set asks of storage and of the host, by kind: object size, decode cost, bytes.
//
// Kinds and their defaults are in data/calibration/dataset_kinds.csv with source and basis: image
// (JPEG at 41.8 Mpixel/s a core, measured on one contended core: a lower bound), video, text
// (tokens, no decoding), volume (CT, MRI), tabular. They are starting points: a design that knows
// its own sample size and decode time gives them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/csv.h"
#include "base/diagnostic.h"
#include "base/quantity.h"

namespace orrery::storage {

struct DatasetKind {
  std::string id;        // "image", "video", "text", "volume", "tabular"
  Bytes sample;          // as stored
  Bytes object;          // one file or shard as usually kept
  Seconds decode;        // core time for one sample
  Bytes decoded_sample;  // as it crosses to the device
  std::string source;
  std::string basis;
};

Result<std::vector<DatasetKind>> read_dataset_kinds(const CsvTable& table);
const DatasetKind* find_dataset_kind(const std::vector<DatasetKind>& all, std::string_view id);

struct DatasetDemand {
  Bytes capacity;       // of the data set
  BytesPerSecond read;  // of all accelerators when none waits
  double objects = 0;   // files or shards: what metadata and lifecycle fees count
  PerSecond requests;   // objects opened a second
  double decode_cores = 0;
};

struct DatasetUse {
  double samples = 0;
  Bytes sample;
  Bytes object;
  Seconds decode;
  PerSecond samples_rate;  // of the whole job
};
DatasetDemand dataset_demand(const DatasetUse& use);

}  // namespace orrery::storage
