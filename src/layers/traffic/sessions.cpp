#include "layers/traffic/sessions.h"

#include <algorithm>
#include <queue>

#include "core/base/random.h"

namespace orrery::traffic {
namespace {

struct User {
  std::uint64_t session = 0;
  int turn = 0;     // number of the next turn
  int history = 0;  // tokens so far
};

struct Turn {
  double at = 0;
  int user = 0;

  // The earliest turn is on top; ties: the lower user.
  bool operator<(const Turn& o) const { return at != o.at ? at > o.at : user > o.user; }
};

class Sessions {
 public:
  Sessions(ReplicaSim& replica, const SessionLoad& load)
      : replica_(replica),
        load_(load),
        fresh_(draw_requests(load.requests, load.prompt, load.output, load.seed)),
        think_(load.seed, "serving/think"),
        users_(static_cast<std::size_t>(load.users)) {
    const engines::BlockPool& pool = replica.scheduler().pool();
    most_ = pool.blocks() * pool.block_tokens() / 2;
    for (int u = 0; u < load.users; ++u) {
      begin_session(users_[static_cast<std::size_t>(u)]);
      // At the start, users are in the middle of their conversations, so their next turns are
      // spread out.
      turns_.push({.at = think_.uniform() * std::max(load.think, 1e-3), .user = u});
    }
  }

  SessionRun run() {
    while (true) {
      const double next = turns_.empty() ? kForever : turns_.top().at;
      if (replica_.next_start() < next) {
        replica_.advance_to_finish(next);
        for (const RequestRecord& r : replica_.take_finished()) note(r);
      } else if (next < kForever) {
        const Turn turn = turns_.top();
        turns_.pop();
        send(turn);
      } else {
        return std::move(run_);
      }
    }
  }

 private:
  void begin_session(User& u) { u = {.session = ++sessions_}; }

  void send(const Turn& turn) {
    if (sent_ >= fresh_.size()) return;
    User& u = users_[static_cast<std::size_t>(turn.user)];
    engines::RequestSpec spec = fresh_[sent_];
    spec.prompt = std::min(spec.prompt, most_ / 2);
    spec.output = std::min(spec.output, most_ / 2);
    if (u.turn >= load_.turns || u.history + spec.prompt + spec.output > most_) begin_session(u);
    spec.prompt += u.history;
    spec.shared = u.session;
    spec.shared_tokens = spec.prompt + spec.output;
    asked_.push_back({.user = turn.user, .history = u.history});
    replica_.submit(static_cast<int>(sent_++), spec, turn.at);
  }

  void note(const RequestRecord& r) {
    const Asked& asked = asked_[static_cast<std::size_t>(r.id)];
    User& u = users_[static_cast<std::size_t>(asked.user)];
    ++u.turn;
    u.history = r.prompt + r.output;
    turns_.push({.at = r.last + think_.exponential(load_.think), .user = asked.user});
    if (r.id < load_.requests / 3) return;
    run_.history_tokens += asked.history;
    run_.found_tokens += r.cached;
    run_.fetched_tokens += r.fetched;
    run_.records.push_back(r);
  }

  struct Asked {
    int user = 0;
    int history = 0;
  };
  ReplicaSim& replica_;
  const SessionLoad& load_;
  std::vector<engines::RequestSpec> fresh_;
  RandomStream think_;
  std::vector<User> users_;
  std::priority_queue<Turn> turns_;
  std::vector<Asked> asked_;  // indexed by request id
  std::size_t sent_ = 0;
  std::uint64_t sessions_ = 0;
  int most_ = 0;
  SessionRun run_;
};

}  // namespace

SessionRun run_sessions(ReplicaSim& replica, const SessionLoad& load) {
  return Sessions(replica, load).run();
}

}  // namespace orrery::traffic
