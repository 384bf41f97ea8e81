// Who may do what under a bucket policy: every implemented operation, with each of its actions
// allowed, denied or not mentioned, for the bucket's owner, another tenant and an anonymous caller.
//
// The expectations come from the documentation, not from the evaluator: the actions of an operation
// from "Required permissions for Amazon S3 API operations", the verdict from "Policy evaluation
// logic" (an explicit Deny, otherwise an explicit Allow, otherwise only the owner, because the ACLs
// are private). The operations on the bucket policy itself are reserved for the owner whatever the
// policy says.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <span>

#include "live/s3server/gateway_fixture.h"

namespace orrery::s3server::policy_table_tests {
namespace {

using Actions = std::vector<std::string>;

struct Row {
  std::string name;
  std::string method;
  std::string target;  // $B: the bucket, $V, $G: versions, $U: an upload
  Actions actions;
  int status = 200;
  HeaderList headers = {};
  std::string body = {};
  bool of_policy = false;  // always allowed for the owner, and for no one else
  bool empties = false;    // the bucket must be empty
  // The key does not exist. The first action is not needed, because there is no object whose ACL
  // could grant it, but denying it has an effect (API reference, GetObject).
  bool missing = false;
};

std::string lock_until(const std::string& mode, const std::string& date) {
  return "<Retention><Mode>" + mode + "</Mode><RetainUntilDate>" + date +
         "</RetainUntilDate></Retention>";
}

const std::string kLater = "2090-01-01T00:00:00Z";
const std::string kSooner = "2030-01-01T00:00:00Z";
const std::string kLatest = "2099-01-01T00:00:00Z";
const HeaderList kBypass = {{"x-amz-bypass-governance-retention", "true"}};
const HeaderList kAcl = {{"x-amz-acl", "public-read"}};
const HeaderList kTags = {{"x-amz-tagging", "a=b"}};
const HeaderList kRetained = {{"x-amz-object-lock-mode", "COMPLIANCE"},
                              {"x-amz-object-lock-retain-until-date", kLater}};
const HeaderList kHold = {{"x-amz-object-lock-legal-hold", "ON"}};
const std::string kLifecycle =
    "<LifecycleConfiguration><Rule><Status>Enabled</Status><Prefix>x</Prefix><Expiration>"
    "<Days>1</Days></Expiration></Rule></LifecycleConfiguration>";
const std::string kTagging = "<Tagging><TagSet/></Tagging>";

std::vector<Row> bucket_rows() {
  return {
      {"ListObjects", "GET", "/$B", {"s3:ListBucket"}},
      {"ListObjectsV2", "GET", "/$B?list-type=2", {"s3:ListBucket"}},
      {"HeadBucket", "HEAD", "/$B", {"s3:ListBucket"}},
      {"ListObjectVersions", "GET", "/$B?versions", {"s3:ListBucketVersions"}},
      {"ListMultipartUploads", "GET", "/$B?uploads", {"s3:ListBucketMultipartUploads"}},
      {"GetBucketLocation", "GET", "/$B?location", {"s3:GetBucketLocation"}},
      {"GetBucketVersioning", "GET", "/$B?versioning", {"s3:GetBucketVersioning"}},
      {"GetBucketAcl", "GET", "/$B?acl", {"s3:GetBucketAcl"}},
      {"GetBucketTagging", "GET", "/$B?tagging", {"s3:GetBucketTagging"}},
      {"GetObjectLockConfiguration",
       "GET",
       "/$B?object-lock",
       {"s3:GetBucketObjectLockConfiguration"}},
      {"GetBucketLifecycle", "GET", "/$B?lifecycle", {"s3:GetLifecycleConfiguration"}},
      {"GetBucketPolicyStatus", "GET", "/$B?policyStatus", {"s3:GetBucketPolicyStatus"}},
  };
}

std::vector<Row> bucket_changes() {
  const std::string lock =
      "<ObjectLockConfiguration><ObjectLockEnabled>Enabled</ObjectLockEnabled>"
      "</ObjectLockConfiguration>";
  const std::string versioning =
      "<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>";
  const std::string policy =
      R"({"Statement":{"Effect":"Allow","Principal":"*","Action":"s3:GetBucketCORS",)"
      R"("Resource":"arn:aws:s3:::$B"}})";
  return {
      {"PutBucketVersioning",
       "PUT",
       "/$B?versioning",
       {"s3:PutBucketVersioning"},
       200,
       {},
       versioning},
      {"PutBucketAcl", "PUT", "/$B?acl", {"s3:PutBucketAcl"}, 200, {{"x-amz-acl", "private"}}},
      {"PutBucketTagging", "PUT", "/$B?tagging", {"s3:PutBucketTagging"}, 204, {}, kTagging},
      {"PutObjectLockConfiguration",
       "PUT",
       "/$B?object-lock",
       {"s3:PutBucketObjectLockConfiguration"},
       200,
       {},
       lock},
      {"PutBucketLifecycle",
       "PUT",
       "/$B?lifecycle",
       {"s3:PutLifecycleConfiguration"},
       200,
       {},
       kLifecycle},
      {"DeleteBucketTagging", "DELETE", "/$B?tagging", {"s3:PutBucketTagging"}, 204},
      {"DeleteBucketLifecycle", "DELETE", "/$B?lifecycle", {"s3:PutLifecycleConfiguration"}, 204},
      {.name = "DeleteBucket",
       .method = "DELETE",
       .target = "/$B",
       .actions = {"s3:DeleteBucket"},
       .status = 204,
       .empties = true},
      {.name = "GetBucketPolicy",
       .method = "GET",
       .target = "/$B?policy",
       .actions = {"s3:GetBucketPolicy"},
       .of_policy = true},
      {.name = "PutBucketPolicy",
       .method = "PUT",
       .target = "/$B?policy",
       .actions = {"s3:PutBucketPolicy"},
       .status = 204,
       .body = policy,
       .of_policy = true},
      {.name = "DeleteBucketPolicy",
       .method = "DELETE",
       .target = "/$B?policy",
       .actions = {"s3:DeleteBucketPolicy"},
       .status = 204,
       .of_policy = true},
  };
}

std::vector<Row> reading_rows() {
  const HeaderList attributes = {{"x-amz-object-attributes", "ETag"}};
  return {
      {"GetObject", "GET", "/$B/k", {"s3:GetObject"}},
      {"GetObject of a version", "GET", "/$B/k?versionId=$V", {"s3:GetObjectVersion"}},
      {.name = "GetObject of no key",
       .method = "GET",
       .target = "/$B/none",
       .actions = {"s3:GetObject", "s3:ListBucket"},
       .status = 404,
       .missing = true},
      {.name = "GetObject of no version",
       .method = "GET",
       .target = "/$B/k?versionId=none",
       .actions = {"s3:GetObjectVersion", "s3:ListBucket"},
       .status = 404,
       .missing = true},
      {"HeadObject", "HEAD", "/$B/k", {"s3:GetObject"}},
      {"HeadObject of a version", "HEAD", "/$B/k?versionId=$V", {"s3:GetObjectVersion"}},
      {"GetObjectAcl", "GET", "/$B/k?acl", {"s3:GetObjectAcl"}},
      {"GetObjectAcl of a version", "GET", "/$B/k?acl&versionId=$V", {"s3:GetObjectVersionAcl"}},
      {"GetObjectAcl of no key", "GET", "/$B/none?acl", {"s3:GetObjectAcl", "s3:ListBucket"}, 404},
      {"GetObjectTagging", "GET", "/$B/k?tagging", {"s3:GetObjectTagging"}},
      {"GetObjectTagging of a version",
       "GET",
       "/$B/k?tagging&versionId=$V",
       {"s3:GetObjectVersionTagging"}},
      {"GetObjectRetention", "GET", "/$B/g?retention", {"s3:GetObjectRetention"}},
      {"GetObjectLegalHold", "GET", "/$B/g?legal-hold", {"s3:GetObjectLegalHold"}},
      {"GetObjectAttributes",
       "GET",
       "/$B/k?attributes",
       {"s3:GetObject", "s3:GetObjectAttributes"},
       200,
       attributes},
      {"GetObjectAttributes of a version",
       "GET",
       "/$B/k?attributes&versionId=$V",
       {"s3:GetObjectVersion", "s3:GetObjectVersionAttributes"},
       200,
       attributes},
      {"ListParts", "GET", "/$B/u?uploadId=$U", {"s3:ListMultipartUploadParts"}},
  };
}

std::vector<Row> writing_rows() {
  const auto put = [](const std::string& name, Actions more, HeaderList headers) {
    more.insert(more.begin(), "s3:PutObject");
    return Row{name, "PUT", "/$B/new", std::move(more), 200, std::move(headers), "bytes"};
  };
  const auto begin = [](const std::string& name, Actions more, HeaderList headers) {
    more.insert(more.begin(), "s3:PutObject");
    return Row{name, "POST", "/$B/new?uploads", std::move(more), 200, std::move(headers)};
  };
  const auto copy = [](const std::string& name, const std::string& from, Actions more) {
    more.insert(more.begin(), "s3:PutObject");
    return Row{name, "PUT", "/$B/new", std::move(more), 200, {{"x-amz-copy-source", from}}};
  };
  const HeaderList etag = {{"If-Match", "\"9dd4e461268c8034f5c8564e155c67a6\""}};  // of "x"
  return {
      put("PutObject", {}, {}),
      put("PutObject with an ACL", {"s3:PutObjectAcl"}, kAcl),
      put("PutObject with tags", {"s3:PutObjectTagging"}, kTags),
      put("PutObject with retention", {"s3:PutObjectRetention"}, kRetained),
      put("PutObject with a hold", {"s3:PutObjectLegalHold"}, kHold),
      {"PutObject if it is", "PUT", "/$B/k", {"s3:PutObject", "s3:GetObject"}, 200, etag, "bytes"},
      copy("CopyObject", "/$B/k", {"s3:GetObject"}),
      copy("CopyObject of a version", "/$B/k?versionId=$V", {"s3:GetObjectVersion"}),
      copy("CopyObject with its tags", "/$B/tagged",
           {"s3:GetObject", "s3:GetObjectTagging", "s3:PutObjectTagging"}),
      {"UploadPart", "PUT", "/$B/u?partNumber=2&uploadId=$U", {"s3:PutObject"}, 200, {}, "bytes"},
      {"UploadPartCopy",
       "PUT",
       "/$B/u?partNumber=2&uploadId=$U",
       {"s3:PutObject", "s3:GetObject"},
       200,
       {{"x-amz-copy-source", "/$B/k"}}},
      begin("CreateMultipartUpload", {}, {}),
      begin("CreateMultipartUpload with an ACL", {"s3:PutObjectAcl"}, kAcl),
      begin("CreateMultipartUpload with tags", {"s3:PutObjectTagging"}, kTags),
      begin("CreateMultipartUpload with retention", {"s3:PutObjectRetention"}, kRetained),
      begin("CreateMultipartUpload with a hold", {"s3:PutObjectLegalHold"}, kHold),
  };
}

std::vector<Row> changing_rows() {
  return {
      {"CompleteMultipartUpload",
       "POST",
       "/$B/u?uploadId=$U",
       {"s3:PutObject"},
       200,
       {},
       "<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>"
       "9dd4e461268c8034f5c8564e155c67a6</ETag></Part></CompleteMultipartUpload>"},
      {"AbortMultipartUpload", "DELETE", "/$B/u?uploadId=$U", {"s3:AbortMultipartUpload"}, 204},
      {"PutObjectAcl", "PUT", "/$B/k?acl", {"s3:PutObjectAcl"}, 200, kAcl},
      {"PutObjectAcl of a version",
       "PUT",
       "/$B/k?acl&versionId=$V",
       {"s3:PutObjectVersionAcl"},
       200,
       kAcl},
      {"PutObjectTagging", "PUT", "/$B/k?tagging", {"s3:PutObjectTagging"}, 200, {}, kTagging},
      {"PutObjectTagging of a version",
       "PUT",
       "/$B/k?tagging&versionId=$V",
       {"s3:PutObjectVersionTagging"},
       200,
       {},
       kTagging},
      {"PutObjectRetention",
       "PUT",
       "/$B/g?retention",
       {"s3:PutObjectRetention"},
       200,
       {},
       lock_until("GOVERNANCE", kLatest)},
      {"PutObjectRetention that is shorter",
       "PUT",
       "/$B/g?retention",
       {"s3:PutObjectRetention", "s3:BypassGovernanceRetention"},
       200,
       kBypass,
       lock_until("GOVERNANCE", kSooner)},
      {"PutObjectLegalHold",
       "PUT",
       "/$B/g?legal-hold",
       {"s3:PutObjectLegalHold"},
       200,
       {},
       "<LegalHold><Status>ON</Status></LegalHold>"},
      {"RestoreObject",
       "POST",
       "/$B/cold?restore",
       {"s3:RestoreObject"},
       202,
       {},
       "<RestoreRequest><Days>1</Days></RestoreRequest>"},
  };
}

std::vector<Row> removing_rows() {
  const auto several = [](const std::string& of) { return "<Delete>" + of + "</Delete>"; };
  const std::string version = "<Object><Key>k</Key><VersionId>$V</VersionId></Object>";
  const std::string governed = "<Object><Key>g</Key><VersionId>$G</VersionId></Object>";
  const Actions passing = {"s3:DeleteObjectVersion", "s3:BypassGovernanceRetention"};
  return {
      {"DeleteObject", "DELETE", "/$B/k", {"s3:DeleteObject"}, 204},
      {"DeleteObject of a version",
       "DELETE",
       "/$B/k?versionId=$V",
       {"s3:DeleteObjectVersion"},
       204},
      {"DeleteObject of a governed version", "DELETE", "/$B/g?versionId=$G", passing, 204, kBypass},
      {"DeleteObjects",
       "POST",
       "/$B?delete",
       {"s3:DeleteObject"},
       200,
       {},
       several("<Object><Key>k</Key></Object>")},
      {"DeleteObjects of a version",
       "POST",
       "/$B?delete",
       {"s3:DeleteObjectVersion"},
       200,
       {},
       several(version)},
      {"DeleteObjects of a governed version", "POST", "/$B?delete", passing, 200, kBypass,
       several(governed)},
      {"DeleteObjectTagging", "DELETE", "/$B/k?tagging", {"s3:DeleteObjectTagging"}, 204},
      {"DeleteObjectTagging of a version",
       "DELETE",
       "/$B/k?tagging&versionId=$V",
       {"s3:DeleteObjectVersionTagging"},
       204},
  };
}

enum class Who { owner, tenant, stranger };
enum class Effect { allow, deny, none };

// The effect for each of a row's actions, in their order.
using Effects = std::vector<Effect>;

// S3's rules in short.
bool may(const Row& row, const Effects& effects, Who who) {
  if (row.of_policy) return who == Who::owner;
  if (std::ranges::find(effects, Effect::deny) != effects.end()) return false;
  const auto needed = std::span(effects).subspan(row.missing ? 1 : 0);
  return who == Who::owner ||
         std::ranges::all_of(needed, [](Effect one) { return one == Effect::allow; });
}

// All actions alike; if there are several, also each of them denied or not mentioned alone.
std::vector<Effects> effects_of(const Row& row) {
  const std::size_t count = row.actions.size();
  std::vector<Effects> all;
  for (const Effect one : {Effect::allow, Effect::deny, Effect::none}) {
    all.emplace_back(count, one);
    if (one == Effect::allow || count == 1) continue;
    for (std::size_t i = 0; i < count; ++i) {
      Effects but(count, Effect::allow);
      but[i] = one;
      all.push_back(std::move(but));
    }
  }
  return all;
}

class PolicyTable : public GatewayTest {
 protected:
  // Creates a bucket with everything that the row needs.
  void make(const Row& row) {
    bucket = "bucket-" + std::to_string(++made);
    const std::string at = '/' + bucket;
    ask({.method = "PUT", .target = at, .headers = {{"x-amz-bucket-object-lock-enabled", "true"}}});
    if (row.empties) return;
    std::string asked = row.target + row.body;
    for (const auto& [name, value] : row.headers) asked += value;
    const auto needs = [&](std::string_view word) { return asked.find(word) != asked.npos; };
    if (needs("$V")) version = header(put(at + "/k", "old"), "x-amz-version-id");
    put(at + "/k", "x");
    if (needs("/tagged")) put(at + "/tagged", "x", kTags);
    if (needs("/cold")) put(at + "/cold", "x", {{"x-amz-storage-class", "GLACIER"}});
    if (needs("/g") || needs("$G")) {
      governed = header(put(at + "/g", "x",
                            {{"x-amz-object-lock-mode", "GOVERNANCE"},
                             {"x-amz-object-lock-retain-until-date", kLater}}),
                        "x-amz-version-id");
    }
    if (needs("$U")) {
      upload = begin_parts(at + "/u");
      put_part(at + "/u", upload, "1", "x");
    }
    if (needs("$B?tagging")) {
      put(at + "?tagging",
          "<Tagging><TagSet><Tag><Key>a</Key><Value>b</Value></Tag></TagSet></Tagging>");
    }
    if (needs("$B?lifecycle")) put(at + "?lifecycle", kLifecycle);
  }
  std::string filled(std::string text) const {
    const std::array<std::pair<const char*, const std::string*>, 4> words = {
        {{"$B", &bucket}, {"$V", &version}, {"$G", &governed}, {"$U", &upload}}};
    for (const auto& [word, value] : words) {
      for (auto at = text.find(word); at != text.npos; at = text.find(word)) {
        text.replace(at, 2, *value);
      }
    }
    return text;
  }
  std::string statement(const std::string& effect, Who who, const Actions& actions) const {
    std::string list;
    for (const std::string& action : actions) list += (list.empty() ? "\"" : ",\"") + action + '"';
    const std::string principal = who == Who::owner    ? R"({"AWS":"main"})"
                                  : who == Who::tenant ? R"({"AWS":"arn:aws:iam::other:root"})"
                                                       : R"("*")";
    return R"({"Effect":")" + effect + R"(","Principal":)" + principal + R"(,"Action":[)" + list +
           R"(],"Resource":["arn:aws:s3:::)" + bucket + R"(","arn:aws:s3:::)" + bucket + R"(/*"]})";
  }
  // A Deny comes together with an Allow of everything, so that only the Deny can refuse.
  void set_policy(const Row& row, const Effects& effects, Who who) {
    Actions allowed = {"s3:GetBucketCORS"};  // an action that is not implemented
    Actions denied;
    for (std::size_t i = 0; i < effects.size(); ++i) {
      if (effects[i] == Effect::allow) allowed.push_back(row.actions[i]);
      if (effects[i] == Effect::deny) denied.push_back(row.actions[i]);
    }
    std::string all = statement("Allow", who, denied.empty() ? allowed : Actions{"s3:*"});
    if (!denied.empty()) all += ',' + statement("Deny", who, denied);
    const net::Response set =
        put('/' + bucket + "?policy", R"({"Version":"2012-10-17","Statement":[)" + all + "]}");
    ASSERT_EQ(set.status, 204) << set.body;
  }
  net::Response send_as(const Row& row, Who who) {
    Asked asked{.method = row.method,
                .target = filled(row.target),
                .body = filled(row.body),
                .headers = row.headers,
                .access_key = who == Who::owner ? "AK" : "OTHER"};
    for (auto& [name, value] : asked.headers) value = filled(value);
    if (who != Who::stranger) return ask(asked);
    net::Request request{.method = asked.method, .target = asked.target, .headers = asked.headers};
    request.headers.emplace_back("Host", "127.0.0.1:8118");
    if (!asked.body.empty()) {
      request.headers.emplace_back("Content-Length", std::to_string(asked.body.size()));
    }
    return send(request, asked.body);
  }
  // One cell of the table.
  void check(const Row& row, const Effects& effects, Who who) {
    if (changed) make(row);
    set_policy(row, effects, who);
    const net::Response answer = send_as(row, who);
    const bool refused = answer.status == 403 || answer.status == 405 ||
                         answer.body.find("<Code>AccessDenied</Code>") != answer.body.npos;
    std::string how;
    for (const Effect effect : effects) {
      how += effect == Effect::allow ? " allow" : effect == Effect::deny ? " deny" : " none";
    }
    const char* names[] = {"owner", "tenant", "stranger"};
    const bool expected = may(row, effects, who);
    EXPECT_EQ(!refused, expected) << row.name << " for the " << names[static_cast<int>(who)] << ','
                                  << how << ": " << answer.status << ' ' << answer.body;
    if (expected) EXPECT_EQ(answer.status, row.status) << row.name << how << answer.body;
    changed = !refused && row.method != "GET" && row.method != "HEAD";
    ++cells;
  }
  void check(const std::vector<Row>& rows) {
    for (const Row& row : rows) {
      changed = true;
      for (const Effects& effects : effects_of(row)) {
        for (const Who who : {Who::owner, Who::tenant, Who::stranger}) check(row, effects, who);
      }
    }
  }

  std::string bucket;
  std::string version;
  std::string governed;
  std::string upload;
  bool changed = true;  // the bucket for the row must be made again
  int made = 0;
  int cells = 0;
};

TEST_F(PolicyTable, operations_on_buckets_are_allowed_as_s3_allows_them) {
  check(bucket_rows());
  check(bucket_changes());
  EXPECT_GE(cells, 200);
}

TEST_F(PolicyTable, reading_objects_is_allowed_as_s3_allows_it) {
  check(reading_rows());
  EXPECT_GE(cells, 140);
}

TEST_F(PolicyTable, writing_objects_is_allowed_as_s3_allows_it) {
  check(writing_rows());
  check(changing_rows());
  EXPECT_GE(cells, 230);
}

TEST_F(PolicyTable, removing_objects_is_allowed_as_s3_allows_it) {
  check(removing_rows());
  EXPECT_GE(cells, 72);
}

// No policy covers these: requests to a bucket that does not exist, and to the service.
TEST_F(PolicyTable, buckets_are_made_and_listed_by_tenants_whatever_a_policy_says) {
  const Row create{"CreateBucket", "PUT", "/$B", {"s3:CreateBucket"}};
  const Row list{"ListBuckets", "GET", "/", {"s3:ListBucket"}};
  for (const Effect effect : {Effect::allow, Effect::deny, Effect::none}) {
    for (const Who who : {Who::owner, Who::tenant, Who::stranger}) {
      make(create);
      set_policy(create, {effect}, who);
      const int status = send_as(create, who).status;
      EXPECT_EQ(status, who == Who::owner ? 200 : who == Who::tenant ? 409 : 403);
      const net::Response listed = send_as(list, who);
      EXPECT_EQ(listed.status, who == Who::stranger ? 403 : 200);
      EXPECT_EQ(listed.body.find("<Name>" + bucket + '<') != listed.body.npos, who == Who::owner);
    }
  }
}

}  // namespace
}  // namespace orrery::s3server::policy_table_tests
