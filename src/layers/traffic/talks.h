// Conversations with a fleet of replicas (Talk in the code): they begin at random; each sends a
// turn, reads the answer, thinks, and sends the next turn with the whole history. An agent's task
// is a conversation too: its turns are calls, its thinking times are tools, and what counts is the
// total time.
//
//   conversations begin as a Poisson stream of rate / turns, so `rate` turns arrive per second
//   prompt of turn k = system prompt + prompts and answers of turns 1 to k - 1 + new tokens
//   thinking time      exponential with mean `think`
// A simulation starts in the middle of the stream: for every turn but the first, rate / turns x
// think conversations are waiting for their next turn. Their histories are in no cache yet, so
// statistics on cache hits must skip the first few thinking times. All random draws of a
// conversation are its own, so another router sees the same conversations. A conversation ends if
// its history and next turn no longer fit in a replica.
//
// talk_found() gives in closed form which share of the history is still in the replica's cache.
// Blocks that no request holds are evicted by age: all leave after the same time t, for which the
// idle tokens fill the free part of the cache (Che, Tung and Wang 2002, IEEE JSAC 20:1305).
//   idle tokens = rate E[context of a turn x min(t, time to the conversation's next visit)]
//   found       = P(next visit within t)
// If the router keeps conversations on one replica, the next visit is one thinking time away. If n
// replicas take turns, it is d thinking times away with probability (1 / n) (1 - 1 / n)^(d - 1),
// and finds the history up to then. Wrong if part of a history was evicted, and if replicas are
// loaded unevenly.
//
// A task of n calls with exponential tool times of mean tau (`task_mean`, `task_p99`):
//   mean  n E[call] + (n - 1) tau
//   p99   mean + sqrt(n (call p99 - E[call])^2 + (Erlang(n - 1) p99 - its mean)^2)
// exact if all calls take the same time; otherwise independent parts add by their squares. Wrong
// for: clients that edit the history or send a turn before they have read the answer; tools that
// are called in parallel; the last calls of a task, which are slower together than apart.
#pragma once

#include <cstdint>
#include <optional>
#include <queue>
#include <set>
#include <vector>

#include "layers/traffic/fleet.h"

namespace orrery::traffic {

struct TalkLoad {
  double rate = 1;  // turns per second over all conversations
  int turns = 4;
  double think = 30;               // mean seconds
  LengthLaw prompt;                // new tokens per turn
  std::optional<LengthLaw> later;  // for every turn but the first; nullopt: same as the first
  LengthLaw output;
  bool whole = false;  // conversations that have begun are finished, however late
  // Share of a first turn's new tokens that all conversations have in common.
  double system_share = 0;
  int most_prompt = 1 << 30;
  int most_output = 1 << 30;
  int most_held = 1 << 30;       // most tokens of a turn with its history and answer
  double until = 0;              // no requests after this time
  serving::AdapterSet adapters;  // each conversation keeps one adapter; none by default
  std::uint64_t seed = 1;
};

class Talks final : public Askers {
 public:
  explicit Talks(const TalkLoad& load);
  double next() const override;
  Timed take() override;
  double patience() const override;
  void answered(const RequestRecord& record) override;
  void refused(int id) override;

 private:
  struct Talk {
    RandomStream draws;
    int turn = 0;  // the next turn, from 0
    int adapter = 0;
    int system = 0;    // tokens with which all conversations begin
    int history = 0;   // tokens of prompts and answers so far, including the system prompt
    double think = 0;  // thinking time after the current turn
  };
  struct Turn {
    double at = 0;
    std::uint64_t talk = 0;
    // The earliest turn is on top; ties: the older conversation.
    bool operator<(const Turn& o) const { return at != o.at ? at > o.at : talk > o.talk; }
  };
  std::uint64_t begin_talk();
  // Draws the lengths of the conversation's next turn.
  engines::RequestSpec draw_turn(Talk& talk) const;
  void meet_in_the_middle();
  void begin_next(double after);
  void leave(std::uint64_t talk);

  TalkLoad load_;
  serving::AdapterDraw adapter_;
  RandomStream gaps_;
  RandomStream begun_;
  std::vector<Talk> talks_;  // index = name - 1
  std::priority_queue<Turn> turns_;
  std::vector<std::uint64_t> asked_;  // conversation of each request, by request id
  std::multiset<double> thoughts_;    // thinking times that follow the turns being answered
};

// The inputs from which talk_found() computes what a replica still has of a history.
struct TalkCase {
  int turns = 4;
  double think = 30;
  double prompt = 500;          // mean new tokens per turn
  std::optional<double> later;  // for every turn but the first; nullopt: same as the first
  double output = 250;
  double rate = 1;      // turns per second per replica
  double stay = 5;      // seconds that a request is present
  double tokens = 1e5;  // capacity of the replica's cache
  double replicas = 1;
  bool at_home = false;  // the router sends all turns of a conversation to one replica
};
double talk_fresh(const TalkCase& c);    // mean new tokens per turn
double talk_history(const TalkCase& c);  // mean history tokens per turn
double talk_found(const TalkCase& c);    // share of the history that is found, over all turns

struct TaskCase {
  int calls = 1;
  Seconds call;  // mean total time
  Seconds call_p99;
  Seconds tool;  // mean
};
Seconds task_mean(const TaskCase& c);
Seconds task_p99(const TaskCase& c);

}  // namespace orrery::traffic
