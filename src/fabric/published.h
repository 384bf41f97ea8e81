// Published reference tables held against the generator: where they agree, and which printed
// figures are wrong.
//
// fabric_counts.csv: rows of the SuperPOD documents. A row whose counts the rules do not give is a
// finding "published.counts". fabric_errata.csv: figures known to be misprinted or to differ
// between editions; each is recomputed here and reported as "published.misprint" or
// "published.editions" with the right figure, or not at all if it turns out to be right.
#pragma once

#include "base/csv.h"
#include "base/diagnostic.h"
#include "fabric/topology.h"

namespace orrery {

// The spec that a row of fabric_counts.csv describes.
FabricSpec published_spec(const CsvTable& table, const CsvRow& row);

// One finding a row and count that differs; empty where all rows are given exactly.
Diagnostics check_published_counts(const CsvTable& counts);

Diagnostics check_published_errata(const CsvTable& errata);

}  // namespace orrery
