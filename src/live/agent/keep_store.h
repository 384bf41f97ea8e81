// A place of the lifecycle agent as files: a folder or a bucket that holds items, each a tree.
//
// What a store promises
//  - list() returns every item with all its files, sorted, or fails. A file's stamp changes
//    whenever its bytes may have changed: size, times of write and of change, and inode of a file,
//    the ETag of an object. An item that contains anything but plain files under ordinary names is
//    `odd`, with the file and the reason.
//  - read() returns the current bytes, never cached ones.
//  - A copy is made by begin(), write() for each file, and finish(). Until finish() a folder does
//    not list it and a bucket lists it as `begun`. finish() never replaces an item.
//  - set_aside() removes an item from the listing in one step, without touching its bytes. purge()
//    deletes what was set aside. set_aside() can be undone by hand:
//    a folder: `mv FOLDER/.orrery-trash/NAME FOLDER/ITEM`;
//    a bucket: remove the object PREFIX/.orrery-trash/NAME, which hides the item while it is there.
//  - hold() takes the place for this agent, or says which agent has it: a lock file in a folder
//    (files/lock.h), a lease in a bucket (keep_lease.h). It is called again before every look and
//    every action, and fails as soon as another agent may have the place.
// Faults: any call may fail, also after it took effect; others may write and remove files at the
// same time; a bucket may list a new object late. Nothing is retried here except by the S3 client.
// Threads: one. Errors are Diagnostics with codes "lifecycle.folder" or
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
  Seconds written;  // 0: unknown

  bool operator==(const KeptFile&) const = default;
};

struct KeptItem {
  std::string id;
  std::vector<KeptFile> files;  // sorted by path
  std::string odd = {};         // "sub/link: it is a symbolic link"; empty: not odd
  bool begun = false;           // an unfinished copy by an agent
  unsigned mode = 0755;         // rights of its folder, at most those that all its files give

  bool operator==(const KeptItem&) const = default;

  const KeptFile* file(std::string_view path) const;
};

struct KeptAside {
  std::string name;
  KeptItem item;
  bool is_going = false;  // purge() has begun
};

struct KeptListing {
  std::vector<KeptItem> items;        // sorted by id
  std::vector<KeptFile> beside;       // files next to the items, such as a trainer's tracker
  std::vector<KeptAside> aside = {};  // sorted by name
};

// The agent that uses a place, as its lock or lease names it. Without an id nothing is locked.
struct KeepOwner {
  std::string id;  // different for any two journals on any machines
  std::string host;
  std::int64_t process = 0;
  std::string journal;
};
std::string text_of(const KeepOwner& owner);
// Returns "host H, process P, journal J" for the text of a lock or lease, with control characters
// escaped.
std::string told_of_owner(std::string_view text);
// Returns the id in the text of a lock or lease.
std::string id_of_owner(std::string_view text);

class KeepStore {
 public:
  virtual ~KeepStore() = default;
  virtual Result<void> hold() = 0;
  // Releases what hold() took, unless that ends with the process anyway.
  virtual void release() = 0;
  virtual Result<KeptListing> list() = 0;
  // An empty id means a file next to the items. The source may be read more than once.
  virtual Result<net::BodySource> read(const std::string& id, const KeptFile& file) = 0;
  // Removes what an earlier attempt left and, in a bucket, other objects in the way. `mode` is that
  // of the copied item: a folder gives its group and others no more rights.
  virtual Result<void> begin(const std::string& id, unsigned mode) = 0;
  virtual Result<void> write(const std::string& id, const std::string& path, std::uint64_t bytes,
                             const net::BodySource& source) = 0;
  virtual Result<void> finish(const std::string& id) = 0;
  // Frees the space of a failed copy.
  virtual void give_up(const std::string& id) = 0;
  // Fails and leaves the item if it has changed since it was listed.
  virtual Result<void> set_aside(const KeptItem& item, const std::string& name) = 0;
  virtual Result<void> purge(const KeptAside& aside) = 0;
};

// Names that the agent uses next to the items. No item's name begins with the prefix.
inline constexpr std::string_view kOwnPrefix = ".orrery-";
inline constexpr std::string_view kAsideFolder = ".orrery-trash";
inline constexpr std::string_view kIncomingFolder = ".orrery-incoming";
inline constexpr std::string_view kLeaseFolder = ".orrery-lease";
// First object of a copy in a bucket: what has it and no manifest was begun by an agent.
inline constexpr std::string_view kBegunMark = ".orrery-copying";
// Last character of a name whose purge() has begun.
inline constexpr char kGoingEnding = '~';

// Returns what is wrong with a name or path of an item, or nothing. The rules are those of
// files/path.h, and UTF-8 without control characters, so that a manifest can contain it. A part
// that the agent itself uses beside items means that a place is inside the item.
std::string kept_path_fault(std::string_view path);

// Every folder in `folder` is an item. hold() creates the folder if its parent exists.
std::unique_ptr<KeepStore> folder_store(const std::string& folder, KeepOwner owner = {});
// Every "folder" below the prefix is an item. The client's bucket must exist. `up` returns the time
// of a clock that cannot be set.
std::unique_ptr<KeepStore> bucket_store(std::shared_ptr<s3::Client> client,
                                        const std::string& prefix, KeepOwner owner = {},
                                        std::function<Seconds()> up = {});

}  // namespace orrery::agent
