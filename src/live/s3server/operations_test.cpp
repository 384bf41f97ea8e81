// What holds for every operation of the protocol. It is refused if the bucket or key does not exist
// or the caller has no right to it, a policy names it by its action, and a fault of the metadata at
// any call is returned and changes nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "live/rows/failing_metadata_fixture.h"
#include "live/s3server/gateway_fixture.h"

namespace orrery::s3server::operations_tests {
namespace {

using testing::HasSubstr;
using testing::Not;

struct Asking {
  const char* method;
  const char* target;  // $ID is the id of an open upload of pail/open, $ETAG that of its part
  const char* action;
  int status;
  const char* body = "";
  HeaderList headers = {};
};

const std::vector<Asking>& askings() {
  static const std::vector<Asking> kAll = {
      {"PUT", "/pail?versioning", "s3:PutBucketVersioning", 200,
       "<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>"},
      {"PUT", "/pail?acl", "s3:PutBucketAcl", 200, "", {{"x-amz-acl", "private"}}},
      {"PUT", "/pail?tagging", "s3:PutBucketTagging", 204,
       "<Tagging><TagSet><Tag><Key>a</Key><Value>b</Value></Tag></TagSet></Tagging>"},
      {"PUT", "/pail?object-lock", "s3:PutBucketObjectLockConfiguration", 200,
       "<ObjectLockConfiguration><ObjectLockEnabled>Enabled</ObjectLockEnabled>"
       "</ObjectLockConfiguration>"},
      {"PUT", "/pail?lifecycle", "s3:PutLifecycleConfiguration", 200,
       "<LifecycleConfiguration><Rule><ID>r</ID><Prefix/><Status>Enabled</Status>"
       "<Expiration><Days>9</Days></Expiration></Rule></LifecycleConfiguration>"},
      {"GET", "/pail?location", "s3:GetBucketLocation", 200},
      {"GET", "/pail?versioning", "s3:GetBucketVersioning", 200},
      {"GET", "/pail?acl", "s3:GetBucketAcl", 200},
      {"GET", "/pail?tagging", "s3:GetBucketTagging", 200},
      {"GET", "/pail?object-lock", "s3:GetBucketObjectLockConfiguration", 200},
      {"GET", "/pail?lifecycle", "s3:GetLifecycleConfiguration", 200},
      {"GET", "/pail?versions", "s3:ListBucketVersions", 200},
      {"GET", "/pail?uploads", "s3:ListBucketMultipartUploads", 200},
      {"GET", "/pail", "s3:ListBucket", 200},
      {"HEAD", "/pail", "s3:ListBucket", 200},
      {"GET", "/pail/open?uploadId=$ID", "s3:ListMultipartUploadParts", 200},
      {"GET", "/pail/k?tagging", "s3:GetObjectTagging", 200},
      {"GET", "/pail/k?acl", "s3:GetObjectAcl", 200},
      {"GET", "/pail/k?retention", "s3:GetObjectRetention", 200},
      {"GET", "/pail/k?legal-hold", "s3:GetObjectLegalHold", 200},
      {"GET",
       "/pail/k?attributes",
       "s3:GetObjectAttributes",
       200,
       "",
       {{"x-amz-object-attributes", "ETag"}}},
      {"GET", "/pail/k?orrery-lineage", "s3:GetObjectTagging", 200},
      {"GET", "/pail/k", "s3:GetObject", 200},
      {"HEAD", "/pail/k", "s3:GetObject", 200},
      {"PUT", "/pail/k?tagging", "s3:PutObjectTagging", 200,
       "<Tagging><TagSet><Tag><Key>a</Key><Value>b</Value></Tag></TagSet></Tagging>"},
      {"PUT", "/pail/k?acl", "s3:PutObjectAcl", 200, "", {{"x-amz-acl", "private"}}},
      {"PUT", "/pail/k?retention", "s3:PutObjectRetention", 200,
       "<Retention><Mode>GOVERNANCE</Mode><RetainUntilDate>2033-01-01T00:00:00Z"
       "</RetainUntilDate></Retention>"},
      {"PUT", "/pail/k?legal-hold", "s3:PutObjectLegalHold", 200,
       "<LegalHold><Status>OFF</Status></LegalHold>"},
      {"PUT", "/pail/fresh", "s3:PutObject", 200, "bytes"},
      {"PUT", "/pail/open?partNumber=2&uploadId=$ID", "s3:PutObject", 200, "bytes"},
      {"PUT",
       "/pail/open?partNumber=3&uploadId=$ID",
       "s3:PutObject",
       200,
       "",
       {{"x-amz-copy-source", "/pail/k"}}},
      {"PUT", "/pail/copy", "s3:PutObject", 200, "", {{"x-amz-copy-source", "/pail/k"}}},
      {"POST", "/pail/more?uploads", "s3:PutObject", 200},
      {"POST", "/pail/open?uploadId=$ID", "s3:PutObject", 200,
       "<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>$ETAG</ETag></Part>"
       "</CompleteMultipartUpload>"},
      {"DELETE", "/pail/open?uploadId=$ID", "s3:AbortMultipartUpload", 204},
      {"DELETE", "/pail/k?tagging", "s3:DeleteObjectTagging", 204},
      {"POST", "/pail/cold?restore", "s3:RestoreObject", 202,
       "<RestoreRequest><Days>1</Days></RestoreRequest>"},
      {"POST", "/pail?delete", "s3:DeleteObject", 200,
       "<Delete><Object><Key>k</Key></Object></Delete>"},
      {"DELETE", "/pail/k", "s3:DeleteObject", 204},
      {"DELETE", "/pail?tagging", "s3:PutBucketTagging", 204},
      {"DELETE", "/pail?lifecycle", "s3:PutLifecycleConfiguration", 204},
  };
  return kAll;
}

std::string named(const Asking& asking) { return std::string(asking.method) + ' ' + asking.target; }

// A gateway with an object of every kind, over rows that fail on demand.
class World final : public GatewayTest {
 public:
  World() : failing(metadata) {
    ask({.method = "PUT", .target = "/safe"});
    version_it("Enabled");
    put("/pail?object-lock",
        "<ObjectLockConfiguration><ObjectLockEnabled>Enabled</ObjectLockEnabled>"
        "</ObjectLockConfiguration>");
    put("/pail?tagging",
        "<Tagging><TagSet><Tag><Key>a</Key><Value>b</Value></Tag></TagSet></Tagging>");
    put("/pail?lifecycle",
        "<LifecycleConfiguration><Rule><ID>r</ID><Prefix>x/</Prefix><Status>Enabled</Status>"
        "<Expiration><Days>9</Days></Expiration></Rule></LifecycleConfiguration>");
    put("/pail/k", "bytes of k",
        {{"x-amz-object-lock-mode", "GOVERNANCE"},
         {"x-amz-object-lock-retain-until-date", "2030-01-01T00:00:00Z"}});
    put("/pail/cold", "bytes", {{"x-amz-storage-class", "GLACIER"}});
    id = begin_parts("/pail/open");
    etag = header(put_part("/pail/open", id, "1", "a part"), "ETag");
    StoreSetting setting{.metadata = failing,
                         .drives = set,
                         .tiers = store->setting().tiers,
                         .now_ms = store->setting().now_ms,
                         .random_bytes = store->setting().random_bytes};
    store = std::make_unique<Store>(std::move(setting));
    EXPECT_TRUE(store->open());
    open_gateway({});
  }
  void TestBody() override {}

