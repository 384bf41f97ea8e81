// `orrery store` as it runs: served to a client, stopped, checked, mended, and asked what came from
// what.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "app/cli/spoken_fixture.h"
#include "live/agent/test_folder.h"
#include "live/net/client.h"
#include "live/s3/client.h"

namespace orrery::cli {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Not;
using testing::StartsWith;

// The store takes over SIGTERM and SIGPIPE.
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
  // Of a tier: the files that hold shards.
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

  // A new store syncs a thousand folders: in memory that takes a moment.
  agent::TestFolder folder{fs::exists("/dev/shm") ? "/dev/shm" : fs::temp_directory_path()};
  Variable access_{"ORRERY_ACCESS_KEY", "test"}, secret_{"ORRERY_SECRET_KEY", "secret"};
  Variable none_{"AWS_ACCESS_KEY_ID", std::nullopt};
  SignalsKept signals_;
};

// What the test below leaves, at rest: sound, then with a damaged copy, then mended.
void check_at_rest(const agent::TestFolder& folder, const std::vector<std::string>& copies) {
  const std::string st = folder.at("st");
  const VerbAnswer sound = spoken({"store", "fsck", st});
  EXPECT_EQ(sound.code, ExitCode::good);
  EXPECT_EQ(sound.out,
            "2 buckets, 1 versions, 20000 bytes in 1 blobs\n"
            "0 damaged shards, 0 blobs lost, 0 blobs that nothing names, 0 files that no row "
            "names\nThe store is sound.\n");
  ASSERT_EQ(copies.size(), 1U);
  {
    std::fstream file(copies.front(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(5000);
    file << "damage";
  }
  folder.write("b/data/00/0000000000000000000000000000beef", "nobody's");
  EXPECT_THAT(spoken({"store", "fsck", st, "--quick"}).out, HasSubstr("0 damaged shards"));
  const VerbAnswer damaged = spoken({"store", "fsck", st});
  EXPECT_EQ(damaged.code, ExitCode::fails_rule);
  EXPECT_THAT(damaged.out, AllOf(HasSubstr("\n1 damaged shards, 0 blobs lost"),
                                 HasSubstr("\nThe store is not sound.\n")));
  const VerbAnswer planned = spoken({"store", "repair", st});
  EXPECT_EQ(planned.code, ExitCode::fails_rule);
  EXPECT_THAT(planned.out, AllOf(HasSubstr("would write shard 1 of blob "),
                                 HasSubstr("Nothing was written.\n")));
  const VerbAnswer mended = spoken({"store", "repair", st, "--apply"});
  EXPECT_EQ(mended.code, ExitCode::good) << mended.out << mended.err;
  EXPECT_THAT(mended.err, HasSubstr("1 shards written anew, "));
  EXPECT_THAT(mended.out, HasSubstr("The store is sound.\n"));
  const VerbAnswer lineage = spoken({"store", "lineage", "models/run/final", st});
  EXPECT_EQ(lineage.code, ExitCode::good) << lineage.err;
  EXPECT_THAT(lineage.out, HasSubstr("run/final"));
  EXPECT_THAT(spoken({"store", "lineage", "models/nosuch", st}).err,
              HasSubstr("models/nosuch: NoSuchKey [store.lineage]"));
}

TEST_F(StoreVerb, serves_objects_until_it_is_interrupted_and_keeps_them) {
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
  EXPECT_FALSE(client(at, "BOBKEY", "bobsecret").get("run/final")) << "it is not his";
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
  EXPECT_THAT(ended.err,
              HasSubstr("The store in " + folder.at("st") + " answers there. Ctrl-C ends it.\n"));
  EXPECT_THAT(ended.err, HasSubstr("All that was acknowledged is kept; goodbye.\n"));
  EXPECT_THAT(ended.err, Not(HasSubstr("shown this once")));
  EXPECT_THAT(text("audit.jsonl"), HasSubstr("\"tenant\":\"bob\""));
  EXPECT_THAT(text("st/store"), AllOf(HasSubstr("tier hot 1+1\ndrive hot-0 " + folder.at("a")),
                                      HasSubstr("tier warm 1+0\ndrive warm-0 warm\n")));
  check_at_rest(folder, shards(folder.at("a")));
}

TEST_F(StoreVerb, makes_keys_where_none_are_given_and_shows_them_once) {
  const Variable no_access("ORRERY_ACCESS_KEY", std::nullopt);
  const Variable no_secret("ORRERY_SECRET_KEY", std::nullopt);
  VerbBeside store({"store", folder.at("st"), "--port", "0", "--listen", "127.0.0.2"});
  const std::string at = store.first_line();
  EXPECT_THAT(at, StartsWith("http://127.0.0.2:"));
  EXPECT_EQ(net::Client().ask({.url = at + "/-/health"}).status, 200);
  EXPECT_THAT(store.end().err,
              HasSubstr("The keys of the first tenant, shown this once:\n  access key "));
  VerbBeside again({"store", folder.at("st"), "--port", "0"});
  again.first_line();
  EXPECT_THAT(again.end().err, Not(HasSubstr("shown this once")));
}

TEST_F(StoreVerb, what_is_enciphered_cannot_be_read_without_the_key) {
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

TEST_F(StoreVerb, refuses_options_that_it_does_not_understand) {
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
  EXPECT_EQ(spoken(words({})).code, ExitCode::bad_input) << "keys of other stores, half given";
  EXPECT_FALSE(fs::exists(folder.at("st/store")));
}

TEST_F(StoreVerb, words_say_what_to_do_and_where) {
  const auto usage = [](const std::vector<std::string>& all) {
    const VerbAnswer a = spoken(all);
    EXPECT_EQ(a.code, ExitCode::bad_input);
    EXPECT_THAT(a.err, HasSubstr("[store.usage]")) << all.back();
  };
  usage({"store"});
  usage({"store", "fsck"});
  usage({"store", "repair"});
  usage({"store", "lineage"});
  usage({"store", "a", "b"});
  usage({"store", "fsck", "a", "b"});
  usage({"store", "status", "a", "b"});
  usage({"store", "lineage", "models"});
  usage({"store", "lineage", "/key"});
  usage({"store", "lineage", "models/"});
  usage({"store", "lineage", "models", folder.path()});
  for (const char* verb : {"fsck", "repair"}) {
    const VerbAnswer none = spoken({"store", verb, folder.at("none")});
    EXPECT_EQ(none.code, ExitCode::bad_input);
    EXPECT_THAT(none.err, HasSubstr("there is no store here [store.format]"));
  }
  EXPECT_THAT(spoken({"store", "lineage", "a/b", folder.path()}).err, HasSubstr("[store.format]"));
  EXPECT_THAT(spoken({"store", "status", "http://127.0.0.1:1"}).err, HasSubstr("[store.status]"));
  EXPECT_THAT(spoken({"store", "status", "--port", "1"}).err, HasSubstr("at http://127.0.0.1:1: "));
  EXPECT_THAT(spoken({"store", "status", "ftp://x"}).err, HasSubstr("[s3.endpoint]"));
  EXPECT_THAT(spoken({"store", "lineage", "a/b", "--at", "ftp://x"}).err,
              HasSubstr("[s3.endpoint]"));
}

// A design's store lies where the program was started.
class FolderEntered {
 public:
  explicit FolderEntered(const std::string& path) { fs::current_path(path); }
  ~FolderEntered() { fs::current_path(before_); }

 private:
  fs::path before_ = fs::current_path();
};

TEST_F(StoreVerb, a_design_says_the_tiers_and_the_name) {
  folder.write("d.yaml",
               "orrery: 1\nname: mine\nsite: { region: usa }\n"
               "fleet: [{ name: n, node: dgx-h100, count: 2 }]\n"
               "storage: [{ tier: warm, kind: object, servers: 2, read: 20 GB/s, write: 10 GB/s, "
               "capacity: 100 TB, usable: 0.5 }]\n");
  const FolderEntered inside(folder.path());
  VerbBeside store({"store", folder.at("d.yaml"), "--port", "0"});
  EXPECT_THAT(store.first_line(), StartsWith("http://"));
  EXPECT_THAT(store.end().err, HasSubstr("The store in mine.store answers there"));
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

}  // namespace
}  // namespace orrery::cli
