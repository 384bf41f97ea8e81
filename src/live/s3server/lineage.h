// Lineage: which data and code a model was made from, according to the tags of the objects.
//
//   orrery-from     keys that this object was made from, separated by blanks: "KEY" in the same
//                   bucket or "BUCKET//KEY"; more in orrery-from-2, orrery-from-3, ...
//   orrery-role     what it is: checkpoint, milestone, model, dataset, code, ...
//   orrery-run      the run that made it; orrery-step: the step of that run
//
// Blanks in a key are written as %20, and other characters may be percent-encoded likewise. A key
// that does not exist is shown as missing; a cycle is cut where it closes.
#pragma once

#include <functional>

#include "live/s3server/names.h"

namespace orrery::s3server {

struct LineageNode {
  std::string bucket;
  std::string key;
  int depth = 0;
  std::string role = {};
  std::string run = {};
  std::string step = {};
  std::string etag = {};
  std::string tier = {};
  bool missing = false;
  bool seen = false;  // already shown above
};

// Returns the object and everything it was made from, each before its own sources. Objects that the
// caller may not see are shown as missing.
using MaySee = std::function<bool(const Bucket& bucket, const std::string& key)>;
Answer<std::vector<LineageNode>> lineage_of(Store& store, const std::string& bucket,
                                            const std::string& key, const MaySee& may_see);
std::string lineage_text(const std::vector<LineageNode>& nodes);

}  // namespace orrery::s3server