  std::string filled(std::string text) const {
    for (const auto& [name, value] : {std::pair{"$ID", id}, {"$ETAG", etag}}) {
      if (const auto at = text.find(name); at != text.npos) {
        text.replace(at, std::string_view(name).size(), value);
      }
    }
    return text;
  }
  Asked asked(const Asking& asking, const std::string& access_key = "AK") const {
    return {.method = asking.method,
            .target = filled(asking.target),
            .body = filled(asking.body),
            .headers = asking.headers,
            .access_key = access_key};
  }
  net::Response answer(const Asking& asking, const std::string& access_key = "AK") {
    return ask(asked(asking, access_key));
  }
  net::Response stranger(const Asking& asking) {
    net::Request request{
        .method = asking.method, .target = filled(asking.target), .headers = asking.headers};
    request.headers.emplace_back("Host", "h");
    const std::string body = filled(asking.body);
    if (!body.empty()) {
      request.headers.emplace_back("Content-Length", std::to_string(body.size()));
    }
    return send(request, body);
  }
  void allow(const std::string& statements) {
    EXPECT_EQ(put("/pail?policy", R"({"Statement":[)" + statements + "]}").status, 204);
  }

  using GatewayTest::ask;
  using GatewayTest::code;
  using GatewayTest::get;
  using GatewayTest::put;
  using GatewayTest::send;
  using GatewayTest::signed_request;
  FailingMetadata failing;
  std::string id;
  std::string etag;
};

// A new world after each operation that changes it, and the same one for operations that only read.
class Worlds {
 public:
  World& next(const Asking& asking) {
    if (!world_ || changed_) world_ = std::make_unique<World>();
    const std::string_view method = asking.method;
    changed_ = method != "GET" && method != "HEAD";
    return *world_;
  }

 private:
  std::unique_ptr<World> world_;
  bool changed_ = false;
};

std::string statement(const std::string& effect, const std::string& action) {
  return R"({"Effect":")" + effect + R"(","Principal":"other","Action":")" + action +
         R"(","Resource":["arn:aws:s3:::pail","arn:aws:s3:::pail/*"]})";
}

TEST(Operations, are_for_the_owner_only) {
  World world;
  for (const Asking& asking : askings()) {
    EXPECT_EQ(world.stranger(asking).status, 403) << named(asking);
    const net::Response other = world.answer(asking, "OTHER");
    EXPECT_EQ(other.status, 403) << named(asking) << other.body;
    EXPECT_EQ(World::code(other), "AccessDenied") << named(asking);
  }
  Worlds worlds;
  for (const Asking& asking : askings()) {
    const net::Response own = worlds.next(asking).answer(asking);
    EXPECT_EQ(own.status, asking.status) << named(asking) << own.body;
  }
}

