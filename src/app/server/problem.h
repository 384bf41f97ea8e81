// Faults as RFC 7807 "application/problem+json", with the diagnostics that a user needs to correct
// them.
#pragma once

#include <string_view>

#include "app/server/message.h"
#include "core/base/diagnostic.h"

namespace orrery::server {

Response problem(int status, std::string_view title, const Diagnostics& diagnostics = {});

// Returns 400 if the body does not have the right shape (codes "body.*"), 422 if its contents have
// faults.
Response refused_body(const Diagnostics& diagnostics, std::string_view title);

}  // namespace orrery::server
