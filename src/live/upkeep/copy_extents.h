// Copies the bytes of a version into a tier, blob by blob, so that the parts remain separate.
#pragma once

#include "live/store/store.h"

namespace orrery::upkeep {

struct CopiedExtents {
  std::vector<rows::Extent> extents = {};
  std::vector<rows::Blob> blobs = {};
};
// The copy is durable when this returns. On failure, the bytes written so far are removed.
store::Answer<CopiedExtents> copy_extents(store::Store& store, store::ObjectReader& from,
                                          const std::vector<rows::Extent>& extents,
                                          const std::string& tier,
                                          const std::function<bool()>& stop);

}  // namespace orrery::upkeep
