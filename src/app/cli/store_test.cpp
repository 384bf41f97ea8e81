#include <gmock/gmock.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>

#include "app/cli/answer_fixture.h"
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
using testing::MatchesRegex;
using testing::Not;
using testing::StartsWith;

// Restores the handlers, because a store replaces SIGTERM and SIGPIPE for good.
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

TEST_F(StoreRuns, region_and_domain_are_as_given) {
  VerbBeside store(words({"--region", "eu-7", "--domain", "mine.example", "--keep",
                          "hot,newest=3,pace=200MB/s", "--keep", "hot,newest=5", "--promote", "6 h",
                          "--lifecycle-day", "0.1 s", "--md5", "--open-metrics"}));
  const std::string at = store.first_line();
  EXPECT_FALSE(client(at).create_bucket());
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
  EXPECT_THAT(ended.err, HasSubstr(folder.at("st")));
}

// Requests for two seconds pass at once; the next one is refused.
TEST_F(StoreRuns, a_tenant_over_its_rate_is_slowed) {
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

// The reader of stdout may close the pipe. Signals of the process: tests/server_signals_test.cpp.
TEST_F(StoreRuns, an_interrupt_ends_the_store_in_order) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  bool ignores_pipes = false;
  const VerbAnswer a = spoken(words({}), {.interrupted = [&] {
                                struct sigaction now = {};
                                ::sigaction(SIGPIPE, nullptr, &now);
                                ignores_pipes = now.sa_handler == SIG_IGN;
                                return ignores_pipes || std::chrono::steady_clock::now() > deadline;
                              }});
  EXPECT_TRUE(ignores_pipes);
  EXPECT_EQ(a.code, ExitCode::good);
  // Another store can run afterwards in the same process.
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

TEST_F(StoreRuns, tls_uses_the_given_certificate) {
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

TEST_F(StoreRuns, a_healthy_store_needs_no_repair) {
  EXPECT_EQ(spoken(words({}), {.stop_at = "http://"}).code, ExitCode::good);
  const VerbAnswer planned = spoken({"store", "repair", folder.at("st")});
  EXPECT_EQ(planned.code, ExitCode::good);
  const VerbAnswer mended = spoken({"store", "repair", folder.at("st"), "--apply"});
  EXPECT_EQ(mended.code, ExitCode::good);
  EXPECT_THAT(mended.err, HasSubstr("0 shards"));
  EXPECT_EQ(spoken({"store", "fsck", folder.at("st"), "--quick"}).code, ExitCode::good);
  EXPECT_THAT(spoken({"store", "fsck", folder.at("st"), "--s3-keys", "/no/such"}).err,
              StartsWith("/no/such: error: "));
  EXPECT_EQ(spoken({"store", "lineage", "a/b", folder.at("st")}).err,
            "error: a/b: NoSuchKey [store.lineage]\n");
  EXPECT_FALSE(FolderCheck{}.quick);
}

// Keys in a file belong to a bucket; keys in the environment are for all other buckets.
TEST_F(StoreRuns, keys_of_other_stores_come_from_file_or_environment) {
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

// Restores SIGTERM and SIGPIPE, which the store replaces.
class SignalsKept {
 public:
  SignalsKept() {
    ::sigaction(SIGTERM, nullptr, &term_);
    ::sigaction(SIGPIPE, nullptr, &pipe_);
  }
  ~SignalsKept() {
    ::sigaction(SIGTERM, &term_, nullptr);
    ::sigaction(SIGPIPE, &pipe_, nullptr);
  }

 private:
  struct sigaction term_ = {}, pipe_ = {};
};

class StoreVerb : public testing::Test {
 protected:
  std::vector<std::string> words(const std::vector<std::string>& more) const {
    std::vector<std::string> all = {"store", folder.at("st"), "--port", "0"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  static s3::Client client(const std::string& at, const std::string& key = "test",
                           const std::string& secret = "secret") {
    return s3::Client({.endpoint = at,
                       .bucket = "models",
                       .credentials = {key, secret, ""},
                       .retry = {.attempts_max = 1}});
  }
  std::string text(const std::string& name) const {
    return read_text_file(folder.at(name)).value_or("");
  }
  // Returns the files of a tier that contain shards.
  std::vector<std::string> shards(const std::string& tier) const {
    std::vector<std::string> files;
    for (const auto& entry : fs::recursive_directory_iterator(tier + "/data")) {
      if (entry.is_regular_file()) files.push_back(entry.path().string());
    }
    return files;
  }
  void expect_refused_store(const std::vector<std::string>& more, const std::string& code) const {
    const VerbAnswer a = spoken(words(more));
    EXPECT_EQ(a.code, ExitCode::bad_input) << code;
    EXPECT_THAT(a.err, HasSubstr("[" + code + "]"));
    EXPECT_FALSE(fs::exists(folder.at("st/store"))) << code;
  }

  // A new store syncs a thousand folders, which is fast in memory.
  agent::TestFolder folder{fs::exists("/dev/shm") ? "/dev/shm" : fs::temp_directory_path()};
  Variable access_{"ORRERY_ACCESS_KEY", "test"}, secret_{"ORRERY_SECRET_KEY", "secret"};
  Variable none_{"AWS_ACCESS_KEY_ID", std::nullopt};
  SignalsKept signals_;
};

// Checks the stopped store of the test below: sound, then with a damaged copy, then repaired.
void check_at_rest(const agent::TestFolder& folder, const std::vector<std::string>& copies) {
  const std::string st = folder.at("st");
  const VerbAnswer sound = spoken({"store", "fsck", st});
  EXPECT_EQ(sound.code, ExitCode::good);
  EXPECT_THAT(sound.out, HasSubstr("2 buckets, 1 versions, 20000 bytes in 1 blobs\n0 damaged"));
  ASSERT_EQ(copies.size(), 1U);
  {
    std::fstream file(copies.front(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(5000);
    file << "damage";
  }
  folder.write("b/data/00/0000000000000000000000000000beef", "foreign");
  EXPECT_THAT(spoken({"store", "fsck", st, "--quick"}).out, HasSubstr("0 damaged shards"));
  const VerbAnswer damaged = spoken({"store", "fsck", st});
  EXPECT_EQ(damaged.code, ExitCode::fails_rule);
  EXPECT_THAT(damaged.out, HasSubstr("\n1 damaged shards, 0 blobs lost"));
  const VerbAnswer planned = spoken({"store", "repair", st});
  EXPECT_EQ(planned.code, ExitCode::fails_rule);
  EXPECT_THAT(planned.out, HasSubstr("shard 1 of blob "));
  const VerbAnswer mended = spoken({"store", "repair", st, "--apply"});
  EXPECT_EQ(mended.code, ExitCode::good) << mended.out << mended.err;
  EXPECT_THAT(mended.err, HasSubstr("1 shards "));
  const VerbAnswer lineage = spoken({"store", "lineage", "models/run/final", st});
  EXPECT_EQ(lineage.code, ExitCode::good) << lineage.err;
  EXPECT_THAT(lineage.out, HasSubstr("run/final"));
  EXPECT_THAT(spoken({"store", "lineage", "models/nosuch", st}).err, HasSubstr("[store.lineage]"));
}

TEST_F(StoreVerb, objects_are_served_and_kept) {
  folder.write_secret("tenants", "bob BOBKEY bobsecret\n");
  const std::string object(20'000, 'q');
  VerbBeside store(words({"--tier", "hot=2x:" + folder.at("a") + "," + folder.at("b"), "--tenants",
                          folder.at("tenants"), "--audit", folder.at("audit.jsonl")}));
  const std::string at = store.first_line();
  ASSERT_THAT(at, MatchesRegex("http://127\\.0\\.0\\.1:[0-9]+"));
  s3::Client mine = client(at);
  ASSERT_TRUE(mine.create_bucket());
  ASSERT_TRUE(mine.put("run/final", s3::Body::of(object)));
  EXPECT_EQ(mine.get("run/final")->bytes, object);
  EXPECT_FALSE(client(at, "test", "wrong").get("run/final"));
  EXPECT_FALSE(client(at, "BOBKEY", "bobsecret").get("run/final"));
  EXPECT_FALSE(client(at, "BOBKEY", "wrong").create_bucket());
  s3::Client his({.endpoint = at, .bucket = "bobs", .credentials = {"BOBKEY", "bobsecret", ""}});
  EXPECT_TRUE(his.create_bucket());

  const VerbAnswer status = spoken({"store", "status", at});
  EXPECT_EQ(status.code, ExitCode::good) << status.err;
  EXPECT_THAT(status.out,
              AllOf(StartsWith("{"), HasSubstr("\"name\": \"models\""), HasSubstr(folder.at("a"))));
  const VerbAnswer by_option = spoken({"store", "status", "--at", at});
  EXPECT_EQ(by_option.code, ExitCode::good);
  const std::string port = at.substr(at.rfind(':') + 1);
  EXPECT_EQ(spoken({"store", "status", "--port", port}).code, ExitCode::good);
  const VerbAnswer lineage = spoken({"store", "lineage", "models/run/final", "--at", at});
  EXPECT_EQ(lineage.code, ExitCode::good) << lineage.err;
  EXPECT_THAT(lineage.out, HasSubstr("run/final"));
  EXPECT_THAT(spoken({"store", "lineage", "models/nosuch", "--at", at}).err,
              HasSubstr("[s3.failed]"));
  EXPECT_THAT(net::Client().ask({.url = at + "/-/metrics"}).body,
              AllOf(HasSubstr("orrery_store_requests_total"), HasSubstr("_connections ")));

  const VerbAnswer ended = store.end();
  EXPECT_EQ(ended.code, ExitCode::good);
  EXPECT_EQ(ended.out, at + "\n");
  EXPECT_THAT(ended.err, HasSubstr(folder.at("st")));
  EXPECT_THAT(ended.err, Not(HasSubstr("access key ")));
  EXPECT_THAT(text("audit.jsonl"), HasSubstr("\"tenant\":\"bob\""));
  EXPECT_THAT(text("st/store"), AllOf(HasSubstr("tier hot 1+1\ndrive hot-0 " + folder.at("a")),
                                      HasSubstr("tier warm 1+0\ndrive warm-0 warm\n")));
  check_at_rest(folder, shards(folder.at("a")));
}

TEST_F(StoreVerb, keys_are_made_if_none_are_given) {
  const Variable no_access("ORRERY_ACCESS_KEY", std::nullopt);
  const Variable no_secret("ORRERY_SECRET_KEY", std::nullopt);
  VerbBeside store({"store", folder.at("st"), "--port", "0", "--listen", "127.0.0.2"});
  const std::string at = store.first_line();
  EXPECT_THAT(at, StartsWith("http://127.0.0.2:"));
  EXPECT_EQ(net::Client().ask({.url = at + "/-/health"}).status, 200);
  EXPECT_THAT(store.end().err, HasSubstr("access key "));
  VerbBeside again({"store", folder.at("st"), "--port", "0"});
  again.first_line();
  EXPECT_THAT(again.end().err, Not(HasSubstr("access key ")));
}

TEST_F(StoreVerb, encrypted_data_needs_the_key) {
  const std::string digits(64, '7');
  folder.write_secret("keys", "one " + digits + "\n");
  {
    VerbBeside store(words({"--key-file", folder.at("keys")}));
    s3::Client mine = client(store.first_line());
    ASSERT_TRUE(mine.create_bucket());
    ASSERT_TRUE(mine.put("secret", s3::Body::of(std::string(20'000, 'q'))));
    EXPECT_EQ(store.end().code, ExitCode::good);
  }
  const std::vector<std::string> files = shards(folder.at("st/hot"));
  ASSERT_EQ(files.size(), 1U);
  std::ifstream file(files.front(), std::ios::binary);
  const std::string stored{std::istreambuf_iterator<char>(file), {}};
  EXPECT_EQ(stored.find("qqqqqqqq"), std::string::npos);
  EXPECT_EQ(spoken(words({})).code, ExitCode::bad_input) << "no key";
  VerbBeside store(words({"--key-command", "echo one " + digits}));
  s3::Client mine = client(store.first_line());
  EXPECT_EQ(mine.get("secret")->bytes, std::string(20'000, 'q'));
}

TEST_F(StoreVerb, invalid_options_are_refused) {
  expect_refused_store({"--lifecycle-day", "0.09 s"}, "store.day");
  expect_refused_store({"--lifecycle-day", "long"}, "store.day");
  expect_refused_store({"--lifecycle-day", "0.1 s", "--keep", "lukewarm,all"}, "store.keep");
  expect_refused_store({"--keep", "hot,sometimes"}, "store.keep");
  expect_refused_store({"--keep", "hot,written"}, "store.keep");
  expect_refused_store({"--keep", "hot,volatile"}, "store.keep");
  expect_refused_store({"--keep", "hot,newest=3", "--promote", "0 s"}, "store.promote");
  expect_refused_store({"--promote", "6"}, "store.promote");
  expect_refused_store({"--promote", "6 h", "--tenants", "/no/such"}, "file.unreadable");
  expect_refused_store({"--key-file", "/no/such"}, "file.unreadable");
  expect_refused_store({"--s3-keys", "/no/such"}, "file.unreadable");
  expect_refused_store({"--tls-certificate", "/no/such"}, "store.tls");
  expect_refused_store({"--tls-key", "/no/such"}, "store.tls");
  expect_refused_store({"--tls-certificate", "/no/such", "--tls-key", "/x"}, "file.unreadable");
  expect_refused_store({"--key-command", "exit 3"}, "store.secrets");
  expect_refused_store({"--audit", "/no/such/audit"}, "store.audit");
  EXPECT_EQ(spoken(words({"--tier", "lukewarm=1x"})).code, ExitCode::bad_input);
  folder.write_secret("bad", "one word\n");
  EXPECT_EQ(spoken(words({"--tenants", folder.at("bad")})).code, ExitCode::bad_input);
  EXPECT_THAT(spoken(words({"--key-file", folder.at("bad")})).err, StartsWith(folder.at("bad")));
  EXPECT_EQ(spoken(words({"--s3-keys", folder.at("bad")})).code, ExitCode::bad_input);
  const Variable half("AWS_ACCESS_KEY_ID", "k");
  const Variable no_secret("AWS_SECRET_ACCESS_KEY", std::nullopt);
  EXPECT_EQ(spoken(words({})).code, ExitCode::bad_input);
  EXPECT_FALSE(fs::exists(folder.at("st/store")));
}

// Changes to a folder, because the store of a design is created in the working directory.
class FolderEntered {
 public:
  explicit FolderEntered(const std::string& path) { fs::current_path(path); }
  ~FolderEntered() { fs::current_path(before_); }

 private:
  fs::path before_ = fs::current_path();
};

TEST_F(StoreVerb, a_design_gives_tiers_and_name) {
  folder.write("d.yaml",
               "orrery: 1\nname: mine\nsite: { region: usa }\n"
               "fleet: [{ name: n, node: dgx-h100, count: 2 }]\n"
               "storage: [{ tier: warm, kind: object, servers: 2, read: 20 GB/s, write: 10 GB/s, "
               "capacity: 100 TB, usable: 0.5 }]\n");
  const FolderEntered inside(folder.path());
  VerbBeside store({"store", folder.at("d.yaml"), "--port", "0"});
  EXPECT_THAT(store.first_line(), StartsWith("http://"));
  EXPECT_THAT(store.end().err, HasSubstr("mine.store"));
  EXPECT_THAT(text("mine.store/store"), HasSubstr("tier warm 1+1\ndrive warm-0 warm-0\n"));
  std::string secret = text("d.yaml");
  folder.write("e.yaml", secret.replace(secret.find("usable"), 6, "encrypted: true, usable"));
  const VerbAnswer none = spoken({"store", folder.at("e.yaml"), "--port", "0"});
  EXPECT_EQ(none.code, ExitCode::bad_input);
  EXPECT_THAT(none.err, HasSubstr("[store.key]"));
  EXPECT_THAT(spoken({"store", folder.at("e.yaml"), "--key-command", "exit 3"}).err,
              HasSubstr("[store.secrets]"));
  EXPECT_THAT(spoken({"store", folder.at("e.yaml"), "--key-file", "/no/such"}).err,
              HasSubstr("[file.unreadable]"));
  folder.write("f.yaml", "orrery: 1\nname: [");
  EXPECT_EQ(spoken({"store", folder.at("f.yaml")}).code, ExitCode::bad_input);
}

TEST(Store, wrong_argument_counts_are_refused) {
  const std::string usage = "store.usage";
  const auto said = [](const std::vector<std::string>& words) {
    return codes_in(spoken(words).err);
  };
  EXPECT_EQ(said({"store", "fsck", "a", "b"}), usage);
  EXPECT_EQ(said({"store", "repair", "a", "b"}), usage);
  EXPECT_EQ(said({"store", "status", "a", "b"}), usage);
  EXPECT_EQ(said({"store", "somewhere", "a", "b"}), usage);
  EXPECT_EQ(said({"store", "somewhere", "a"}), usage);
  EXPECT_EQ(said({"store", "lineage"}), usage);
  EXPECT_EQ(said({"store", "/no/such", "--lifecycle-day", "soon"}), "store.day");
  EXPECT_EQ(said({"store", "/no/such", "--lifecycle-day", "0.09 s"}), "store.day");
}

}  // namespace
}  // namespace orrery::cli
