// Faults as RFC 7807 "application/problem+json", with the diagnostics a person needs to mend them.
#pragma once

#include <string_view>

#include "app/server/message.h"
#include "core/base/diagnostic.h"

namespace orrery::server {

Response problem(int status, std::string_view title, const Diagnostics& diagnostics = {});

// 400 where the body is not of its shape (codes "body.*"), 422 where what it says has faults.
Response refused_body(const Diagnostics& diagnostics, std::string_view title);

}  // namespace orrery::server
