// A gateway's life on PostgreSQL: what its faults mean, connections that are lost and made anew,
// the runs that are held, the one that leads, and what opens or does not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <future>

#include "live/rows/postgres_connections.h"
#include "live/rows/postgres_metadata.h"
#include "live/rows/simulated_postgres_fixture.h"

namespace orrery::rows::postgres_life_tests {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

class PostgresLife : public testing::Test {
 protected:
  std::unique_ptr<Metadata> opened(bool alone = false) {
    auto made = open_postgres_metadata({server.address(), "id-1", alone});
    EXPECT_TRUE(made) << to_text(made.error());
    return made ? std::move(*made) : nullptr;
  }
  std::string refusal(const PostgresPlace& place) {
    const auto made = open_postgres_metadata(place);
    if (made) return "opened";
    const Diagnostic& first = made.error().front();
    EXPECT_TRUE(first.code.starts_with("store.")) << first.code;
    EXPECT_EQ(first.place.file, place.where);
    return first.what + " | " + first.why + " | " + first.fix;
  }
  std::string refusal(bool alone = false) { return refusal({server.address(), "id-1", alone}); }

  SimulatedPostgres server;
};

TEST_F(PostgresLife, what_a_server_says_is_told_by_its_code) {
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
    EXPECT_EQ(done.error().what, "metadata: ERROR:  no\nat all") << code;
  }
  EXPECT_EQ(server.asked("orrery_commit_1($1").size(), 1u + 10u) << "none is asked twice";
}

TEST_F(PostgresLife, a_row_is_asked_for_again_where_nobody_answered) {
  const auto metadata = opened();
  ASSERT_TRUE(metadata->commit({.changes = {{"k", "v"}}}));
  const auto gets = [&] { return server.asked("SELECT value FROM").size(); };
  const auto before = gets();
  server.refuse("SELECT value FROM", "");
  EXPECT_EQ(metadata->get("k").value(), "v") << "on another connection";
  EXPECT_EQ(gets(), before + 2);
  server.refuse("SELECT value FROM", "42501");
  const auto denied = metadata->get("k");
  ASSERT_FALSE(denied);
  EXPECT_EQ(denied.error().kind, drives::PortFault::failed);
  EXPECT_EQ(gets(), before + 3) << "who was answered does not ask again";
  server.refuse("SELECT value FROM", "");
  server.refuse("SELECT value FROM", "57P01", "it goes down");
  const auto gone = metadata->get("k");
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().kind, drives::PortFault::busy);
  EXPECT_EQ(gone.error().what, "metadata: ERROR:  it goes down");
}

TEST_F(PostgresLife, a_commit_without_an_answer_is_busy_and_not_sent_again) {
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

TEST_F(PostgresLife, connections_lost_while_nobody_used_them_cost_nothing) {
  const auto metadata = opened();
  ASSERT_TRUE(metadata->commit({.changes = {{"k", "v"}}}));
  const int before = server.connections_made();
  ASSERT_TRUE(metadata->commit({.changes = {{"k", "w"}}}));
  EXPECT_EQ(server.connections_made(), before) << "kept for the next";
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
  EXPECT_TRUE(one->hold_run(7).value()) << "it has it";
  EXPECT_EQ(server.asked("pg_try_advisory_lock($1::int").size(), asks);
  EXPECT_TRUE(server.asked("pg_advisory_unlock").empty());
  EXPECT_TRUE(one->hold_run(9).value());
  EXPECT_FALSE(two->is_held(7).value()) << "it gave that up";
  EXPECT_TRUE(two->is_held(9).value());
  EXPECT_EQ(server.asked("pg_advisory_unlock").size(), 1u);
  EXPECT_FALSE(one->hold_run(8).value());
  EXPECT_FALSE(two->is_held(9).value());
  EXPECT_TRUE(one->hold_run(9).value());
  EXPECT_EQ(server.asked("pg_advisory_unlock").size(), 2u) << "it held none meanwhile";
}

TEST_F(PostgresLife, one_leads_until_its_connection_is_lost) {
  const auto one = opened();
  const auto two = opened();
  EXPECT_TRUE(one->leads().value());
  const auto first = server.asked("SELECT pg_try_advisory_lock($1::int").back();
  EXPECT_THAT(first.parameters, ElementsAre("1330774019", "0")) << "0x4f520003";
  EXPECT_FALSE(two->leads().value());
  const auto asks = server.asked("pg_try_advisory_lock($1::int").size();
  EXPECT_TRUE(one->leads().value());
  EXPECT_EQ(server.asked("pg_try_advisory_lock($1::int").size(), asks) << "it is known";
  EXPECT_FALSE(two->leads().value());
  EXPECT_EQ(server.asked("pg_try_advisory_lock($1::int").size(), asks + 1) << "it may change";
  ASSERT_TRUE(one->hold_run(5).value());
  server.hang_up_on_all();
  EXPECT_FALSE(two->is_held(5).value());
  EXPECT_TRUE(two->leads().value());
  EXPECT_FALSE(one->leads().value());
  EXPECT_TRUE(one->hold_run(5).value()) << "taken anew, though it was its own before";
  EXPECT_TRUE(two->is_held(5).value());
}

TEST_F(PostgresLife, a_session_that_cannot_be_had_says_why) {
  const auto metadata = opened();
  server.refuse("pg_try_advisory_lock($1::int", "42501", "not you");
  const auto held = metadata->hold_run(3);
  ASSERT_FALSE(held);
  EXPECT_EQ(held.error().what, "metadata: ERROR:  not you");
  server.refuse("pg_try_advisory_lock($1::int", "53100", "full");
  const auto leads = metadata->leads();
  ASSERT_FALSE(leads);
  EXPECT_EQ(leads.error().kind, drives::PortFault::full);
  EXPECT_TRUE(metadata->leads().value());
  server.refuse("pg_try_advisory_xact_lock", "42501", "nor you");
  const auto seen = metadata->is_held(3);
  ASSERT_FALSE(seen);
  EXPECT_EQ(seen.error().what, "metadata: ERROR:  nor you");
  server.hang_up_on_all();
  server.refuse("SET synchronous_commit", "57P03", "it starts");
  const auto again = metadata->leads();
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().what, "metadata: ERROR:  it starts");
  EXPECT_TRUE(metadata->leads().value());
}

