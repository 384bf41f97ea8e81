// Moments in UTC as the protocol writes them: "20130524T000000Z" in signatures,
// "2013-05-24T00:00:00.000Z" in XML, "Fri, 24 May 2013 00:00:00 GMT" in headers.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "live/rows/records.h"

namespace orrery::store {

inline constexpr rows::TimeMs kDayMs = 24LL * 3600 * 1000;

std::string amz_time(rows::TimeMs moment);
std::string xml_time(rows::TimeMs moment);
std::string http_time(rows::TimeMs moment);
std::optional<rows::TimeMs> moment_of_amz(std::string_view text);
// A date without a time ("2013-05-24") means its midnight.
std::optional<rows::TimeMs> moment_of_iso(std::string_view text);
std::optional<rows::TimeMs> moment_of_http(std::string_view text);

}  // namespace orrery::store
