// A gateway with a second, cold tier and a bucket "pail", and short words for what tests ask of it.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "live/s3server/gateway_fixture.h"

namespace orrery::s3server {

class RequestsTest : public GatewayTest {
 protected:
  RequestsTest() {
    drives.push_back(std::make_unique<SimulatedDrive>());
    set["c0"] = drives.back().get();
    StoreSetting setting = store->setting();
    setting.drives = set;
    setting.tiers = {tier, {"cold", {1, 0}, {"c0"}}};
    store = std::make_unique<Store>(std::move(setting));
    EXPECT_TRUE(store->open());
    open_gateway({});
    put("/pail", "");
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
};

}  // namespace orrery::s3server
