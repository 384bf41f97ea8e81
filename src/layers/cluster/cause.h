// Where a GPU-second goes: every one of them to exactly one cause.
//
// The causes are fine enough to say what to change; the six shares are what a reader sums up.
//   productive  steps at their own speed whose result lasts
//   stall       steps that are slower than they could be: samples, wires, pauses, a slow host,
//   heat, a
//               power cap
//   checkpoint  the job stands while it saves
//   lost        work that was done and had to be done again
//   restart     from a fault until the job steps again, its first start included
//   idle        no work: free, in reserve, in repair, a replica that waits for requests
#pragma once

#include <array>
#include <cstdint>

#include "core/base/words.h"

namespace orrery::cluster {

enum class Cause : std::uint8_t {
  productive,
  feed,        // waits for samples
  contention,  // storage traffic on the compute wires
  straggler,   // the slowest host sets the pace
  shrunk,      // fewer replicas than it has, while hosts are missing: of a run's time alone
  cap,         // slowed to stay under the site's power
  paused,      // a NIC paused the network for all
  heat,        // slowed: the cooling does not keep up
  save,
  lost,
  detect,   // a fault is there and nobody has seen it
  requeue,  // the scheduler ends the run and readies another
  no_host,  // too few hosts are left
  start,    // processes, groups, compilation
  restore,  // the checkpoint is read
  repair,
  power,     // without power
  reserve,   // declared spares
  standby,   // a replica waits for requests
  stranded,  // free while jobs wait, but not where or not as many as they need
  idle
};
inline constexpr std::size_t kCauses = 21;

inline constexpr Word<Cause> kCauseWords[] = {{Cause::productive, "productive"},
                                              {Cause::feed, "waiting for samples"},
                                              {Cause::contention, "storage on the compute wires"},
                                              {Cause::straggler, "slow hosts"},
                                              {Cause::shrunk, "fewer replicas"},
                                              {Cause::cap, "power cap"},
                                              {Cause::paused, "network paused"},
                                              {Cause::heat, "throttled by heat"},
                                              {Cause::save, "saving"},
                                              {Cause::lost, "work done again"},
                                              {Cause::detect, "detection"},
                                              {Cause::requeue, "requeue"},
                                              {Cause::no_host, "too few hosts"},
                                              {Cause::start, "starting"},
                                              {Cause::restore, "restoring"},
                                              {Cause::repair, "in repair"},
                                              {Cause::power, "without power"},
                                              {Cause::reserve, "in reserve"},
                                              {Cause::standby, "waiting for requests"},
                                              {Cause::stranded, "free while jobs wait"},
                                              {Cause::idle, "free"}};
constexpr WordTable<Cause> words_of(Cause) { return kCauseWords; }

enum class Share : std::uint8_t { productive, stall, checkpoint, lost, restart, idle };
inline constexpr std::size_t kShares = 6;

inline constexpr Word<Share> kShareWords[] = {
    {Share::productive, "productive"}, {Share::stall, "stall"},
    {Share::checkpoint, "checkpoint"}, {Share::lost, "lost"},
    {Share::restart, "restart"},       {Share::idle, "idle"}};
constexpr WordTable<Share> words_of(Share) { return kShareWords; }

constexpr Share share_of(Cause cause) {
  switch (cause) {
    case Cause::productive:
      return Share::productive;
    case Cause::feed:
    case Cause::contention:
    case Cause::straggler:
    case Cause::shrunk:
    case Cause::cap:
    case Cause::paused:
    case Cause::heat:
      return Share::stall;
    case Cause::save:
      return Share::checkpoint;
    case Cause::lost:
      return Share::lost;
    case Cause::detect:
    case Cause::requeue:
    case Cause::no_host:
    case Cause::start:
    case Cause::restore:
      return Share::restart;
    case Cause::repair:
    case Cause::power:
    case Cause::reserve:
    case Cause::standby:
    case Cause::stranded:
    case Cause::idle:
      break;
  }
  return Share::idle;
}

template <class T>
using ByCause = std::array<T, kCauses>;

constexpr std::size_t at(Cause cause) { return static_cast<std::size_t>(cause); }

}  // namespace orrery::cluster
