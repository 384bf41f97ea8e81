// A gateway over a store in memory, asked as a server would ask it, by two tenants: "AK" is main's
// key, "OTHER" another's.
#pragma once

#include <gtest/gtest.h>

#include "core/base/digest.h"
#include "live/drives/simulated_drive_fixture.h"
#include "live/rows/memory_metadata_fixture.h"
#include "live/s3/sigv4.h"
#include "live/s3server/gateway.h"
#include "live/store/moment.h"
#include "live/upkeep/mend.h"
#include "live/upkeep/sweep.h"

namespace orrery::s3server {

struct Asked {
  std::string method = "GET";
  std::string target = "/";
  std::string body = {};
  HeaderList headers = {};
  std::string access_key = "AK";
  std::string secret_key = "secret";
  TimeMs skew_ms = 0;
  std::string payload = {};  // x-amz-content-sha256; empty: the body's
};

class GatewayTest : public testing::Test {
 protected:
  GatewayTest() {
    for (int i = 0; i < 3; ++i) {
      drives.push_back(std::make_unique<SimulatedDrive>());
      tier.drives.push_back("d" + std::to_string(i));
      set[tier.drives.back()] = drives.back().get();
    }
    store = std::make_unique<Store>(
        StoreSetting{.metadata = metadata,
                     .drives = set,
                     .tiers = {tier},
                     .now_ms = [this] { return ++now; },
                     .random_bytes = [this](std::size_t n) { return big_random(n); }});
    EXPECT_TRUE(store->open());
    add_tenant("AK", "main");
    add_tenant("OTHER", "other");
    open_gateway({});
  }
  void open_gateway(GatewaySetting setting) {
    gateway = std::make_unique<Gateway>(*store, std::move(setting), [](const std::string&) {});
  }

  std::string big_random(std::size_t n) {
    std::string bytes(n, '\0');
    ++randomness;
    for (std::size_t i = 0; i < std::min<std::size_t>(n, 4); ++i) {
      bytes[i] = static_cast<char>(randomness >> (8 * i));
    }
    return bytes;
  }
  void add_tenant(const std::string& key, const std::string& id) {
    EXPECT_TRUE(metadata.commit(
        {.changes = {{rows::row::tenant(key), encode(Tenant{key, "secret", id, id, 0})}}}));
  }

  net::Request signed_request(const Asked& asked) {
    net::Request request{.method = asked.method, .target = asked.target, .headers = asked.headers};
    const std::string time = amz_time(now + asked.skew_ms);
    const std::string payload = asked.payload.empty() ? s3::sha256_hex(asked.body) : asked.payload;
    request.headers.emplace_back("Host", "127.0.0.1:8118");
    request.headers.emplace_back("x-amz-date", time);
    request.headers.emplace_back("x-amz-content-sha256", payload);
    const auto parsed = s3_request_of(request, "localhost");
    const s3::SignatureInput input{.method = asked.method,
                                   .path = parsed ? s3::uri_encoded(parsed->path, true) : "/",
                                   .query = parsed ? parsed->query : HeaderList{},
                                   .headers = request.headers,
                                   .payload = payload,
                                   .time = time,
                                   .region = "us-east-1"};
    request.headers.emplace_back(
        "Authorization", s3::authorization(input, {asked.access_key, asked.secret_key, ""}));
    if (!asked.body.empty()) {
      request.headers.emplace_back("Content-Length", std::to_string(asked.body.size()));
    }
    return request;
  }

  // As the server does: a body is planned, then poured or gathered.
  net::Response send(net::Request request, const std::string& body) {
    if (body.empty()) return gateway->answer(request);
    net::BodyPlan plan = gateway->plan(request);
    if (auto* refusal = std::get_if<net::Response>(&plan)) return std::move(*refusal);
    auto* sink = std::get_if<std::unique_ptr<net::BodySink>>(&plan);
    if (!sink) {
      request.body = body;
      return gateway->answer(request);
    }
    for (std::size_t at = 0; at < body.size(); at += 1000) {
      if (auto refusal = (*sink)->take(std::string_view(body).substr(at, 1000))) return *refusal;
    }
    return (*sink)->finish();
  }
  net::Response ask(const Asked& asked) { return send(signed_request(asked), asked.body); }
  net::Response put(const std::string& target, const std::string& body, HeaderList headers = {}) {
    return ask({.method = "PUT", .target = target, .body = body, .headers = std::move(headers)});
  }

  MemoryMetadata metadata;
  std::vector<std::unique_ptr<SimulatedDrive>> drives;
  DriveSet set;
  Tier tier{"hot", {2, 1}, {}};
  TimeMs now = 1'700'000'000'000;
  unsigned randomness = 0;
  std::unique_ptr<Store> store;
  std::unique_ptr<Gateway> gateway;
};

}  // namespace orrery::s3server
