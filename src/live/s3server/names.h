// The protocol speaks in the engine's words (Bucket, Version, Blob, Answer, refused): this room is
// the one in front of store/, and no other room's names are taken so.
#pragma once

#include "live/store/store.h"

namespace orrery::s3server {

using namespace store;

}  // namespace orrery::s3server
