// `orrery serve` as a process: killed and restarted, under load, with hostile clients.
//
// ORRERY_FULL=1 tests what the project promises: 200 clients for 60 s, 20 kills.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <thread>

#include "core/base/text.h"
#include "http_client.h"
#include "live/agent/test_folder.h"
#include "model/design_text/templates.h"

namespace orrery {
namespace {

using testing::HasSubstr;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

bool full() { return std::getenv("ORRERY_FULL") != nullptr; }

// The server as a child: its first line of output is the address with the token.
class Server {
 public:
  explicit Server(const std::string& state) {
    int ends[2];
    if (::pipe(ends) != 0) return;
    pid = ::fork();
    if (pid == 0) {
      ::dup2(ends[1], STDOUT_FILENO);
      ::dup2(::open("/dev/null", O_WRONLY), STDERR_FILENO);
      ::close(ends[0]);
      ::close(ends[1]);
      const std::string binary = std::string(ORRERY_BINARY_DIR) + "/orrery";
      ::execl(binary.c_str(), "orrery", "serve", "--port", "0", "--state", state.c_str(), nullptr);
      ::_exit(127);
    }
    ::close(ends[1]);
    read_address(ends[0]);
    ::close(ends[0]);
  }
  ~Server() { end(SIGKILL); }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Returns the status of waitpid.
  int end(int with) {
    if (pid <= 0) return -1;
    ::kill(pid, with);
    int status = 0;
    ::waitpid(pid, &status, 0);
    pid = -1;
    return status;
  }

  HttpAnswer ask(std::string_view method, std::string_view target, std::string_view body = {}) {
    return ask_once(port, token, method, target, body);
  }

  // Resident memory in kB.
  double memory_kb() const {
    std::ifstream status("/proc/" + std::to_string(pid) + "/statm");
    double pages = 0;
    status >> pages >> pages;
    return pages * static_cast<double>(::sysconf(_SC_PAGESIZE)) / 1024;
  }

  pid_t pid = -1;
  int port = 0;
  std::string token;

