// Bodies of uploads: they must be as announced, and nothing stays of an upload that was not.
#include "live/s3server/upload.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "live/s3server/gateway_fixture.h"

namespace orrery::s3server::upload_tests {
namespace {

using UploadTest = GatewayTest;

TEST_F(UploadTest, a_body_must_be_what_was_announced) {
  const auto sent = [&](HeaderList headers, const std::string& body, const std::string& length) {
    net::Request request = signed_request({.method = "PUT",
                                           .target = "/pail/k",
                                           .headers = std::move(headers),
                                           .payload = "UNSIGNED-PAYLOAD"});
    if (!length.empty()) request.headers.emplace_back("Content-Length", length);
    return code(send(request, body));
  };
  EXPECT_EQ(sent({}, "abc", "3"), "");
  EXPECT_EQ(sent({}, "abc", "4"), "IncompleteBody");
  EXPECT_EQ(sent({}, "abc", "2"), "InvalidRequest") << "more bytes than announced";
  EXPECT_EQ(sent({}, "abc", "-1"), "InvalidArgument");
  EXPECT_EQ(sent({}, "abc", "5368709121"), "EntityTooLarge") << "5 GiB and one";
  EXPECT_EQ(get("/pail/k").body, "abc");
  const std::size_t files = drives[0]->files().size();
  EXPECT_EQ(sent({}, std::string(300'000, 'x'), "300001"), "IncompleteBody");
  EXPECT_EQ(drives[0]->files().size(), files) << "nothing is left of it";
  const auto chunks = [&](const std::string& body, const std::string& length) {
    net::Request request = signed_request({.method = "PUT",
                                           .target = "/pail/c",
                                           .headers = {{"x-amz-decoded-content-length", length}},
                                           .payload = "STREAMING-UNSIGNED-PAYLOAD-TRAILER"});
    return code(send(request, body));
  };
  EXPECT_EQ(chunks("3\r\nabc\r\n0\r\n\r\n", "3"), "");
  EXPECT_EQ(get("/pail/c").body, "abc");
  EXPECT_EQ(chunks("3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n", "5"), "");
  EXPECT_EQ(get("/pail/c").body, "abcde");
  EXPECT_EQ(chunks("3\r\nabcX\r\n0\r\n\r\n", "3"), "InvalidRequest")
      << "a chunk must end where its header says";
  EXPECT_EQ(chunks("\r\nabc\r\n0\r\n\r\n", "3"), "InvalidRequest");
  EXPECT_EQ(chunks("x\r\nabc\r\n0\r\n\r\n", "3"), "InvalidRequest");
  EXPECT_EQ(chunks("3\r\nabc\r\n", "3"), "IncompleteBody") << "the last chunk is missing";
  EXPECT_EQ(chunks("3\r\nabc\r\n0\r\n\r\nmore\r\n", "3"), "InvalidRequest");
  EXPECT_EQ(chunks(std::string(5000, '1') + "\r\n", "3"), "InvalidRequest");
  EXPECT_EQ(
      chunks("3\r\nabc\r\n0\r\n" + std::string(3000, 'x') + ":1\r\n" + std::string(3000, 'x') +
                 ":1\r\n" + std::string(3000, 'x') + ":1\r\n" + std::string(3000, 'x') + ":1\r\n" +
                 std::string(3000, 'x') + ":1\r\n" + std::string(3000, 'x') + ":1\r\n\r\n",
             "3"),
      "MalformedTrailerError");
  net::Request unsized = signed_request(
      {.method = "PUT", .target = "/pail/c", .payload = "STREAMING-UNSIGNED-PAYLOAD-TRAILER"});
  EXPECT_EQ(code(send(unsized, "0\r\n\r\n")), "MissingContentLength");
}

}  // namespace
}  // namespace orrery::s3server::upload_tests
