// The protocol uses the names of the store's types (Bucket, Version, Blob, Answer, refused). This
// room directly serves the store, and no other room imports another's names like this.
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
