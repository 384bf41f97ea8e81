// Reads one row of a catalog table in the same way as the files are read.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <utility>

#include "core/catalog/tables.h"

namespace orrery::catalog {

using Cells = std::initializer_list<std::pair<const char*, const char*>>;

template <class Row>
Row row_of_table(Cells cells, Diagnostics& faults) {
  std::string head;
  std::string values;
  for (const auto& [column, value] : cells) {
    head += std::string(column) + ",";
    values += csv_field(value) + ",";
  }
  Row row;
  const std::string file = "catalog/things.csv";
  const Diagnostics more = scan_csv(
      head + "source,date,basis,confidence\n\n" + values + "a book,2026-03,derived,medium\n", file,
      [&](const CsvView& view) {
        RowReader reader(view, "things", file, faults);
        read_row(reader, row);
      });
  EXPECT_THAT(more, testing::IsEmpty());
  EXPECT_EQ(row.provenance.source, "a book");
  EXPECT_EQ(row.provenance.date, "2026-03");
  EXPECT_EQ(row.provenance.basis, FactBasis::derived);
  EXPECT_EQ(row.provenance.confidence, Confidence::medium);
  EXPECT_EQ(row.provenance.line, 3);
  EXPECT_EQ(row.provenance.reference, "things/x-1");
  return row;
}

template <class Row>
Row good_row(Cells cells) {
  Diagnostics faults;
  Row row = row_of_table<Row>(cells, faults);
  EXPECT_THAT(faults, testing::IsEmpty()) << to_text(faults);
  return row;
}

}  // namespace orrery::catalog
