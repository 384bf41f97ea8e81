// A second tier for KV blocks evicted from a replica's device, and when they are brought back.
//
// When a named block is reused on the device, its contents stay in the tier under that name; the
// tier evicts the least recently used. If a prompt's next blocks are in the tier and not on the
// device, they are fetched if that is faster than computing them again:
//   fetch   = first byte + tokens * bytes / rate
//   compute = tokens * time per prompt token
// A fetch takes its time in the step that admits the request, because an engine loads the blocks
// before it runs the request. Wrong for: loads that overlap with the steps of other requests
// (vLLM's asynchronous connectors), and for the share of the link that writing blocks out takes
// (H200: 51 GB/s each way at once, measured).
#pragma once

#include <cstdint>
#include <list>
#include <unordered_map>

namespace orrery::engines {

struct KvTierLaw {
  int blocks = 0;                // capacity; 0: there is no tier
  double first_byte = 0;         // seconds per fetch
  double fetch_per_token = 0;    // seconds
  double compute_per_token = 0;  // seconds

  double fetch_time(int fetches, int tokens) const {
    return fetches * first_byte + tokens * fetch_per_token;
  }
  bool is_worth(int tokens) const {
    return tokens > 0 && fetch_time(1, tokens) < tokens * compute_per_token;
  }
};

// Holds names of blocks, as BlockPool makes them.
class KvTier {
 public:
  explicit KvTier(int blocks) : room_(blocks) {}
  // Not copyable, because a copy's map would point into this one's list.
  KvTier(KvTier&&) = default;
  bool is_there() const { return room_ > 0; }
  bool has(std::uint64_t name) const { return at_.contains(name); }
  // Adds the name, or makes it the youngest if it is there already.
  void keep(std::uint64_t name);
  std::size_t kept() const { return at_.size(); }

 private:
  int room_ = 0;
  std::list<std::uint64_t> by_age_;  // youngest first
  std::unordered_map<std::uint64_t, std::list<std::uint64_t>::iterator> at_;
};

}  // namespace orrery::engines
