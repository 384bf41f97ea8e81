// Lineage: which data and code made which model, from the tags of the objects.
//
//   orrery-from     keys that this one was made from, with blanks between: "KEY" of the same
//                   bucket or "BUCKET//KEY"; further ones in orrery-from-2, orrery-from-3, ...
//   orrery-role     what it is: checkpoint, milestone, model, dataset, code, ...
//   orrery-run      the run that made it; orrery-step: where in the run
// Blanks in a key are written %20, as everything else that is percent-encoded. A key that is not
// there is shown as missing, a circle is cut where it closes.
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
  bool seen = false;  // shown above already
};

// Returns the object and everything it was made from, each before its own sources. Objects that the
// caller may not see are shown as missing.
using MaySee = std::function<bool(const Bucket& bucket, const std::string& key)>;
Answer<std::vector<LineageNode>> lineage_of(Store& store, const std::string& bucket,
                                            const std::string& key, const MaySee& may_see);
std::string lineage_text(const std::vector<LineageNode>& nodes);

}  // namespace orrery::s3server
