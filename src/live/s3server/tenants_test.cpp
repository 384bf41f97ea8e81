// Secrets at rest: tenants' secrets encrypted with the master key, wrong keys, and which tenants
// keep access over restarts.
#include "live/s3server/tenants.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "live/s3/sigv4.h"
#include "live/s3server/runtime.h"
#include "live/s3server/s3_request.h"
#include "live/store/moment.h"

namespace orrery::s3server::tenants_tests {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

class TenantsAtRest : public testing::Test {
 protected:
  TenantsAtRest()
      : folder(testing::TempDir() + "orrery-tenants." + std::to_string(::getpid()) + '.' +
               testing::UnitTest::GetInstance()->current_test_info()->name()) {
    fs::remove_all(folder);
    options.folder = folder;
    options.tiers = {{.name = "hot", .plan = {1, 0}}};
    options.log = [](const std::string&) {};
  }
  ~TenantsAtRest() override { fs::remove_all(folder); }

  std::unique_ptr<Runtime> opened() {
    auto runtime = Runtime::open(options);
    EXPECT_TRUE(runtime) << to_text(runtime.error());
    return runtime ? std::move(*runtime) : nullptr;
  }
  static KeyRing ring(const std::vector<std::pair<std::string, char>>& keys) {
    KeyRing made{.current = keys.front().first};
    for (const auto& [id, digit] : keys) made.keys[id] = std::string(32, digit);
    return made;
  }
  static std::string notes(Runtime& runtime) { return to_text(runtime.folder().notes); }
  static net::Response ask(Runtime& runtime, const std::string& method, const std::string& target,
                           const std::string& key, const std::string& secret,
                           const std::string& body = "") {
    const std::string time = amz_time(wall_clock_ms());
    net::Request request{.method = method, .target = target};
    request.headers = {
        {"Host", "127.0.0.1"}, {"x-amz-date", time}, {"x-amz-content-sha256", "UNSIGNED-PAYLOAD"}};
    const auto parsed = s3_request_of(request, "localhost");
    const s3::SignatureInput input{.method = method,
                                   .path = s3::uri_encoded(parsed->path, true),
                                   .query = parsed->query,
                                   .headers = request.headers,
                                   .payload = "UNSIGNED-PAYLOAD",
                                   .time = time,
                                   .region = "us-east-1"};
    request.headers.emplace_back("Authorization", s3::authorization(input, {key, secret, ""}));
    if (body.empty()) return runtime.service().answer(request);
    request.headers.emplace_back("Content-Length", std::to_string(body.size()));
    net::BodyPlan plan = runtime.service().plan(request);
    auto* sink = std::get_if<std::unique_ptr<net::BodySink>>(&plan);
    if (!sink) return std::move(std::get<net::Response>(plan));
    if (auto refusal = (*sink)->take(body)) return *refusal;
    return (*sink)->finish();
  }
  static bool may_ask(Runtime& runtime, const std::string& key, const std::string& secret) {
    return ask(runtime, "GET", "/", key, secret).status == 200;
  }
  // Returns true if any file of the metadata contains the text.
  bool is_in_files(const std::string& text) const {
    for (const auto& at : fs::recursive_directory_iterator(folder + "/metadata")) {
      std::ifstream file(at.path(), std::ios::binary);
      const std::string bytes{std::istreambuf_iterator<char>(file), {}};
      if (bytes.find(text) != bytes.npos) return true;
    }
    return false;
  }

