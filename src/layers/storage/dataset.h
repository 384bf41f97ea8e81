// What a data set requires of storage and host, by kind: object size, decode cost, bytes.
//
// Kinds and their defaults are in data/calibration/dataset_kinds.csv with source and basis: image
// (JPEG at 41.8 Mpixel/s per core, measured on one contended core: a lower bound), video, text
// (tokens, no decoding), volume (CT, MRI), tabular. They are starting points: a design that knows
// its own sample size and decode time gives them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/csv.h"
#include "core/base/diagnostic.h"
#include "core/base/quantity.h"

namespace orrery::storage {

struct DatasetKind {
  std::string id;        // "image", "video", "text", "volume", "tabular"
  Bytes sample;          // size as stored
  Bytes object;          // one file or shard of typical size
  Seconds decode;        // core time per sample
  Bytes decoded_sample;  // size as transferred to the device
  std::string source;
  std::string basis;
};

Result<std::vector<DatasetKind>> read_dataset_kinds(const CsvTable& table);
const DatasetKind* find_dataset_kind(const std::vector<DatasetKind>& all, std::string_view id);

}  // namespace orrery::storage
