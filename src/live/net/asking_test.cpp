// What the client puts on the wire, what it makes of what comes back, and what it says of a
// failure.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <thread>

#include "live/net/client.h"
#include "live/net/running_server_fixture.h"
#include "live/net/test_socket.h"

namespace orrery::net::asking_tests {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;
using namespace std::chrono_literals;

// Answers connections one after another, each with its text, and keeps what it heard.
class Answers {
 public:
  explicit Answers(std::vector<std::string> texts, std::size_t body = 0)
      : thread_([this, texts = std::move(texts), body] {
          for (const std::string& text : texts) {
            const TestSocket socket = listener_.accept(10);
            std::string request;
            while (request.find("\r\n\r\n") == request.npos && socket.receive(request)) {
            }
            while (request.size() < request.find("\r\n\r\n") + 4 + body &&
                   socket.receive(request)) {
            }
            heard_.push_back(request);
            socket.send(text);
          }
        }) {}
  ~Answers() {
    if (thread_.joinable()) thread_.join();
  }
  int port() const { return listener_.port(); }
  std::string url(const std::string& target = "/") const {
    return "http://127.0.0.1:" + std::to_string(port()) + target;
  }
  // All that was heard, once the last has been answered.
  const std::vector<std::string>& heard() {
    thread_.join();
    return heard_;
  }

