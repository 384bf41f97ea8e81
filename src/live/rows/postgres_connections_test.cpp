// Connections to PostgreSQL: a pool of them, whether one can be used again, and parameters.
#include "live/rows/postgres_connections.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <optional>
#include <string>

#include "live/rows/simulated_postgres_fixture.h"

namespace orrery::rows::postgres_connections_tests {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

class PostgresConnections : public testing::Test {
 protected:
  SimulatedPostgres server;
};

TEST_F(PostgresConnections, a_pool_lends_up_to_its_size_and_reuses_connections) {
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

TEST_F(PostgresConnections, a_failed_connection_is_returned_to_the_pool) {
  ConnectionPool pool(server.address(), 1);
  for (int i = 0; i < 3; ++i) {
    server.refuse("SET synchronous_commit", "57P03", "it starts");
    const auto lent = pool.lend();
    ASSERT_FALSE(lent);
    EXPECT_THAT(lent.error().what, HasSubstr("it starts"));
  }
  EXPECT_TRUE(pool.lend());
  const auto nowhere = connect("postgresql:///rows?host=/nowhere/at/all");
  ASSERT_FALSE(nowhere);
  EXPECT_EQ(nowhere.error().kind, drives::PortFault::busy);
  EXPECT_THAT(nowhere.error().what, StartsWith("metadata: "));
  EXPECT_FALSE(nowhere.error().what.ends_with('\n'));
}

TEST_F(PostgresConnections, a_connection_is_usable_outside_transactions) {
  const auto connection = connect(server.address());
  ASSERT_TRUE(connection);
  EXPECT_TRUE(is_usable(connection->get()));
  ASSERT_TRUE(tell(connection->get(), "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"));
  EXPECT_FALSE(is_usable(connection->get()));
  ASSERT_TRUE(tell(connection->get(), "COMMIT"));
  EXPECT_TRUE(is_usable(connection->get()));
  server.hang_up_on_all();
  EXPECT_FALSE(is_usable(connection->get())) << "the server closed it";
  EXPECT_FALSE(tell(connection->get(), "SELECT 1"));
  EXPECT_FALSE(is_usable(connection->get()));
}

TEST_F(PostgresConnections, parameters_are_bytes_text_or_null) {
  const auto connection = connect(server.address());
  ASSERT_TRUE(connection);
  const std::string bytes("a\0b", 3);
  const auto reply = ask(connection->get(), "SELECT pg_try_advisory_xact_lock($1, $2, $3)",
                         {{bytes, true}, {std::nullopt, true}, {"text"}});
  ASSERT_TRUE(reply);
  const auto asked = server.asked("pg_try_advisory_xact_lock").back();
  EXPECT_THAT(asked.parameters, ElementsAre(bytes, "NULL", "text"));
  EXPECT_THAT(asked.binary, ElementsAre(true, true, false));
  EXPECT_FALSE(ask(connection->get(), "COMMIT", {})) << "it returns no rows";
}

}  // namespace
}  // namespace orrery::rows::postgres_connections_tests
