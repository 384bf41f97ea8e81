// Canned ACLs of buckets and objects.
#include "live/s3server/access.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "live/s3server/gateway_fixture.h"

namespace orrery::s3server::access_tests {
namespace {

using testing::HasSubstr;
using testing::Not;

const std::string kOwner = "<Owner><ID>main</ID><DisplayName>main</DisplayName></Owner>";

class AccessTest : public GatewayTest {
 protected:
  // Without the declaration and the namespace.
  static std::string plain(const net::Response& response) {
    std::string text = response.body;
    if (const auto at = text.find("?>"); at != text.npos) text.erase(0, at + 2);
    const std::string space = " xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"";
    if (const auto at = text.find(space); at != text.npos) text.erase(at, space.size());
    for (std::size_t at = 0; (at = text.find('"', at)) != text.npos;) text.replace(at, 1, "&quot;");
    return text;
  }
};

TEST_F(AccessTest, an_acl_lists_the_owner_and_groups) {
  const auto shown = [](std::string_view acl) { return plain(acl_answer("main", acl)); };
  const std::string head = "<AccessControlPolicy>" + kOwner + "<AccessControlList>";
  const std::string type =
      "<Grantee xmlns:xsi=&quot;http://www.w3.org/2001/XMLSchema-instance&quot; xsi:type=&quot;";
  const auto group = [&](const std::string& name, const std::string& permission) {
    return "<Grant>" + type + "Group&quot;><URI>http://acs.amazonaws.com/groups/global/" + name +
           "</URI></Grantee><Permission>" + permission + "</Permission></Grant>";
  };
  const std::string own = "<Grant>" + type +
                          "CanonicalUser&quot;><ID>main</ID><DisplayName>main</DisplayName>"
                          "</Grantee><Permission>FULL_CONTROL</Permission></Grant>"
                          "</AccessControlList></AccessControlPolicy>";
  EXPECT_EQ(shown("private"), head + own);
  EXPECT_EQ(shown("public-read"), head + group("AllUsers", "READ") + own);
  EXPECT_EQ(shown("public-read-write"),
            head + group("AllUsers", "READ") + group("AllUsers", "WRITE") + own);
  EXPECT_EQ(shown("authenticated-read"), head + group("AuthenticatedUsers", "READ") + own);
  for (const char* canned :
       {"private", "public-read", "public-read-write", "authenticated-read", "bucket-owner-read",
        "bucket-owner-full-control", "log-delivery-write"}) {
    EXPECT_TRUE(is_canned_acl(canned)) << canned;
  }
  EXPECT_FALSE(is_canned_acl("") || is_canned_acl("public"));
}

TEST_F(AccessTest, an_acl_decides_who_may_read_and_write) {
  const auto stranger = [&](const std::string& target) {
    return this->stranger("GET", target).status;
  };
  const auto other = [&](const std::string& method, const std::string& target,
                         const std::string& body = {}) {
    return this->other(method, target, body).status;
  };
  put("/pail/open", "x", {{"x-amz-acl", "public-read"}});
  put("/pail/known", "x", {{"x-amz-acl", "authenticated-read"}});
  put("/pail/shut", "x");
  EXPECT_EQ(stranger("/pail/open"), 200);
  EXPECT_EQ(stranger("/pail/known"), 403);
  EXPECT_EQ(stranger("/pail/shut"), 403);
  EXPECT_EQ(other("GET", "/pail/known"), 200);
  EXPECT_EQ(other("GET", "/pail/shut"), 403);
  EXPECT_EQ(stranger("/pail"), 403);
  EXPECT_EQ(stranger("/pail/none"), 403)
      << "without the right to list, a missing key is not revealed";
  EXPECT_EQ(ask({.method = "PUT", .target = "/pail?acl", .headers = {{"x-amz-acl", "public-read"}}})
                .status,
            200);
  EXPECT_EQ(stranger("/pail"), 200);
  EXPECT_EQ(stranger("/pail/none"), 404);
  EXPECT_EQ(stranger("/pail/shut"), 403) << "the right to list does not include the objects";
  EXPECT_EQ(other("PUT", "/pail/theirs", "x"), 403) << "public-read does not allow writing";
  const std::string shown = get("/pail?acl").body;
  EXPECT_THAT(shown, HasSubstr("xsi:type=\"Group\"><URI>"));
  EXPECT_THAT(shown, HasSubstr("xsi:type=\"CanonicalUser\"><ID>main<"));
  EXPECT_THAT(shown, HasSubstr("<Permission>READ</Permission>"));
  EXPECT_THAT(shown, Not(HasSubstr("<Permission>WRITE</Permission>")));
  ask({.method = "PUT", .target = "/pail?acl", .headers = {{"x-amz-acl", "public-read-write"}}});
  EXPECT_EQ(other("PUT", "/pail/theirs", "x"), 200);
  EXPECT_EQ(other("GET", "/pail/theirs"), 200) << "the tenant who put it may read it";
  EXPECT_EQ(other("GET", "/pail?acl"), 403);
  EXPECT_EQ(other("GET", "/pail/shut"), 403);
}

TEST_F(AccessTest, only_canned_acls_are_accepted_for_objects) {
  put("/pail/k", "x");
  EXPECT_EQ(code(put("/pail/k?acl", "")), "NotImplemented");
  EXPECT_EQ(code(put("/pail/k?acl", "", {{"x-amz-acl", "for-friends"}})), "InvalidArgument");
  for (const char* acl : {"public-read", "public-read-write", "authenticated-read", "private"}) {
    EXPECT_EQ(put("/pail/k?acl", "", {{"x-amz-acl", acl}}).status, 200) << acl;
    const std::string body = get("/pail/k?acl").body;
    const std::string_view name = acl;
    EXPECT_EQ(body.find("AllUsers") != body.npos, name.starts_with("public")) << acl;
    EXPECT_EQ(body.find("WRITE</Permission>") != body.npos, name == "public-read-write") << acl;
    EXPECT_EQ(body.find("AuthenticatedUsers") != body.npos, name == "authenticated-read") << acl;
  }
}

}  // namespace
}  // namespace orrery::s3server::access_tests
