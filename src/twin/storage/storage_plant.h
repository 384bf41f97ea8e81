// A machine's storage in simulated time: links that transfers share, and requests that queue.
//
//   host      wires up and down; its drives, read and written
//   tier      its servers, read and written; one link for all if a file is spread over all of them
//   transfer  waits for the requests before it (one queue per tier: files / rate), then for the
//             first byte, and for a restore if the tier is an archive; then it shares its links
//             max-min fairly with all others (fabric/flow_engine.h), limited to what one client can
//             ask for
//   together  transfers that begin at one instant (the hosts of a save) are served in turn, one
//             file of each at a time, so that the last file of each arrives with the last of all
//   stream    equal streams, one per host, on wires without other flows are one flow with a weight:
//             n hosts of which each may have r count as one that may have n r and has n shares
// A file on `stripes` servers has them drawn at random for each transfer, which ends with the
// fullest of them. Peers reach each other's drives over their wires. Collectives use the same wires
// if storage shares the compute network (`converged`), and others if not.
// Where it is wrong: switches are left out, only what enters and leaves hosts and servers counts
// (an oversubscribed network carries less); a server's drives and its network are one link;
// requests are served in order, whatever their origin.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/base/random.h"
#include "core/sim/kernel.h"
#include "layers/fabric/flow_engine.h"
#include "layers/storage/checkpoint.h"

namespace orrery::twin_storage {

struct PlantTier {
  std::string label;
  bool in_hosts = false;  // its rates are then per host
  int servers = 1;
  int stripes = 0;  // servers that hold a file; 0: all of them, evenly
  BytesPerSecond read;
  BytesPerSecond write;
  PerSecond requests = storage::kUnlimitedCreates;
  Seconds first_byte;
  Seconds restore;                                  // before the first byte of a read
  BytesPerSecond client = storage::kUnlimitedRate;  // per host: all its streams together
};

// Hosts with the same wiring.
struct PlantHosts {
  int many = 1;
  BytesPerSecond wires;    // per host and direction, to storage
  BytesPerSecond compute;  // per host, to other hosts; 0: the same wires as `wires`
};

struct PlantShape {
  std::vector<PlantHosts> hosts;  // numbered consecutively
  std::vector<PlantTier> tiers;
  std::uint64_t seed = 1;

  int all_hosts() const;
};

// A place for bytes: a host's memory, a host's drives, or a tier.
struct Spot {
  static constexpr int kNone = -1;
  int host = kNone;  // none: a shared tier
  int tier = kNone;  // none: memory
};

struct Transfer {
  Spot from;
  Spot to;
  Bytes bytes;
  double files = 0;  // requests that it makes of the shared tier
  BytesPerSecond at_most = storage::kUnlimitedRate;
  std::uint64_t tag = 0;
};

// Bytes that flow from a tier to a host during the whole run, at their own rate.
struct Stream {
  int tier = 0;
  int host = 0;  // the first host
  // if joined: this many hosts from the first on, each at `rate`, on wires of their own
  int hosts = 1;
  BytesPerSecond rate;
  Seconds span;
  std::uint64_t tag = 0;
};

struct TierUse {
  Bytes read;
  Bytes written;
  double requests = 0;
  Seconds waited;  // total wait of all transfers for earlier requests
  Seconds longest_wait;
  std::uint64_t transfers = 0;
  int most_at_once = 0;  // transfers
};

// Called when a transfer's last byte has arrived; it may start other transfers.
class TransferObserver {
 public:
  virtual void on_arrived(sim::Kernel& kernel, std::uint64_t tag) = 0;

 protected:
  ~TransferObserver() = default;
};

class StoragePlant final : private fabric::FlowObserver {
 public:
  StoragePlant(sim::Kernel& kernel, const PlantShape& shape);

  const PlantShape& shape() const { return shape_; }
  const TierUse& use(int tier) const { return uses_[static_cast<std::size_t>(tier)]; }
  // The observer must outlive the transfer.
  void start(const Transfer& transfer, TransferObserver& observer) {
    start_together({&transfer, 1}, observer);
  }
  // Starts transfers of one instant between the same tiers. The observer is called for each.
  void start_together(std::span<const Transfer> together, TransferObserver& observer);
  // Calls the observer as the flow engine does.
  void start_stream(const Stream& stream, fabric::FlowObserver& observer);
  // Returns true if the hosts' paths from a tier can be one flow.
  bool can_join(int tier) const;
  // Sends a message between hosts, on the wires of collectives.
  void send(int from, int to, Bytes bytes, TransferObserver& observer, std::uint64_t tag);

 private:
  struct Underway {
    TransferObserver* observer = nullptr;
    std::uint64_t tag = 0;
    int parts = 0;
    Spot from;
    Spot to;
  };

  void on_flow_done(sim::Kernel& kernel, fabric::FlowId flow, std::uint64_t tag) override;
  std::vector<fabric::LinkId> path_of(const Transfer& transfer, int from_server,
                                      int to_server) const;
  Seconds wait_for_requests(int tier, std::span<const Transfer> together);
  Seconds wait_at(const Spot& spot, std::span<const Transfer> together);
  void start_one(const Transfer& transfer, Seconds wait, TransferObserver& observer);
  std::uint64_t begin(const Transfer& transfer, TransferObserver& observer, int parts);
  void launch(const std::vector<fabric::LinkId>& path, Bytes bytes, Seconds wait,
              BytesPerSecond at_most, std::uint64_t slot);
  void count(const Spot& spot, int change);
  std::vector<int> servers_for(int tier);
  BytesPerSecond wires_of(int host) const;
  fabric::LinkId collective_link(int host, std::size_t own, std::size_t shared) const;
  fabric::LinkId link(std::size_t base, int number) const {
    return static_cast<fabric::LinkId>(base + static_cast<std::size_t>(number));
  }

  sim::Kernel& kernel_;
  PlantShape shape_;
  RandomStream placement_;
  // First links of each kind: wires up, down; collectives up, down; a tier's reads and writes.
  std::size_t up_ = 0;
  std::size_t down_ = 0;
  std::size_t out_ = 0;
  std::size_t in_ = 0;
  std::vector<std::size_t> reads_;
  std::vector<std::size_t> writes_;
  fabric::FlowEngine engine_;
  std::vector<sim::SimTime> requests_until_;  // by tier: when all waiting requests will be served
  std::vector<TierUse> uses_;
  std::vector<int> at_once_;
  std::vector<Underway> underway_;
  std::vector<std::uint64_t> free_;
};

}  // namespace orrery::twin_storage
