#include "layers/traffic/talks.h"

#include <algorithm>
#include <cmath>

#include "core/base/math.h"

namespace orrery::traffic {
namespace {

constexpr std::uint64_t kSystemPrompt = 1;
// Minimum time for reading an answer and writing a turn; replicas can be simulated independently
// for at least this long.
constexpr double kLeastThought = 1e-3;
constexpr double kLongestIdle = 1e9;  // seconds
constexpr int kBisections = 40;

// Returns P(Erlang(shape, mean of one stage) < x).
double erlang_below(int shape, double mean, double x) {
  if (x <= 0) return 0;
  double term = math::exp(-x / mean);
  double above = term;
  for (int i = 1; i < shape; ++i) above += term *= x / mean / i;
  return 1 - above;
}

}  // namespace

Talks::Talks(const TalkLoad& load)
    : load_(load),
      adapter_(load.adapters.count, load.adapters.skew),
      gaps_(load.seed, "serving/talks"),
      begun_(load.seed, "serving/begun") {
  meet_in_the_middle();
  begin_next(0);
}

std::uint64_t Talks::begin_talk() {
  const std::uint64_t name = talks_.size() + 1;
  talks_.push_back(
      {.draws = RandomStream(load_.seed * 0x9e3779b97f4a7c15ULL + name, "serving/talk")});
  talks_.back().adapter = adapter_(talks_.back().draws);
  return name;
}

engines::RequestSpec Talks::draw_turn(Talk& talk) const {
  engines::RequestSpec spec;
  const LengthLaw& fresh = talk.turn > 0 && load_.later ? *load_.later : load_.prompt;
  spec.prompt = std::min(draw_length(fresh, talk.draws), load_.most_prompt);
  spec.output = std::min(draw_length(load_.output, talk.draws), load_.most_output);
  if (talk.turn == 0) talk.system = static_cast<int>(spec.prompt * load_.system_share);
  talk.think = std::max(kLeastThought, talk.draws.exponential(load_.think));
  return spec;
}

void Talks::meet_in_the_middle() {
  const double of_each = load_.rate / load_.turns * load_.think;
  for (int turn = 1; turn < load_.turns; ++turn) {
    const auto count = static_cast<int>(of_each + begun_.uniform());
    for (int i = 0; i < count; ++i) {
      const std::uint64_t name = begin_talk();
      Talk& talk = talks_.back();
      for (; talk.turn < turn; ++talk.turn) {
        const engines::RequestSpec said = draw_turn(talk);
        talk.history += said.prompt + said.output;
      }
      turns_.push({.at = begun_.exponential(load_.think), .talk = name});
    }
  }
}

void Talks::begin_next(double after) {
  const double at = after + gaps_.exponential(load_.turns / load_.rate);
  if (at <= load_.until) turns_.push({.at = at, .talk = begin_talk()});
}

double Talks::next() const {
  const double at = turns_.empty() ? kForever : turns_.top().at;
  return load_.whole || at <= load_.until ? at : kForever;
}

Timed Talks::take() {
  const Turn now = turns_.top();
  turns_.pop();
  const bool begins = talks_[now.talk - 1].turn == 0;
  if (begins) begin_next(now.at);
  Talk& talk = talks_[now.talk - 1];
  engines::RequestSpec spec = draw_turn(talk);
  if (talk.history + spec.prompt + spec.output > load_.most_held) {
    talk.history = 0;  // too long for any replica: a new conversation takes its place
    talk.system = 0;
  }
  spec.prompt += talk.history;
  if (talk.system > 0) {
    spec.shared = kSystemPrompt;
    spec.shared_tokens = std::min(talk.system, spec.prompt);
  }
  spec.content = spec.session = now.talk;
  spec.talks = true;
  spec.adapter = talk.adapter;
  asked_.push_back(now.talk);
  thoughts_.insert(talk.think);
  return {.spec = spec, .at = now.at};
}

double Talks::patience() const { return thoughts_.empty() ? kForever : *thoughts_.begin(); }

void Talks::leave(std::uint64_t name) { thoughts_.erase(thoughts_.find(talks_[name - 1].think)); }

void Talks::answered(const RequestRecord& record) {
  const std::uint64_t name = asked_[static_cast<std::size_t>(record.id)];
  leave(name);
  Talk& talk = talks_[name - 1];
  talk.history = record.prompt + record.output;
  if (++talk.turn < load_.turns) turns_.push({.at = record.last + talk.think, .talk = name});
}

void Talks::refused(int id) { leave(asked_[static_cast<std::size_t>(id)]); }

double talk_fresh(const TalkCase& c) {
  return c.later ? (c.prompt + (c.turns - 1) * *c.later) / c.turns : c.prompt;
}

namespace {

// Returns the tokens up to the end of a turn (counted from 1), in units of a first turn with its
// answer.
double said(const TalkCase& c, int turn) {
  if (!c.later) return turn;
  return (c.prompt + (turn - 1) * *c.later + turn * c.output) / (c.prompt + c.output);
}

}  // namespace

double talk_history(const TalkCase& c) {
  if (!c.later) return (c.turns - 1) / 2.0 * (c.prompt + c.output);
  double sum = 0;
  for (int turn = 1; turn < c.turns; ++turn) sum += said(c, turn);
  return sum / c.turns * (c.prompt + c.output);
}

namespace {

// Models blocks that no request holds: all of them are evicted after the same time t.
class IdleBlocks {
 public:
  IdleBlocks(const TalkCase& c, double t) : c_(c), t_(t) {
    const double thought = c.at_home ? c.think : c.think + c.stay;
    for (int d = 1; d < c.turns; ++d) {
      below_.push_back(erlang_below(d, thought, t));
      idles_.push_back((d > 1 ? idles_.back() : 0) + thought * below_.back());
    }
  }
  // Returns the mean number of idle tokens.
  double held() const {
    double sum = 0;
    for (int turn = 1; turn <= c_.turns; ++turn) {
      double away = 1;
      double idle = 0;
      for (int d = 1; d <= c_.turns - turn; ++d) {
        idle += away * here() * idles_[static_cast<std::size_t>(d - 1)];
        away *= 1 - here();
      }
      sum += said(c_, turn) * (idle + away * t_);
    }
    return c_.rate / c_.turns * sum * (c_.prompt + c_.output);
  }
  // Returns the share of the histories of all turns that is found.
  double found() const {
    double sum = 0;
    double all = 0;
    for (int turn = 1; turn < c_.turns; ++turn) {
      all += said(c_, turn);
      double away = 1;
      for (int d = 1; d <= turn; ++d) {
        sum += said(c_, turn - d + 1) * away * here() * below_[static_cast<std::size_t>(d - 1)];
        away *= 1 - here();
      }
    }
    return sum / all;
  }

