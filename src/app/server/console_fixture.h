// For tests of routes: a console in memory, and requests that pass the access check.
#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <thread>

#include "app/server/console.h"
#include "app/server/job_board.h"
#include "app/server/job_store.h"
#include "app/server/problem.h"
#include "core/base/json_writer.h"
#include "live/net/message.h"
#include "model/design_text/templates.h"
#include "model/machine/known_fixture.h"
#include "twin/run/simulation.h"

namespace orrery::server {

inline const AccessRules kEdgeRules{.port = 8117, .token = "fedcba9876543210"};

class ServerEdges : public testing::Test {
 protected:
  Response asked(const std::string& method, const std::string& target, const std::string& body = {},
                 net::HeaderList headers = {}) {
    if (!console) {
      ConsoleSetting setting{.models = machine::known(), .version = "1"};
      setting.served = [this] { return served; };
      console = Console::open(std::move(setting), JobStore::open(kStoreInMemory).value()).value();
    }
    headers.emplace_back("Host", "127.0.0.1:8117");
    headers.emplace_back("Authorization", "Bearer fedcba9876543210");
    return console->answer(
        {.method = method, .target = target, .headers = std::move(headers), .body = body},
        kEdgeRules);
  }

  Result<ServedDesign> served = ServedDesign{.file = "my.yaml", .text = "orrery: 1\nname: [\n"};
  std::unique_ptr<Console> console;
};

inline std::string header_in(const Response& r, std::string_view name) {
  for (const auto& [key, value] : r.headers) {
    if (key == name) return value;
  }
  return {};
}

inline const AccessRules kWordRules{.port = 8117, .token = "0123456789abcdef"};

inline constexpr const char* kSmallDesign =
    "orrery: 1\nname: small\nsite: { region: usa }\nfleet: [{ name: n, node: dgx-h100, count: 2 "
    "}]\n";

class ConsoleTest : public testing::Test {
 protected:
  void open() {
    ConsoleSetting setting{.models = machine::known(), .version = "7.8"};
    setting.served = [this] { return served; };
    if (may_save) setting.save = [this](const std::string& text) { return saved(text); };
    setting.store = store;
    setting.store_status = [this] { return store_said; };
    console = Console::open(std::move(setting), JobStore::open(kStoreInMemory).value()).value();
  }
  Result<void> saved(const std::string& text) {
    if (!disk_takes) return fail({.code = "disk", .what = "no room"});
    written.push_back(text);
    return {};
  }
  Response ask(const std::string& method, const std::string& target, const std::string& body = {}) {
    if (!console) open();
    return console->answer(
        {.method = method,
         .target = target,
         .headers = {{"Host", "127.0.0.1:8117"}, {"Authorization", "Bearer 0123456789abcdef"}},
         .body = body},
        kWordRules);
  }
  // Returns "STATUS [CODE] ..." of a problem response.
  std::string refusal(const std::string& method, const std::string& target,
                      const std::string& body = {}) {
    const Response r = ask(method, target, body);
    EXPECT_EQ(r.content_type, "application/problem+json") << target;
    const nlohmann::json j = nlohmann::json::parse(r.body);
    EXPECT_EQ(j["status"], r.status);
    EXPECT_FALSE(j["title"].empty());
    std::string out = std::to_string(r.status);
    for (const nlohmann::json& d : j["diagnostics"])
      out += " [" + d["code"].get<std::string>() + "]";
    return out;
  }

  Result<ServedDesign> served = ServedDesign{.file = "my.yaml", .text = kSmallDesign};
  std::string store;
  Result<std::string> store_said = std::string();
  bool may_save = true;
  bool disk_takes = true;
  std::vector<std::string> written;
  std::unique_ptr<Console> console;
};

inline const AccessRules kLawRules{.port = 8117, .token = "0123456789abcdef"};

inline std::string template_text(const char* name) {
  return std::string(design_text::find_template(name)->text);
}

class RouteTest : public testing::Test {
 protected:
  void open(bool may_save = true) {
    ConsoleSetting setting{.models = machine::known(), .version = "1"};
    setting.served = [this] { return Result<ServedDesign>(served); };
    if (may_save) setting.save = [](const std::string&) -> Result<void> { return {}; };
    setting.load = load;
    console = Console::open(std::move(setting), JobStore::open(kStoreInMemory).value()).value();
  }
  Response ask(const std::string& method, const std::string& target, const std::string& body = {}) {
    if (!console) open();
    return console->answer(
        {.method = method,
         .target = target,
         .headers = {{"Host", "127.0.0.1:8117"}, {"Authorization", "Bearer 0123456789abcdef"}},
         .body = body},
        kLawRules);
  }
  nlohmann::json json(const std::string& target, const std::string& body) {
    const Response r = ask("POST", target, body);
    EXPECT_EQ(r.status, 200) << r.body;
    return nlohmann::json::parse(r.body);
  }
  void wait_for_job(std::int64_t id) const {
    for (int i = 0; i < 30'000 && !console->jobs().find(id)->has_ended(); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

  ServedDesign served{.file = "my.yaml", .text = template_text("single-node"), .sample = true};
  std::shared_ptr<ServerLoad> load = std::make_shared<ServerLoad>();
  std::unique_ptr<Console> console;
};

inline std::string body_of(const char* name, const std::string& more) {
  return "{\"design\":" + json_escaped(template_text(name)) + more + "}";
}

}  // namespace orrery::server