 private:
  void read_address(int from) {
    std::string line;
    char c = 0;
    pollfd ready{.fd = from, .events = POLLIN, .revents = 0};
    while (::poll(&ready, 1, 30'000) == 1 && ::read(from, &c, 1) == 1 && c != '\n') line += c;
    const std::size_t colon = line.rfind(':');
    const std::size_t equals = line.rfind('=');
    if (colon == std::string::npos || equals == std::string::npos) return;
    port = std::atoi(line.c_str() + colon + 1);
    token = line.substr(equals + 1);
  }
};

std::string state_in(const HttpAnswer& job) {
  const std::size_t at = job.body.find("\"state\":\"");
  return at == std::string::npos ? ""
                                 : job.body.substr(at + 9, job.body.find('"', at + 9) - at - 9);
}

std::string result_in(const HttpAnswer& job) {
  const std::size_t at = job.body.find("\"result\":");
  return at == std::string::npos ? "" : job.body.substr(at);
}

template <class Condition>
bool soon(const Condition& condition, std::chrono::seconds limit = 120s) {
  const auto deadline = Clock::now() + limit;
  while (Clock::now() < deadline) {
    if (condition()) return true;
    std::this_thread::sleep_for(5ms);
  }
  return false;
}

// Long enough that a kill interrupts it.
constexpr const char* kLongSearch =
    R"({"kind":"search-layout","model":"deepseek-v3","gpus":8192,"batch":16384,"pareto":true})";

TEST(Serve, a_restarted_server_continues_its_jobs) {
  const agent::TestFolder folder;
  Server undisturbed(":memory:");
  ASSERT_GT(undisturbed.port, 0);
  ASSERT_EQ(undisturbed.ask("POST", "/api/v1/jobs", kLongSearch).status, 202);
  const auto start = Clock::now();
  ASSERT_TRUE(soon([&] { return state_in(undisturbed.ask("GET", "/api/v1/jobs/1")) == "done"; }));
  const auto whole = Clock::now() - start;
  const std::string expected = result_in(undisturbed.ask("GET", "/api/v1/jobs/1"));
  undisturbed.end(SIGKILL);

  const std::string state = folder.at("jobs.db");
  const int kills = full() ? 20 : 3;
  {
    Server first(state);
    ASSERT_EQ(first.ask("POST", "/api/v1/jobs", kLongSearch).status, 202);
    ASSERT_EQ(first
                  .ask("POST", "/api/v1/jobs",
                       R"({"kind":"search-layout","model":"llama-3-8b","gpus":8,"batch":8})")
                  .status,
              202);
  }
  int running = 0;
  for (int i = 0; i < kills; ++i) {
    Server next(state);
    ASSERT_GT(next.port, 0);
    EXPECT_THAT(next.ask("GET", "/api/v1/jobs").body, HasSubstr("\"id\":\"2\""));
    std::this_thread::sleep_for(whole / (kills + 1));
    running += state_in(next.ask("GET", "/api/v1/jobs/1")) == "running";
  }
  Server last(state);
  ASSERT_TRUE(soon([&] { return state_in(last.ask("GET", "/api/v1/jobs/2")) == "done"; }));
  EXPECT_GT(running, 0) << "no kill interrupted the search";
  EXPECT_EQ(result_in(last.ask("GET", "/api/v1/jobs/1")), expected);
  std::cout << kills << " kills, " << running << " of them during the search\n";
}

TEST(Serve, ends_cleanly_on_interrupt_with_a_job_in_progress) {
  const agent::TestFolder folder;
  const std::string state = folder.at("jobs.db");
  {
    Server server(state);
    ASSERT_EQ(server.ask("POST", "/api/v1/jobs", kLongSearch).status, 202);
    const auto start = Clock::now();
    const int status = server.end(SIGINT);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    EXPECT_LT(Clock::now() - start, 10s);
  }
  Server next(state);
  EXPECT_THAT(next.ask("GET", "/api/v1/jobs/1").body, HasSubstr("\"id\":\"1\""));
}

TEST(Serve, two_servers_do_not_share_a_state_file) {
  const agent::TestFolder folder;
  const std::string state = folder.at("jobs.db");
  const Server first(state);
  ASSERT_GT(first.port, 0);
  Server second(state);
  EXPECT_EQ(second.port, 0);
  const int status = second.end(0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 2);
}

TEST(Serve, streams_the_progress_of_a_job) {
  Server server(":memory:");
  ASSERT_EQ(server.ask("POST", "/api/v1/jobs", kLongSearch).status, 202);
  // The stream ends with the job. Cancelling after a fixed time would remove a job that is done.
  const HttpAnswer events = server.ask("GET", "/api/v1/jobs/1/events");
  EXPECT_THAT(events.head, HasSubstr("Content-Type: text/event-stream"));
  EXPECT_THAT(events.body, HasSubstr("event: progress\ndata: {"));
  EXPECT_THAT(events.body, HasSubstr("event: done\ndata: {"));
  EXPECT_THAT(events.body, HasSubstr("\"searches\":"));
}

// A different design for every client and second, as people edit: mostly names and prices,
// sometimes the machines, so that no earlier answer can be reused.
std::string distinct_design(int client, int round) {
  std::string text(design_text::find_template("superpod-h100")->text);
  const auto put = [&text](std::string_view at, std::string_view what) {
    const std::size_t found = text.find(at);
    if (found != std::string::npos) text.replace(found, at.size(), what);
  };
  put("name: ", "name: c" + std::to_string(client) + "-r" + std::to_string(round) + "-");
  put("0.08 USD/kWh", "0.0" + std::to_string(8000 + client * 60 + round) + " USD/kWh");
  const int edit = client * 61 + round;
  if (edit % 5 == 0) put("power: 2 MW", "power: 2" + std::to_string(edit) + " kW");
  return text;
}

struct Load {
  std::vector<double> seconds;
  int faults = 0;
};

// Every client sends one request per second at its own moment, and does not wait for the others.
Load ask_for_plans(Server& server, int clients, int rounds) {
  struct Client {
    std::unique_ptr<HttpClient> http;
    Clock::time_point due;
    Clock::time_point sent;
    int round = 0;
    bool waits = false;
  };
  Load load;
  std::vector<Client> all(static_cast<std::size_t>(clients));
  const auto start = Clock::now();
  for (int i = 0; i < clients; ++i) {
    all[static_cast<std::size_t>(i)].http = std::make_unique<HttpClient>(server.port, server.token);
    all[static_cast<std::size_t>(i)].due = start + 1000ms * i / clients;
  }
  const auto deadline = start + std::chrono::seconds(rounds + 60);
  int open = clients;
  while (open > 0 && Clock::now() < deadline) {
    std::vector<pollfd> ready;
    std::vector<Client*> waiting;
    for (std::size_t i = 0; i < all.size(); ++i) {
      Client& c = all[i];
      if (!c.waits && c.round < rounds && Clock::now() >= c.due) {
        const std::string body = distinct_design(static_cast<int>(i), c.round);
        c.sent = Clock::now();
        c.waits = c.http->send(c.http->request("POST", "/api/v1/plan", body));
        load.faults += !c.waits;
      }
      if (!c.waits) continue;
      ready.push_back({.fd = c.http->socket(), .events = POLLIN, .revents = 0});
      waiting.push_back(&c);
    }
    ::poll(ready.data(), ready.size(), 2);
    for (std::size_t i = 0; i < ready.size(); ++i) {
      if (ready[i].revents == 0) continue;
      Client& c = *waiting[i];
      const HttpAnswer answer = c.http->receive();
      load.seconds.push_back(std::chrono::duration<double>(Clock::now() - c.sent).count());
      load.faults += answer.status != 200 || answer.body.find("\"verdict\"") == std::string::npos;
      c.waits = false;
      c.due += 1s;
      open -= ++c.round == rounds;
    }
  }
  std::ranges::sort(load.seconds);
  return load;
}

double percentile(const std::vector<double>& sorted, double share) {
  if (sorted.empty()) return 0;
  return sorted[std::min(sorted.size() - 1,
                         static_cast<std::size_t>(share * static_cast<double>(sorted.size())))];
}

TEST(Serve, many_clients_get_their_plans_and_memory_stays_flat) {
  Server server(":memory:");
  ASSERT_GT(server.port, 0);
  const int clients = full() ? 200 : 40;
  const int rounds = full() ? 60 : 3;
  ask_for_plans(server, clients, 2);  // creates the caches, arenas and buffers of every connection
  const double before = server.memory_kb();
  const Load load = ask_for_plans(server, clients, rounds);
  const double after = server.memory_kb();
  EXPECT_EQ(load.faults, 0);
  EXPECT_EQ(load.seconds.size(), static_cast<std::size_t>(clients) * rounds);
  // Each connection may hold a request, its answer and their buffers at the same time, and on a
  // busy machine more of them do so than during warm-up; a leak would instead grow with the number
  // of plans.
  constexpr double kConnectionKb = 128;
  EXPECT_LT(after, before * 1.1 + clients * kConnectionKb);
  std::cout << clients << " clients, " << rounds << " s: " << load.seconds.size()
            << " plans, median " << significant(1e3 * percentile(load.seconds, 0.5), 3)
            << " ms, p99 " << significant(1e3 * percentile(load.seconds, 0.99), 3) << " ms, worst "
            << significant(1e3 * percentile(load.seconds, 1), 3) << " ms; resident "
            << significant(before / 1024, 4) << " -> " << significant(after / 1024, 4) << " MiB\n";
}

TEST(Serve, slow_clients_do_not_starve_others) {
  Server server(":memory:");
  std::vector<std::unique_ptr<HttpClient>> slow;
  for (int i = 0; i < 100; ++i) {
    slow.push_back(std::make_unique<HttpClient>(server.port, server.token));
    slow.back()->send("P");
  }
  const std::string request = slow.front()->request("POST", "/api/v1/plan", "x");
  const auto until = Clock::now() + (full() ? 30s : 4s);
  std::size_t sent = 1;
  int cut = 0;
  std::vector<double> seconds;
  while (Clock::now() < until) {
    for (auto& client : slow) {
      if (client->send(request.substr(sent, 1))) continue;
      ++cut;
      client = std::make_unique<HttpClient>(server.port, server.token);
    }
    sent = (sent + 1) % request.size();
    const auto start = Clock::now();
    EXPECT_EQ(server.ask("POST", "/api/v1/plan", distinct_design(0, static_cast<int>(sent))).status,
              200);
    seconds.push_back(std::chrono::duration<double>(Clock::now() - start).count());
    std::this_thread::sleep_until(start + 1s);
  }
  std::ranges::sort(seconds);
  std::cout << "among 100 dripping clients: median "
            << significant(1e3 * percentile(seconds, 0.5), 3) << " ms, worst "
            << significant(1e3 * seconds.back(), 3) << " ms; " << cut << " cut off\n";
  EXPECT_LT(seconds.back(), 5);
}

TEST(Serve, refuses_hostile_clients) {
  Server server(":memory:");
  const std::string host = "Host: 127.0.0.1:" + std::to_string(server.port) + "\r\n";
  const std::string token = "Authorization: Bearer " + server.token + "\r\n";
  const auto status = [&](const std::string& text) {
    HttpClient client(server.port, "");
    client.send(text);
    return client.receive().status;
  };
  const std::string end = "Connection: close\r\n\r\n";
  EXPECT_EQ(status("GET /api/v1/session HTTP/1.1\r\n" + host + token + end), 200);
  EXPECT_EQ(status("GET /api/v1/session HTTP/1.1\r\n" + host + end), 401);
  EXPECT_EQ(status("GET /metrics HTTP/1.1\r\n" + host + end), 401);
  EXPECT_EQ(status("GET /healthz HTTP/1.1\r\n" + host + end), 200);
  EXPECT_EQ(status("GET /healthz HTTP/1.1\r\nHost: rebound.example:" + std::to_string(server.port) +
                   "\r\n" + token + end),
            421);
  EXPECT_EQ(status("POST /api/v1/plan HTTP/1.1\r\nOrigin: http://evil.example\r\n" + host + token +
                   "Content-Length: 0\r\n" + end),
            403);
  for (const char* path : {"/../../etc/passwd", "/assets/../../etc/passwd", "/assets/%2e%2e/x",
                           "/assets/..%2f..%2fetc%2fpasswd", "/api/v1/templates/..%2f"}) {
    EXPECT_EQ(status("GET " + std::string(path) + " HTTP/1.1\r\n" + host + token + end), 404)
        << path;
  }
  const auto post = [&](const std::string& target, const std::string& body) {
    return server.ask("POST", target, body);
  };
  EXPECT_EQ(post("/api/v1/plan", std::string((1 << 20) + 1, '#')).status, 413);
  EXPECT_EQ(post("/api/v1/hall", std::string(500'000, '[')).status, 400);
  EXPECT_EQ(post("/api/v1/hall", R"({"design": )").status, 400);
  EXPECT_EQ(post("/api/v1/plan", "a: " + std::string(100'000, '[')).status, 422);
  EXPECT_EQ(post("/api/v1/plan", "a: &a [*a, *a]\n").status, 422);
  EXPECT_EQ(server.ask("GET", "/healthz").status, 200);
}

TEST(Serve, metrics_are_valid_for_prometheus) {
  if (std::system("promtool --version > /dev/null 2>&1") != 0) {
    GTEST_SKIP() << "promtool is not installed";
  }
  Server server(":memory:");
  server.ask("POST", "/api/v1/plan", distinct_design(0, 0));
  server.ask("GET", "/no/such/address");
  FILE* check = ::popen("promtool check metrics > /dev/null 2>&1", "w");
  ASSERT_NE(check, nullptr);
  const std::string text = server.ask("GET", "/metrics").body;
  EXPECT_THAT(text, HasSubstr("orrery_http_requests_total{route=\"/api/v1/plan\""));
  std::fwrite(text.data(), 1, text.size(), check);
  EXPECT_EQ(::pclose(check), 0) << text;
}

TEST(Serve, the_first_url_opens_the_page) {
  Server server(":memory:");
  HttpClient browser(server.port, "");
  const HttpAnswer first = browser.ask("GET", "/?token=" + server.token);
  EXPECT_EQ(first.status, 303);
  EXPECT_THAT(first.head, HasSubstr("HttpOnly; SameSite=Strict"));
  const HttpAnswer page = server.ask("GET", "/");
  EXPECT_EQ(page.status, 200);
  EXPECT_THAT(page.head, HasSubstr("text/html"));
  EXPECT_THAT(page.head, HasSubstr("default-src 'none'"));
  EXPECT_THAT(page.head, testing::Not(HasSubstr("script-src 'unsafe")));
}

}  // namespace
}  // namespace orrery