 private:
  TestListener listener_;
  std::vector<std::string> heard_;
  std::thread thread_;
};

const std::string kGood = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";

std::string heard_of(const Question& question, std::size_t body = 0) {
  Answers server({kGood}, body);
  Question to = question;
  to.url = server.url(question.url);
  const Reply reply = Client().ask(to);
  EXPECT_EQ(reply.fault, NetFault::none) << reply.fault_text;
  return server.heard().front();
}

TEST(Asking, a_method_is_sent_as_it_is_named_with_the_body_that_it_has) {
  EXPECT_THAT(heard_of({.url = "/a"}), StartsWith("GET /a HTTP/1.1\r\n"));
  EXPECT_THAT(heard_of({.method = "HEAD", .url = "/a"}), StartsWith("HEAD /a HTTP/1.1\r\n"));
  const std::string put = heard_of({.method = "PUT", .url = "/a", .body = "abc"}, 3);
  EXPECT_THAT(put, StartsWith("PUT /a HTTP/1.1\r\n"));
  EXPECT_THAT(put, HasSubstr("Content-Length: 3\r\n"));
  EXPECT_THAT(put, EndsWith("\r\n\r\nabc"));
  const std::string post = heard_of({.method = "POST", .url = "/a", .body = "abc"}, 3);
  EXPECT_THAT(post, StartsWith("POST /a HTTP/1.1\r\n"));
  EXPECT_THAT(post, EndsWith("\r\n\r\nabc"));
  EXPECT_THAT(heard_of({.method = "POST", .url = "/a"}), HasSubstr("Content-Length: 0\r\n"));
  const std::string removed = heard_of({.method = "DELETE", .url = "/a"});
  EXPECT_THAT(removed, StartsWith("DELETE /a HTTP/1.1\r\n"));
  EXPECT_THAT(removed, Not(HasSubstr("Content-Length")));
  // A source makes any method one that sends.
  const std::string patch =
      heard_of({.method = "PATCH", .url = "/a", .source = source_of("abcd"), .source_bytes = 4}, 4);
  EXPECT_THAT(patch, StartsWith("PATCH /a HTTP/1.1\r\n"));
  EXPECT_THAT(patch, EndsWith("\r\n\r\nabcd"));
  const std::string open =
      heard_of({.method = "PUT", .url = "/a", .source = source_of("abcd")}, 14);
  EXPECT_THAT(open, HasSubstr("Transfer-Encoding: chunked\r\n"));
  EXPECT_THAT(open, EndsWith("\r\n\r\n4\r\nabcd\r\n0\r\n\r\n"));
}

TEST(Asking, nothing_is_added_to_what_may_be_signed) {
  const std::string heard = heard_of({.url = "/a/../b/./c?x=%2f"});
  EXPECT_THAT(heard, StartsWith("GET /a/../b/./c?x=%2f HTTP/1.1\r\n"));
  // libcurl would ask before it sends a large body.
  const std::string large(3 << 20, 'x');
  const std::string put = heard_of({.method = "PUT", .url = "/", .body = large}, large.size());
  EXPECT_THAT(put.substr(0, put.find("\r\n\r\n")), Not(HasSubstr("Expect")));
  const std::string headers =
      heard_of({.url = "/", .headers = {{"X-A", "1"}, {"X-A", "2"}, {"Host", "other"}}});
  EXPECT_THAT(headers, HasSubstr("X-A: 1\r\nX-A: 2\r\n"));
  EXPECT_THAT(headers, HasSubstr("Host: other\r\n"));
}

TEST(Asking, headers_of_an_answer_are_names_in_small_letters_and_bare_values) {
  Answers server({"HTTP/1.1 201 Created\r\nX-Mixed-Case:  a: b \r\nContent-Length: 2\r\n\r\nok"});
  const Reply reply = Client().ask({.url = server.url()});
  EXPECT_EQ(reply.status, 201);
  EXPECT_EQ(reply.body, "ok");
  EXPECT_EQ(reply.fault_text, "");
  ASSERT_EQ(reply.headers.size(), 2u) << "the status line is none of them";
  EXPECT_EQ(reply.headers[0], std::pair(std::string("x-mixed-case"), std::string("a: b")));
  EXPECT_EQ(reply.header("CONTENT-LENGTH"), "2");
}

TEST(Asking, only_2xx_is_good_and_a_redirect_is_an_answer) {
  for (const int status : {200, 206, 299, 300, 302, 404, 500}) {
    Answers server({"HTTP/1.1 " + std::to_string(status) +
                    " X\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 4\r\n\r\ntext"});
    std::string taken;
    const Reply reply =
        Client().ask({.url = server.url(), .take = [&](const Reply& head, auto piece) {
                        EXPECT_EQ(head.status, status);
                        taken += piece;
                        return true;
                      }});
    EXPECT_EQ(reply.fault, NetFault::none) << reply.fault_text;
    EXPECT_EQ(reply.status, status);
    EXPECT_EQ(taken, status < 300 ? "text" : "") << status;
    EXPECT_EQ(reply.body, status < 300 ? "" : "text") << status;
  }
}

TEST(Asking, room_is_made_for_what_is_expected_and_not_for_more_than_256_mib) {
  Answers server({kGood, kGood});
  Client client;
  EXPECT_GE(client.ask({.url = server.url(), .expected_bytes = 3 << 20}).body.capacity(), 3u << 20);
  const Reply liar = client.ask({.url = server.url(), .expected_bytes = std::size_t{1} << 40});
  EXPECT_GE(liar.body.capacity(), std::size_t{256} << 20);
  EXPECT_LT(liar.body.capacity(), std::size_t{300} << 20);
}

TEST(Asking, what_is_sent_once_has_a_connection_of_its_own_and_is_never_sent_again) {
  const RunningServer server([](const Request&) { return Response{}; });
  Client client;
  EXPECT_EQ(client.ask({.url = server.url("/")}).status, 200);
  const Reply once = client.ask({.url = server.url("/"), .once = true});
  EXPECT_EQ(once.status, 200);
  EXPECT_FALSE(once.reconnected) << "nothing was lost";
  // One who hears it and hangs up hears it no second time.
  Answers hangs_up({""});
  EXPECT_EQ(client.ask({.method = "POST", .url = hangs_up.url(), .once = true}).fault,
            NetFault::broken);
  EXPECT_EQ(hangs_up.heard().size(), 1u);
}

TEST(Asking, after_a_failure_the_next_connection_is_a_first_one) {
  Answers server({"", kGood, kGood});
  Client client;
  const Reply broken = client.ask({.url = server.url()});
  EXPECT_EQ(broken.fault, NetFault::broken);
  EXPECT_FALSE(broken.reconnected);
  for (int i = 0; i < 2; ++i) {
    const Reply reply = client.ask({.url = server.url()});
    EXPECT_EQ(reply.status, 200);
    EXPECT_FALSE(reply.reconnected) << i;
  }
}

// A failure says whether the server can have acted.
TEST(Asking, a_failure_is_told_by_what_is_known_of_the_request) {
  Client client({.total_s = 5});
  const auto fault = [&](const std::string& url) {
    const Reply reply = client.ask({.url = url});
    EXPECT_EQ(reply.fault == NetFault::none, reply.fault_text.empty()) << url;
    return reply.fault;
  };
  EXPECT_EQ(fault("http://"), NetFault::not_sent);
  EXPECT_EQ(fault("http://127.0.0.1:99999/"), NetFault::not_sent);
  EXPECT_EQ(fault("gopher://127.0.0.1/"), NetFault::not_sent);
  EXPECT_EQ(fault("ftp://127.0.0.1/"), NetFault::not_sent) << "libcurl could";
  EXPECT_EQ(fault("http://127.0.0.1:" + std::to_string(free_port())), NetFault::not_sent);
  const TestListener plain;
  std::thread speaks([&plain] {
    const TestSocket socket = plain.accept(10);
    socket.send("this is no TLS, and long enough to be seen as none at all");
    socket.rest();
  });
  EXPECT_EQ(fault("https://127.0.0.1:" + std::to_string(plain.port()) + "/"), NetFault::not_sent);
  speaks.join();
  Answers rubbish({"this is not HTTP\r\n\r\n"});
  EXPECT_EQ(fault(rubbish.url()), NetFault::broken);
  Client untrusting({.trusted = "no certificate"});
  EXPECT_EQ(untrusting.ask({.url = "https://127.0.0.1:" + std::to_string(free_port())}).fault,
            NetFault::not_sent);
}

class Proxied : public testing::Test {
 protected:
  void SetUp() override { set("http://127.0.0.1:" + std::to_string(free_port())); }
  void TearDown() override { ::unsetenv("http_proxy"); }
  static void set(const std::string& url) { ::setenv("http_proxy", url.c_str(), 1); }
};

TEST_F(Proxied, this_machine_is_asked_itself_and_others_by_the_proxy) {
  const RunningServer server([](const Request&) { return Response{.body = "here"}; });
  Client client({.connect_s = 2});
  const std::string port = std::to_string(server.port);
  EXPECT_EQ(client.ask({.url = "http://127.0.0.1:" + port + "/"}).body, "here");
  EXPECT_EQ(client.ask({.url = "http://localhost:" + port + "/"}).body, "here");
  Answers proxy({kGood});
  set("http://127.0.0.1:" + std::to_string(proxy.port()));
  EXPECT_EQ(client.ask({.url = "http://elsewhere.invalid/x"}).status, 200);
  EXPECT_THAT(proxy.heard().front(), StartsWith("GET http://elsewhere.invalid/x HTTP/1.1\r\n"));
}

TEST(Asking, copies_of_the_callable_share_a_connection) {
  const RunningServer server(
      [](const Request& request) { return Response{.body = request.target}; });
  const Ask ask = over_network({.body_bytes_max = 4});
  const Ask copy = ask;
  EXPECT_EQ(ask({.url = server.url("/one")}).body, "/one");
  EXPECT_EQ(copy({.url = server.url("/two")}).body, "/two");
  EXPECT_EQ(server.load->connections, 1);
  EXPECT_EQ(copy({.url = server.url("/three")}).fault, NetFault::broken) << "its limit counts";
  Client first;
  Client second = std::move(first);
  EXPECT_EQ(second.ask({.url = server.url("/moved")}).body, "/moved");
}

TEST(Asking, a_request_leaves_nothing_behind_for_the_next) {
  const RunningServer server([](const Request& request) {
    return Response{.body = request.method + '|' + std::string(request.header("x-a")) + '|' +
                            request.body};
  });
  Client client;
  EXPECT_EQ(
      client.ask({.method = "POST", .url = server.url("/"), .headers = {{"X-A", "1"}}, .body = "b"})
          .body,
      "POST|1|b");
  EXPECT_EQ(client.ask({.url = server.url("/")}).body, "GET||");
  EXPECT_EQ(client.ask({.method = "HEAD", .url = server.url("/")}).body, "");
  EXPECT_EQ(client.ask({.method = "PUT", .url = server.url("/"), .body = "c"}).body, "PUT||c");
}

}  // namespace
}  // namespace orrery::net::asking_tests
