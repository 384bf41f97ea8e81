#include "app/cli/store_guards.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

#include "app/cli/spoken_fixture.h"
#include "live/agent/test_folder.h"
#include "live/s3/client.h"

namespace orrery::cli::store_guards_tests {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class StoreGuards : public testing::Test {
 protected:
  StoreGuards() {
    ::sigaction(SIGTERM, nullptr, &term);
    ::sigaction(SIGPIPE, nullptr, &pipe);
  }
  ~StoreGuards() override {
    ::sigaction(SIGTERM, &term, nullptr);
    ::sigaction(SIGPIPE, &pipe, nullptr);
  }
  std::vector<std::string> words(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> all = {
        "store", folder.at("st"), "--port", "0", "--tier", "hot=1+1:" + folder.at("out") + ",in"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  void put_something(const std::string& at) const {
    s3::Client client({.endpoint = at, .bucket = "models", .credentials = {"test", "secret", ""}});
    EXPECT_TRUE(client.create_bucket());
    EXPECT_TRUE(client.put("large", s3::Body::of(std::string(20'000, 'q'))));
    EXPECT_TRUE(client.put("small", s3::Body::of("q")));
  }
  // Returns the files of a folder that its group or others may access.
  static std::vector<std::string> open_to_others(const std::string& top) {
    std::vector<std::string> found;
    const auto look = [&](const fs::path& path) {
      struct stat s{};
      if (::stat(path.c_str(), &s) == 0 && (s.st_mode & 077) != 0) found.push_back(path.string());
    };
    look(top);
    for (const auto& at : fs::recursive_directory_iterator(top)) look(at.path());
    return found;
  }

  Variable access{"ORRERY_ACCESS_KEY", "test"};
  Variable secret{"ORRERY_SECRET_KEY", "secret"};
  agent::TestFolder folder;
  struct sigaction term = {}, pipe = {};
};

TEST_F(StoreGuards, store_files_are_private) {
  VerbBeside store(words());
  put_something(store.first_line());
  EXPECT_THAT(open_to_others(folder.at("st")), IsEmpty());
  EXPECT_THAT(open_to_others(folder.at("out")), IsEmpty());
  EXPECT_THAT(store.end().err, Not(HasSubstr("store.modes")));
}

TEST_F(StoreGuards, a_readable_store_is_made_private) {
  {
    VerbBeside store(words());
    put_something(store.first_line());
    store.end();
  }
  for (const char* top : {"st", "out"}) {
    fs::permissions(folder.at(top), fs::perms(0755));
    for (const auto& at : fs::recursive_directory_iterator(folder.at(top))) {
      fs::permissions(at.path(), at.is_directory() ? fs::perms(0755) : fs::perms(0644));
    }
  }
  folder.write("foreign", "x");
  fs::permissions(folder.at("foreign"), fs::perms(0644));
  fs::create_symlink(folder.at("foreign"), folder.at("st/metadata/link"));
  VerbBeside store(words());
  store.first_line();
  EXPECT_THAT(store.end().err, HasSubstr("[store.modes]"));
  fs::remove(folder.at("st/metadata/link"));
  EXPECT_THAT(open_to_others(folder.at("st")), IsEmpty());
  EXPECT_THAT(open_to_others(folder.at("out/data")), IsEmpty());
  EXPECT_EQ(fs::status(folder.at("out")).permissions(), fs::perms(0755));
  EXPECT_EQ(fs::status(folder.at("foreign")).permissions(), fs::perms(0644));
}

TEST_F(StoreGuards, a_readable_secret_file_is_refused) {
  folder.write_secret("keys", "k1 " + std::string(64, 'a') + "\n");
  folder.write_secret("tenants", "bob BOBKEY bobsecret\n");
  for (const auto& [option, name] : std::vector<std::pair<std::string, std::string>>{
           {"--key-file", "keys"}, {"--tenants", "tenants"}}) {
    const std::string file = folder.at(name);
    for (const unsigned mode : {0644u, 0604u, 0666u, 0602u}) {
      fs::permissions(file, fs::perms(mode));
      const VerbAnswer refused = spoken(words({option, file}));
      EXPECT_EQ(refused.code, ExitCode::bad_input) << option << mode;
      EXPECT_THAT(refused.err, HasSubstr("chmod 600 " + file));
      EXPECT_THAT(refused.err, Not(HasSubstr("bobsecret")));
    }
    EXPECT_FALSE(fs::exists(folder.at("st")));
    fs::permissions(file, fs::perms(0600));
    EXPECT_TRUE(check_private_file(file));
  }
  EXPECT_TRUE(check_private_file(folder.at("none")));
  EXPECT_TRUE(check_private_file("/dev/null"));
}

TEST_F(StoreGuards, a_secret_file_of_another_user_is_refused) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  folder.write_secret("keys", "k1 " + std::string(64, 'a') + "\n");
  ASSERT_EQ(::chown(folder.at("keys").c_str(), 65534, 65534), 0);
  const VerbAnswer refused = spoken(words({"--key-file", folder.at("keys")}));
  EXPECT_EQ(refused.code, ExitCode::bad_input);
  EXPECT_THAT(refused.err, HasSubstr("another user"));
}

TEST(Connections, connections_leave_files_for_drives) {
  EXPECT_EQ(connections_for(65536, 6, 32, 512), 512);
  const int few = connections_for(256, 6, 32, 512);
  EXPECT_GE(few, 64);
  EXPECT_LE(few, 128);
  EXPECT_GT(connections_for(256, 1, 32, 512), few);
  EXPECT_LT(connections_for(1024, 12, 32, 512), 512);
  EXPECT_GE(connections_for(0, 6, 32, 512), 1);
  EXPECT_EQ(connections_for(65536, 6, 32, 100), 100);
}

}  // namespace
}  // namespace orrery::cli::store_guards_tests
