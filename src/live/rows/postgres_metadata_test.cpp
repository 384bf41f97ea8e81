// Rows in PostgreSQL on a simulated server: the statements it gets, what its faults mean, lost
// connections, runs, the leader, and which databases are refused.
#include "live/rows/postgres_metadata.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "live/rows/rocks_metadata.h"
#include "live/rows/simulated_postgres_fixture.h"

namespace orrery::rows::postgres_metadata_tests {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

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
  // Adds rows k0000, k0002, ..., with a gap after each.
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
  EXPECT_EQ(server.asked("pg_try_advisory_lock_shared").size(), 1u) << "other rows may exist";
  const auto asked = server.asked("SELECT value FROM").back();
  EXPECT_THAT(asked.binary, ElementsAre(true)) << "a key is bytes, not text";
}

// FNV-1a of 64 bits of "a", "b" and "foobar" as published, modulo 4096, plus one: 3213, 422, 2025.
TEST_F(PostgresRows, a_commit_locks_the_stripes_of_its_keys_in_order) {
  ASSERT_TRUE(metadata->commit({.expects = {{"a", std::nullopt}, {"b", std::nullopt}},
                                .changes = {{"foobar", "\x12"}, {"b", std::nullopt}}}));
  EXPECT_THAT(last_commit(),
              ElementsAre("t", "{0,422,2025,3213}", "{f,t,t,f}", R"({"\\x61","\\x62"})",
                          "{NULL,NULL}", R"({"\\x62","\\x666f6f626172"})", R"({NULL,"\\x12"})"));
  ASSERT_TRUE(metadata->commit({.expects = {{"a", "\x7f\xe3"}}, .durable = false}));
  EXPECT_THAT(last_commit(),
              ElementsAre("f", "{0,3213}", "{f,f}", R"({"\\x61"})", R"({"\\x7fe3"})", "{}", "{}"));
}

TEST_F(PostgresRows, the_last_of_several_changes_of_a_key_counts) {
  ASSERT_TRUE(metadata->commit({.changes = {{"k", "1"}, {"l", "2"}, {"k", "3"}}}));
  EXPECT_EQ(server.rows(), (Rows{{"nstore", "id-1"}, {"k", "3"}, {"l", "2"}}));
  EXPECT_EQ(last_commit().at(5), R"({"\\x6b","\\x6c"})");
}

TEST_F(PostgresRows, a_commit_of_more_than_48_keys_locks_everything) {
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
  EXPECT_EQ(asked[1].parameters[0], name_of(30) + '\0') << "after the 16th row";
  EXPECT_EQ(asked[4].parameters[0], name_of(2 * 1359) + '\0');
  EXPECT_THAT(asked[1].binary, ElementsAre(true, false));
}

