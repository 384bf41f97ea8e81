// The files of the console, embedded in the binary by the build (cmake/Console.cmake).
//
// A file that compresses well is embedded twice, plain and gzipped, so that nothing is compressed
// while a page loads. A binary built without node has none, and the server shows its plain page.
#pragma once

#include <optional>
#include <string_view>

#include "app/server/message.h"

namespace orrery::server {

bool has_console();
// Returns the page itself, with a policy that lets only its own scripts run.
Response console_page(const Request& request);
// Returns a file below assets/, or nullopt if there is none of that name.
std::optional<Response> console_asset(const Request& request, std::string_view name);

// Returns the text of docs/api/openapi.yaml.
std::string_view api_contract();

}  // namespace orrery::server