 private:
  // The probability that the previous turn was answered here.
  double here() const { return c_.at_home ? 1 : 1 / std::max(1.0, c_.replicas); }

  const TalkCase& c_;
  double t_;
  std::vector<double> below_;  // P(the visit d turns later comes within t), from d = 1
  std::vector<double> idles_;  // mean time until then, at most t
};

}  // namespace

double talk_found(const TalkCase& c) {
  if (c.turns < 2) return 0;
  const double running = c.rate * c.stay * (talk_history(c) + talk_fresh(c) + c.output / 2);
  const double idle = c.tokens - running;
  if (idle <= 0) return 0;
  double low = 0;
  double high = 1;
  while (high < kLongestIdle && IdleBlocks(c, high).held() < idle) high *= 2;
  for (int i = 0; i < kBisections; ++i) {
    const double middle = (low + high) / 2;
    (IdleBlocks(c, middle).held() < idle ? low : high) = middle;
  }
  return IdleBlocks(c, low).found();
}

Seconds task_mean(const TaskCase& c) { return c.call * c.calls + c.tool * (c.calls - 1); }

Seconds task_p99(const TaskCase& c) {
  double low = 0;
  // In units of `tool`: ln 100 for one tool, less per tool for more.
  double high = c.calls > 1 ? 8.0 * c.calls : 0;
  for (int i = 0; i < kBisections; ++i) {
    const double middle = (low + high) / 2;
    (erlang_below(c.calls - 1, 1, middle) < 0.99 ? low : high) = middle;
  }
  const Seconds tools = c.tool * (high - (c.calls - 1));
  const Seconds calls = (c.call_p99 - c.call) * std::sqrt(c.calls);
  return task_mean(c) + Seconds(math::hypot(calls.base(), tools.base()));
}

}  // namespace orrery::traffic
