// A store that runs: the folder opened, the gateway over it, and the thread that keeps house.
//
// The thread collects garbage as it comes, reads all shards through once a week and mends them,
// sweeps once after the start what an earlier run left behind, and carries out the lifecycle rules,
// a hundredth of a day apart and a minute at the most. What fails is logged and tried again. The
// destructor stops the thread and marks the run as ended in order; a run that dies is swept after
// by the next.
#pragma once

#include <thread>

#include "store/gateway.h"
#include "store/mend.h"
#include "store/store_folder.h"

namespace orrery::store {

struct RuntimeOptions {
  std::string folder;
  std::vector<TierPlan> tiers = usual_tiers();  // of a store that is not there yet
  GatewaySetting gateway = {};
  bool keeps_house = true;
  bool replace_drives = false;
  std::function<void(const std::string&)> log;
};

std::string random_bytes(std::size_t count);
TimeMs wall_clock_ms();

class Runtime {
 public:
  static Result<std::unique_ptr<Runtime>> open(const RuntimeOptions& options);
  ~Runtime();
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  // The keys of the first tenant: these, or where they are empty those of an earlier run, or fresh
  // ones (`made`).
  struct FirstKeys {
    std::string access_key;
    std::string secret_key;
    bool made = false;
  };
  Result<FirstKeys> first_tenant(const std::string& access_key, const std::string& secret_key);

  Gateway& gateway() { return *gateway_; }
  Store& store() { return *store_; }
  const OpenedFolder& folder() const { return opened_; }

 private:
  explicit Runtime(const RuntimeOptions& options);
  void keep_house(const std::stop_token& stop);
  void collect(const std::stop_token& stop);
  void scrub();

  RuntimeOptions options_;
  OpenedFolder opened_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<Gateway> gateway_;
  std::unique_ptr<Scrubber> scrubber_;
  std::uint64_t scrub_bytes_ = 0;  // a tick
  std::jthread house_;
};

}  // namespace orrery::store
