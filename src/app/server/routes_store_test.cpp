#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "app/server/console.h"
#include "app/server/console_fixture.h"
#include "model/machine/known_fixture.h"

namespace orrery::server {
namespace {

using Json = nlohmann::json;
using RoutesStoreRoute = RouteTest;

// A store that runs elsewhere: none, a silent one, a server that is not a store, and one whose
// fields are passed on.
TEST_F(RoutesStoreRoute, store_status_has_the_fields_of_the_contract) {
  const auto status_of = [this](const std::string& address, const Result<std::string>& said) {
    ConsoleSetting setting{.models = machine::known(), .version = "1"};
    setting.served = [this] { return Result<ServedDesign>(served); };
    setting.store = address;
    setting.store_status = [said] { return said; };
    console = Console::open(std::move(setting), JobStore::open(kStoreInMemory).value()).value();
    const Response r = ask("GET", "/api/v1/store");
    EXPECT_EQ(r.status, 200);
    return Json::parse(r.body);
  };
  EXPECT_EQ(status_of("", std::string("{}"))["state"], "none");
  const Json silent = status_of("http://x", fail({.code = "store.status", .what = "refused"}));
  EXPECT_EQ(silent["state"], "silent");
  EXPECT_EQ(silent["fault"], "refused");
  EXPECT_TRUE(silent["status"].is_null());
  for (const char* odd : {"", "hello", "[]", "{}", "3", R"({"store":7})"}) {
    EXPECT_EQ(status_of("http://x", std::string(odd))["state"], "silent") << odd;
  }
  std::string many;
  for (int i = 0; i < 300; ++i) {
    many += (i > 0 ? "," : "") + ("{\"name\":\"b" + std::to_string(i)) +
            "\",\"objects\":2,\"bytes\":" + std::to_string(i) + "}";
  }
  const Json passed_on = status_of(
      "http://x", R"({"store":"s1","tiers":[{"name":"hot","data":4,"parity":2,"drives_away":3,)"
                  R"("redundancy_left":-1,"reads":5}],"drives":[{"name":"hot-0","tier":"hot",)"
                  R"("there":true,"total_bytes":100,"free_bytes":"many","x":1}],"buckets":[)" +
                      many + R"(],"moves":{"waiting":4},"scrub":[],"script":"<script>"})");
  const Json& status = passed_on["status"];
  EXPECT_EQ(passed_on["state"], "answers");
  EXPECT_EQ(status["tiers"][0]["redundancy_left"], -1);
  EXPECT_EQ(status["tiers"][0]["reads"], 5);
  EXPECT_EQ(status["drives"][0]["free_bytes"], 0);
  EXPECT_FALSE(status["drives"][0].contains("x"));
  EXPECT_FALSE(status.contains("script"));
  EXPECT_EQ(status["buckets"].size(), 200u);
  EXPECT_EQ(status["buckets"][0]["name"], "b299");
  EXPECT_EQ(status["bucket_count"], 300);
  EXPECT_EQ(status["objects"], 600);
  EXPECT_EQ(status["bytes"], 299 * 300 / 2);
  EXPECT_EQ(status["moves"]["waiting"], 4);
  EXPECT_EQ(status["scrub"]["rounds"], 0);
}

}  // namespace
}  // namespace orrery::server
