#include "core/base/csv.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/base/diagnostic.h"
#include "core/base/json_writer.h"
#include "core/base/printable.h"
#include "core/base/units.h"

namespace orrery {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(Csv, reads_quotes_and_line_numbers) {
  const auto t = CsvTable::parse("a,b\n1,\"x, \"\"y\"\"\nz\"\n2,w\n", "t.csv");
  ASSERT_TRUE(t);
  ASSERT_EQ(t->rows().size(), 2u);
  EXPECT_EQ(t->text(t->rows()[0], "b"), "x, \"y\"\nz");
  EXPECT_EQ(t->rows()[1].line, 4);
  EXPECT_EQ(t->number(t->rows()[1], "a"), 2);
  EXPECT_FALSE(t->number(t->rows()[1], "b"));
}

TEST(Csv, reports_every_fault) {
  const auto t = CsvTable::parse("a,a\n1\n2,3,4\n", "t.csv");
  ASSERT_FALSE(t);
  ASSERT_EQ(t.error().size(), 3u);
  EXPECT_EQ(t.error()[0].code, "csv.duplicate-column");
  EXPECT_EQ(t.error()[1].code, "csv.ragged");
  EXPECT_EQ(t.error()[2].place.line, 3);
}

TEST(Csv, unknown_columns_are_empty) {
  const auto table = CsvTable::parse("a, b\n 1 ,2.5\n", "t.csv");
  ASSERT_TRUE(table);
  const CsvRow& row = table->rows().at(0);
  EXPECT_EQ(table->column("a"), 0u);
  EXPECT_EQ(table->column("b"), 1u);
  EXPECT_EQ(table->column("c"), std::nullopt);
  EXPECT_EQ(table->text(row, "a"), "1");
  EXPECT_EQ(table->text(row, "c"), "");
  EXPECT_EQ(table->number(row, "b"), 2.5);
  EXPECT_EQ(table->integer(row, "b"), std::nullopt);
  EXPECT_EQ(table->integer(row, "a"), 1);
  EXPECT_EQ(csv_field("a\"b"), "\"a\"\"b\"");
  EXPECT_EQ(csv_field("a\rb"), "\"a\rb\"");
}

TEST(Csv, fields_keep_everything_but_the_line_end) {
  std::vector<std::string> fields;
  std::vector<int> lines;
  const Diagnostics faults =
      scan_csv("a , b\r\n 1 , two\r\n\"3\"x,\"4\"\r\n5\r,\n", "t.csv", [&](const CsvView& row) {
        fields.insert(fields.end(), row.fields.begin(), row.fields.end());
        lines.push_back(row.line);
        EXPECT_THAT(row.columns, ElementsAre("a", "b"));
      });
  EXPECT_THAT(faults, IsEmpty());
  EXPECT_THAT(fields, ElementsAre(" 1 ", " two", "3x", "4", "5\r", ""));
  EXPECT_THAT(lines, ElementsAre(2, 3, 4));
}

TEST(Csv, errors_carry_their_line) {
  const auto faults = scan_csv("a,b,a\n1\n\n1,2,3,4\n1,2,\"3", "t.csv", [](const CsvView&) {});
  ASSERT_EQ(faults.size(), 4U);
  EXPECT_EQ(faults[0].what, "column 'a' appears twice");
  EXPECT_EQ(faults[0].place, (Place{"t.csv", 1, 1}));
  EXPECT_THAT(faults[1].what, AllOf(HasSubstr("1"), HasSubstr("3")));
  EXPECT_EQ(faults[1].place, (Place{"t.csv", 2, 1}));
  EXPECT_THAT(faults[2].what, AllOf(HasSubstr("4"), HasSubstr("3")));
  EXPECT_EQ(faults[2].place, (Place{"t.csv", 4, 1}));
  EXPECT_EQ(faults[3].code, "csv.quote");
  EXPECT_EQ(faults[3].place, (Place{"t.csv", 0, 1}));
  const auto empty = scan_csv(" \n", "t.csv", [](const CsvView&) {});
  ASSERT_EQ(empty.size(), 1U);
  EXPECT_EQ(empty[0].place, (Place{"t.csv", 0, 1}));
}

TEST(Csv, written_fields_read_back) {
  for (const char* field : {"plain", "a,b", "a \"b\"", "two\nlines", "with\rreturn", "", "\""}) {
    const auto table = CsvTable::parse("x,y\n1," + csv_field(field) + "\n", "t.csv");
    ASSERT_TRUE(table) << printable(field);
    EXPECT_EQ(table->rows().at(0).fields.at(1), field) << printable(field);
  }
  EXPECT_EQ(csv_field("plain"), "plain") << "no quotes where none are needed";
}

TEST(Csv, blank_lines_are_skipped_but_counted) {
  const auto table = CsvTable::parse("a,b\n\n1,2\n  \n3, 4 \n", "t.csv");
  ASSERT_TRUE(table);
  ASSERT_EQ(table->rows().size(), 2U);
  EXPECT_EQ(table->rows()[0].line, 3);
  EXPECT_EQ(table->rows()[1].line, 5);
  EXPECT_EQ(table->text(table->rows()[1], "b"), "4") << "without its blanks";
  EXPECT_EQ(table->integer(table->rows()[1], "b"), 4);
}

TEST(Csv, rows_need_as_many_fields_as_the_header) {
  const auto fault = [](const char* text) {
    const auto table = CsvTable::parse(text, "t.csv");
    return table ? "none" : table.error().front().code;
  };
  EXPECT_EQ(fault("a,b\n1,2\n"), "none");
  EXPECT_EQ(fault("a,b\n1,2,3\n"), "csv.ragged");
  EXPECT_EQ(fault("a,b\n1\n"), "csv.ragged");
  EXPECT_EQ(fault("a,b\n1,\"2\n"), "csv.quote");
  EXPECT_EQ(fault("a, a\n1,2\n"), "csv.duplicate-column");
  EXPECT_EQ(fault(""), "csv.empty");
}

TEST(Csv, windows_line_endings_are_accepted) {
  const auto t = CsvTable::parse("a,b\r\n1,two\r\n3,\"four\"\r\n", "x.csv");
  ASSERT_TRUE(t);
  ASSERT_EQ(t->rows().size(), 2U);
  EXPECT_EQ(t->columns()[1], "b");
  EXPECT_EQ(t->text(t->rows()[0], "b"), "two");
  EXPECT_EQ(t->text(t->rows()[1], "b"), "four");
}

}  // namespace
}  // namespace orrery
