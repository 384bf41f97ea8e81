// A day of a machine's storage: all runs' saves and reads in simulated time, on the links that they
// share.
//
// The result shows what the closed forms cannot see, since each of them looks at one run: saves
// that meet other runs' saves and reads on a tier, copies that follow a save and slow the next one,
// and collectives that meet a burst on their wires. The replications of a run take from it the
// stall of a save, the time until it is safe and what a burst costs the steps (`lay_over`).
//   all-reduce  a ring over the run's hosts before the first save, and again as its burst begins
// For a run of thousands of hosts that saves often, only as many saves are simulated as make
// kTransfersMost transfers; the rest of the horizon is taken to be like them. Hosts do not fail
// here: the replications decide how a failure meets a save.
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
// Most transfers for a run of replications, which simulates storage for every design: saves repeat.
inline constexpr double kTransfersOfRun = 8'000;
// Most hosts of a run that are simulated one by one; above that, the closed form is used.
inline constexpr int kStorageHostsMost = 65'536;

struct StopTimes {
  std::string tier;
  Seconds mean;  // from the start of the save
  Seconds longest;
  std::uint64_t saves = 0;  // saves that arrived there
};

struct SaveTimes {
  std::uint64_t saves = 0;
  Seconds stall;  // mean
  Seconds longest_stall;
  Seconds safe;  // mean, from its start
  Seconds longest_safe;
  Seconds local;  // mean time until it is on its first stop
  std::optional<Seconds> peer;
  std::vector<StopTimes> stops;
  Seconds restore;  // of the newest save, by all hosts at once, from where it is safe
};

struct JobStorage {
  std::string label;
  std::optional<SaveTimes> saves;
  double starved = 0;           // share of the wanted bytes that arrived late
  double hit_rate = 0;          // of one host's cache, object by object
  std::uint64_t hit_reads = 0;  // reads behind that rate; 0: no cache
  double all_reduce = 1;        // in a burst, relative to alone
  double ring_alone = 1;        // a ring without a burst, relative to one on separate wires
  bool is_converged = false;
};

struct TierLoad {
  std::string label;
  TierUse use;
  double read_share = 0;  // of what it could deliver, over the day
  double write_share = 0;
};

struct StorageRun {
  Seconds span;
  std::uint64_t events = 0;
  std::vector<JobStorage> jobs;  // in the runs' order; empty labels for runs without storage
  std::vector<TierLoad> tiers;   // tiers on which something was moved
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
// Applies the stalls, drains and slower steps that were found to the runs' costs.
void lay_over(std::span<jobs::TrainJob> trains, const StorageRun& storage);
// Returns the results as sections of a run.
std::vector<figures::Section> sections_of(const StorageRun& storage);

}  // namespace orrery::twin_storage
