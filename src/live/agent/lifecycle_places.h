// The lifecycle port on real storage: folders and buckets (storage/lifecycle_port.h says what it
// promises).
//
// An item is a folder of a run's checkpoints ("iter_0001000"), or what lies below such a prefix in
// a bucket. A copy that the agent makes ends with a manifest, `.orrery-copy.json`: the files with
// their sizes and SHA-256 and when the item was made; a copy without it is unfinished. At a place
// that a trainer writes to, the framework's own files say so (checkpoint_format.h), and nothing may
// have changed since the look before. A file `.orrery-milestone` or `.orrery-hold` in any copy
// marks the item.
//
// The digest of a copy is the SHA-256 of its list of files, sizes and contents; marks and manifest
// are left out, so that it is the same everywhere.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "live/agent/keep_store.h"
#include "layers/storage/lifecycle_port.h"

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
  std::function<bool()> stop;      // ends an action between two files
  bool only_read = false;          // copies and removals are refused: a dry run
};

class LifecyclePlaces final : public storage::LifecyclePort {
 public:
  LifecyclePlaces(std::vector<LivePlace> places, LivePlacesOptions options);

  Result<storage::LifecycleLook> look() override;
  Result<storage::LifecycleOutcome> act(const storage::LifecycleAction& action) override;
  Seconds now() const override { return options_.clock(); }

 private:
  struct Manifest {
    Seconds made;
    std::string digest;
    std::map<std::string, std::string> files;  // path to SHA-256
  };
  struct SeenCopy {
    KeptItem item;
    std::string stamp;
    bool complete = false;
  };
  using Seen = std::map<std::string, SeenCopy>;  // by item

  LivePlace* place(const std::string& name);
  Result<Seen> see(LivePlace& place);
  void keep_quiet(LivePlace& place, Seen& seen);
  std::optional<std::int64_t> tracked_in(LivePlace& place, const KeptListing& listing);
  std::optional<Manifest> manifest_of(LivePlace& place, const SeenCopy& copy);
  Result<SeenCopy> find(const std::string& place, const std::string& item);
  Result<void> check_needs(const storage::LifecycleAction& action);
  Result<storage::LifecycleOutcome> verify(const storage::LifecycleAction& action);
  Result<storage::LifecycleOutcome> copy(const storage::LifecycleAction& action);
  Result<storage::LifecycleOutcome> remove(const storage::LifecycleAction& action);
  Result<std::string> digest_file(KeepStore& store, const std::string& id, const KeptFile& file);
  Result<bool> is_sound(LivePlace& place, const SeenCopy& copy, const std::string& digest);

  std::vector<LivePlace> places_;
  LivePlacesOptions options_;
  std::map<std::string, std::map<std::string, std::string>> stamps_before_;  // place, item
  std::map<std::string, Manifest> manifests_;                                // by place/item/stamp
};

}  // namespace orrery::agent