TEST_F(PostgresRows, a_full_page_is_not_the_end) {
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

TEST_F(PostgresRows, a_cursor_seeks_within_the_page_it_has) {
  fill(40);
  const auto cursor = metadata->cursor();
  cursor->seek(name_of(10));  // a page of k0010 to k0040
  ASSERT_EQ(pages(), 1u);
  for (int i = 10; i <= 40; ++i) {
    cursor->seek(name_of(i));
    ASSERT_EQ(cursor->key(), name_of(i + i % 2)) << i;
  }
  EXPECT_EQ(pages(), 1u) << "these rows had already been read";
  cursor->seek(name_of(8));
  EXPECT_EQ(cursor->key(), name_of(8));
  EXPECT_EQ(pages(), 2u) << "before the rows that were read";
  // Everything up to the end, k0078, has been read, so later keys are known not to exist.
  cursor->seek(name_of(79));
  EXPECT_FALSE(cursor->valid());
  cursor->seek(name_of(78));
  EXPECT_EQ(cursor->key(), name_of(78));
  cursor->next();
  EXPECT_FALSE(cursor->valid());
  EXPECT_EQ(pages(), 2u);
}

TEST_F(PostgresRows, a_cursor_seeks_beyond_the_page_it_has) {
  fill(40);
  const auto cursor = metadata->cursor();
  cursor->seek("");
  cursor->seek(name_of(31));
  EXPECT_EQ(cursor->key(), name_of(32));
  EXPECT_EQ(cursor->value(), "v16");
  EXPECT_EQ(pages(), 2u);
  EXPECT_EQ(server.asked("SELECT key, value").back().parameters[0], name_of(31));
}

TEST_F(PostgresRows, a_cursor_sees_one_snapshot) {
  fill(2);
  const auto cursor = metadata->cursor();
  ASSERT_TRUE(metadata->commit({.changes = {{"k0001", "later"}}}));
  cursor->seek("");
  cursor->next();
  EXPECT_EQ(cursor->key(), "k0002");
  EXPECT_EQ(metadata->get("k0001").value(), "later");
}

TEST_F(PostgresRows, a_refused_cursor_reports_it_and_stops) {
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

TEST_F(PostgresRows, a_cursor_without_a_transaction_reports_it) {
  server.refuse("BEGIN ISOLATION", "53100", "no room");
  const auto cursor = metadata->cursor();
  cursor->seek("");
  EXPECT_FALSE(cursor->valid());
  ASSERT_FALSE(cursor->state());
  EXPECT_EQ(cursor->state().error().kind, drives::PortFault::full);
  EXPECT_EQ(pages(), 0u);
}

TEST_F(PostgresRows, a_cursor_without_a_connection_reports_it) {
  server.refuse("SET synchronous_commit", "57P03", "it starts");
  const auto cursor = metadata->cursor();
  cursor->seek("");
  EXPECT_FALSE(cursor->valid());
  ASSERT_FALSE(cursor->state());
  EXPECT_EQ(cursor->state().error().kind, drives::PortFault::busy);
  EXPECT_THAT(cursor->state().error().what, HasSubstr("it starts"));
}

TEST_F(PostgresRows, a_cursor_returns_its_connection_unless_still_in_a_transaction) {
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
  EXPECT_EQ(server.connections_made(), before + 2) << "that connection was still in a transaction";
}

TEST_F(PostgresRows, a_flush_is_a_synchronous_commit) {
  EXPECT_TRUE(metadata->flush());
  const auto asked = server.asked("INSERT INTO orrery_flushed VALUES");
  EXPECT_EQ(asked.size(), 1u);
  server.refuse("orrery_flushed", "XX002", "torn");
  const auto flushed = metadata->flush();
  ASSERT_FALSE(flushed);
  EXPECT_EQ(flushed.error().kind, drives::PortFault::corrupt);
}

class PostgresLife : public testing::Test {
 protected:
  std::unique_ptr<Metadata> opened(bool alone = false) {
    auto made = open_postgres_metadata({server.address(), "id-1", alone});
    EXPECT_TRUE(made) << to_text(made.error());
    return made ? std::move(*made) : nullptr;
  }
  // Returns the code of the refusal and what is refused.
  std::string refusal(const PostgresPlace& place) {
    const auto made = open_postgres_metadata(place);
    if (made) return "opened";
    const Diagnostic& first = made.error().front();
    EXPECT_EQ(first.place.file, place.where);
    return first.code + ": " + first.what;
  }
  std::string refusal(bool alone = false) { return refusal({server.address(), "id-1", alone}); }

  SimulatedPostgres server;
};

TEST_F(PostgresLife, sqlstates_map_to_kinds_of_fault) {
  const auto metadata = opened();
  const std::pair<const char*, drives::PortFault> codes[] = {
      {"53100", drives::PortFault::full},    {"XX001", drives::PortFault::corrupt},
      {"XX002", drives::PortFault::corrupt}, {"XX000", drives::PortFault::failed},
      {"08006", drives::PortFault::busy},    {"53300", drives::PortFault::busy},
      {"57014", drives::PortFault::busy},    {"42P01", drives::PortFault::failed},
      {"40001", drives::PortFault::failed},  {"58030", drives::PortFault::failed},
  };
  for (const auto& [code, kind] : codes) {
    server.refuse("orrery_commit_1", code, "no\nat all");
    const auto done = metadata->commit({.changes = {{"k", "v"}}});
    ASSERT_FALSE(done) << code;
    EXPECT_EQ(done.error().kind, kind) << code;
    EXPECT_THAT(done.error().what, HasSubstr("no\nat all")) << code;
  }
  EXPECT_EQ(server.asked("orrery_commit_1($1").size(), 1u + 10u) << "no commit is retried";
}

TEST_F(PostgresLife, a_read_without_an_answer_is_retried_once) {
  const auto metadata = opened();
  ASSERT_TRUE(metadata->commit({.changes = {{"k", "v"}}}));
  const auto gets = [&] { return server.asked("SELECT value FROM").size(); };
  const auto before = gets();
  server.refuse("SELECT value FROM", "");
  EXPECT_EQ(metadata->get("k").value(), "v") << "over another connection";
  EXPECT_EQ(gets(), before + 2);
  server.refuse("SELECT value FROM", "42501");
  const auto denied = metadata->get("k");
  ASSERT_FALSE(denied);
  EXPECT_EQ(denied.error().kind, drives::PortFault::failed);
  EXPECT_EQ(gets(), before + 3) << "an answer is not retried";
  server.refuse("SELECT value FROM", "");
  server.refuse("SELECT value FROM", "57P01", "it goes down");
  const auto gone = metadata->get("k");
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().kind, drives::PortFault::busy);
  EXPECT_THAT(gone.error().what, HasSubstr("it goes down"));
}

TEST_F(PostgresLife, a_commit_without_an_answer_is_busy_and_not_retried) {
  const auto metadata = opened();
  server.refuse("orrery_commit_1", "");
  const auto lost = metadata->commit({.changes = {{"k", "v"}}});
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().kind, drives::PortFault::busy);
  EXPECT_THAT(lost.error().what, StartsWith("metadata: "));
  EXPECT_FALSE(lost.error().what.ends_with('\n'));
  EXPECT_EQ(server.asked("orrery_commit_1($1").size(), 2u);
  EXPECT_TRUE(metadata->commit({.changes = {{"k", "v"}}}).value());
}

