// A place of the lifecycle agent as files: a folder or a bucket that holds items, each a tree.
//
// What a store promises
//  - list() shows every item with all its files, sorted, or fails. A file's stamp changes whenever
//    its bytes may have: size, time and inode of a file, the ETag of an object. An item that holds
//    anything but plain files under ordinary names is `odd`: it says which file, and why.
//  - read() gives the bytes that lie there now, not those of a cache of ours.
//  - A copy is made by begin(), write() for each file, and finish(). Until finish() a folder shows
//    nothing of it under the item's name, and a bucket shows it as `begun`. finish() never replaces
//    an item.
//  - set_aside() takes an item out of the place as one step, without touching its bytes, and
//  purge()
//    removes what was set aside. What set_aside() did can be undone by hand:
//    a folder: `mv FOLDER/.orrery-trash/NAME FOLDER/ITEM`;
//    a bucket: remove the object PREFIX/.orrery-trash/NAME, which hides the item while it is there.
//  - hold() makes the place this agent's own, or says who has it: a lock file in a folder
//    (files/lock.h), a lease in a bucket (keep_lease.h). It is asked for again before every look
//    and every action, and fails from the moment on at which another agent may have the place.
// Which faults it may show: any call fails, also after it had its effect; others write and remove
// files at the same time; a bucket may show a new object late. Nothing is retried here but what the
// S3 client retries by itself.
// Who calls: one thread. Errors are Diagnostics with codes "lifecycle.folder" or
// "lifecycle.bucket", and "lifecycle.busy" or "lifecycle.lease" from hold().
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/base/diagnostic.h"
#include "core/base/quantity.h"
#include "live/net/message.h"
#include "live/s3/client.h"

namespace orrery::agent {

struct KeptFile {
  std::string path;  // below the item, with '/' between its parts
  std::uint64_t bytes = 0;
  std::string stamp;
  Seconds written;  // 0: not known

  bool operator==(const KeptFile&) const = default;
};

struct KeptItem {
  std::string id;
  std::vector<KeptFile> files;  // sorted by path
  std::string odd = {};         // "sub/link: it is a symbolic link"; empty: nothing
  bool begun = false;           // a copy of ours that was not finished

  bool operator==(const KeptItem&) const = default;

  const KeptFile* file(std::string_view path) const;
};

struct KeptAside {
  std::string name;
  KeptItem item;
  bool is_going = false;  // its removal has begun
};

// What lies beside the items: the tracker of a trainer.
struct KeptListing {
  std::vector<KeptItem> items;  // sorted by id
  std::vector<KeptFile> beside;
  std::vector<KeptAside> aside = {};  // sorted by name
};

// Who works on a place: what its lock or lease says. Without an id nothing is locked.
struct KeepOwner {
  std::string id;  // differs between any two journals on any machines
  std::string host;
  std::int64_t process = 0;
  std::string journal;
};
std::string text_of(const KeepOwner& owner);
// "host H, process P, journal J" of such a text, safe to show.
std::string told_of_owner(std::string_view text);
// The id in such a text.
std::string id_of_owner(std::string_view text);

class KeepStore {
 public:
  virtual ~KeepStore() = default;
  virtual Result<void> hold() = 0;
  // Ends what hold() began, where that does not end with the process.
  virtual void release() = 0;
  virtual Result<KeptListing> list() = 0;
  // An empty id: a file beside the items. The source may be read more than once.
  virtual Result<net::BodySource> read(const std::string& id, const KeptFile& file) = 0;
  // Clears what an earlier attempt left, and what stands in the way in a bucket.
  virtual Result<void> begin(const std::string& id) = 0;
  virtual Result<void> write(const std::string& id, const std::string& path, std::uint64_t bytes,
                             const net::BodySource& source) = 0;
  virtual Result<void> finish(const std::string& id) = 0;
  // After a copy that failed: gives back the space that it took.
  virtual void give_up(const std::string& id) = 0;
  // `item` as it was listed; fails and leaves it where it is if it is another one by now.
  virtual Result<void> set_aside(const KeptItem& item, const std::string& name) = 0;
  virtual Result<void> purge(const KeptAside& aside) = 0;
};

// The names that the agent uses beside the items. No item begins so.
inline constexpr std::string_view kOwnPrefix = ".orrery-";
inline constexpr std::string_view kAsideFolder = ".orrery-trash";
inline constexpr std::string_view kIncomingFolder = ".orrery-incoming";
inline constexpr std::string_view kLeaseFolder = ".orrery-lease";
// Ends the name of what is being removed for good.
inline constexpr char kGoingEnding = '~';

// What is wrong with a name or path that an item may not have, or nothing. Beside the rules of
// files/path.h: text that a manifest can hold, which is UTF-8 without control characters.
std::string kept_path_fault(std::string_view path);

// Every folder in `folder` is an item. The folder is made by hold() if the one above it is there.
std::unique_ptr<KeepStore> folder_store(const std::string& folder, KeepOwner owner = {});
// Every "folder" below the prefix is an item. The client's bucket exists. `up`: time on a clock
// that nobody sets.
std::unique_ptr<KeepStore> bucket_store(std::shared_ptr<s3::Client> client,
                                        const std::string& prefix, KeepOwner owner = {},
                                        std::function<Seconds()> up = {});

}  // namespace orrery::agent
