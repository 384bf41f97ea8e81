// The lifecycle port on real storage: folders and buckets (storage/lifecycle_port.h says what it
// promises).
//
// An item is a folder of a run's checkpoints ("iter_0001000"), or what lies below such a prefix in
// a bucket. A copy that the agent makes ends with a manifest (copy_manifest.h); one without it is
// unfinished if the agent began it, and somebody else's if not. At a place that a trainer writes
// to, the framework's own files say that it is finished (checkpoint_format.h), and nothing may have
// changed since the look before. A file `.orrery-milestone` or `.orrery-hold` in any copy marks the
// item.
//
// What is odd (keep_store.h, a manifest with a path that leads out, a copy without an author) is
// shown with its reason and never read, copied, replaced or set aside. At a place that is written
// to it counts as odd once it has stood still.
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
  bool written = false;  // by a trainer
  std::unique_ptr<KeepStore> store;
};

struct LivePlacesOptions {
  std::string run;
  std::string marker;              // ends an item at a place that is written to
  Seconds quiet = seconds(10);     // nothing written for so long before an item is finished
  std::function<Seconds()> clock;  // since 1970
  std::function<bool()> stop;      // ends an action between two pieces of a file
  bool only_read = false;          // copies and removals are refused: a dry run
  std::function<storage::LifecycleClock()> machine;  // the clock that nobody sets
};

class LifecyclePlaces final : public storage::LifecyclePort {
 public:
  LifecyclePlaces(std::vector<LivePlace> places, LivePlacesOptions options);

  Result<storage::LifecycleLook> look() override;
  Result<storage::LifecycleOutcome> act(const storage::LifecycleAction& action) override;
  Seconds now() const override { return options_.clock(); }

  // Takes every place, or says who has one; every look asks for it again. Another agent's lease in
  // a bucket may be that of one that was killed: it is watched until it ends, with `rest` in
  // between. A place that does not answer is away and holds up no other.
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
  std::map<std::string, std::map<std::string, std::string>> stamps_before_;  // place, item
  std::map<std::string, CopyManifest> manifests_;                            // by place/item/stamp
};

}  // namespace orrery::agent
