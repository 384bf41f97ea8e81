// A run's checkpoints in simulated time: stops one after the other, and the two times that count.
//
//   save      |- wait -|- snapshot -|            async: the job computes again at the bar
//                                   |- stop 1 -|- stop 2 -|- stop 3 ...     hosts in parallel
//   stall end the job computes again             safe  a copy survives the hosts that wrote it
// A synchronous save stalls until its first stop is written. At most two saves are not yet safe: a
// third waits, because a host's buffers cannot hold it. A stop ends with its last host and a
// commit. From a host's drives, each host copies its own part; between shared tiers, the bytes go
// from servers to servers. With replicas, each host's part is first copied to the next host's
// drives.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include "core/sim/kernel.h"
#include "twin/storage/storage_plant.h"

namespace orrery::twin_storage {

struct SaveStop {
  int tier = 0;
  bool is_durable = false;
  int every = 1;                                     // one in `every` saves goes on to it
  BytesPerSecond at_most = storage::kUnlimitedRate;  // per host: limited by a line between sites
};

struct SaveShape {
  int first_host = 0;
  int hosts = 1;
  // Hosts that write more than the others: the first replica's, with the weights.
  int heavy_hosts = 0;
  Bytes heavy_bytes;  // per heavy host
  Bytes other_bytes;
  double files = 0;  // per save
  Seconds interval;  // of steps between two saves
  Seconds first_at;  // start of the first save
  bool is_async = true;
  Seconds snapshot;                                    // from device to host
  Seconds commit;                                      // of a shared stop
  BytesPerSecond serialise = storage::kUnlimitedRate;  // per host
  int replicas = 1;
  std::vector<SaveStop> stops;
  std::function<void()> on_burst;  // called when hosts begin to write to a shared tier

  Bytes of(int host) const { return host < heavy_hosts ? heavy_bytes : other_bytes; }
  Bytes total() const {
    return heavy_bytes * heavy_hosts + other_bytes * std::max(0, hosts - heavy_hosts);
  }
};

struct SaveRecord {
  sim::SimTime began;
  sim::SimTime stall_end = sim::SimTime::never();
  sim::SimTime peer = sim::SimTime::never();  // when the next host has a copy too
  sim::SimTime safe = sim::SimTime::never();
  // by stop; never() if the save does not go there or has not arrived
  std::vector<sim::SimTime> at;
};

class SaveProcess final : public sim::EventHandler, private TransferObserver {
 public:
  SaveProcess(sim::Kernel& kernel, StoragePlant& plant, SaveShape shape);
  ~SaveProcess() { kernel_.forget(*this); }
  SaveProcess(const SaveProcess&) = delete;
  SaveProcess& operator=(const SaveProcess&) = delete;

  const SaveShape& shape() const { return shape_; }
  const std::vector<SaveRecord>& saves() const { return saves_; }
  void stop_saving() { is_over_ = true; }
  void on_event(sim::Kernel& kernel, std::uint32_t kind, std::uint64_t data) override;

 private:
  enum Kind : std::uint32_t { kSave, kSnapshotTaken, kCommitted };
  // Index of a save's stop; kPeers means the copies to peers.
  static constexpr std::uint64_t kPeers = 0xff;

  void on_arrived(sim::Kernel& kernel, std::uint64_t tag) override;
  void begin_save();
  void take_snapshot(std::size_t save);
  void write(std::size_t save, std::size_t stop);
  void copy_to_peers(std::size_t save);
  void reached(std::size_t save, std::size_t stop);
  void computes_again(std::size_t save);
  int unsafe() const;

  sim::Kernel& kernel_;
  StoragePlant& plant_;
  SaveShape shape_;
  std::vector<SaveRecord> saves_;
  std::vector<std::vector<int>> pending_;  // by save and stop: hosts that still write
  std::vector<int> pending_peers_;
  bool is_waiting_ = false;
  bool is_over_ = false;
};

}  // namespace orrery::twin_storage
