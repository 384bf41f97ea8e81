// `orrery store` by its options: keys and names of its own, limits, TLS, signals, and what it says
// of stores that are somewhere else.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <chrono>
#include <csignal>
#include <filesystem>

#include "app/cli/spoken_fixture.h"
#include "app/cli/store_offline.h"
#include "live/agent/test_folder.h"
#include "live/net/client.h"
#include "live/net/running_server_fixture.h"
#include "live/s3/client.h"

namespace orrery::cli {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// A store takes over SIGTERM and SIGPIPE for good.
struct HandlersKept {
  HandlersKept() {
    ::sigaction(SIGTERM, nullptr, &term);
    ::sigaction(SIGPIPE, nullptr, &pipe);
  }
  ~HandlersKept() {
    ::sigaction(SIGTERM, &term, nullptr);
    ::sigaction(SIGPIPE, &pipe, nullptr);
  }
  HandlersKept(const HandlersKept&) = delete;
  HandlersKept& operator=(const HandlersKept&) = delete;
  struct sigaction term = {}, pipe = {};
};

class StoreRuns : public testing::Test {
 protected:
  std::vector<std::string> words(const std::vector<std::string>& more) const {
    std::vector<std::string> all = {"store", folder.at("st"), "--port", "0"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  static s3::Client client(const std::string& at) {
    return s3::Client({.endpoint = at,
                       .bucket = "models",
                       .credentials = {"test", "secret", ""},
                       .retry = {.attempts_max = 1}});
  }
  agent::TestFolder folder{fs::exists("/dev/shm") ? "/dev/shm" : fs::temp_directory_path()};
  Variable access_{"ORRERY_ACCESS_KEY", "test"}, secret_{"ORRERY_SECRET_KEY", "secret"};
  Variable none_{"AWS_ACCESS_KEY_ID", std::nullopt};
  HandlersKept handlers_;
};

TEST_F(StoreRuns, has_the_region_and_the_domain_that_it_is_told) {
  VerbBeside store(words({"--region", "eu-7", "--domain", "mine.example", "--keep",
                          "hot,newest=3,pace=200MB/s", "--keep", "hot,newest=5", "--promote", "6 h",
                          "--lifecycle-day", "0.1 s", "--md5", "--open-metrics"}));
  const std::string at = store.first_line();
  EXPECT_FALSE(client(at).create_bucket()) << "it signs for another region";
  s3::Config config = client(at).config();
  config.region = "eu-7";
  s3::Client mine(config);
  ASSERT_TRUE(mine.create_bucket());
  EXPECT_THAT(mine.document("", {{"location", ""}}).value_or("none"), HasSubstr(">eu-7<"));
  ASSERT_TRUE(mine.put("k", s3::Body::of("x")));
  const VerbAnswer lineage =
      spoken({"store", "lineage", mine.config().bucket + "/k", "--at", at, "--region", "eu-7"});
  EXPECT_EQ(lineage.code, ExitCode::good) << lineage.err;
  const auto said = [&](const std::string& host) {
    return net::Client().ask({.url = at + "/", .headers = {{"Host", host}}}).body;
  };
  EXPECT_THAT(said("nosuch.mine.example"), HasSubstr("<Code>NoSuchBucket</Code>"));
  EXPECT_THAT(said("nosuch.localhost"), HasSubstr("<Code>AccessDenied</Code>"));
  const VerbAnswer ended = store.end();
  EXPECT_EQ(ended.code, ExitCode::good);
  EXPECT_EQ(ended.err, "The store in " + folder.at("st") +
                           " answers there. Ctrl-C ends it.\n"
                           "All that was acknowledged is kept; goodbye.\n");
}

// Two seconds' worth passes at once, then one is too many.
TEST_F(StoreRuns, slows_a_tenant_down_who_asks_too_often) {
  const auto failed_of_eight = [&](const std::vector<std::string>& more) {
    VerbBeside store(words(more));
    s3::Client mine = client(store.first_line());
    mine.create_bucket();
    int failed = 0;
    for (int i = 0; i < 8; ++i) failed += mine.list("").has_value() ? 0 : 1;
    return failed;
  };
  EXPECT_EQ(failed_of_eight({"--client-at-once", "0"}), 0);
  EXPECT_EQ(failed_of_eight({"--client-requests", "0.5"}), 8);
}

// SIGTERM is Ctrl-C; whoever read the address may close his end of the pipe.
TEST_F(StoreRuns, ends_in_order_when_it_is_asked_to) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  bool ignores_pipes = false;
  int asked = 0;
  const VerbAnswer a = spoken(words({}), {.interrupted = [&] {
                                if (asked++ == 0) {
                                  struct sigaction now = {};
                                  ::sigaction(SIGPIPE, nullptr, &now);
                                  ignores_pipes = now.sa_handler == SIG_IGN;
                                  ::raise(SIGTERM);
                                }
                                return std::chrono::steady_clock::now() > deadline;
                              }});
  EXPECT_LT(std::chrono::steady_clock::now(), deadline);
  EXPECT_TRUE(ignores_pipes);
  EXPECT_EQ(a.code, ExitCode::good);
  EXPECT_THAT(a.err, HasSubstr("All that was acknowledged is kept; goodbye.\n"));
  // Another may run after it in the same process.
  EXPECT_EQ(spoken(words({}), {.stop_at = "http://"}).code, ExitCode::good);
}

std::string pem_of(const std::function<void(BIO*)>& write) {
  BIO* memory = BIO_new(BIO_s_mem());
  write(memory);
  char* data = nullptr;
  const long size = BIO_get_mem_data(memory, &data);
  std::string text(data, static_cast<std::size_t>(size));
  BIO_free(memory);
  return text;
}

TEST_F(StoreRuns, speaks_tls_with_the_certificate_that_it_is_given) {
  EVP_PKEY* key = EVP_EC_gen("P-256");
  X509* certificate = X509_new();
  X509_gmtime_adj(X509_getm_notBefore(certificate), -60);
  X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
  X509_set_pubkey(certificate, key);
  X509_sign(certificate, key, EVP_sha256());
  folder.write("c.pem", pem_of([&](BIO* to) { PEM_write_bio_X509(to, certificate); }));
  folder.write_secret("k.pem", pem_of([&](BIO* to) {
                        PEM_write_bio_PrivateKey(to, key, nullptr, nullptr, 0, nullptr, nullptr);
                      }));
  X509_free(certificate);
  EVP_PKEY_free(key);
  VerbBeside store(
      words({"--tls-certificate", folder.at("c.pem"), "--tls-key", folder.at("k.pem")}));
  const std::string at = store.first_line();
  EXPECT_THAT(at, StartsWith("https://127.0.0.1:"));
  EXPECT_NE(net::Client().ask({.url = "http" + at.substr(5) + "/-/health"}).status, 200);
  EXPECT_EQ(store.end().code, ExitCode::good);
  EXPECT_THAT(spoken(words({"--tls-certificate", folder.at("c.pem"), "--tls-key", "/no/such"})).err,
              StartsWith("/no/such: error: "));
}

TEST_F(StoreRuns, a_sound_store_has_nothing_to_be_mended) {
  EXPECT_EQ(spoken(words({}), {.stop_at = "http://"}).code, ExitCode::good);
  const std::string sound =
      "0 buckets, 0 versions, 0 bytes in 0 blobs\n"
      "0 damaged shards, 0 blobs lost, 0 blobs that nothing names, 0 files that no row names\n"
      "The store is sound.\n";
  const VerbAnswer planned = spoken({"store", "repair", folder.at("st")});
  EXPECT_EQ(planned.code, ExitCode::good);
  EXPECT_EQ(planned.out, "There is nothing to do.\n");
  const VerbAnswer mended = spoken({"store", "repair", folder.at("st"), "--apply"});
  EXPECT_EQ(mended.code, ExitCode::good);
  EXPECT_EQ(mended.err,
            "0 shards written anew, 0 files set aside that no row names, 0 brought back\n");
  EXPECT_EQ(mended.out, sound);
  EXPECT_EQ(spoken({"store", "fsck", folder.at("st"), "--quick"}).out, sound);
  EXPECT_THAT(spoken({"store", "fsck", folder.at("st"), "--s3-keys", "/no/such"}).err,
              StartsWith("/no/such: error: "));
  EXPECT_EQ(spoken({"store", "lineage", "a/b", folder.at("st")}).err,
            "error: a/b: NoSuchKey [store.lineage]\n");
  EXPECT_FALSE(FolderCheck{}.quick);
}

TEST_F(StoreRuns, says_why_a_store_does_not_say_how_it_stands) {
  const std::string fix =
      "    fix: name its address; from another machine it answers with --open-metrics\n";
  net::RunningServer other([](const net::Request& request) {
    return net::Response{.status = net::path_of(request) == "/-/status" ? 418 : 200, .body = "x"};
  });
  EXPECT_EQ(spoken({"store", "status", other.url("")}).err,
            "error: no store says how it stands at " + other.url("") +
                ": it answers 418 [store.status]\n" + fix);
  EXPECT_THAT(spoken({"store", "status", "http://127.0.0.1:1"}).err,
              AllOf(StartsWith("error: no store says how it stands at http://127.0.0.1:1: "),
                    Not(HasSubstr(": it answers"))));
  net::RunningServer well([](const net::Request&) { return net::Response{.body = "{\"a\":1}\n"}; });
  const auto status = status_at(well.url(""));
  ASSERT_TRUE(status);
  EXPECT_EQ(*status, "{\"a\":1}\n");
}

// Keys of a file stand by their bucket, those of the environment for all others.
TEST_F(StoreRuns, keys_of_other_stores_come_from_a_file_and_from_the_environment) {
  std::ostringstream out, err;
  const Terminal terminal{.out = out, .err = err, .read_file = read_text_file};
  folder.write_secret("keys", "far AKFAR secretfar\n");
  const auto by_file = s3_access(folder.at("keys"), terminal);
  ASSERT_TRUE(by_file);
  ASSERT_EQ(by_file->keys.size(), 1U);
  EXPECT_EQ(by_file->keys.at("far").access_key, "AKFAR");
  EXPECT_EQ(by_file->keys.at("far").secret_key, "secretfar");
  const Variable key("AWS_ACCESS_KEY_ID", "AKENV"), secret("AWS_SECRET_ACCESS_KEY", "secretenv");
  const auto both = s3_access(folder.at("keys"), terminal);
  ASSERT_TRUE(both);
  ASSERT_EQ(both->keys.size(), 2U);
  EXPECT_EQ(both->keys.at("").access_key, "AKENV");
  EXPECT_EQ(s3_access("", terminal)->keys.size(), 1U);
}

}  // namespace
}  // namespace orrery::cli
