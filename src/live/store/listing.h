// A page of a listing: keys in order, those that share a stretch up to the delimiter shown as one.
//
// The rows are walked by a cursor that leaps over what a common prefix stands for, so a page costs
// its entries and not the keys below them.
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
  std::string after = {};          // a key or a common prefix; entries behind it only
  std::string after_version = {};  // of versions: behind this one of `after`
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
