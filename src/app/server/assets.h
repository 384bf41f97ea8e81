// The console's files, put into the binary by the build (cmake/Console.cmake).
//
// A file that compresses well is there twice, plain and gzipped, so that nothing is compressed
// while a page loads. None are there where the binary was built without node: then the server shows
// its plain page.
#pragma once

#include <optional>
#include <string_view>

#include "app/server/message.h"

namespace orrery::server {

bool has_console();
// The page itself, with the policy that lets only its own scripts run.
Response console_page(const Request& request);
// A file below assets/; nullopt where there is none of that name.
std::optional<Response> console_asset(const Request& request, std::string_view name);

// The text of docs/api/openapi.yaml.
std::string_view api_contract();

}  // namespace orrery::server
