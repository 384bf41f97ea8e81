// A page of a listing: keys in order; keys that share a prefix up to the delimiter form one entry.
//
// The cursor skips the keys below a common prefix, so the cost of a page depends on its entries and
// not on those keys.
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
  std::string after = {};          // a key or a common prefix; the page has only entries after it
  std::string after_version = {};  // for versions: only versions of `after` that follow this one
  std::size_t most = 1000;
};

struct PageEntry {
  std::string key;  // a key or a common prefix
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
