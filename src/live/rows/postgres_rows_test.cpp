// Rows in PostgreSQL: what a commit, a get and a cursor ask of the server, and what they make of
// its answers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "live/rows/postgres_metadata.h"
#include "live/rows/simulated_postgres_fixture.h"

namespace orrery::rows::postgres_rows_tests {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Rows = SimulatedPostgres::Rows;

class PostgresRows : public testing::Test {
 protected:
  PostgresRows() {
    auto opened = open_postgres_metadata({.where = server.address(), .store = "id-1"});
    EXPECT_TRUE(opened) << to_text(opened.error());
    metadata = std::move(*opened);
  }
  std::vector<std::string> last_commit() {
    return server.asked("orrery_commit_1($1").back().parameters;
  }
  std::vector<std::string> limits() {
    std::vector<std::string> out;
    for (const auto& asked : server.asked("SELECT key, value FROM")) {
      out.push_back(asked.parameters.at(1));
    }
    return out;
  }
  std::size_t pages() { return limits().size(); }
  // k0000, k0002, ...: between two of them there is room.
  void fill(int count) {
    Rows rows;
    for (int i = 0; i < count; ++i) rows[name_of(2 * i)] = "v" + std::to_string(i);
    server.set_rows(rows);
  }
  static std::string name_of(int number) {
    const std::string digits = std::to_string(number);
    return "k" + std::string(4 - digits.size(), '0') + digits;
  }

