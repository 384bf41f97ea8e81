// Where the checkpoints of a run are over time, and why they moved: the lifecycle policy
// (lifecycle.h) driven through places whose clock is the plan.
//
//   save k   begins at k x interval, is whole at its first place a write later
//   copy     takes what the plan says a copy to that place takes; then it is read there once
//   remove   takes no time
// One action at a time, as the agent carries them out: a copy that takes longer than an interval
// shows as a queue. Nothing fails here, and no place is ever away: what the policy makes of faults
// is tested elsewhere (lifecycle_rules_test.cpp). Deterministic, without a random number.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/quantity.h"
#include "layers/storage/lifecycle.h"

namespace orrery::storage {

struct LivesPlace {
  KeepPlace place;
  Seconds takes;   // to bring a save there; of the first: to write it
  Seconds reread;  // to read it once more
};

struct LivesQuestion {
  std::vector<LivesPlace> places;  // the first is written to
  Seconds interval;
  Seconds milestone;  // the first save of every such span is one
  Bytes size;
  int saves = 16;
};

enum class LifeMoveKind { written, copied, removed };
const char* to_text(LifeMoveKind kind);

struct LifeMove {
  Seconds at;
  LifeMoveKind kind = LifeMoveKind::written;
  int save = 0;
  std::string place;
  std::string from;  // of a copy
  std::string why;
};

// A save at a place, from when it was whole there.
struct LifeStay {
  int save = 0;
  std::string place;
  Seconds from;
  std::optional<Seconds> until;  // none: it was still there at the end
};

struct SaveLives {
  Seconds end;
  std::vector<LifeMove> moves;  // in time's order
  std::vector<LifeStay> stays;
  std::vector<int> milestones;
};
SaveLives follow_saves(const LivesQuestion& question);

}  // namespace orrery::storage