  std::string folder;
  RuntimeOptions options;
  const std::string secret = "a-secret-of-bobs-own";
  const std::vector<Tenant> bob = {{"BOB", secret, "bob", "bob", 0}};
};

TEST_F(TenantsAtRest, secrets_are_not_in_the_files_of_an_encrypted_store) {
  options.keys = ring({{"k1", 'a'}});
  options.tenants = bob;
  {
    const auto runtime = opened();
    ASSERT_TRUE(runtime->first_tenant("AK", "the-secret-of-main"));
    EXPECT_TRUE(may_ask(*runtime, "BOB", secret));
    EXPECT_TRUE(may_ask(*runtime, "BOB", secret)) << "the second time as the first time";
    EXPECT_FALSE(may_ask(*runtime, "BOB", ""));
    EXPECT_TRUE(may_ask(*runtime, "AK", "the-secret-of-main"));
    EXPECT_THAT(notes(*runtime), Not(HasSubstr("store.clear-secrets")));
  }
  EXPECT_FALSE(is_in_files(secret));
  EXPECT_FALSE(is_in_files("the-secret-of-main"));
  options.tenants.reset();
  const auto runtime = opened();
  EXPECT_TRUE(may_ask(*runtime, "BOB", secret));
  EXPECT_EQ(runtime->first_tenant("", "")->secret_key, "the-secret-of-main");
}

TEST_F(TenantsAtRest, plain_secrets_are_sealed_and_removed_from_the_disk) {
  options.tenants = bob;
  {
    const auto runtime = opened();
    EXPECT_THAT(notes(*runtime), HasSubstr("[store.clear-secrets]")) << "the note says what this "
                                                                        "means";
  }
  EXPECT_TRUE(is_in_files(secret)) << "otherwise this test shows nothing";
  options.tenants.reset();
  options.keys = ring({{"k1", 'a'}});
  const auto runtime = opened();
  EXPECT_THAT(notes(*runtime), HasSubstr("[store.sealed]"));
  EXPECT_TRUE(may_ask(*runtime, "BOB", secret));
  // The engine removes a merged file from the disk a moment after it has finished with it.
  for (int i = 0; i < 100 && is_in_files(secret); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_FALSE(is_in_files(secret));
}

TEST_F(TenantsAtRest, secrets_are_resealed_with_the_current_key) {
  options.tenants = bob;
  options.keys = ring({{"k1", 'a'}});
  opened();
  options.tenants.reset();
  options.keys = ring({{"k2", 'b'}, {"k1", 'a'}});
  opened();
  options.keys = ring({{"k2", 'b'}});
  EXPECT_TRUE(may_ask(*opened(), "BOB", secret)) << "the first key is not needed for it any more";
}

TEST_F(TenantsAtRest, a_row_is_sealed_for_its_access_key_with_a_fresh_nonce) {
  const KeyRing keys = ring({{"k1", 'a'}});
  const std::string first = tenant_row(bob.front(), keys, std::string(16, '1'));
  EXPECT_NE(first, tenant_row(bob.front(), keys, std::string(16, '2')));
  Tenant moved = *rows::decode_tenant(first);
  ASSERT_TRUE(opened_tenant(moved, keys));
  EXPECT_EQ(opened_tenant(moved, keys)->secret_key, secret);
  EXPECT_FALSE(opened_tenant(moved, ring({{"k1", 'b'}}))) << "another key";
  EXPECT_FALSE(opened_tenant(moved, ring({{"k2", 'a'}}))) << "a key with another id";
  moved.access_key = "EVE";
  EXPECT_FALSE(opened_tenant(moved, keys)) << "a row copied to another tenant's place";
}

TEST_F(TenantsAtRest, a_wrong_key_under_the_right_id_is_refused) {
  options.keys = ring({{"k1", 'a'}});
  {
    const auto runtime = opened();
    ASSERT_TRUE(runtime->first_tenant("AK", "s"));
    ask(*runtime, "PUT", "/pail", "AK", "s");
    EXPECT_EQ(ask(*runtime, "PUT", "/pail/k", "AK", "s", "in cipher").status, 200);
  }
  for (const auto& keys : {ring({{"k1", 'b'}}), ring({{"k2", 'c'}, {"k1", 'b'}})}) {
    options.keys = keys;
    const auto refused_open = Runtime::open(options);
    ASSERT_FALSE(refused_open);
    EXPECT_EQ(refused_open.error().front().code, "store.key");
    EXPECT_THAT(refused_open.error().front().what, HasSubstr("'k1'"));
  }
  options.keys = ring({{"k1", 'a'}});
  const auto runtime = opened();
  EXPECT_EQ(ask(*runtime, "GET", "/pail/k", "AK", "s").body, "in cipher");
}

// A store encrypted before keys had check values: its data is used for the check.
TEST_F(TenantsAtRest, a_key_without_a_check_value_is_checked_against_stored_data) {
  for (const std::size_t bytes : {std::size_t{9}, std::size_t{20'000}}) {
    fs::remove_all(folder);
    options.keys = ring({{"k1", 'a'}});
    {
      const auto runtime = opened();
      ASSERT_TRUE(runtime->first_tenant("AK", "s"));
      ask(*runtime, "PUT", "/pail", "AK", "s");
      EXPECT_EQ(ask(*runtime, "PUT", "/pail/k", "AK", "s", std::string(bytes, 'x')).status, 200);
      const auto row = rows::row::key_check("k1");
      ASSERT_TRUE(runtime->store().metadata().get(row).value());
      ASSERT_TRUE(runtime->store().metadata().commit({.changes = {{row, std::nullopt}}}));
    }
    options.keys = ring({{"k1", 'b'}});
    const auto refused_open = Runtime::open(options);
    ASSERT_FALSE(refused_open) << bytes;
    EXPECT_EQ(refused_open.error().front().code, "store.key");
    options.keys = ring({{"k1", 'a'}});
    const auto runtime = opened();
    EXPECT_TRUE(runtime->store().metadata().get(rows::row::key_check("k1")).value());
  }
}

TEST_F(TenantsAtRest, tenants_that_are_not_listed_but_keep_access_are_reported) {
  options.tenants =
      std::vector<Tenant>{{"BOB", "s", "bob", "bob", 0}, {"CAROL", "s", "carol", "carol", 0}};
  EXPECT_THAT(notes(*opened()), Not(HasSubstr("still have access")));
  options.tenants.reset();
  {
    const auto runtime = opened();
    EXPECT_THAT(notes(*runtime), HasSubstr("still have access: bob, carol"));
    EXPECT_TRUE(may_ask(*runtime, "CAROL", "s"));
  }
  options.tenants = std::vector<Tenant>{};
  EXPECT_FALSE(may_ask(*opened(), "CAROL", "s"));
  options.tenants.reset();
  EXPECT_THAT(notes(*opened()), Not(HasSubstr("still have access")));
}

TEST_F(TenantsAtRest, new_keys_of_the_first_tenant_replace_the_old) {
  const auto runtime = opened();
  ASSERT_TRUE(runtime->first_tenant("OLD", "leaked"));
  EXPECT_TRUE(may_ask(*runtime, "OLD", "leaked"));
  ASSERT_TRUE(runtime->first_tenant("NEW", "fresh"));
  EXPECT_TRUE(may_ask(*runtime, "NEW", "fresh"));
  EXPECT_FALSE(may_ask(*runtime, "OLD", "leaked"));
  EXPECT_EQ(runtime->first_tenant("", "")->access_key, "NEW");
}

TEST_F(TenantsAtRest, a_policy_that_is_no_longer_accepted_is_reported) {
  {
    const auto runtime = opened();
    ASSERT_TRUE(runtime->store().make_bucket(
        {.name = "pail",
         .owner = "main",
         .documents = {{"policy",
                        R"({"Statement":{"Effect":"Deny","Principal":"*",)"
                        R"("Action":"s3:GetObjekt","Resource":"arn:aws:s3:::pail/*"}})"}}}));
  }
  const std::string said = notes(*opened());
  EXPECT_THAT(said, HasSubstr("[store.policy]"));
  EXPECT_THAT(said, HasSubstr("bucket pail"));
}

// Local pages need a local host name, so that a browser that was led here by a foreign name cannot
// read them.
TEST_F(TenantsAtRest, local_pages_are_refused_under_a_foreign_host_name) {
  auto runtime = opened();
  const auto status = [&](const std::string& target, const std::string& host) {
    const net::Request request{.target = target, .headers = {{"Host", host}}, .peer = "127.0.0.1"};
    return runtime->service().answer(request).status;
  };
  for (const char* page : {"/-/status", "/-/metrics"}) {
    for (const char* host :
         {"127.0.0.1", "127.0.0.1:8118", "localhost", "LocalHost:80", "[::1]:8118", "[::1]"}) {
      EXPECT_EQ(status(page, host), 200) << host;
    }
    for (const char* host :
         {"evil.com", "evil.com:8118", "", "127.0.0.1.evil.com", "localhost.evil.com",
          "127.evil.com", "localhost:80.evil.com", "[::2]", "0.0.0.0"}) {
      EXPECT_EQ(status(page, host), 421) << host;
    }
  }
  EXPECT_EQ(status("/-/health", "evil.com"), 200) << "the answer reveals nothing";
  runtime.reset();
  options.metrics_for_all = true;
  runtime = opened();
  EXPECT_EQ(status("/-/metrics", "store-1.example:8118"), 200) << "as with --open-metrics";
}

}  // namespace
}  // namespace orrery::s3server::tenants_tests
