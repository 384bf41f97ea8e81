// A place of the lifecycle agent as files: a folder or a bucket that holds items, each a tree.
//
// What a store promises
//  - list() shows every item with all its files, sorted, or fails. A file's stamp changes whenever
//    its bytes may have: size, time and inode of a file, the ETag of an object.
//  - read() gives the bytes that lie there now, not those of a cache of ours.
//  - write() returns when the file is safe, and until then its old bytes or none are seen under its
//    name, never part of the new ones.
//  - erase() of what is not there is fine.
// Which faults it may show: any call fails, also after it had its effect; others write and remove
// files at the same time; a bucket may show a new object late. Nothing is retried here but what the
// S3 client retries by itself.
// Who calls: one thread. Errors are Diagnostics with codes "lifecycle.folder" or
// "lifecycle.bucket".
#pragma once

#include <cstdint>
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

  const KeptFile* file(std::string_view path) const;
};

// What lies beside the items: the tracker of a trainer.
struct KeptListing {
  std::vector<KeptItem> items;  // sorted by id
  std::vector<KeptFile> beside;
};

class KeepStore {
 public:
  virtual ~KeepStore() = default;
  virtual Result<KeptListing> list() = 0;
  // An empty id: a file beside the items. The source may be read more than once.
  virtual Result<net::BodySource> read(const std::string& id, const KeptFile& file) = 0;
  virtual Result<void> write(const std::string& id, const std::string& path, std::uint64_t bytes,
                             const net::BodySource& source) = 0;
  virtual Result<void> erase(const std::string& id, const std::string& path) = 0;
};

// Every folder in `folder` is an item. It need not exist yet.
std::unique_ptr<KeepStore> folder_store(const std::string& folder);
// Every "folder" below the prefix is an item. The client's bucket exists.
std::unique_ptr<KeepStore> bucket_store(std::shared_ptr<s3::Client> client,
                                        const std::string& prefix);

}  // namespace orrery::agent
