// Where KV blocks go that a replica's device has no room for, and when they come back.
//
// A block that is handed out anew while its tokens still have a name is kept under that name in the
// tier, where the least recently used gives way. A prompt whose next blocks are not on the device
// but here has them fetched where that is cheaper than to compute them again:
//   fetch   = first byte + tokens * bytes / rate
//   compute = tokens * time of a prompt's token
// A fetch takes its time in the step that admits the request: an engine loads before it runs it.
// Wrong for: loads that hide behind the steps of other requests (vLLM's asynchronous connectors),
// what writing blocks out takes of the link (H200: 51 GB/s each way at once, measured).
#pragma once

#include <cstdint>
#include <list>
#include <unordered_map>

namespace orrery::engines {

struct KvTierLaw {
  int blocks = 0;                // of room; 0: there is no tier
  double first_byte = 0;         // seconds of one fetch
  double fetch_per_token = 0;    // seconds
  double compute_per_token = 0;  // seconds

  double fetch_time(int fetches, int tokens) const {
    return fetches * first_byte + tokens * fetch_per_token;
  }
  bool is_worth(int tokens) const {
    return tokens > 0 && fetch_time(1, tokens) < tokens * compute_per_token;
  }
};

// Names of blocks, as BlockPool gives them.
class KvTier {
 public:
  explicit KvTier(int blocks) : room_(blocks) {}
  KvTier(KvTier&&) = default;  // a copy's names would lead into this one's list
  bool is_there() const { return room_ > 0; }
  bool has(std::uint64_t name) const { return at_.contains(name); }
  // A name that comes again is the youngest.
  void keep(std::uint64_t name);
  std::size_t kept() const { return at_.size(); }

 private:
  int room_ = 0;
  std::list<std::uint64_t> by_age_;  // youngest first
  std::unordered_map<std::uint64_t, std::list<std::uint64_t>::iterator> at_;
};

}  // namespace orrery::engines
