// What feeds a run, in simulated time.
//
// ReadProcess is one host's loader, object by object: an order drawn for each epoch, a cache on the
// host's drives in front of a tier, a queue of `depth` objects that are requested ahead of their
// use, and steps that wait if the queue is empty.
//   misses   read from the tier (filling the cache does not load the drives)
//   hits     read from the drives
// ReadStream is all hosts at once, as one even flow per host at the rate that the steps use: it
// gets what bursts leave, and costs no event while nothing changes. The first host has a flow of
// its own, since its loader may read too; the others are joined if nothing else uses their wires.
//   starved = 1 - (bytes that arrived / bytes that were wanted)
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "layers/storage/node_cache.h"
#include "twin/storage/storage_plant.h"

namespace orrery::twin_storage {

struct ReadShape {
  int host = 0;
  int tier = 0;
  int cache_tier = Spot::kNone;  // the host's drives
  catalog::EvictionPolicy policy = catalog::EvictionPolicy::lru;
  storage::EpochOptions epochs;  // items: objects that this host reads per epoch
  int cached = 0;                // objects that its drives hold
  Bytes object;
  Seconds use;               // time that the steps take for one object
  int depth = 4;             // objects requested ahead
  std::int64_t reads = 0;    // reads until it ends
  std::int64_t warm_up = 0;  // first reads, which are not counted
};

struct ReadOutcome {
  std::int64_t reads = 0;
  std::int64_t hits = 0;
  Seconds waited;  // time that the steps waited
  Seconds spent;   // from the first use that counts to the last

  double hit_rate() const {
    return reads > 0 ? static_cast<double>(hits) / static_cast<double>(reads) : 0;
  }
};

class ReadProcess final : public sim::EventHandler, private TransferObserver {
 public:
  ReadProcess(sim::Kernel& kernel, StoragePlant& plant, const ReadShape& shape);
  ~ReadProcess() { kernel_.forget(*this); }
  ReadProcess(const ReadProcess&) = delete;
  ReadProcess& operator=(const ReadProcess&) = delete;

  const ReadOutcome& outcome() const { return outcome_; }
  void on_event(sim::Kernel& kernel, std::uint32_t kind, std::uint64_t data) override;

 private:
  void on_arrived(sim::Kernel& kernel, std::uint64_t tag) override;
  void ask();
  void take();

  sim::Kernel& kernel_;
  StoragePlant& plant_;
  ReadShape shape_;
  storage::EpochReader reader_;
  storage::NodeCache cache_;
  ReadOutcome outcome_;
  std::int64_t asked_ = 0;
  std::int64_t taken_ = 0;
  std::vector<bool> arrived_;  // by read, modulo the depth: steps use objects in order
  bool is_idle_ = true;        // the steps wait
  sim::SimTime idle_since_;
};

struct StreamShape {
  int first_host = 0;
  int hosts = 1;
  int tier = 0;
  BytesPerSecond of_host;  // rate that the steps use from the tier, without cache hits
  Seconds span;
  bool is_joined = false;  // nothing else uses the hosts' wires
};

class ReadStream final : private fabric::FlowObserver {
 public:
  ReadStream(sim::Kernel& kernel, StoragePlant& plant, const StreamShape& shape);

  // Returns the starved share so far.
  double starved() const;

 private:
  void on_flow_done(sim::Kernel&, fabric::FlowId, std::uint64_t) override {}
  void on_flow_rate(sim::Kernel& kernel, fabric::FlowId flow, std::uint64_t tag,
                    BytesPerSecond rate) override;

  sim::Kernel& kernel_;
  StreamShape shape_;
  // A flow and the hosts that it represents.
  struct Part {
    int hosts = 1;
    BytesPerSecond rate;
    sim::SimTime since;
  };
  Bytes missing_of(const Part& part) const;

  std::vector<Part> parts_;
  Bytes missing_;
};

}  // namespace orrery::twin_storage
