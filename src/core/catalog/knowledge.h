// What data/ says, as it is handed to whoever asks: the catalog with its parts, and every other
// file by its path.
//
// cli/ and server/ load it once (a test from files of its own) and hand it down; no room below
// reads the files of the binary by itself. A layer parses its tables from here with its own reader,
// once, when machine/ reads its Models. A table that is missing or broken is a fault with its name.
#pragma once

#include <span>
#include <string_view>

#include "core/base/csv.h"
#include "core/catalog/catalog.h"
#include "core/catalog/embedded.h"

namespace orrery::catalog {

struct Knowledge {
  Catalog catalog;
  std::span<const EmbeddedFile> files;  // sorted by path; their texts outlive this

  // `path` below data/: "calibration/gemm.csv". Faults of a table are placed at it.
  Result<std::string_view> text(std::string_view path) const;
  Result<CsvTable> table(std::string_view path) const;
};

// `files` sorted by path, as embedded_files() has them.
Result<Knowledge> load_knowledge(std::span<const EmbeddedFile> files);

}  // namespace orrery::catalog
