// The client against servers that are good, slow, silent or broken: the bytes it sends, how it
// interprets the answer, and the fault it reports.
#include "live/net/client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <thread>

#include "live/net/running_server_fixture.h"
#include "live/net/scripted_server_fixture.h"
#include "live/net/test_socket.h"

namespace orrery::net::client_tests {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;
using namespace std::chrono_literals;

const std::string kGood = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";

// Returns what is sent for this question.
std::string sent_for(const Question& question, std::size_t body = 0) {
  ScriptedServer server({kGood}, body);
  Question to = question;
  to.url = server.url(question.url);
  const Reply reply = Client().ask(to);
  EXPECT_EQ(reply.fault, NetFault::none) << reply.fault_text;
  return server.requests().front();
}

Response method_and_body(const Request& request) {
  return {.body = request.method + ' ' + request.body, .headers = {{"X-Peer", request.peer}}};
}

TEST(Client, every_method_is_sent_with_the_body_it_has) {
  EXPECT_THAT(sent_for({.url = "/a"}), StartsWith("GET /a HTTP/1.1\r\n"));
  EXPECT_THAT(sent_for({.method = "HEAD", .url = "/a"}), StartsWith("HEAD /a HTTP/1.1\r\n"));
  const std::string put = sent_for({.method = "PUT", .url = "/a", .body = "abc"}, 3);
  EXPECT_THAT(put, StartsWith("PUT /a HTTP/1.1\r\n"));
  EXPECT_THAT(put, HasSubstr("Content-Length: 3\r\n"));
  EXPECT_THAT(put, EndsWith("\r\n\r\nabc"));
  const std::string post = sent_for({.method = "POST", .url = "/a", .body = "abc"}, 3);
  EXPECT_THAT(post, StartsWith("POST /a HTTP/1.1\r\n"));
  EXPECT_THAT(post, EndsWith("\r\n\r\nabc"));
  EXPECT_THAT(sent_for({.method = "POST", .url = "/a"}), HasSubstr("Content-Length: 0\r\n"));
  const std::string removed = sent_for({.method = "DELETE", .url = "/a"});
  EXPECT_THAT(removed, StartsWith("DELETE /a HTTP/1.1\r\n"));
  EXPECT_THAT(removed, Not(HasSubstr("Content-Length")));
  // A request with a source sends a body, whatever its method.
  const std::string patch =
      sent_for({.method = "PATCH", .url = "/a", .source = source_of("abcd"), .source_bytes = 4}, 4);
  EXPECT_THAT(patch, StartsWith("PATCH /a HTTP/1.1\r\n"));
  EXPECT_THAT(patch, EndsWith("\r\n\r\nabcd"));
  const std::string open =
      sent_for({.method = "PUT", .url = "/a", .source = source_of("abcd")}, 14);
  EXPECT_THAT(open, HasSubstr("Transfer-Encoding: chunked\r\n"));
  EXPECT_THAT(open, EndsWith("\r\n\r\n4\r\nabcd\r\n0\r\n\r\n"));
}

TEST(Client, requests_that_may_be_signed_are_sent_unchanged) {
  const std::string sent = sent_for({.url = "/a/../b/./c?x=%2f"});
  EXPECT_THAT(sent, StartsWith("GET /a/../b/./c?x=%2f HTTP/1.1\r\n"));
  // By default libcurl would send Expect: 100-continue before a large body.
  const std::string large(3 << 20, 'x');
  const std::string put = sent_for({.method = "PUT", .url = "/", .body = large}, large.size());
  EXPECT_THAT(put.substr(0, put.find("\r\n\r\n")), Not(HasSubstr("Expect")));
  const std::string headers =
      sent_for({.url = "/", .headers = {{"X-A", "1"}, {"X-A", "2"}, {"Host", "other"}}});
  EXPECT_THAT(headers, HasSubstr("X-A: 1\r\nX-A: 2\r\n"));
  EXPECT_THAT(headers, HasSubstr("Host: other\r\n"));
}

TEST(Client, header_names_are_lower_case_and_values_trimmed) {
  ScriptedServer server(
      {"HTTP/1.1 201 Created\r\nX-Mixed-Case:  a: b \r\nContent-Length: 2\r\n\r\nok"});
  const Reply reply = Client().ask({.url = server.url()});
  EXPECT_EQ(reply.status, 201);
  EXPECT_EQ(reply.body, "ok");
  EXPECT_EQ(reply.fault_text, "");
  ASSERT_EQ(reply.headers.size(), 2u);
  EXPECT_EQ(reply.headers[0], std::pair(std::string("x-mixed-case"), std::string("a: b")));
  EXPECT_EQ(reply.header("CONTENT-LENGTH"), "2");
}

TEST(Client, only_2xx_bodies_go_to_the_callback_and_redirects_are_not_followed) {
  for (const int status : {200, 206, 299, 300, 302, 404, 500}) {
    ScriptedServer server({"HTTP/1.1 " + std::to_string(status) +
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

TEST(Client, expected_bytes_reserve_at_most_256_mib) {
  ScriptedServer server({kGood, kGood});
  Client client;
  EXPECT_GE(client.ask({.url = server.url(), .expected_bytes = 3 << 20}).body.capacity(), 3u << 20);
  const Reply huge = client.ask({.url = server.url(), .expected_bytes = std::size_t{1} << 40});
  EXPECT_GE(huge.body.capacity(), std::size_t{256} << 20);
  EXPECT_LT(huge.body.capacity(), std::size_t{300} << 20);
}

TEST(Client, request_marked_once_uses_its_own_connection_and_is_never_repeated) {
  const RunningServer server([](const Request&) { return Response{}; });
  Client client;
  EXPECT_EQ(client.ask({.url = server.url("/")}).status, 200);
  const Reply once = client.ask({.url = server.url("/"), .once = true});
  EXPECT_EQ(once.status, 200);
  EXPECT_FALSE(once.reconnected);
  // A request is not sent again to a peer that closed the connection after receiving it.
  ScriptedServer hangs_up({""});
  EXPECT_EQ(client.ask({.method = "POST", .url = hangs_up.url(), .once = true}).fault,
            NetFault::broken);
  EXPECT_EQ(hangs_up.requests().size(), 1u);
}

TEST(Client, first_request_after_a_failure_is_not_a_reconnect) {
  ScriptedServer server({"", kGood, kGood});
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

TEST(Client, fault_says_whether_the_server_can_have_acted) {
  Client client({.total_s = 5});
  const auto fault = [&](const std::string& url) {
    const Reply reply = client.ask({.url = url});
    EXPECT_EQ(reply.fault == NetFault::none, reply.fault_text.empty()) << url;
    return reply.fault;
  };
  EXPECT_EQ(fault("http://"), NetFault::not_sent);
  EXPECT_EQ(fault("http://127.0.0.1:99999/"), NetFault::not_sent);
  EXPECT_EQ(fault("file:///etc/hostname"), NetFault::not_sent);
  EXPECT_EQ(fault("gopher://127.0.0.1/"), NetFault::not_sent);
  EXPECT_EQ(fault("ftp://127.0.0.1/"), NetFault::not_sent) << "libcurl supports it";
  EXPECT_EQ(fault("http://127.0.0.1:" + std::to_string(free_port())), NetFault::not_sent);
  const TestListener plain;
  std::thread speaks([&plain] {
    const TestSocket socket = plain.accept(10);
    socket.send("this is no TLS, and long enough to be seen as none at all");
    socket.rest();
  });
  EXPECT_EQ(fault("https://127.0.0.1:" + std::to_string(plain.port()) + "/"), NetFault::not_sent);
  speaks.join();
  ScriptedServer rubbish({"this is not HTTP\r\n\r\n"});
  EXPECT_EQ(fault(rubbish.url()), NetFault::broken);
  Client untrusting({.trusted = "no certificate"});
  EXPECT_EQ(untrusting.ask({.url = "https://127.0.0.1:" + std::to_string(free_port())}).fault,
            NetFault::not_sent);
}

class ClientProxy : public testing::Test {
 protected:
  void SetUp() override { set("http://127.0.0.1:" + std::to_string(free_port())); }
  void TearDown() override { ::unsetenv("http_proxy"); }
  static void set(const std::string& url) { ::setenv("http_proxy", url.c_str(), 1); }
};

TEST_F(ClientProxy, loopback_bypasses_the_proxy) {
  const RunningServer server([](const Request&) { return Response{.body = "here"}; });
  Client client({.connect_s = 2});
  const std::string port = std::to_string(server.port);
  EXPECT_EQ(client.ask({.url = "http://127.0.0.1:" + port + "/"}).body, "here");
  EXPECT_EQ(client.ask({.url = "http://localhost:" + port + "/"}).body, "here");
  ScriptedServer proxy({kGood});
  set("http://127.0.0.1:" + std::to_string(proxy.port()));
  EXPECT_EQ(client.ask({.url = "http://elsewhere.invalid/x"}).status, 200);
  EXPECT_THAT(proxy.requests().front(), StartsWith("GET http://elsewhere.invalid/x HTTP/1.1\r\n"));
}

TEST(Client, copies_of_the_callable_share_a_connection) {
  const RunningServer server(
      [](const Request& request) { return Response{.body = request.target}; });
  const Ask ask = over_network({.body_bytes_max = 4});
  const Ask copy = ask;
  EXPECT_EQ(ask({.url = server.url("/one")}).body, "/one");
  EXPECT_EQ(copy({.url = server.url("/two")}).body, "/two");
  EXPECT_EQ(server.load->connections, 1);
  EXPECT_EQ(copy({.url = server.url("/three")}).fault, NetFault::broken) << "over body_bytes_max";
  Client first;
  Client second = std::move(first);
  EXPECT_EQ(second.ask({.url = server.url("/moved")}).body, "/moved");
}

TEST(Client, request_settings_do_not_leak_into_the_next_request) {
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

TEST(Client, connection_is_kept_across_methods) {
  ServerOptions options = test_options();
  options.connections_max = 100;
  const RunningServer server(method_and_body, options);
  Client client;
  for (const char* method : {"GET", "PUT", "POST", "DELETE"}) {
    const bool sends = std::string(method) == "PUT" || std::string(method) == "POST";
    const Reply reply =
        client.ask({.method = method, .url = server.url("/a"), .body = sends ? "abc" : ""});
    EXPECT_EQ(reply.body, std::string(method) + (sends ? " abc" : " "));
    EXPECT_EQ(reply.header("x-peer"), "127.0.0.1");
    EXPECT_FALSE(reply.reconnected);
  }
  EXPECT_EQ(client.ask({.method = "HEAD", .url = server.url("/a")}).body, "");
  EXPECT_EQ(server.load->connections, 1);
  EXPECT_EQ(client.ask({.url = server.url("/a"), .once = true}).status, 200);
  EXPECT_EQ(server.load->connections, 2);
}

TEST(Client, closed_connection_is_reopened_and_the_request_repeated) {
  ServerOptions options = test_options();
  options.idle_time_max = 50ms;
  const RunningServer server(method_and_body, options);
  Client client;
  EXPECT_EQ(client.ask({.url = server.url("/")}).status, 200);
  std::this_thread::sleep_for(200ms);
  const Reply again = client.ask({.method = "PUT", .url = server.url("/"), .body = "x"});
  EXPECT_EQ(again.body, "PUT x");
  EXPECT_TRUE(again.reconnected);
}

TEST(Client, repeated_request_is_sent_from_its_first_byte) {
  std::string again;
  {
    const ScriptedServer server({[](const TestSocket& socket) {
                                   ScriptedServer::request(socket, 0);
                                   socket.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
                                   ScriptedServer::request(socket,
                                                           6);  // received, but not answered
                                 },
                                 [&again](const TestSocket& socket) {
                                   again = ScriptedServer::request(socket, 6);
                                   socket.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
                                 }});
    Client client;
    EXPECT_EQ(client.ask({.url = server.url()}).status, 200);
    const Reply reply = client.ask({.method = "PUT", .url = server.url(), .body = "abcdef"});
    EXPECT_EQ(reply.status, 200);
    EXPECT_TRUE(reply.reconnected);
  }
  EXPECT_TRUE(again.ends_with("\r\n\r\nabcdef")) << again;
}

TEST(Client, interim_answer_is_skipped_and_first_byte_is_timed) {
  std::string sent;
  {
    const ScriptedServer server({[&sent](const TestSocket& socket) {
      sent = ScriptedServer::request(socket, 0);
      std::this_thread::sleep_for(60ms);
      socket.send("HTTP/1.1 100 Continue\r\nX-Early: 1\r\n\r\n");
      socket.send("HTTP/1.1 200 OK\r\nX-Late: 2\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    }});
    Client client;
    const Reply reply = client.ask({.method = "PUT",
                                    .url = server.url(),
                                    .headers = {{"X-Empty", ""}, {"X-Full", "v"}},
                                    .body = "",
                                    .ask_first = true});
    EXPECT_EQ(reply.status, 200);
    EXPECT_EQ(reply.header("x-early"), "") << "a header of the interim answer";
    EXPECT_EQ(reply.header("X-Late"), "2");
    EXPECT_GT(reply.first_byte_s, 0.04);
    EXPECT_LT(reply.first_byte_s, 5) << "seconds";
  }
  EXPECT_THAT(sent, HasSubstr("Expect: 100-continue\r\n"));
  EXPECT_THAT(sent, HasSubstr("X-Empty:\r\n"));
  EXPECT_THAT(sent, HasSubstr("X-Full: v\r\n"));
}

TEST(Client, announced_close_is_not_a_reconnect) {
  ServerOptions options = test_options();
  options.requests_per_connection_max = 1;
  const RunningServer server(method_and_body, options);
  Client client;
  for (int i = 0; i < 3; ++i) {
    const Reply reply = client.ask({.url = server.url("/")});
    EXPECT_EQ(reply.status, 200);
    EXPECT_FALSE(reply.reconnected) << i;
  }
}

TEST(Client, total_time_has_a_deadline) {
  ScriptedServer silent({[](const TestSocket& socket) {
    ScriptedServer::request(socket, 0);
    std::this_thread::sleep_for(600ms);
  }});
  Client client({.total_s = 0.2});
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(client.ask({.url = silent.url()}).fault, NetFault::timed_out);
  EXPECT_LT(std::chrono::steady_clock::now() - start, 2s);
}

TEST(Client, stalled_body_times_out) {
  ScriptedServer stalls({[](const TestSocket& socket) {
    ScriptedServer::request(socket, 0);
    socket.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc");
    std::this_thread::sleep_for(3500ms);
  }});
  Client client({.slow_bytes_per_s = 1024, .slow_s = 1});
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(client.ask({.url = stalls.url()}).fault, NetFault::timed_out);
  EXPECT_LT(std::chrono::steady_clock::now() - start, 3500ms);
}

TEST(Client, short_body_is_broken) {
  for (const char* text : {"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc",
                           "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n"}) {
    const ScriptedServer server(std::vector<std::string>{text});
    EXPECT_EQ(Client().ask({.url = server.url()}).fault, NetFault::broken) << text;
  }
  const ScriptedServer chunks(std::vector<std::string>{
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"});
  EXPECT_EQ(Client().ask({.url = chunks.url()}).body, "abcde");
}

TEST(Client, held_body_is_limited) {
  const RunningServer server(
      [](const Request&) { return Response{.body = std::string(5000, 'x')}; });
  Client client({.body_bytes_max = 4999});
  EXPECT_EQ(client.ask({.url = server.url("/")}).fault, NetFault::broken);
  Client larger({.body_bytes_max = 5000});
  EXPECT_EQ(larger.ask({.url = server.url("/")}).body.size(), 5000u);
}

TEST(Client, callback_that_refuses_or_throws_breaks_the_request) {
  const RunningServer server([](const Request&) { return Response{.body = "text"}; });
  Client client;
  const Reply enough = client.ask(
      {.url = server.url("/good"), .take = [](const Reply&, std::string_view) { return false; }});
  EXPECT_EQ(enough.fault, NetFault::broken);
  const Reply thrown =
      client.ask({.url = server.url("/good"), .take = [](const Reply&, std::string_view) -> bool {
                    throw std::runtime_error("fault");
                  }});
  EXPECT_EQ(thrown.fault, NetFault::broken);
}

TEST(Client, source_that_fails_or_gives_too_much_breaks_the_request) {
  const RunningServer server(method_and_body);
  Client client;
  const auto fault_of = [&](BodySource source) {
    return client
        .ask({.method = "PUT",
              .url = server.url("/"),
              .source = std::move(source),
              .source_bytes = 100})
        .fault;
  };
  EXPECT_EQ(fault_of([](std::uint64_t, std::span<char>) { return std::optional<std::size_t>(); }),
            NetFault::broken);
  EXPECT_EQ(
      fault_of([](std::uint64_t, std::span<char> into) { return std::optional(into.size() + 1); }),
      NetFault::broken);
}

}  // namespace
}  // namespace orrery::net::client_tests