TEST_F(PostgresLife, idle_connections_that_were_lost_are_replaced) {
  const auto metadata = opened();
  ASSERT_TRUE(metadata->commit({.changes = {{"k", "v"}}}));
  const int before = server.connections_made();
  ASSERT_TRUE(metadata->commit({.changes = {{"k", "w"}}}));
  EXPECT_EQ(server.connections_made(), before) << "kept for the next call";
  server.hang_up_on_all();
  EXPECT_TRUE(metadata->commit({.changes = {{"k", "x"}}}).value());
  EXPECT_EQ(server.connections_made(), before + 1);
  EXPECT_EQ(metadata->get("k").value(), "x");
}

TEST_F(PostgresLife, a_run_is_held_by_one_gateway_until_it_takes_another) {
  const auto one = opened();
  const auto two = opened();
  EXPECT_FALSE(two->is_held(7).value());
  EXPECT_TRUE(one->hold_run(7).value());
  const auto first = server.asked("SELECT pg_try_advisory_lock($1::int").back();
  EXPECT_THAT(first.parameters, ElementsAre("1330774018", "7")) << "0x4f520002";
  EXPECT_TRUE(two->is_held(7).value());
  EXPECT_FALSE(two->is_held(8).value());
  EXPECT_FALSE(two->hold_run(7).value());
  EXPECT_TRUE(two->hold_run(8).value());
  EXPECT_TRUE(one->is_held(8).value());
  const auto asks = server.asked("pg_try_advisory_lock($1::int").size();
  EXPECT_TRUE(one->hold_run(7).value()) << "the gateway already holds the run";
  EXPECT_EQ(server.asked("pg_try_advisory_lock($1::int").size(), asks);
  EXPECT_TRUE(server.asked("pg_advisory_unlock").empty());
  EXPECT_TRUE(one->hold_run(9).value());
  EXPECT_FALSE(two->is_held(7).value()) << "released when 9 was taken";
  EXPECT_TRUE(two->is_held(9).value());
  EXPECT_EQ(server.asked("pg_advisory_unlock").size(), 1u);
  EXPECT_FALSE(one->hold_run(8).value());
  EXPECT_FALSE(two->is_held(9).value());
  EXPECT_TRUE(one->hold_run(9).value());
  EXPECT_EQ(server.asked("pg_advisory_unlock").size(), 2u) << "it held no run before";
}

