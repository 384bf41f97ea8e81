#include "core/catalog/fact_tables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

namespace orrery::catalog {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Test files, sorted by path like those in the binary.
const std::array<EmbeddedFile, 4> kOwnFiles = {
    EmbeddedFile{"catalog/big_things.csv", "id,aliases\nOne,uno|Eins\ntwo,\n"},
    EmbeddedFile{"catalog/notes.txt", "text"},
    EmbeddedFile{"catalog_index.csv", "id,group,title\nbig_things,parts,Big things\n"},
    EmbeddedFile{"other/big_thingz.csv", "id\n"}};

TEST(FactTables, table_names_ignore_case_and_hyphens) {
  const Knowledge knowledge{.catalog = {}, .files = kOwnFiles};
  const auto table = catalog_table(knowledge, "Big-Things");
  ASSERT_TRUE(table);
  EXPECT_EQ(table->file(), "catalog/big_things.csv");
  EXPECT_EQ(table->rows().size(), 2U);
  const auto absent = catalog_table(knowledge, "big-thingz");
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error()[0].code, "catalog.table");
  EXPECT_EQ(absent.error()[0].what, "no table 'big-thingz'");
  EXPECT_EQ(absent.error()[0].fix, "did you mean 'big_things'?");
  EXPECT_THAT(catalog_table(knowledge, "notes.t").error()[0].fix, HasSubstr("`orrery catalog`"))
      << "a text is no table";
  const auto titles = catalog_titles(knowledge);
  ASSERT_TRUE(titles);
  ASSERT_EQ(titles->size(), 1U);
  EXPECT_EQ(titles->front().id, "big_things");
  EXPECT_EQ(titles->front().group, "parts");
  EXPECT_EQ(titles->front().title, "Big things");
  EXPECT_FALSE(knowledge.text("catalog/zz.csv"));
  EXPECT_FALSE(knowledge.text("zz"));
  EXPECT_EQ(knowledge.table("nothing.csv").error()[0].code, "data.missing");
}

TEST(FactTables, rows_are_found_by_id_and_alias) {
  const Knowledge knowledge{.catalog = {}, .files = kOwnFiles};
  const auto table = catalog_table(knowledge, "big_things");
  ASSERT_TRUE(table);
  EXPECT_EQ(row_by_id(*table, "ONE"), &table->rows()[0]);
  EXPECT_EQ(row_by_id(*table, "eins"), &table->rows()[0]);
  EXPECT_EQ(row_by_id(*table, "UNO"), &table->rows()[0]);
  EXPECT_EQ(row_by_id(*table, "two"), &table->rows()[1]);
  EXPECT_EQ(row_by_id(*table, "three"), nullptr);
  EXPECT_EQ(row_by_id(*table, ""), nullptr);
  EXPECT_THAT(row_ids(*table), ElementsAre("One", "uno", "Eins", "two"));
}

}  // namespace
}  // namespace orrery::catalog