  SimulatedPostgres server;
  std::unique_ptr<Metadata> metadata;
};

TEST_F(PostgresRows, are_put_read_and_removed_byte_by_byte) {
  const std::string key("k\0\xff\x0f", 4);
  const std::string value("\xf0\0v,\"\\", 6);
  EXPECT_EQ(metadata->get(key).value(), std::nullopt);
  EXPECT_TRUE(metadata->commit({.changes = {{key, value}, {"other", ""}}}).value());
  EXPECT_EQ(server.rows(), (Rows{{"nstore", "id-1"}, {key, value}, {"other", ""}}));
  EXPECT_EQ(metadata->get(key).value(), value);
  EXPECT_EQ(metadata->get("other").value(), "");
  EXPECT_TRUE(
      metadata->commit({.expects = {{key, value}}, .changes = {{key, std::nullopt}}}).value());
  EXPECT_EQ(metadata->get(key).value(), std::nullopt);
  EXPECT_FALSE(metadata->commit({.expects = {{key, value}}, .changes = {{"other", "x"}}}).value());
  EXPECT_EQ(server.rows(), (Rows{{"nstore", "id-1"}, {"other", ""}}));
  EXPECT_TRUE(metadata->is_shared());
  EXPECT_EQ(server.asked("pg_try_advisory_lock_shared").size(), 1u) << "others may be there";
  const auto asked = server.asked("SELECT value FROM").back();
  EXPECT_THAT(asked.binary, ElementsAre(true)) << "a key is bytes, not text";
}

// FNV-1a of 64 bits, as its authors publish it: "a" af63dc4c8601ec8c, "b" af63df4c8601f1a5,
// "foobar" 85944171f73967e8; the last three digits (mod 4096) and one more: 3213, 422, 2025.
TEST_F(PostgresRows, a_commit_locks_the_stripes_of_its_keys_in_their_order) {
  ASSERT_TRUE(metadata->commit({.expects = {{"a", std::nullopt}, {"b", std::nullopt}},
                                .changes = {{"foobar", "\x12"}, {"b", std::nullopt}}}));
  EXPECT_THAT(last_commit(),
              ElementsAre("t", "{0,422,2025,3213}", "{f,t,t,f}", R"({"\\x61","\\x62"})",
                          "{NULL,NULL}", R"({"\\x62","\\x666f6f626172"})", R"({NULL,"\\x12"})"));
  ASSERT_TRUE(metadata->commit({.expects = {{"a", "\x7f\xe3"}}, .durable = false}));
  EXPECT_THAT(last_commit(),
              ElementsAre("f", "{0,3213}", "{f,f}", R"({"\\x61"})", R"({"\\x7fe3"})", "{}", "{}"));
}

TEST_F(PostgresRows, of_several_changes_of_a_key_the_last_counts) {
  ASSERT_TRUE(metadata->commit({.changes = {{"k", "1"}, {"l", "2"}, {"k", "3"}}}));
  EXPECT_EQ(server.rows(), (Rows{{"nstore", "id-1"}, {"k", "3"}, {"l", "2"}}));
  EXPECT_EQ(last_commit().at(5), R"({"\\x6b","\\x6c"})");
}

// k00, k01, ... k48 lie on stripes that all differ.
TEST_F(PostgresRows, with_many_keys_a_commit_locks_all_at_once) {
  Commit commit;
  for (int i = 0; i < 48; ++i) commit.expects.push_back({"k" + name_of(i).substr(3), {}});
  ASSERT_TRUE(metadata->commit(commit).value());
  EXPECT_EQ(std::ranges::count(last_commit().at(1), ','), 48);
  EXPECT_EQ(std::ranges::count(last_commit().at(2), 'f'), 49);
  commit.expects.push_back({"k48", {}});
  ASSERT_TRUE(metadata->commit(commit).value());
  EXPECT_EQ(last_commit().at(1), "{0}");
  EXPECT_EQ(last_commit().at(2), "{t}");
}

TEST_F(PostgresRows, a_cursor_reads_pages_that_grow) {
  // 16 + 64 + 256 + 1024 rows are four full pages, and three more are the fifth.
  fill(1363);
  const auto cursor = metadata->cursor();
  int count = 0;
  for (cursor->seek(""); cursor->valid(); cursor->next(), ++count) {
    ASSERT_EQ(cursor->key(), name_of(2 * count));
    ASSERT_EQ(cursor->value(), "v" + std::to_string(count));
  }
  EXPECT_EQ(count, 1363);
  EXPECT_TRUE(cursor->state());
  EXPECT_THAT(limits(), ElementsAre("16", "64", "256", "1024", "1024"));
  const auto asked = server.asked("SELECT key, value FROM");
  EXPECT_EQ(asked[0].parameters[0], "");
  EXPECT_EQ(asked[1].parameters[0], name_of(30) + '\0') << "behind the 16th";
  EXPECT_EQ(asked[4].parameters[0], name_of(2 * 1359) + '\0');
  EXPECT_THAT(asked[1].binary, ElementsAre(true, false));
}

TEST_F(PostgresRows, a_page_that_is_just_full_is_not_the_end) {
  fill(16);
  const auto cursor = metadata->cursor();
  int count = 0;
  for (cursor->seek(""); cursor->valid(); cursor->next()) ++count;
  EXPECT_EQ(count, 16);
  EXPECT_EQ(pages(), 2u);
  fill(15);
  const auto less = metadata->cursor();
  count = 0;
  for (less->seek(""); less->valid(); less->next()) ++count;
  EXPECT_EQ(count, 15);
  EXPECT_EQ(pages(), 3u);
}

TEST_F(PostgresRows, a_cursor_seeks_in_what_it_has_read) {
  fill(40);
  const auto cursor = metadata->cursor();
  cursor->seek(name_of(10));  // a page of k0010 to k0040
  ASSERT_EQ(pages(), 1u);
  for (int i = 10; i <= 40; ++i) {
    cursor->seek(name_of(i));
    ASSERT_EQ(cursor->key(), name_of(i + i % 2)) << i;
  }
  EXPECT_EQ(pages(), 1u) << "all of that had been read";
  cursor->seek(name_of(8));
  EXPECT_EQ(cursor->key(), name_of(8));
  EXPECT_EQ(pages(), 2u) << "before what was read";
  // Now all to the end, k0078, is read: what lies behind is known not to be there.
  cursor->seek(name_of(79));
  EXPECT_FALSE(cursor->valid());
  cursor->seek(name_of(78));
  EXPECT_EQ(cursor->key(), name_of(78));
  cursor->next();
  EXPECT_FALSE(cursor->valid());
  EXPECT_EQ(pages(), 2u);
}

TEST_F(PostgresRows, a_cursor_seeks_behind_what_it_has_read) {
  fill(40);
  const auto cursor = metadata->cursor();
  cursor->seek("");
  cursor->seek(name_of(31));
  EXPECT_EQ(cursor->key(), name_of(32));
  EXPECT_EQ(cursor->value(), "v16");
  EXPECT_EQ(pages(), 2u);
  EXPECT_EQ(server.asked("SELECT key, value").back().parameters[0], name_of(31));
}

TEST_F(PostgresRows, a_cursor_sees_one_moment) {
  fill(2);
  const auto cursor = metadata->cursor();
  ASSERT_TRUE(metadata->commit({.changes = {{"k0001", "later"}}}));
  cursor->seek("");
  cursor->next();
  EXPECT_EQ(cursor->key(), "k0002");
  EXPECT_EQ(metadata->get("k0001").value(), "later");
}

TEST_F(PostgresRows, a_cursor_that_was_refused_says_so_and_asks_no_more) {
  fill(20);
  const auto cursor = metadata->cursor();
  cursor->seek("");
  ASSERT_TRUE(cursor->valid());
  server.refuse("SELECT key, value", "42501", "not for you");
  cursor->seek(name_of(38));
  EXPECT_FALSE(cursor->valid());
  ASSERT_FALSE(cursor->state());
  EXPECT_EQ(cursor->state().error().kind, drives::PortFault::failed);
  EXPECT_EQ(cursor->state().error().what, "metadata: ERROR:  not for you");
  cursor->seek("");
  EXPECT_FALSE(cursor->valid());
  EXPECT_EQ(pages(), 2u);
}

TEST_F(PostgresRows, a_cursor_that_could_not_begin_says_so) {
  server.refuse("BEGIN ISOLATION", "53100", "no room");
  const auto cursor = metadata->cursor();
  cursor->seek("");
  EXPECT_FALSE(cursor->valid());
  ASSERT_FALSE(cursor->state());
  EXPECT_EQ(cursor->state().error().kind, drives::PortFault::full);
  EXPECT_EQ(pages(), 0u);
}

TEST_F(PostgresRows, a_cursor_without_a_connection_says_so) {
  server.refuse("SET synchronous_commit", "57P03", "it starts");
  const auto cursor = metadata->cursor();
  cursor->seek("");
  EXPECT_FALSE(cursor->valid());
  ASSERT_FALSE(cursor->state());
  EXPECT_EQ(cursor->state().error().kind, drives::PortFault::busy);
  EXPECT_THAT(cursor->state().error().what, HasSubstr("it starts"));
}

TEST_F(PostgresRows, a_cursor_gives_its_connection_back_unless_its_transaction_goes_on) {
  const int before = server.connections_made();
  metadata->cursor();
  EXPECT_EQ(server.connections_made(), before + 1);
  EXPECT_EQ(server.asked("COMMIT").size(), 1u);
  metadata->cursor();
  EXPECT_EQ(server.connections_made(), before + 1);
  server.refuse("COMMIT", "XX000");
  metadata->cursor();
  EXPECT_EQ(server.connections_made(), before + 1);
  metadata->cursor();
  EXPECT_EQ(server.connections_made(), before + 2) << "that one was in a transaction still";
}

TEST_F(PostgresRows, a_flush_is_a_commit_that_is_synced) {
  EXPECT_TRUE(metadata->flush());
  const auto asked = server.asked("INSERT INTO orrery_flushed VALUES");
  EXPECT_EQ(asked.size(), 1u);
  server.refuse("orrery_flushed", "XX002", "torn");
  const auto flushed = metadata->flush();
  ASSERT_FALSE(flushed);
  EXPECT_EQ(flushed.error().kind, drives::PortFault::corrupt);
}

}  // namespace
}  // namespace orrery::rows::postgres_rows_tests
