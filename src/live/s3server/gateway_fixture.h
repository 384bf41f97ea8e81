// A gateway over a store in memory with a hot tier of three drives and a cold one, called as a
// server would call it. There are two tenants: "AK" is the access key of "main", who has a bucket
// "pail", and "OTHER" is that of "other".
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

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
  std::string payload = {};  // x-amz-content-sha256; empty: the digest of the body
};

class GatewayTest : public testing::Test {
 protected:
  GatewayTest() {
    for (const char* name : {"d0", "d1", "d2", "c0"}) {
      drives.push_back(std::make_unique<SimulatedDrive>());
      set[name] = drives.back().get();
    }
    store = std::make_unique<Store>(
        StoreSetting{.metadata = metadata,
                     .drives = set,
                     .tiers = {tier, {"cold", {1, 0}, {"c0"}}},
                     .now_ms = [this] { return ++now; },
                     .random_bytes = [this](std::size_t n) { return big_random(n); }});
    EXPECT_TRUE(store->open());
    add_tenant("AK", "main");
    add_tenant("OTHER", "other");
    open_gateway({});
    put("/pail", "");
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

  // As the server does: plans the body, then streams or collects it.
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
  void version_it(const std::string& status, const std::string& bucket = "/pail") {
    EXPECT_EQ(put(bucket + "?versioning", "<VersioningConfiguration><Status>" + status +
                                              "</Status></VersioningConfiguration>")
                  .status,
              200);
  }
  static std::string header(const net::Response& of, std::string_view name) {
    return std::string(net::header_of(of.headers, name));
  }
  static std::string code(const net::Response& of) { return between(of.body, "<Code>", "</Code>"); }
  static std::string between(const std::string& text, const std::string& from,
                             const std::string& to) {
    const auto at = text.find(from);
    if (at == text.npos) return "";
    const auto begin = at + from.size();
    return text.substr(begin, text.find(to, begin) - begin);
  }
  net::Response get(const std::string& target, HeaderList headers = {}) {
    return ask({.target = target, .headers = std::move(headers)});
  }
  net::Response head(const std::string& target, HeaderList headers = {}) {
    return ask({.method = "HEAD", .target = target, .headers = std::move(headers)});
  }
  net::Response copy(const std::string& to, const std::string& from, HeaderList headers = {}) {
    headers.emplace_back("x-amz-copy-source", from);
    return ask({.method = "PUT", .target = to, .headers = std::move(headers)});
  }
  std::string begin_parts(const std::string& key, HeaderList headers = {}) {
    return between(
        ask({.method = "POST", .target = key + "?uploads", .headers = std::move(headers)}).body,
        "<UploadId>", "</UploadId>");
  }
  net::Response put_part(const std::string& key, const std::string& id, const std::string& number,
                         const std::string& bytes, HeaderList headers = {}) {
    return put(key + "?partNumber=" + number + "&uploadId=" + id, bytes, std::move(headers));
  }
  net::Response complete(const std::string& key, const std::string& id,
                         const std::vector<std::pair<int, std::string>>& parts,
                         HeaderList headers = {}) {
    std::string list;
    for (const auto& [number, etag] : parts) {
      list += "<Part><PartNumber>" + std::to_string(number) + "</PartNumber><ETag>" + etag +
              "</ETag></Part>";
    }
    return ask({.method = "POST",
                .target = key + "?uploadId=" + id,
                .body = "<CompleteMultipartUpload>" + list + "</CompleteMultipartUpload>",
                .headers = std::move(headers)});
  }
  // Sends the request as the other tenant.
  net::Response other(const std::string& method, const std::string& target,
                      const std::string& body = {}, HeaderList headers = {}) {
    return ask({.method = method,
                .target = target,
                .body = body,
                .headers = std::move(headers),
                .access_key = "OTHER"});
  }
  // Sends the request without a signature.
  net::Response stranger(const std::string& method, const std::string& target,
                         HeaderList headers = {}) {
    headers.emplace_back("Host", "h");
    return gateway->answer({.method = method, .target = target, .headers = std::move(headers)});
  }
  // Returns the code of a refusal, or "taken".
  static std::string fate(const net::Response& of) { return of.status < 300 ? "taken" : code(of); }
  // Creates a bucket "safe" with object locks.
  void make_safe() {
    EXPECT_EQ(ask({.method = "PUT",
                   .target = "/safe",
                   .headers = {{"x-amz-bucket-object-lock-enabled", "true"}}})
                  .status,
              200);
  }
  // Changes the newest version of a key of "pail" without the gateway noticing.
  void change(const std::string& key, const std::function<void(Version&)>& how) {
    EXPECT_TRUE(store->change_version("pail", key, std::nullopt, [&](Version& v) -> Answer<void> {
      how(v);
      return {};
    }));
  }
  void set_document(const std::string& name, const std::string& text) {
    EXPECT_TRUE(store->change_bucket("pail", [&](Bucket& bucket) -> Answer<void> {
      bucket.documents.emplace_back(name, text);
      return {};
    }));
  }
  std::size_t files() const {
    std::size_t count = 0;
    for (const auto& drive : drives) count += drive->files().size();
    return count;
  }

  MemoryMetadata metadata;
  std::vector<std::unique_ptr<SimulatedDrive>> drives;
  DriveSet set;
  Tier tier{"hot", {2, 1}, {"d0", "d1", "d2"}};
  TimeMs now = 1'700'000'000'000;
  unsigned randomness = 0;
  std::unique_ptr<Store> store;
  std::unique_ptr<Gateway> gateway;
};

}  // namespace orrery::s3server
