// SHA-256 (FIPS 180-4) of a text, as 64 hexadecimal digits: the identity of a design.
#pragma once

#include <string>
#include <string_view>

namespace orrery {

std::string sha256_hex(std::string_view text);

}  // namespace orrery
