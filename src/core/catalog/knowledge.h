// Everything in data/, in the form that is passed to the code that needs it: the catalog with its
// parts, and every other file by its path.
//
// cli/ and server/ load it once (a test loads its own files) and pass it down; no room below reads
// the embedded files directly. A layer parses its tables from here with its own reader, once, when
// machine/ reads its Models. A missing or broken table is an error that names it.
#pragma once

#include <span>
#include <string_view>

#include "core/base/csv.h"
#include "core/catalog/catalog.h"
#include "core/catalog/embedded.h"

namespace orrery::catalog {

struct Knowledge {
  Catalog catalog;
  std::span<const EmbeddedFile> files;  // sorted by path; the texts must outlive this

  // Returns the text of the file at `path` below data/: "calibration/gemm.csv". Faults name that
  // path.
  Result<std::string_view> text(std::string_view path) const;
  Result<CsvTable> table(std::string_view path) const;
};

// `files` must be sorted by path, as embedded_files() returns them.
Result<Knowledge> load_knowledge(std::span<const EmbeddedFile> files);

}  // namespace orrery::catalog