TEST_F(PostgresLife, one_gateway_leads_until_its_connection_is_lost) {
  const auto one = opened();
  const auto two = opened();
  EXPECT_TRUE(one->leads().value());
  const auto first = server.asked("SELECT pg_try_advisory_lock($1::int").back();
  EXPECT_THAT(first.parameters, ElementsAre("1330774019", "0")) << "0x4f520003";
  EXPECT_FALSE(two->leads().value());
  const auto asks = server.asked("pg_try_advisory_lock($1::int").size();
  EXPECT_TRUE(one->leads().value());
  EXPECT_EQ(server.asked("pg_try_advisory_lock($1::int").size(), asks) << "the leader is known";
  EXPECT_FALSE(two->leads().value());
  EXPECT_EQ(server.asked("pg_try_advisory_lock($1::int").size(), asks + 1)
      << "the leader may change";
  ASSERT_TRUE(one->hold_run(5).value());
  server.hang_up_on_all();
  EXPECT_FALSE(two->is_held(5).value());
  EXPECT_TRUE(two->leads().value());
  EXPECT_FALSE(one->leads().value());
  EXPECT_TRUE(one->hold_run(5).value()) << "the lock was lost with the connection";
  EXPECT_TRUE(two->is_held(5).value());
}

TEST_F(PostgresLife, a_lock_that_cannot_be_taken_is_a_fault) {
  const auto metadata = opened();
  server.refuse("pg_try_advisory_lock($1::int", "42501", "not you");
  const auto held = metadata->hold_run(3);
  ASSERT_FALSE(held);
  EXPECT_THAT(held.error().what, HasSubstr("not you"));
  server.refuse("pg_try_advisory_lock($1::int", "53100", "full");
  const auto leads = metadata->leads();
  ASSERT_FALSE(leads);
  EXPECT_EQ(leads.error().kind, drives::PortFault::full);
  EXPECT_TRUE(metadata->leads().value());
  server.refuse("pg_try_advisory_xact_lock", "42501", "nor you");
  const auto seen = metadata->is_held(3);
  ASSERT_FALSE(seen);
  EXPECT_THAT(seen.error().what, HasSubstr("nor you"));
  server.hang_up_on_all();
  server.refuse("SET synchronous_commit", "57P03", "it starts");
  const auto again = metadata->leads();
  ASSERT_FALSE(again);
  EXPECT_THAT(again.error().what, HasSubstr("it starts"));
  EXPECT_TRUE(metadata->leads().value());
}

TEST_F(PostgresLife, repair_excludes_gateways_and_other_repairs) {
  auto gateway = opened();
  EXPECT_THAT(refusal(true), HasSubstr("store.running: a gateway"));
  EXPECT_NE(opened(), nullptr) << "gateways share the store";
  const auto open_lock = server.asked("pg_try_advisory_lock_shared($1::int").front();
  EXPECT_THAT(open_lock.parameters, ElementsAre("1330774017", "0")) << "0x4f520001";
  gateway.reset();
  EXPECT_TRUE(server.wait_for_connections(0));
  auto keeper = opened(true);
  EXPECT_THAT(refusal(), HasSubstr("store.running: the store is being checked"));
  EXPECT_THAT(refusal(true), HasSubstr("store.running: a gateway"));
  // A gateway that lost its connection cannot reconnect while a repair runs.
  keeper.reset();
  EXPECT_TRUE(server.wait_for_connections(0));
  gateway = opened();
  server.hang_up_on_all();
  keeper = opened(true);
  EXPECT_FALSE(gateway->leads().value());
  EXPECT_FALSE(gateway->hold_run(1).value());
  keeper.reset();
  EXPECT_TRUE(server.wait_for_connections(0));
  EXPECT_TRUE(gateway->hold_run(1).value());
}