TEST_F(PostgresLife, who_looks_after_the_store_is_alone) {
  auto gateway = opened();
  EXPECT_THAT(refusal(true), StartsWith("a gateway runs on this store |  | stop all of them"));
  EXPECT_NE(opened(), nullptr) << "gateways are together";
  const auto open_lock = server.asked("pg_try_advisory_lock_shared($1::int").front();
  EXPECT_THAT(open_lock.parameters, ElementsAre("1330774017", "0")) << "0x4f520001";
  gateway.reset();
  EXPECT_TRUE(server.wait_for_connections(0));
  auto keeper = opened(true);
  EXPECT_THAT(refusal(), StartsWith("the store is being checked or repaired |  | wait until"));
  EXPECT_THAT(refusal(true), StartsWith("a gateway runs on this store"));
  // A gateway that lost its connection meanwhile does not get in again.
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

TEST_F(PostgresLife, a_server_that_would_lose_what_it_was_told_is_refused) {
  server.set("fsync", "off");
  EXPECT_EQ(refusal(),
            "the database runs without fsync | what the store acknowledges would be lost with the "
            "power | set fsync = on in postgresql.conf");
  server.set("fsync", "on");
  server.set("full_page_writes", "off");
  EXPECT_THAT(refusal(), StartsWith("the database runs without full_page_writes | "));
  EXPECT_THAT(refusal(), HasSubstr("set full_page_writes = on in"));
  server.set("full_page_writes", "on");
  server.refuse("current_setting", "42501");
  EXPECT_THAT(refusal(), StartsWith("the database runs without fsync"));
  EXPECT_TRUE(server.asked("CREATE TABLE").empty()) << "before anything is made there";
}

TEST_F(PostgresLife, a_database_that_does_not_do_its_part_is_refused) {
  server.refuse("SET synchronous_commit", "57P03", "it starts");
  EXPECT_THAT(refusal(), StartsWith("the database does not answer: metadata: ERROR:  it starts | "
                                    " | see that it runs"));
  server.refuse("CREATE TABLE", "42501", "no tables");
  EXPECT_THAT(refusal(), StartsWith("the table of rows cannot be made: metadata: ERROR:  no tables "
                                    "|  | let the user create"));
  server.refuse("pg_try_advisory_lock_shared", "42501", "no locks");
  EXPECT_THAT(refusal(), StartsWith("the database fails: metadata: ERROR:  no locks"));
  server.refuse("orrery_commit_1($1", "42501", "no rows");
  EXPECT_THAT(refusal(), StartsWith("the database fails: metadata: ERROR:  no rows"));
  server.refuse("SELECT value FROM", "42501", "no reading");
  EXPECT_THAT(refusal(), StartsWith("the database fails: metadata: ERROR:  no reading"));
  EXPECT_NE(opened(), nullptr);
}

TEST_F(PostgresLife, a_database_holds_one_store) {
  EXPECT_NE(opened(), nullptr);
  EXPECT_NE(opened(), nullptr) << "it comes again";
  EXPECT_EQ(server.rows().at("nstore"), "id-1");
  EXPECT_EQ(refusal({server.address(), "id-2", false}),
            "this database holds another store | a database holds one | name an empty one");
  EXPECT_EQ(server.rows().at("nstore"), "id-1");
}

TEST_F(PostgresLife, an_address_is_one_of_a_database_and_has_no_password) {
  EXPECT_TRUE(check_postgres_place("postgresql://u@h/d"));
  EXPECT_TRUE(check_postgres_place("postgres://u@h:5433/d?connect_timeout=3"));
  for (const char* bad : {"", "host=h dbname=d", "postgresql://h/d?colour=red", "mysql://u@h/d",
                          "postgresql://u@h/d\n", "postgresql://u@h/d\r"}) {
    const auto said = check_postgres_place(bad);
    ASSERT_FALSE(said) << bad;
    EXPECT_EQ(said.error().front().what, "this is no address of a database") << bad;
    EXPECT_EQ(said.error().front().place.file, bad);
  }
  for (const char* bad : {"postgresql://u:secret@h/d", "postgres://h/d?password=secret"}) {
    const auto said = check_postgres_place(bad);
    ASSERT_FALSE(said) << bad;
    EXPECT_EQ(said.error().front().what, "the address of the database has a password in it");
    EXPECT_THAT(to_text(said.error()), testing::Not(HasSubstr("secret")));
  }
}

TEST_F(PostgresLife, a_pool_lends_so_many_and_keeps_them) {
  ConnectionPool pool(server.address(), 2);
  std::optional<drives::Outcome<ConnectionPool::Lent>> one(pool.lend());
  auto two = pool.lend();
  ASSERT_TRUE(*one && two);
  PGconn* const first = (*one)->get();
  EXPECT_NE(first, two->get());
  auto third = std::async(std::launch::async, [&] { return pool.lend(); });
  EXPECT_EQ(third.wait_for(std::chrono::milliseconds(20)), std::future_status::timeout);
  one.reset();
  const auto lent = third.get();
  ASSERT_TRUE(lent);
  EXPECT_EQ(lent->get(), first);
  EXPECT_EQ(server.connections_made(), 2);
}

TEST_F(PostgresLife, a_pool_that_cannot_connect_has_lent_nothing) {
  ConnectionPool pool(server.address(), 1);
  for (int i = 0; i < 3; ++i) {
    server.refuse("SET synchronous_commit", "57P03", "it starts");
    const auto lent = pool.lend();
    ASSERT_FALSE(lent);
    EXPECT_EQ(lent.error().what, "metadata: ERROR:  it starts");
  }
  EXPECT_TRUE(pool.lend());
  const auto nowhere = connect("postgresql:///rows?host=/nowhere/at/all");
  ASSERT_FALSE(nowhere);
  EXPECT_EQ(nowhere.error().kind, drives::PortFault::busy);
  EXPECT_THAT(nowhere.error().what, StartsWith("metadata: "));
  EXPECT_FALSE(nowhere.error().what.ends_with('\n'));
}

TEST_F(PostgresLife, a_connection_is_usable_while_nothing_is_under_way) {
  const auto connection = connect(server.address());
  ASSERT_TRUE(connection);
  EXPECT_TRUE(is_usable(connection->get()));
  ASSERT_TRUE(tell(connection->get(), "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"));
  EXPECT_FALSE(is_usable(connection->get()));
  ASSERT_TRUE(tell(connection->get(), "COMMIT"));
  EXPECT_TRUE(is_usable(connection->get()));
  server.hang_up_on_all();
  EXPECT_FALSE(is_usable(connection->get())) << "its end has come over it";
  EXPECT_FALSE(tell(connection->get(), "SELECT 1"));
  EXPECT_FALSE(is_usable(connection->get()));
}

TEST_F(PostgresLife, parameters_are_bytes_text_or_nothing) {
  const auto connection = connect(server.address());
  ASSERT_TRUE(connection);
  const std::string bytes("a\0b", 3);
  const auto reply = ask(connection->get(), "SELECT pg_try_advisory_xact_lock($1, $2, $3)",
                         {{bytes, true}, {std::nullopt, true}, {"text"}});
  ASSERT_TRUE(reply);
  const auto asked = server.asked("pg_try_advisory_xact_lock").back();
  EXPECT_THAT(asked.parameters, ElementsAre(bytes, "NULL", "text"));
  EXPECT_THAT(asked.binary, ElementsAre(true, true, false));
  EXPECT_FALSE(ask(connection->get(), "COMMIT", {})) << "that is no question";
}

}  // namespace
}  // namespace orrery::rows::postgres_life_tests
