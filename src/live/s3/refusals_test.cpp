// Every call of the client while the store refuses, fails or is gone: the fault, the operation and
// the number of attempts that each says; and names and keys on either side of what they may be.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "core/base/digest.h"
#include "live/s3/client.h"
#include "live/s3/hash.h"

namespace orrery::s3::refusals_tests {
namespace {

using testing::HasSubstr;

// What a call came to, in words.
template <class T>
std::string told(const Outcome<T>& outcome) {
  if (outcome) return "good";
  const Error& e = outcome.error();
  constexpr const char* kFaults[] = {"refused", "absent",  "precondition", "unreachable",
                                     "server",  "corrupt", "local"};
  return std::string(kFaults[static_cast<std::size_t>(e.fault)]) + ' ' + std::to_string(e.status) +
         ' ' + e.code + " of " + e.operation + " after " + std::to_string(e.attempts);
}

class RefusalsTest : public testing::Test {
 protected:
  Client client() {
    return Client(
        {.endpoint = "http://store",
         .bucket = "pail",
         .credentials = {"AK", "s", ""},
         .retry = {.attempts_max = 3, .base_s = 1, .cap_s = 1}},
        [this](const net::Question& question) {
          asked.push_back(question.method);
          return reply;
        },
        [](double) {}, [] { return std::string("20130524T000000Z"); });
  }
  void answers(int status, const std::string& body = "") {
    reply = {};
    reply.status = status;
    reply.body = body;
  }
  void is_gone() {
    reply = {};
    reply.fault = net::NetFault::broken;
    reply.fault_text = "cut off";
  }
  // All calls but those that look at what is there when their answer is lost.
  std::vector<std::pair<std::string, std::string>> all_told() {
    Client c = client();
    const Body body = Body::of("bytes");
    return {{"PUT pail/k", told(c.put("k", body))},
            {"GET pail/k", told(c.get("k"))},
            {"GET pail/k", told(c.get_range("k", 1, 2))},
            {"HEAD pail/k", told(c.head("k"))},
            {"DELETE pail/k", told(c.remove("k"))},
            {"GET pail/", told(c.list("p"))},
            {"GET pail/k", told(c.document("k", {{"tagging", ""}}))},
            {"PUT pail/", told(c.create_bucket())},
            {"POST pail/k", told(c.create_upload("k", {}))},
            {"PUT pail/k", told(c.upload_part("k", "u", 1, body))},
            {"DELETE pail/k", told(c.abort_upload("k", "u"))},
            {"POST pail/k", told(c.put_parts("k", 5, body.read, 2))}};
  }
  net::Reply reply;
  std::vector<std::string> asked;
};

TEST_F(RefusalsTest, a_refusal_is_said_at_once) {
  answers(403, "<Error><Code>AccessDenied</Code></Error>");
  for (const auto& [operation, said] : all_told()) {
    EXPECT_EQ(said, "refused 403 AccessDenied of " + operation + " after 1");
  }
  EXPECT_EQ(told(client().put_new("k", Body::of("x"))),
            "refused 403 AccessDenied of PUT pail/k after 1");
  EXPECT_EQ(told(client().complete_upload("k", "u", {}, {})),
            "refused 403 AccessDenied of POST pail/k after 1");
}

TEST_F(RefusalsTest, a_fault_of_the_store_is_asked_again_and_then_said) {
  answers(500, "<Error><Code>InternalError</Code></Error>");
  for (const auto& [operation, said] : all_told()) {
    EXPECT_EQ(said, "server 500 InternalError of " + operation + " after 3");
  }
  is_gone();
  for (const auto& [operation, said] : all_told()) {
    EXPECT_EQ(said, "unreachable 0  of " + operation + " after 3");
  }
  asked.clear();
  EXPECT_EQ(told(client().put("k", Body::of("x"))), "unreachable 0  of PUT pail/k after 3");
  EXPECT_EQ(asked.size(), 3u);
}

TEST_F(RefusalsTest, what_is_not_there_is_absent_and_removed_already) {
  answers(404, "<Error><Code>NoSuchKey</Code></Error>");
  Client c = client();
  EXPECT_EQ(told(c.get("k")), "absent 404 NoSuchKey of GET pail/k after 1");
  EXPECT_EQ(told(c.head("k")), "absent 404 NoSuchKey of HEAD pail/k after 1");
  EXPECT_EQ(told(c.document("k", {})), "absent 404 NoSuchKey of GET pail/k after 1");
  EXPECT_EQ(told(c.remove("k")), "good");
  EXPECT_EQ(told(c.abort_upload("k", "u")), "good");
  answers(404, "<Error><Code>NoSuchBucket</Code></Error>");
  EXPECT_EQ(told(c.remove("k")), "absent 404 NoSuchBucket of DELETE pail/k after 1");
  answers(412, "<Error><Code>PreconditionFailed</Code></Error>");
  EXPECT_EQ(told(c.put_new("k", Body::of("x"))),
            "precondition 412 PreconditionFailed of PUT pail/k after 1");
  for (const char* ours : {"BucketAlreadyOwnedByYou", "BucketAlreadyExists"}) {
    answers(409, std::string("<Error><Code>") + ours + "</Code></Error>");
    EXPECT_EQ(told(c.create_bucket()), "good") << ours;
  }
  answers(409, "<Error><Code>OperationAborted</Code></Error>");
  EXPECT_EQ(told(c.create_bucket()), "refused 409 OperationAborted of PUT pail/ after 1");
}

// An answer that is not the one that was asked for is asked for again.
TEST_F(RefusalsTest, a_good_status_with_the_wrong_document_is_corrupt) {
  answers(200, "<Other/>");
  Client c = client();
  EXPECT_EQ(told(c.list("p")), "corrupt 200  of GET pail/ after 3");
  EXPECT_EQ(told(c.create_upload("k", {})), "corrupt 200  of POST pail/k after 3");
  answers(200, "<Error><Code>SlowDown</Code></Error>");
  const auto listed = c.list("p");
  ASSERT_FALSE(listed);
  EXPECT_EQ(listed.error().detail, "an error in a 200 answer: SlowDown");
  answers(200, "text of the document");
  EXPECT_EQ(c.document("k", {}).value_or(""), "text of the document");
  answers(200,
          "<InitiateMultipartUploadResult><UploadId>u-1</UploadId>"
          "</InitiateMultipartUploadResult>");
  EXPECT_EQ(c.create_upload("k", {}).value_or(""), "u-1");
}

TEST_F(RefusalsTest, words_for_a_person) {
  const auto fix = [](Error error) { return to_diagnostic(error).fix; };
  EXPECT_EQ(fix({.fault = Fault::refused, .detail = "interrupted"}), "");
  EXPECT_EQ(fix({.fault = Fault::refused, .status = 403, .code = "RequestTimeTooSkewed"}),
            "set this machine's clock");
  EXPECT_THAT(fix({.fault = Fault::absent, .status = 404, .code = "NoSuchBucket"}),
              HasSubstr("make the bucket"));
  EXPECT_THAT(fix({.fault = Fault::refused, .status = 403}), HasSubstr("check the keys"));
  for (const int moved : {301, 307}) {
    EXPECT_THAT(fix({.fault = Fault::refused, .status = moved}), HasSubstr("--region"));
  }
  EXPECT_THAT(fix({.fault = Fault::unreachable}), HasSubstr("--endpoint"));
  EXPECT_THAT(fix({.fault = Fault::server, .status = 500}), HasSubstr("overloaded"));
  EXPECT_THAT(fix({.fault = Fault::corrupt}), HasSubstr("do not trust it"));
  EXPECT_THAT(fix({.fault = Fault::precondition, .status = 412}), HasSubstr("another name"));
  EXPECT_EQ(fix({.fault = Fault::local}), "");
  const Diagnostic once = to_diagnostic(
      {.fault = Fault::server, .operation = "PUT b/k", .status = 500, .code = "C", .detail = "d"});
  EXPECT_EQ(once.code, "s3.failed");
  EXPECT_EQ(once.place.file, "PUT b/k");
  EXPECT_EQ(once.what, "the store answered 500 after 1 attempt");
  EXPECT_EQ(once.why, "C: d");
  const Diagnostic none =
      to_diagnostic({.fault = Fault::unreachable, .detail = "d", .attempts = 4});
  EXPECT_EQ(none.what, "the store gave no answer after 4 attempts");
  EXPECT_EQ(none.why, "d");
}

TEST(Names, of_buckets_prefixes_and_endpoints_on_either_side) {
  const auto place = [](const std::string& text) {
    const auto found = parse_location(text);
    return found ? found->bucket + '|' + found->prefix : "refused";
  };
  EXPECT_EQ(place("s3://a.b-9"), "a.b-9|");
  EXPECT_EQ(place("s3://abc/"), "abc|");
  EXPECT_EQ(place("s3://abc/p/q//"), "abc|p/q");
  EXPECT_EQ(place("s3://" + std::string(63, 'z') + "/x"), std::string(63, 'z') + "|x");
  EXPECT_EQ(place("s3://abc/" + std::string(900, 'p')), "abc|" + std::string(900, 'p'));
  for (const std::string& bad :
       {std::string("s3://ab"), "s3://" + std::string(64, 'z'), std::string("s3://aBc"),
        std::string("s3://a_c"), std::string("s3://a{c"), std::string("s3://a`c"),
        std::string("s3:/abc"), "s3://abc/" + std::string(901, 'p'),
        std::string("s3://abc/\xff")}) {
    EXPECT_EQ(place(bad), "refused") << bad;
  }
  const auto endpoint = [](const std::string& text) {
    return checked_endpoint(text).value_or("refused");
  };
  EXPECT_EQ(endpoint("https://Host-9.example:9000//"), "https://Host-9.example:9000");
  EXPECT_EQ(endpoint("http://[::1]:80"), "http://[::1]:80");
  for (const char* bad :
       {"https://", "ftp://h", "host", "http://h/path", "http://u@h", "http://h?q"}) {
    EXPECT_EQ(endpoint(bad), "refused") << bad;
  }
}

TEST(Keys, come_from_the_environment_and_are_one_line) {
  std::map<std::string, std::string> set = {
      {"AWS_ACCESS_KEY_ID", "AK"}, {"AWS_SECRET_ACCESS_KEY", "s/+"}, {"AWS_SESSION_TOKEN", "t"}};
  const auto read = [&] {
    return credentials_of([&](const char* name) -> const char* {
      const auto at = set.find(name);
      return at == set.end() ? nullptr : at->second.c_str();
    });
  };
  ASSERT_TRUE(read());
  EXPECT_EQ(read()->access_key, "AK");
  EXPECT_EQ(read()->secret_key, "s/+");
  EXPECT_EQ(read()->session_token, "t");
  for (const char* name : {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"}) {
    for (const char* bad : {"a b", "a\nb", "a\x7f", " "}) {
      const std::string before = std::exchange(set[name], bad);
      EXPECT_FALSE(read()) << name;
      set[name] = before;
    }
  }
  set.erase("AWS_SESSION_TOKEN");
  EXPECT_TRUE(read()) << "not every store has them";
  set.erase("AWS_SECRET_ACCESS_KEY");
  EXPECT_FALSE(read());
}

// RFC 2104: a key of just a block is taken as it is; a longer one is hashed.
TEST(Hmac, with_keys_of_63_64_and_65_bytes) {
  const auto by_hand = [](std::string key, const std::string& text) {
    if (key.size() > 64) {
      Hash hash(HashKind::sha256);
      hash.add(key);
      key = hash.finish();
    }
    key.resize(64, '\0');
    std::string inner(64, '\x36'), outer(64, '\x5c');
    for (std::size_t i = 0; i < 64; ++i) inner[i] ^= key[i], outer[i] ^= key[i];
    Hash first(HashKind::sha256);
    first.add(inner + text);
    Hash second(HashKind::sha256);
    second.add(outer + first.finish());
    return second.finish();
  };
  for (const std::size_t bytes : {0u, 1u, 63u, 64u, 65u, 200u}) {
    const std::string key(bytes, 'k');
    EXPECT_EQ(to_hex(hmac_sha256(key, "text")), to_hex(by_hand(key, "text"))) << bytes;
  }
}

}  // namespace
}  // namespace orrery::s3::refusals_tests