TEST(Operations, are_allowed_and_denied_by_their_action) {
  Worlds worlds;
  for (const Asking& asking : askings()) {
    World& world = worlds.next(asking);
    world.allow(statement("Allow", "s3:*") + ',' + statement("Deny", asking.action));
    const net::Response denied = world.answer(asking, "OTHER");
    EXPECT_TRUE(denied.status == 403 || denied.body.find("AccessDenied") != denied.body.npos)
        << named(asking) << denied.body;
    world.allow(statement("Allow", asking.action) + ',' + statement("Allow", "s3:GetObject"));
    const net::Response allowed = world.answer(asking, "OTHER");
    EXPECT_EQ(allowed.status, asking.status) << named(asking) << allowed.body;
    EXPECT_THAT(allowed.body, Not(HasSubstr("AccessDenied"))) << named(asking);
  }
}

TEST(Operations, report_a_missing_bucket_or_key) {
  World world;
  for (Asking asking : askings()) {
    std::string target = asking.target;
    target.replace(target.find("/pail"), 5, "/nowhere");
    asking.target = target.c_str();
    const net::Response answer = world.answer(asking);
    EXPECT_EQ(answer.status, 404) << named(asking) << answer.body;
    EXPECT_EQ(World::code(answer), "NoSuchBucket") << named(asking);
  }
  for (Asking asking : askings()) {
    std::string target = asking.target;
    const auto at = target.find("/pail/k");
    if (at == target.npos || std::string_view(asking.method) == "DELETE") continue;
    target.replace(at, 7, "/pail/none");
    asking.target = target.c_str();
    const net::Response answer = world.answer(asking);
    EXPECT_EQ(answer.status, 404) << named(asking) << answer.body;
    EXPECT_EQ(World::code(answer), "NoSuchKey") << named(asking);
  }
  for (const Asking& asking : askings()) {
    if (!std::string_view(asking.target).ends_with("uploadId=$ID")) continue;
    const std::string right = std::exchange(world.id, "0123456789abcdef");
    EXPECT_EQ(World::code(world.answer(asking)), "NoSuchUpload") << named(asking);
    world.id = right;
  }
}

TEST(Operations, refuse_a_document_of_another_kind) {
  World world;
  for (Asking asking : askings()) {
    if (asking.body[0] != '<') continue;
    for (const char* wrong : {"<Other/>", "<", "text"}) {
      asking.body = wrong;
      const net::Response answer = world.answer(asking);
      EXPECT_EQ(World::code(answer), "MalformedXML") << named(asking) << answer.body;
    }
  }
}

// A fault at each call in turn is returned unchanged, and the same request succeeds later.
TEST(Operations, return_a_fault_of_the_rows_at_every_call) {
  Worlds worlds;
  for (const Asking& asking : askings()) {
    World& world = worlds.next(asking);
    int struck = 0;
    int missed = 0;
    for (int call = 0; call < 60; ++call) {
      const PortFault kind = call % 2 == 0 ? PortFault::failed : PortFault::busy;
      const Asked asked = world.asked(asking);
      const net::Request request = world.signed_request(asked);
      world.failing.fail_at(call, kind);
      const net::Response answer = world.send(request, asked.body);
      if (!world.failing.has_failed()) {
        world.failing.fail_at(-1);
        EXPECT_EQ(answer.status, asking.status) << named(asking) << ' ' << call << answer.body;
        break;
      }
      ++struck;
      const bool returned = answer.status == (call % 2 == 0 ? 500 : 503) ||
                            answer.body.find("<Code>InternalError") != answer.body.npos ||
                            answer.body.find("<Code>SlowDown") != answer.body.npos;
      missed += returned ? 0 : 1;
      EXPECT_TRUE(returned || answer.status == asking.status)
          << named(asking) << " call " << call << ": " << answer.status << answer.body;
    }
    EXPECT_GE(struck, 2) << named(asking) << " reads the caller and the bucket";
    EXPECT_LT(struck, 60) << named(asking);
    // The early check of what an upload would replace reads two rows and may fail: the commit
    // checks again.
    EXPECT_LE(missed, std::string_view(asking.target) == "/pail/fresh" ? 2 : 0) << named(asking);
  }
}

TEST(Operations, that_do_not_exist_are_refused) {
  World world;
  const auto status = [&](const char* method, const char* target) {
    return world.ask({.method = method, .target = target}).status;
  };
  EXPECT_EQ(status("POST", "/pail"), 501);
  EXPECT_EQ(status("POST", "/pail/k"), 501);
  EXPECT_EQ(status("PATCH", "/pail/k"), 405);
  EXPECT_EQ(status("DELETE", "/"), 405);
  EXPECT_EQ(status("HEAD", "/"), 405);
  EXPECT_EQ(status("GET", "/pail?website"), 501);
  EXPECT_EQ(status("GET", "/pail/k?torrent"), 501);
  EXPECT_EQ(status("DELETE", "/pail?versioning"), 501);
  EXPECT_EQ(status("GET", "/pail/k?versioning"), 501) << "an operation on a bucket, not on an "
                                                         "object";
}

}  // namespace
}  // namespace orrery::s3server::operations_tests
