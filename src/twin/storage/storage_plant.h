// Storage as it stands, in time: links that transfers share and requests that queue.
//
//   host      wires up and down; its drives, read and written
//   tier      its servers, read and written; one link for all where a file lies on all of them
//   transfer  waits for the requests before it (one queue a tier: files / rate), then for the first
//             byte, and for a restore where the tier is an archive; then it shares its links
//             max-min fairly with all others (fabric/flow_engine.h), held to what one client can
//             ask for
//   together  transfers that ask at one instant (the hosts of a save) are served in turn, a file of
//             each at a time, so that the last file of each comes with the last of all
//   stream    equal ones, a host each, on wires that nobody else takes are one flow with a weight:
//             n hosts of which each may have r are one that may have n r and has n shares
// A file that lies on `stripes` servers has them drawn anew, and its transfer ends with the fullest
// of them. Peers reach each other's drives over their wires. Collectives take the same wires where
// the storage network is the compute network (`converged`), and others where it is not.
// Where it is wrong: switches are not in it, only what enters and leaves hosts and servers (a
// network that is oversubscribed has less); a server's drives and its network are one link;
// requests are served in order, whoever asks.
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
  bool in_hosts = false;  // its rates are of one host then
  int servers = 1;
  int stripes = 0;  // servers that a file lies on; 0: all of them, evenly
  BytesPerSecond read;
  BytesPerSecond write;
  PerSecond requests = storage::kUnlimitedCreates;
  Seconds first_byte;
  Seconds restore;                                  // before the first byte of a read
  BytesPerSecond client = storage::kUnlimitedRate;  // of one host: its streams together
};

// Hosts that are wired alike.
struct PlantHosts {
  int many = 1;
  BytesPerSecond wires;    // of a host to storage, per direction
  BytesPerSecond compute;  // to other hosts; 0: those are the same wires
};

struct PlantShape {
  std::vector<PlantHosts> hosts;  // numbered through
  std::vector<PlantTier> tiers;
  std::uint64_t seed = 1;

  int all_hosts() const;
};

// Where bytes are: in a host's memory, on a host's drives, on a tier.
struct Spot {
  static constexpr int kNone = -1;
  int host = kNone;  // none: of a tier that is shared
  int tier = kNone;  // none: memory
};

struct Transfer {
  Spot from;
  Spot to;
  Bytes bytes;
  double files = 0;  // requests it makes of the shared tier
  BytesPerSecond at_most = storage::kUnlimitedRate;
  std::uint64_t tag = 0;
};

// Bytes that flow for the whole run at a rate of their own, from a tier to a host.
struct Stream {
  int tier = 0;
  int host = 0;   // the first
  int hosts = 1;  // joined: they, and those after them, each at `rate`, on wires of their own
  BytesPerSecond rate;
  Seconds span;
  std::uint64_t tag = 0;
};

struct TierUse {
  Bytes read;
  Bytes written;
  double requests = 0;
  Seconds waited;  // for requests before one's own, of all transfers
  Seconds longest_wait;
  std::uint64_t transfers = 0;
  int most_at_once = 0;  // transfers
};

// Told when a transfer's last byte has arrived; may start others.
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
  // The observer outlives the transfer.
  void start(const Transfer& transfer, TransferObserver& observer) {
    start_together({&transfer, 1}, observer);
  }
  // Of one instant, and between the same tiers. The observer is told of each.
  void start_together(std::span<const Transfer> together, TransferObserver& observer);
  // Told as the flow engine tells.
  void start_stream(const Stream& stream, fabric::FlowObserver& observer);
  // Whether the hosts' way from a tier can be one flow.
  bool can_join(int tier) const;
  // A message between hosts, on the wires of collectives.
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
  std::vector<sim::SimTime> requests_until_;  // by tier: when those that wait are served
  std::vector<TierUse> uses_;
  std::vector<int> at_once_;
  std::vector<Underway> underway_;
  std::vector<std::uint64_t> free_;
};

}  // namespace orrery::twin_storage