TEST_F(PostgresLife, a_server_that_may_lose_acknowledged_commits_is_refused) {
  server.set("fsync", "off");
  EXPECT_THAT(refusal(), HasSubstr("fsync"));
  server.set("fsync", "on");
  server.set("full_page_writes", "off");
  EXPECT_THAT(refusal(), HasSubstr("full_page_writes"));
  server.set("full_page_writes", "on");
  server.refuse("current_setting", "42501");
  EXPECT_THAT(refusal(), HasSubstr("fsync"));
  EXPECT_TRUE(server.asked("CREATE TABLE").empty()) << "before anything is created there";
}

TEST_F(PostgresLife, a_database_that_fails_during_the_opening_is_refused) {
  server.refuse("SET synchronous_commit", "57P03", "it starts");
  EXPECT_THAT(refusal(), HasSubstr("it starts"));
  server.refuse("CREATE TABLE", "42501", "no tables");
  EXPECT_THAT(refusal(), HasSubstr("no tables"));
  server.refuse("pg_try_advisory_lock_shared", "42501", "no locks");
  EXPECT_THAT(refusal(), HasSubstr("no locks"));
  server.refuse("orrery_commit_1($1", "42501", "no rows");
  EXPECT_THAT(refusal(), HasSubstr("no rows"));
  server.refuse("SELECT value FROM", "42501", "no reading");
  EXPECT_THAT(refusal(), HasSubstr("no reading"));
  EXPECT_NE(opened(), nullptr);
}

TEST_F(PostgresLife, an_address_names_a_database_and_has_no_password) {
  EXPECT_TRUE(check_postgres_place("postgresql://u@h/d"));
  EXPECT_TRUE(check_postgres_place("postgres://u@h:5433/d?connect_timeout=3"));
  for (const char* bad : {"", "host=h dbname=d", "postgresql://h/d?colour=red", "mysql://u@h/d",
                          "postgresql://u@h/d\n", "postgresql://u@h/d\r"}) {
    const auto checked = check_postgres_place(bad);
    ASSERT_FALSE(checked) << bad;
    EXPECT_THAT(checked.error().front().what, HasSubstr("not the address")) << bad;
    EXPECT_EQ(checked.error().front().place.file, bad);
  }
  for (const char* bad : {"postgresql://u:secret@h/d", "postgres://h/d?password=secret"}) {
    const auto checked = check_postgres_place(bad);
    ASSERT_FALSE(checked) << bad;
    EXPECT_THAT(checked.error().front().what, HasSubstr("password"));
    EXPECT_THAT(to_text(checked.error()), testing::Not(HasSubstr("secret")));
  }
}

TEST(PostgresIdentity, an_existing_store_refuses_an_empty_or_another_database) {
  SimulatedPostgres server;
  EXPECT_TRUE(open_postgres_metadata({server.address(), "id-1"})) << "a new store claims the "
                                                                     "database";
  const PostgresPlace mine{server.address(), "id-1", false, RocksOpening::use};
  EXPECT_TRUE(open_postgres_metadata(mine));
  const PostgresPlace others{server.address(), "id-2", false, RocksOpening::use};
  EXPECT_THAT(open_postgres_metadata(others).error().front().what, HasSubstr("another store"));
  server.set_rows({});
  EXPECT_THAT(open_postgres_metadata(mine).error().front().what, HasSubstr("holds no store"));
  SimulatedPostgres empty;
  const PostgresPlace wrong{empty.address(), "id-1", false, RocksOpening::use};
  EXPECT_THAT(open_postgres_metadata(wrong).error().front().what, HasSubstr("holds no store"));
  EXPECT_TRUE(empty.asked("CREATE TABLE").empty()) << "nothing was created in it";
}

}  // namespace
}  // namespace orrery::rows::postgres_metadata_tests
