// A PostgreSQL server in a thread of the test. It speaks the protocol (version 3) on a socket in
// its own folder, and recognises the few statements that the store uses by their words.
//
// On demand it refuses a statement with any SQLSTATE, or closes the connection instead of
// answering. Rows, snapshots and advisory locks work as in a real server.
// tests/store_gateways_test.cpp tests the statements against a real server.
#pragma once

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace orrery::rows {

class SimulatedPostgres {
 public:
  using Rows = std::map<std::string, std::string>;
  struct Asked {
    int connection = 0;  // the first is 1
    std::string statement;
    std::vector<std::string> parameters = {};
    std::vector<bool> binary = {};
  };

  SimulatedPostgres() {
    folder_ = (std::filesystem::temp_directory_path() / "orrery-pg-XXXXXX").string();
    if (::mkdtemp(folder_.data()) == nullptr) std::abort();
    sockaddr_un place{.sun_family = AF_UNIX, .sun_path = {}};
    (folder_ + "/.s.PGSQL.5432").copy(place.sun_path, sizeof(place.sun_path) - 1);
    listens_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (::bind(listens_, reinterpret_cast<const sockaddr*>(&place), sizeof(place)) != 0 ||
        ::listen(listens_, 64) != 0 || ::pipe(wake_.data()) != 0) {
      std::abort();
    }
    thread_ = std::thread([this] { run(); });
  }
  ~SimulatedPostgres() {
    if (::write(wake_[1], "x", 1) != 1) std::abort();
    thread_.join();
    for (const Client& client : clients_) ::close(client.socket);
    for (const int file : {listens_, wake_[0], wake_[1]}) ::close(file);
    std::filesystem::remove_all(folder_);
  }
  SimulatedPostgres(const SimulatedPostgres&) = delete;
  SimulatedPostgres& operator=(const SimulatedPostgres&) = delete;

  std::string address() const { return "postgresql:///rows?user=store&host=" + folder_; }

  Rows rows() const {
    const std::scoped_lock lock(mutex_);
    return rows_;
  }
  void set_rows(Rows rows) {
    const std::scoped_lock lock(mutex_);
    rows_ = std::move(rows);
  }
  void set(const std::string& name, const std::string& value) {
    const std::scoped_lock lock(mutex_);
    settings_[name] = value;
  }
  // The next statement that contains these words is refused. Without a code, the connection is
  // closed instead.
  void refuse(const std::string& words, const std::string& code, const std::string& text = "no") {
    const std::scoped_lock lock(mutex_);
    refusals_.push_back({words, code, text});
  }
  // As when the server restarts.
  void hang_up_on_all() {
    std::unique_lock lock(mutex_);
    for (const Client& client : clients_) ::shutdown(client.socket, SHUT_RDWR);
    changed_.wait_for(lock, kPatience, [this] { return clients_.empty(); });
  }
  // Returns false if there are still fewer connections after a while.
  bool wait_for_connections(std::size_t count) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kPatience, [&] { return clients_.size() == count; });
  }
  int connections_made() const {
    const std::scoped_lock lock(mutex_);
    return made_;
  }
  std::vector<Asked> asked(std::string_view words) const {
    const std::scoped_lock lock(mutex_);
    std::vector<Asked> found;
    for (const Asked& asked : asked_) {
      if (asked.statement.contains(words)) found.push_back(asked);
    }
    return found;
  }

 private:
  struct Client {
    int socket = -1;
    int number = 0;
    std::string in = {};
    bool greeted = false;
    bool in_transaction = false;
    Rows moment = {};
    Asked parsed = {};
  };
  struct Refusal {
    std::string words;
    std::string code;
    std::string text;
  };
  struct Lock {
    int connection = 0;
    bool shared = false;
  };
  using Row = std::vector<std::string>;
  static constexpr std::chrono::seconds kPatience{5};

  static std::string number_of(std::uint64_t value, int bytes) {
    std::string out;
    for (int i = bytes - 1; i >= 0; --i) out += static_cast<char>(value >> (8 * i) & 0xff);
    return out;
  }
  static std::uint32_t number_at(std::string_view text, std::size_t at, std::size_t bytes) {
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < bytes; ++i) {
      value = value << 8 | static_cast<unsigned char>(text[at + i]);
    }
    return value;
  }
  static std::string message(char kind, const std::string& body) {
    return kind + number_of(body.size() + 4, 4) + body;
  }
  static std::string text_of(std::string_view text) { return std::string(text) + '\0'; }

  void run() {
    for (;;) {
      std::vector<pollfd> waits = {{wake_[0], POLLIN, 0}, {listens_, POLLIN, 0}};
      for (const Client& client : clients_) waits.push_back({client.socket, POLLIN, 0});
      if (::poll(waits.data(), waits.size(), -1) < 0) continue;
      if (waits[0].revents != 0) return;
      const std::scoped_lock lock(mutex_);
      std::size_t at = 2;
      for (auto client = clients_.begin(); client != clients_.end(); ++at) {
        const bool stays = waits[at].revents == 0 || hear(*client);
        client = stays ? std::next(client) : part_from(client);
      }
      if (waits[1].revents != 0) {
        clients_.push_back({::accept4(listens_, nullptr, nullptr, SOCK_CLOEXEC), ++made_});
      }
      changed_.notify_all();
    }
  }

  std::list<Client>::iterator part_from(std::list<Client>::iterator client) {
    ::close(client->socket);
    for (auto& [place, holders] : locks_) {
      std::erase_if(holders, [&](const Lock& l) { return l.connection == client->number; });
    }
    return clients_.erase(client);
  }

  // Returns false if the client disconnected, or must be disconnected.
  bool hear(Client& client) {
    std::array<char, 4096> some{};
    const ssize_t n = ::recv(client.socket, some.data(), some.size(), 0);
    if (n <= 0) return false;
    client.in.append(some.data(), static_cast<std::size_t>(n));
    for (;;) {
      const std::size_t head = client.greeted ? 1 : 0;
      if (client.in.size() < head + 4) return true;
      const std::size_t whole = head + number_at(client.in, head, 4);
      if (client.in.size() < whole) return true;
      const std::string body = client.in.substr(head + 4, whole - head - 4);
      const char kind = client.greeted ? client.in[0] : '\0';
      client.in.erase(0, whole);
      if (!take(client, kind, body)) return false;
    }
  }

  bool take(Client& client, char kind, const std::string& body) {
    if (kind == '\0') {
      client.greeted = true;
      return send(client, message('R', number_of(0, 4)) + ready(client));
    }
    if (kind == 'X') return false;
    if (kind == 'Q') {
      client.parsed = {.connection = client.number, .statement = body.substr(0, body.size() - 1)};
      return answer(client, false);
    }
    if (kind == 'P') {
      const std::size_t name = body.find('\0') + 1;
      client.parsed = {.connection = client.number,
                       .statement = body.substr(name, body.find('\0', name) - name)};
    }
    if (kind == 'B') read_parameters(client.parsed, body);
    return kind != 'S' || answer(client, true);
  }

  static void read_parameters(Asked& to, const std::string& body) {
    std::size_t at = body.find('\0', body.find('\0') + 1) + 1;
    for (std::uint32_t left = number_at(body, at, 2); left > 0; --left) {
      at += 2;
      to.binary.push_back(number_at(body, at, 2) == 1);
    }
    at += 2;
    std::uint32_t left = number_at(body, at, 2);
    for (at += 2; left > 0; --left) {
      const std::uint32_t length = number_at(body, at, 4);
      const bool none = length == ~std::uint32_t{0};
      to.parameters.push_back(none ? "NULL" : body.substr(at + 4, length));
      at += 4 + (none ? 0 : length);
    }
  }

  static bool send(const Client& client, const std::string& bytes) {
    return ::send(client.socket, bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
           static_cast<ssize_t>(bytes.size());
  }
  static std::string ready(const Client& client) {
    return message('Z', client.in_transaction ? "T" : "I");
  }

  bool answer(Client& client, bool extended) {
    const Asked asked = client.parsed;
    asked_.push_back(asked);
    const auto refusal = std::ranges::find_if(
        refusals_, [&](const Refusal& r) { return asked.statement.contains(r.words); });
    if (refusal != refusals_.end()) {
      const Refusal met = *refusal;
      refusals_.erase(refusal);
      if (met.code.empty()) return false;
      return send(client, message('E', text_of("SERROR") + text_of("C" + met.code) +
                                           text_of("M" + met.text) + '\0') +
                              ready(client));
    }
    std::string said = extended ? message('1', "") + message('2', "") : "";
    const auto rows = carry_out(client, asked);
    if (rows) said += table(*rows);
    return send(client, said + message('C', text_of("DONE")) + ready(client));
  }

  static std::string table(const std::vector<Row>& rows) {
    const std::size_t columns = rows.empty() ? 1 : rows.front().size();
    std::string head = number_of(columns, 2);
    for (std::size_t i = 0; i < columns; ++i) head += text_of("c") + std::string(17, '\0') + '\1';
    std::string out = message('T', head);
    for (const Row& row : rows) {
      std::string body = number_of(row.size(), 2);
      for (const std::string& value : row) body += number_of(value.size(), 4) + value;
      out += message('D', body);
    }
    return out;
  }

  // Returns nullopt if the statement returns no rows.
  std::optional<std::vector<Row>> carry_out(Client& client, const Asked& asked) {
    const std::string& what = asked.statement;
    if (what.starts_with("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")) {
      client.in_transaction = true;
      client.moment = rows_;
    }
    if (what == "COMMIT") client.in_transaction = false;
    if (what.contains("CREATE TABLE IF NOT EXISTS orrery_rows")) has_table_ = true;
    if (asked.parameters.empty()) return std::nullopt;
    const std::string& first = asked.parameters[0];
    if (what.starts_with("SELECT to_regclass")) return truth(has_table_);
    if (what.starts_with("SELECT current_setting")) return {{{settings_[first]}}};
    if (what.starts_with("SELECT value FROM orrery_rows")) {
      const auto at = rows_.find(first);
      return at == rows_.end() ? std::vector<Row>{} : std::vector<Row>{{at->second}};
    }
    if (what.starts_with("SELECT key, value FROM")) return page(client, asked);
    if (what.starts_with("SELECT orrery_commit_1")) return truth(commit(asked.parameters));
    return truth(lock(client, asked));
  }
  static std::vector<Row> truth(bool value) { return {{std::string(1, value ? '\1' : '\0')}}; }

  static std::vector<Row> page(const Client& client, const Asked& asked) {
    std::vector<Row> found;
    const auto most = std::stoul(asked.parameters[1]);
    for (auto at = client.moment.lower_bound(asked.parameters[0]);
         at != client.moment.end() && found.size() < most; ++at) {
      found.push_back({at->first, at->second});
    }
    return found;
  }

  // An array of bytea as text: {"\\x6b6579",NULL}.
  static std::vector<std::optional<std::string>> array_at(const std::string& text) {
    std::vector<std::optional<std::string>> values;
    for (std::size_t at = 1; at + 1 < text.size(); ++at) {
      const std::size_t end = std::min(text.find(',', at), text.size() - 1);
      std::optional<std::string> value;
      if (text[at] == '"') {
        value.emplace();
        for (std::size_t i = at + 4; i + 1 < end; i += 2) {
          *value += static_cast<char>(std::stoi(text.substr(i, 2), nullptr, 16));
        }
      }
      values.push_back(std::move(value));
      at = end;
    }
    return values;
  }
  bool commit(const std::vector<std::string>& parameters) {
    const auto expected_keys = array_at(parameters[3]);
    const auto expected = array_at(parameters[4]);
    for (std::size_t i = 0; i < expected_keys.size(); ++i) {
      const auto at = rows_.find(*expected_keys[i]);
      const auto now = at == rows_.end() ? std::nullopt : std::optional(at->second);
      if (now != expected.at(i)) return false;
    }
    const auto keys = array_at(parameters[5]);
    const auto values = array_at(parameters[6]);
    for (std::size_t i = 0; i < keys.size(); ++i) {
      rows_.erase(*keys[i]);
      if (values.at(i)) rows_[*keys[i]] = *values[i];
    }
    return true;
  }

  bool lock(const Client& client, const Asked& asked) {
    auto& holders = locks_[{asked.parameters[0], asked.parameters[1]}];
    if (asked.statement.contains("pg_advisory_unlock(")) {
      return std::erase_if(holders, [&](const Lock& l) { return l.connection == client.number; }) >
             0;
    }
    const bool shared = asked.statement.contains("pg_try_advisory_lock_shared(");
    const bool taken = std::ranges::any_of(holders, [&](const Lock& l) {
      return l.connection != client.number && !(shared && l.shared);
    });
    if (taken) return false;
    // A lock that belongs to a transaction ends with its statement here.
    if (!asked.statement.contains("_xact_")) holders.push_back({client.number, shared});
    return true;
  }

  std::string folder_;
  int listens_ = -1;
  std::array<int, 2> wake_ = {-1, -1};
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::list<Client> clients_;
  int made_ = 0;
  Rows rows_;
  Rows settings_ = {{"fsync", "on"}, {"full_page_writes", "on"}};
  std::deque<Refusal> refusals_;
  bool has_table_ = false;
  std::vector<Asked> asked_;
  std::map<std::pair<std::string, std::string>, std::vector<Lock>> locks_;
  std::thread thread_;
};

}  // namespace orrery::rows
