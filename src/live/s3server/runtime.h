// A store that runs: the folder opened, the gateway over it, and the thread that keeps house.
//
// The thread collects garbage as it comes, reads all shards through once a week and mends them,
// sweeps once after the start what an earlier run left behind, and carries out the lifecycle rules,
// a hundredth of a day apart and a minute at the most. A second one moves objects between tiers
// (mover.h). What fails is logged and tried again. The
// destructor stops the thread, marks the run as ended in order and seals the folder
// (store_folder.h); a run that dies is swept after by the next. What the thread times it times by a
// clock that nobody sets. Where several gateways share the metadata, the one that leads keeps
// house, sweeps after those that die, and each says every second that it lives and counts anew what
// buckets hold every ten minutes.
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
  std::vector<TierPlan> tiers = usual_tiers();  // of a store that is not there yet
  GatewaySetting gateway = {};
  MoverOptions moves = {};
  KeyRing keys = {};                                      // at rest
  std::optional<std::vector<Tenant>> tenants = {};        // besides the first; none: as they were
  std::shared_ptr<const net::ServerLoad> load = nullptr;  // of the server, for the metrics
  bool metrics_for_all = false;                           // not only on this machine
  drives::S3Access s3 = {};  // to tiers that lie in other object stores
  // An object of the first tier of up to so many bytes stands in the metadata (store/blob.h). In
  // the slower tiers it is a file, for they are there to be cheaper.
  std::size_t held_bytes_max = std::size_t{8} << 10;
  std::string database = {};  // of a new store whose metadata several gateways share
  bool keeps_house = true;
  bool replace_drives = false;
  bool accepts_loss = false;  // opens metadata that have lost commits (repair, once it was asked)
  // So long files that no row names are kept aside, in time that the store was well.
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

  // The keys of the first tenant: these, in place of those of an earlier run; or where they are
  // empty those of an earlier run, or fresh ones (`made`).
  struct FirstKeys {
    std::string access_key;
    std::string secret_key;
    bool made = false;
  };
  Result<FirstKeys> first_tenant(const std::string& access_key, const std::string& secret_key);

  Gateway& gateway() { return *gateway_; }
  // The gateway, and beside it /-/metrics, /-/status and /-/health: no bucket is named so.
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
  // Logs a fault of the house: the store is not well for this minute.
  void complain(const std::string& what);
  void keep_house(const std::stop_token& stop);
  void keep_place();
  void keep_witness();
  void keep_health(const std::stop_token& stop);
  void sweep(const std::stop_token& stop);
  void collect(const std::stop_token& stop);
  // Returns true if rules may remove objects by the wall clock as it is (clock_watch.h). Called by
  // the threads that keep house and that move objects.
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
  ScrubCounts scrubbed_;             // as the last tick left it
  std::uint64_t scrub_bytes_ = 0;    // a tick
  std::atomic<bool> leads_ = false;  // this gateway keeps house
  TimeMs measured_ms_ = 0;
  TimeMs swept_ms_ = 0;
  bool seen_dead_ = false;
  TimeMs kept_place_ms_ = 0;
  TimeMs witnessed_ms_ = 0;
  TimeMs beaten_ms_ = 0;
  TimeMs well_ms_ = 0;   // when the time that the store was well was counted last
  TimeMs aside_ms_ = 0;  // when the files that are set aside were looked at last
  std::atomic<bool> is_well_ = true;
  std::mutex clock_mutex_;
  upkeep::ClockWatch clock_{24 * 3600 * TimeMs{1000}};
  std::unique_ptr<Mover> mover_;
  std::jthread house_;
};

}  // namespace orrery::s3server
