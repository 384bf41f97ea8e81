// Where GPU time goes: each GPU-second is attributed to exactly one cause.
//
// The causes are detailed enough to say what to change; the six shares are the sums that reports
// show.
//   productive  steps at full speed whose result is kept
//   stall       steps slower than they could be: samples, network, pauses, a slow host, heat, a
//               power cap
//   checkpoint  the job is stopped while it saves
//   lost        work that had to be done again
//   restart     from a fault until the job makes steps again; includes its first start
//   idle        no work: free, in reserve, in repair, or a replica waiting for requests
#pragma once

#include <array>
#include <cstdint>

#include "core/base/words.h"

namespace orrery::cluster {

enum class Cause : std::uint8_t {
  productive,
  feed,        // waits for samples
  contention,  // storage traffic on the compute network
  straggler,   // the slowest host sets the pace
  shrunk,      // fewer replicas than planned while hosts are missing; only for time of a run
  cap,         // slowed to stay under the site's power
  paused,      // a NIC sends pause frames that stop the network
  heat,        // slowed because the cooling cannot keep up
  save,
  lost,
  detect,   // a fault exists and has not been noticed
  requeue,  // the scheduler ends the run and prepares the next start
  no_host,  // too few hosts remain
  start,    // processes, groups, compilation
  restore,  // reading the checkpoint
  repair,
  power,     // no power
  reserve,   // declared spares
  standby,   // a replica waits for requests
  stranded,  // free while jobs wait, but in the wrong place or too few for any of them
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
