// The page for a browser that does not have the token.
#pragma once

#include "app/server/message.h"

namespace orrery::server {

// Returns a page (status 401) that asks for the address that `orrery serve` printed. Its script
// keeps the part of the address after `#`, so that a shared design opens once the token is known.
Response token_page();

}  // namespace orrery::server
