#include <gmock/gmock.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "app/cli/spoken_fixture.h"
#include "app/cli/verb.h"
#include "live/agent/test_folder.h"

namespace orrery::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

VerbAnswer ask_init(std::vector<std::string> words) {
  words.insert(words.begin(), "init");
  return spoken(words);
}

TEST(Init, templates_are_listed) {
  const VerbAnswer answer = ask_init({"--list"});
  EXPECT_EQ(answer.code, ExitCode::good);
  EXPECT_THAT(answer.out, AllOf(HasSubstr("superpod-h100"), HasSubstr("fraud-cpu")));
  EXPECT_THAT(ask_init({"--list", "--format", "json"}).out, HasSubstr("\"name\": \"single-node\""));
}

TEST(Init, a_template_is_printed) {
  const VerbAnswer answer = ask_init({"--template", "superpod-h100"});
  EXPECT_EQ(answer.code, ExitCode::good);
  EXPECT_THAT(answer.out, HasSubstr("name: superpod-h100-4su"));
}

// Behaves as a full disk: no file may grow.
class FullDisk {
 public:
  FullDisk() {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    rlimit none = before_;
    none.rlim_cur = 0;
    handler_ = std::signal(SIGXFSZ, SIG_IGN);
    ::setrlimit(RLIMIT_FSIZE, &none);
  }
  ~FullDisk() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  rlimit before_ = {};
  void (*handler_)(int) = SIG_DFL;
};

TEST(Init, a_full_disk_leaves_the_old_file) {
  agent::TestFolder folder;
  const std::string path = folder.at("my.yaml");
  {
    const FullDisk full;
    EXPECT_EQ(ask_init({"--template", "superpod-h100", "-o", path}).code, ExitCode::bad_input);
  }
  EXPECT_FALSE(std::filesystem::exists(path));
  folder.write("my.yaml", "mine");
  {
    const FullDisk full;
    EXPECT_EQ(ask_init({"--template", "superpod-h100", "-o", path, "--force"}).code,
              ExitCode::bad_input);
  }
  std::ifstream in(path);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), "mine");
  EXPECT_FALSE(std::filesystem::exists(path + ".new"));
}

TEST(Init, the_nearest_template_is_suggested) {
  const VerbAnswer answer = ask_init({"--template", "superpod-h10"});
  EXPECT_EQ(answer.code, ExitCode::bad_input);
  EXPECT_THAT(answer.err, HasSubstr("`superpod-h100`"));
  EXPECT_EQ(answer.out, "");
}

TEST(Init, the_schema_is_printed) {
  const VerbAnswer answer = ask_init({"--schema"});
  EXPECT_EQ(answer.code, ExitCode::good);
  EXPECT_THAT(answer.out, AllOf(StartsWith("{"), HasSubstr("draft/2020-12")));
  EXPECT_EQ(ask_init({"--schema", "--list"}).code, ExitCode::bad_input);
}

TEST(Init, a_file_is_replaced_with_force_only) {
  const agent::TestFolder folder;
  const std::string file = folder.at("my.yaml");
  EXPECT_EQ(ask_init({"--template", "single-node", "-o", file}).code, ExitCode::good);
  const std::string first = read_text_file(file).value();
  EXPECT_THAT(first, HasSubstr("name: single-node"));
  const VerbAnswer again = ask_init({"--template", "small-lab", "-o", file});
  EXPECT_EQ(again.code, ExitCode::bad_input);
  EXPECT_THAT(again.err, AllOf(HasSubstr("file.exists"), HasSubstr("--force")));
  EXPECT_EQ(read_text_file(file).value(), first);
  EXPECT_EQ(ask_init({"--template", "small-lab", "-o", file, "--force"}).code, ExitCode::good);
  EXPECT_THAT(read_text_file(file).value(), HasSubstr("name: small-lab"));
}

TEST(Init, an_unwritable_file_is_refused) {
  const agent::TestFolder folder;
  const VerbAnswer answer =
      ask_init({"--template", "single-node", "-o", folder.at("no/such/folder.yaml")});
  EXPECT_EQ(answer.code, ExitCode::bad_input);
  EXPECT_THAT(answer.err, HasSubstr("cannot write"));
}

}  // namespace
}  // namespace orrery::cli
