// Copies the bytes of a version into a tier: blob by blob, so that parts stay parts.
#pragma once

#include "live/store/store.h"

namespace orrery::upkeep {

struct CopiedExtents {
  std::vector<rows::Extent> extents = {};
  std::vector<rows::Blob> blobs = {};
};
// The copy is durable on return; on failure what was written is removed.
store::Answer<CopiedExtents> copy_extents(store::Store& store, store::ObjectReader& from,
                                          const std::vector<rows::Extent>& extents,
                                          const std::string& tier,
                                          const std::function<bool()>& stop);

}  // namespace orrery::upkeep
