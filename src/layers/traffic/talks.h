// Talks in turns before a fleet: they begin at random, each sends a turn, reads the answer, thinks,
// and sends the next with all that was said before it. An agent's task is a talk too: its turns are
// calls, its thoughts are tools, and what counts is the time of the whole.
//
//   talks begin as a Poisson stream of rate / turns; so many turns come a second in all
//   prompt of turn k = system prompt + what turns 1 to k - 1 said and were answered + new tokens
//   thought          exponential, of mean `think`
// A stream that is met at time 0 is in its middle: of every turn but the first, rate / turns x
// think talks are thought about then. Their histories lie nowhere yet: whoever counts what is found
// lets some thoughts pass first. All draws of a talk are its own, so that another router meets the
// same talks. A history that no replica holds beside the turn ends the talk.
//
// In closed form (`talk_found`), of what was said before, what a replica still has. Blocks that
// nobody holds give way by age: all leave after the one time t at which those that are idle fill
// what is free of the cache (Che, Tung and Wang 2002, IEEE JSAC 20:1305).
//   idle tokens = rate E[context of a turn x min(t, time to the talk's next visit)]
//   found       = P(next visit within t)
// The next visit is one thought away where the router keeps talks at home; of n replicas that take
// turns, d thoughts with probability (1 / n) (1 - 1 / n)^(d - 1), and finds what was said up to
// then. Wrong where a part of a history has gone, and where homes are loaded unevenly.
// A task of n calls, whose tools take exponential times of mean tau (`task_mean`, `task_p99`):
//   mean  n E[call] + (n - 1) tau
//   p99   mean + sqrt(n (call p99 - E[call])^2 + (Erlang(n - 1) p99 - its mean)^2)
// exact where calls take one and the same time; else independent parts add by their squares.
// Wrong for: clients that edit what was said, or send a turn before the answer is read; tools that
// are called together; the last calls of a task, which are slower together than apart.
#pragma once

#include <cstdint>
#include <optional>
#include <queue>
#include <set>
#include <vector>

#include "layers/traffic/fleet.h"

namespace orrery::traffic {

struct TalkLoad {
  double rate = 1;  // turns a second, of all talks
  int turns = 4;
  double think = 30;               // seconds, mean
  LengthLaw prompt;                // new tokens of a turn
  std::optional<LengthLaw> later;  // of every turn but the first; none: as of the first
  LengthLaw output;
  bool whole = false;       // who has begun goes on to the end, however late
  double system_share = 0;  // of the new tokens of a first turn, the same in all talks
  int most_prompt = 1 << 30;
  int most_output = 1 << 30;
  int most_held = 1 << 30;       // tokens of a turn with its history and answer
  double until = 0;              // nobody asks after this
  serving::AdapterSet adapters;  // one for all turns of a talk; none by default
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
    int turn = 0;  // that comes next, from 0
    int adapter = 0;
    int system = 0;    // tokens that all talks begin with
    int history = 0;   // tokens said and answered, the system prompt among them
    double think = 0;  // after the turn that is asked now
  };
  struct Turn {
    double at = 0;
    std::uint64_t talk = 0;
    // The earliest is on top; of two at once the older talk.
    bool operator<(const Turn& o) const { return at != o.at ? at > o.at : talk > o.talk; }
  };
  std::uint64_t begin_talk();
  // Lengths of the talk's next turn.
  engines::RequestSpec draw_turn(Talk& talk) const;
  void meet_in_the_middle();
  void begin_next(double after);
  void leave(std::uint64_t talk);

  TalkLoad load_;
  serving::AdapterDraw adapter_;
  RandomStream gaps_;
  RandomStream begun_;
  std::vector<Talk> talks_;  // by their name less one
  std::priority_queue<Turn> turns_;
  std::vector<std::uint64_t> asked_;  // whose request, by its id
  std::multiset<double> thoughts_;    // of turns that are being answered
};

// What of the history a replica still has, in closed form.
struct TalkCase {
  int turns = 4;
  double think = 30;
  double prompt = 500;          // new tokens of a turn, means
  std::optional<double> later;  // of every turn but the first; none: as of the first
  double output = 250;
  double rate = 1;      // turns a second of one replica
  double stay = 5;      // seconds of a request
  double tokens = 1e5;  // that the replica's cache holds
  double replicas = 1;
  bool at_home = false;  // the router sends all turns of a talk to one replica
};
double talk_fresh(const TalkCase& c);    // new tokens of a mean turn
double talk_history(const TalkCase& c);  // and those before them
double talk_found(const TalkCase& c);    // share of the latter, over all turns

struct TaskCase {
  int calls = 1;
  Seconds call;  // whole, mean
  Seconds call_p99;
  Seconds tool;  // mean
};
Seconds task_mean(const TaskCase& c);
Seconds task_p99(const TaskCase& c);

}  // namespace orrery::traffic
