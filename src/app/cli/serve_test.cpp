#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "app/cli/answer_fixture.h"
#include "app/cli/served_fixture.h"
#include "app/cli/spoken_fixture.h"
#include "app/cli/verb.h"
#include "app/server/assets.h"
#include "bench/figure.h"
#include "live/agent/test_folder.h"
#include "live/net/client.h"
#include "live/net/test_socket.h"

namespace orrery::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Not;
using testing::StartsWith;

TEST(Serve, an_empty_file_name_is_refused) {
  const VerbAnswer answer = ask(all_verbs(), {"serve", ""});
  EXPECT_EQ(answer.code, ExitCode::bad_input);
  EXPECT_THAT(answer.err, HasSubstr("serve.no-name"));
}

class ServeVerb : public ServingVerbs {
 protected:
  std::string save_body(const char* text) const {
    return nlohmann::json{{"text", text}, {"before", read_text_file(design()).value_or("")}}.dump();
  }
  std::vector<std::string> serve(const std::vector<std::string>& more) const {
    std::vector<std::string> words = {"serve", "--port", "0"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  // Splits the printed address into the part before the token, and the token.
  static std::pair<std::string, std::string> parts(const std::string& line) {
    const std::size_t at = line.find("/?token=");
    return at == line.npos ? std::pair(line, std::string())
                           : std::pair(line.substr(0, at), line.substr(at + 8));
  }
  static net::Reply get(const std::string& line, const std::string& path,
                        const std::string& method = "GET", std::string_view body = {}) {
    const auto [root, token] = parts(line);
    net::HeaderList headers = {{"Authorization", "Bearer " + token}};
    if (!body.empty()) headers.push_back({"Content-Type", "application/json"});
    return net::Client().ask(
        {.method = method, .url = root + path, .headers = headers, .body = body});
  }
};

TEST_F(ServeVerb, the_design_is_served_behind_a_token) {
  VerbBeside served(serve({design(), "--state", ":memory:"}));
  const std::string line = served.first_line();
  ASSERT_THAT(line, MatchesRegex("http://127\\.0\\.0\\.1:[0-9]+/\\?token=[0-9a-f]{32}"));
  const net::Reply session = get(line, "/api/v1/session");
  EXPECT_EQ(session.status, 200) << session.body;
  EXPECT_THAT(session.body,
              AllOf(HasSubstr("\"sample\": false"), HasSubstr("\"small\""), HasSubstr(design())));
  EXPECT_EQ(net::Client().ask({.url = parts(line).first + "/api/v1/session"}).status, 401);
  EXPECT_THAT(get(line, "/api/v1/catalog/nodes/dgx-h100").body,
              AllOf(HasSubstr("\"table\": \"nodes\""), HasSubstr("\"dgx-h100\"")));
  EXPECT_EQ(get(line, "/api/v1/catalog/nodes/nosuch").status, 404);
  EXPECT_EQ(get(line, "/api/v1/catalog/--format").status, 404);
  // The saved file replaces the old one and keeps its mode.
  ::chmod(design().c_str(), 0640);
  const net::Reply saved = get(line, "/api/v1/save", "POST", save_body("orrery: 1\nname: new\n"));
  EXPECT_EQ(saved.status, 200) << saved.body;
  EXPECT_EQ(read_text_file(design()).value_or(""), "orrery: 1\nname: new\n");
  struct stat status = {};
  ::stat(design().c_str(), &status);
  EXPECT_EQ(status.st_mode & 0777, 0640U);
  EXPECT_FALSE(std::filesystem::exists(design() + ".new"));
  const VerbAnswer ended = served.end();
  EXPECT_EQ(ended.code, ExitCode::good);
  EXPECT_THAT(ended.err,
              AllOf(StartsWith((server::has_console() ? "The console with " : "The review of ") +
                               design() + " is at\n"),
                    HasSubstr("Press Ctrl-C to stop.\n"), HasSubstr("The server has stopped.\n")));
}

TEST_F(ServeVerb, the_sample_is_served_read_only) {
  const Variable state("XDG_STATE_HOME", folder.at("state"));
  VerbBeside served(serve({}));
  const std::string line = served.first_line();
  const net::Reply session = get(line, "/api/v1/session");
  EXPECT_THAT(session.body, AllOf(HasSubstr("\"sample\": true"), HasSubstr("superpod-h100.yaml")));
  const net::Reply saved = get(line, "/api/v1/save", "POST", save_body("orrery: 1\nname: new\n"));
  EXPECT_EQ(saved.status, 409);
  EXPECT_THAT(served.end().err, HasSubstr("sample"));
  EXPECT_TRUE(std::filesystem::exists(folder.at("state/orrery/jobs.db")));
}

TEST_F(ServeVerb, jobs_are_kept_in_the_home_or_in_memory) {
  const Variable none("XDG_STATE_HOME", "not/absolute");
  {
    const Variable home("HOME", folder.at("home"));
    VerbBeside served(serve({design()}));
    EXPECT_THAT(served.first_line(), StartsWith("http://"));
    EXPECT_THAT(served.end().err, Not(HasSubstr("memory")));
    EXPECT_TRUE(std::filesystem::exists(folder.at("home/.local/state/orrery/jobs.db")));
  }
  const Variable home("HOME", "/dev/null");
  VerbBeside served(serve({design()}));
  EXPECT_THAT(served.first_line(), StartsWith("http://"));
  EXPECT_THAT(served.end().err, HasSubstr("memory"));
  const VerbAnswer named = spoken(serve({design(), "--state", "/dev/null/x"}));
  EXPECT_EQ(named.code, ExitCode::bad_input);
}

TEST_F(ServeVerb, the_given_port_is_used) {
  const std::string port = std::to_string(net::free_port());
  VerbBeside served({"serve", design(), "--port", port, "--state", ":memory:"});
  EXPECT_THAT(served.first_line(), StartsWith("http://127.0.0.1:" + port + "/?token="));
}

TEST_F(ServeVerb, a_missing_design_or_bad_store_address_is_refused) {
  const VerbAnswer gone = spoken(serve({folder.at("none.yaml")}));
  EXPECT_EQ(gone.code, ExitCode::bad_input);
  EXPECT_THAT(gone.err, HasSubstr("[file.unreadable]"));
  const VerbAnswer store = spoken(serve({design(), "--store", "ftp://x"}));
  EXPECT_EQ(store.code, ExitCode::bad_input);
  EXPECT_THAT(store.err, HasSubstr("[s3.endpoint]"));
}

}  // namespace
}  // namespace orrery::cli
