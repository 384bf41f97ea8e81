// A day of a machine's storage: all runs' saves and reads on one clock, on the links they share.
//
// What comes out is what the closed forms cannot see, since each of them looks at one run: saves
// that meet other runs' saves and reads on a tier, copies that follow a save and slow the next, and
// collectives that meet a burst on their wires. From it the replications of a run take the stall of
// a save, the time until it is safe and what a burst costs the steps (`lay_over`).
//   all-reduce  a ring over the run's hosts before the first save, and again as its burst begins
// Of a run of thousands of hosts that saves often, as many saves are lived through as make
// kTransfersMost transfers; the rest of the horizon is like them. Hosts do not fail here: how a
// failure meets a save is the replications' to say.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "model/figures/section.h"
#include "model/jobs/train_job.h"
#include "twin/storage/storage_plant.h"

namespace orrery::twin_storage {

inline constexpr double kTransfersMost = 250'000;
// Of a run of replications, which lives through it anew for every design: saves repeat.
inline constexpr double kTransfersOfRun = 8'000;
// Hosts of a run that live through it one by one; beyond so many the closed form stands in.
inline constexpr int kStorageHostsMost = 65'536;

struct StopTimes {
  std::string tier;
  Seconds mean;  // from the save's beginning
  Seconds longest;
  std::uint64_t saves = 0;  // that came there
};

struct SaveTimes {
  std::uint64_t saves = 0;
  Seconds stall;  // mean
  Seconds longest_stall;
  Seconds safe;  // from its beginning, mean
  Seconds longest_safe;
  Seconds local;  // until it is on its first stop, mean
  std::optional<Seconds> peer;
  std::vector<StopTimes> stops;
  Seconds restore;  // of the newest, by all hosts at once, from where it is safe
};

struct JobStorage {
  std::string label;
  std::optional<SaveTimes> saves;
  double starved = 0;           // share of the bytes wanted that came late
  double hit_rate = 0;          // of one host's cache, object by object
  std::uint64_t hit_reads = 0;  // that rate's reads; 0: no cache
  double all_reduce = 1;        // in a burst, against alone
  double ring_alone = 1;        // a ring without a burst, against one on wires of its own
  bool is_converged = false;
};

struct TierLoad {
  std::string label;
  TierUse use;
  double read_share = 0;  // of what it could, over the day
  double write_share = 0;
};

struct StorageRun {
  Seconds span;
  std::uint64_t events = 0;
  std::vector<JobStorage> jobs;  // as the runs'; empty labels where a run has no storage
  std::vector<TierLoad> tiers;   // that something was moved on
};

// The runs of a machine that save and read.
struct StorageWork {
  const machine::Machine* machine = nullptr;
  std::span<const jobs::TrainJob> trains;
  Seconds horizon;
};

struct StorageOptions {
  Seconds span = days(1);
  double transfers_most = kTransfersMost;
  std::uint64_t seed = 1;
};

StorageRun run_storage(const StorageWork& work, const StorageOptions& options);
// The stalls, drains and slower steps found, into the runs' costs.
void lay_over(std::span<jobs::TrainJob> trains, const StorageRun& storage);
// As sections of a run.
std::vector<figures::Section> sections_of(const StorageRun& storage);

}  // namespace orrery::twin_storage
