// A running store: the open folder, the gateway on top of it, and the thread that does the upkeep.
//
// This thread collects garbage continuously, reads all shards once a week and repairs them, sweeps
// once after the start what an earlier run left behind, and applies the lifecycle rules every
// hundredth of a day, but at least every minute. A second thread moves objects between tiers
// (mover.h). Failures are logged and retried. The destructor stops the threads, marks the run as
// cleanly ended and seals the folder (store_folder.h); a run that dies is swept by the next. The
// thread measures intervals by the steady clock. If several gateways share the metadata, the leader
// does the upkeep and sweeps after gateways that die; each gateway renews its registration every
// second and recounts the contents of the buckets every ten minutes.
#pragma once

#include <thread>

#include "live/s3server/gateway.h"
#include "live/s3server/mover.h"
#include "live/s3server/status.h"
#include "live/upkeep/clock_watch.h"
#include "live/upkeep/mend.h"
#include "live/upkeep/store_folder.h"

namespace orrery::s3server {

std::string random_bytes(std::size_t count);
TimeMs wall_clock_ms();

struct RuntimeOptions {
  std::string folder;
  std::vector<TierPlan> tiers = usual_tiers();  // tiers of a store that does not exist yet
  GatewaySetting gateway = {};
  MoverOptions moves = {};
  KeyRing keys = {};                                // keys for encryption at rest
  std::optional<std::vector<Tenant>> tenants = {};  // tenants besides the first; nullopt: unchanged
  std::shared_ptr<const net::ServerLoad> load = nullptr;  // load of the server, for the metrics
  bool metrics_for_all = false;  // metrics can be read from other machines too
  drives::S3Access s3 = {};      // access to tiers in other object stores
  // Objects of the first tier up to this size are stored in the metadata (store/blob.h). In the
  // slower tiers they are files, because those tiers are meant to be cheaper.
  std::size_t held_bytes_max = std::size_t{8} << 10;
  std::string database = {};  // for a new store whose metadata several gateways share
  bool keeps_house = true;
  bool replace_drives = false;
  bool accepts_loss = false;  // opens metadata that has lost commits (for a confirmed repair)
  // How long files that no row refers to stay set aside, counted in healthy time of the store.
  TimeMs aside_ms = 7 * 24 * 3600 * TimeMs{1000};
  std::function<TimeMs()> wall_clock = wall_clock_ms;
  std::function<void(const std::string&)> log;
};

class Runtime {
 public:
  static Result<std::unique_ptr<Runtime>> open(const RuntimeOptions& options);
  ~Runtime();
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  // The keys of the first tenant: the given ones, which replace those of an earlier run. If none
  // are given: those of an earlier run, or new ones (`made`).
  struct FirstKeys {
    std::string access_key;
    std::string secret_key;
    bool made = false;
  };
  Result<FirstKeys> first_tenant(const std::string& access_key, const std::string& secret_key);

  Gateway& gateway() { return *gateway_; }
  // The gateway, and next to it /-/metrics, /-/status and /-/health; no bucket can have such a
  // name.
  net::Service service();
  StoreStatus status();
  Store& store() { return *store_; }
  const OpenedFolder& folder() const { return opened_; }
  const MoveCounts* moves() const { return mover_ ? &mover_->counts() : nullptr; }

 private:
  explicit Runtime(const RuntimeOptions& options);
  Result<void> check_key();
  Answer<void> take_tenants();
  Answer<void> look_at_policies();
  net::Response own_answer(const net::Request& request);
  StoreSetting setting();
  Answer<void> begin();
  // Logs a fault of the upkeep: the store does not count as healthy for this minute.
  void complain(const std::string& what);
  void keep_house(const std::stop_token& stop);
  void keep_place();
  void keep_witness();
  void keep_health(const std::stop_token& stop);
  void sweep(const std::stop_token& stop);
  void collect(const std::stop_token& stop);
  // Returns whether the wall clock can be trusted, so that lifecycle rules may remove objects
  // (clock_watch.h). Called by the maintenance thread and by the thread that moves objects.
  bool trusts_clock();
  void begin_clock();
  void say_clock(std::optional<upkeep::ClockChange> change);
  void scrub();

  RuntimeOptions options_;
  OpenedFolder opened_;
  std::map<std::string, std::uint64_t> quotas_;  // by tenant
  std::unique_ptr<drives::Hedger> hedger_ = std::make_unique<drives::Hedger>();
  std::unique_ptr<Store> store_;
  std::unique_ptr<Gateway> gateway_;
  std::unique_ptr<Scrubber> scrubber_;
  std::mutex scrub_mutex_;
  ScrubCounts scrubbed_;             // as of the last tick
  std::uint64_t scrub_bytes_ = 0;    // bytes per tick
  TimeMs scrub_said_ms_ = 0;         // when damage was last logged
  std::atomic<bool> leads_ = false;  // this gateway does the upkeep
  TimeMs measured_ms_ = 0;
  TimeMs swept_ms_ = 0;
  bool seen_dead_ = false;
  TimeMs kept_place_ms_ = 0;
  TimeMs witnessed_ms_ = 0;
  TimeMs beaten_ms_ = 0;
  TimeMs well_ms_ = 0;   // time at which the healthy time was last counted
  TimeMs aside_ms_ = 0;  // time at which the files set aside were last checked
  std::atomic<bool> is_well_ = true;
  std::mutex clock_mutex_;
  upkeep::ClockWatch clock_{24 * 3600 * TimeMs{1000}};
  std::unique_ptr<Mover> mover_;
  std::jthread house_;
};

}  // namespace orrery::s3server
