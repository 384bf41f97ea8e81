// Where the checkpoints of a run are over time, and why they moved: the lifecycle policy
// (lifecycle.h) on places whose times come from the plan.
//
//   save k   begins at k x interval, and is whole at its first place after the write time
//   copy     takes the plan's time for a copy to that place; then it is read there once
//   remove   takes no time
// One action at a time, as the agent carries them out: if a copy takes longer than an interval, a
// queue builds up. Nothing fails here, and no place is ever away: lifecycle_rules_test.cpp tests
// how the policy handles faults. Deterministic, without random numbers.
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
  Seconds takes;   // to bring a save there; for the first place: to write it
  Seconds reread;  // to read it once more
};

struct LivesQuestion {
  std::vector<LivesPlace> places;  // the trainer writes to the first
  Seconds interval;
  Seconds milestone;  // the first save in every such span is a milestone
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
  std::string from;  // source of a copy
  std::string why;
};

// A save at a place, from when it was whole there.
struct LifeStay {
  int save = 0;
  std::string place;
  Seconds from;
  std::optional<Seconds> until;  // nullopt: still there at the end
};

struct SaveLives {
  Seconds end;
  std::vector<LifeMove> moves;  // in order of time
  std::vector<LifeStay> stays;
  std::vector<int> milestones;
};
SaveLives follow_saves(const LivesQuestion& question);

}  // namespace orrery::storage
