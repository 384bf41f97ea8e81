// A page of a listing: keys in order; those that share a prefix up to the delimiter are one entry.
//
// The cursor skips the keys below a common prefix, so a page costs its entries and not those keys.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "live/store/store.h"

namespace orrery::store {

struct PageRequest {
  std::string bucket;
  std::string prefix = {};
  std::string delimiter = {};
  std::string after = {};          // a key or a common prefix: only entries after it
  std::string after_version = {};  // for versions: only those after this one of `after`
  std::size_t most = 1000;
};

struct PageEntry {
  std::string key;  // or the common prefix
  bool common = false;
  rows::Version version = {};
  bool newest = true;
};

struct Page {
  std::vector<PageEntry> entries = {};
  bool truncated = false;
};

Answer<Page> page_of_objects(rows::Metadata& metadata, const PageRequest& request);
Answer<Page> page_of_versions(rows::Metadata& metadata, const PageRequest& request);

}  // namespace orrery::store
