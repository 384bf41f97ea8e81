// The lifecycle port (storage/lifecycle_port.h) on real storage: folders and buckets.
//
// An item is a folder with a checkpoint ("iter_0001000"), or the objects below such a prefix in a
// bucket. The manifest (copy_manifest.h) is the last file of a copy that the agent makes. A copy
// without it is unfinished if the agent began it; otherwise it is not the agent's. At a place that
// a trainer writes to, the framework's own files say that an item is finished
// (checkpoint_format.h), and nothing may have changed since the last look. A file
// `.orrery-milestone` or `.orrery-hold` in any copy marks the item.
//
// An odd item (keep_store.h, a manifest with a path that leads out of it, or a copy that is not the
// agent's) is shown with its reason and never read, copied, replaced or set aside. At a place that
// a trainer writes to, an item counts as odd only after its quiet time.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "layers/storage/lifecycle_port.h"
#include "live/agent/copy_manifest.h"
#include "live/agent/keep_store.h"

namespace orrery::agent {

struct LivePlace {
  std::string name;
  bool written = false;  // a trainer writes to this place
  std::unique_ptr<KeepStore> store;
};

struct LivePlacesOptions {
  std::string run;
  std::string marker;  // file that marks an item as finished at a place that a trainer writes to
  Seconds quiet = seconds(10);     // time without a write after which an item counts as finished
  std::function<Seconds()> clock;  // time since 1970
  std::function<bool()> stop;      // called between two pieces of a file; true ends the action
  bool only_read = false;          // dry run: copies and removals are refused
  std::function<storage::LifecycleClock()> machine;  // a clock that cannot be set
};

class LifecyclePlaces final : public storage::LifecyclePort {
 public:
  LifecyclePlaces(std::vector<LivePlace> places, LivePlacesOptions options);

  Result<storage::LifecycleLook> look() override;
  Result<storage::LifecycleOutcome> act(const storage::LifecycleAction& action) override;
  Seconds now() const override { return options_.clock(); }

  // Takes every place, or fails and names the agent that has one. Every look does so again. The
  // owner of a lease in a bucket may have been killed: the lease is then watched until it expires,
  // with calls of `rest` in between. A place that does not answer counts as away and does not delay
  // the others.
  Result<void> take(const std::function<void(const std::string&)>& say,
                    const std::function<void()>& rest);
  void release();

 private:
  Result<void> hold();
  struct SeenCopy {
    KeptItem item;
    std::string stamp;
    bool complete = false;
    Seconds quiet_at;
  };
  using Seen = std::map<std::string, SeenCopy>;  // by item

  LivePlace* place(const std::string& name);
  Seen see(LivePlace& place, KeptListing& listing);
  std::string odd_of(LivePlace& place, const KeptItem& item);
  void keep_quiet(LivePlace& place, Seen& seen);
  void view_aside(const LivePlace& place, const KeptListing& listing,
                  storage::LifecycleLook& look) const;
  std::optional<std::int64_t> tracked_in(LivePlace& place, const KeptListing& listing);
  std::optional<CopyManifest> manifest_of(LivePlace& place, const KeptItem& item);
  Result<SeenCopy> find(const std::string& place, const std::string& item);
  Result<void> check_needs(const storage::LifecycleAction& action);
  Result<storage::LifecycleOutcome> verify(const storage::LifecycleAction& action);
  Result<void> make_room(const storage::LifecycleAction& action, LivePlace& to);
  Result<CopyFile> copy_file(KeepStore& from, KeepStore& to, const std::string& item,
                             const KeptFile& file);
  Result<void> fill(const storage::LifecycleAction& action, const SeenCopy& source, LivePlace& from,
                    LivePlace& to);
  Result<storage::LifecycleOutcome> copy(const storage::LifecycleAction& action, LivePlace& to);
  Result<storage::LifecycleOutcome> remove(const storage::LifecycleAction& action, LivePlace& at);
  Result<storage::LifecycleOutcome> purge(const storage::LifecycleAction& action, LivePlace& at);

  std::vector<LivePlace> places_;
  LivePlacesOptions options_;
  std::map<std::string, std::map<std::string, std::string>> stamps_before_;  // by place, then item
  std::map<std::string, CopyManifest> manifests_;                            // by place/item/stamp
};

}  // namespace orrery::agent
