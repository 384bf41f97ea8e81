// The protocol speaks in the store's words (Bucket, Version, Blob, Answer, refused): this room is
// the one in front of the store, and no other room takes another's names like this.
#pragma once

#include "live/drives/drive.h"
#include "live/rows/records.h"
#include "live/store/store.h"
#include "live/upkeep/lifecycle.h"

namespace orrery::s3server {

using namespace drives;
using namespace rows;
using namespace store;
using namespace upkeep;

}  // namespace orrery::s3server
