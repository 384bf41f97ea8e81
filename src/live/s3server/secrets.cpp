#include "live/s3server/secrets.h"

#include <algorithm>
#include <charconv>
#include <functional>

#include "core/base/text.h"
#include "core/base/units.h"
#include "live/s3/cipher.h"

namespace orrery::s3server {
namespace {

using Words = std::vector<std::string_view>;

// Calls the function for every line that is not empty or a comment. Fails at the first line that it
// refuses.
Result<void> each_line(std::string_view text, const std::string& file, const std::string& fix,
                       const std::function<std::string(const Words&)>& take) {
  int number = 0;
  for (const std::string_view line : split(text, '\n')) {
    ++number;
    const Words words = split_at_blanks(line.substr(0, line.find('#')));
    if (words.empty()) continue;
    const std::string fault = take(words);
    if (fault.empty()) continue;
    return fail({.code = "store.secrets",
                 .place = {file, number, 1},
                 .what = fault,
                 .why = {},
                 .fix = fix});
  }
  return {};
}

std::string bytes_of_hex(std::string_view hex) {
  std::string out;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    unsigned value = 0;
    const auto [end, error] = std::from_chars(hex.data() + i, hex.data() + i + 2, value, 16);
    if (error != std::errc() || end != hex.data() + i + 2) return {};
    out += static_cast<char>(value);
  }
  return out;
}

}  // namespace

Result<std::vector<Tenant>> tenants_of(std::string_view text, const std::string& file) {
  std::vector<Tenant> tenants;
  const auto take = [&](const Words& words) -> std::string {
    if (words.size() < 3 || words.size() > 4) {
      return "a line must have a tenant's name and two keys";
    }
    Tenant tenant{.access_key = std::string(words[1]),
                  .secret_key = std::string(words[2]),
                  .id = std::string(words[0]),
                  .name = std::string(words[0])};
    for (const Tenant& other : tenants) {
      if (other.access_key == tenant.access_key) return "two tenants have the same access key";
    }
    if (words.size() == 4) {
      const bool named = words[3].starts_with("quota=");
      const auto quota = parse_quantity<Bytes>(named ? words[3].substr(6) : std::string_view());
      if (!quota || quota->base() < 1) {
        return "the quota of " + tenant.name + " is not a valid size";
      }
      tenant.quota_bytes = static_cast<std::uint64_t>(quota->base());
    }
    tenants.push_back(std::move(tenant));
    return {};
  };
  if (auto good = each_line(text, file, "NAME ACCESS-KEY SECRET-KEY [quota=10TB]", take); !good) {
    return std::unexpected(good.error());
  }
  return tenants;
}

Result<S3Keys> s3_keys_of(std::string_view text, const std::string& file) {
  S3Keys keys;
  const auto take = [&](const Words& words) -> std::string {
    if (words.size() != 3) return "a line must have a bucket and two keys";
    const bool fresh =
        keys.emplace(words[0], s3::Credentials{std::string(words[1]), std::string(words[2]), ""})
            .second;
    return fresh ? "" : "the keys of " + std::string(words[0]) + " are given twice";
  };
  if (auto good = each_line(text, file, "BUCKET ACCESS-KEY SECRET-KEY", take); !good) {
    return std::unexpected(good.error());
  }
  return keys;
}

Result<KeyRing> keys_of(std::string_view text, const std::string& file) {
  KeyRing ring;
  const auto take = [&](const Words& words) -> std::string {
    if (words.size() != 2) return "a line must have an id and the digits of the key";
    const std::string key =
        words[1].size() == 2 * s3::kMasterKeyBytes ? bytes_of_hex(words[1]) : "";
    if (key.size() != s3::kMasterKeyBytes) return "a key must have 64 hexadecimal digits";
    if (!ring.keys.emplace(words[0], key).second) return "two keys have the same id";
    if (ring.current.empty()) ring.current = words[0];
    return {};
  };
  if (auto good = each_line(text, file, "ID and the output of `openssl rand -hex 32`", take);
      !good) {
    return std::unexpected(good.error());
  }
  if (ring.keys.empty()) {
    return fail({.code = "store.secrets",
                 .place = {file},
                 .what = "the file has no key",
                 .why = {},
                 .fix = "write ID and the output of `openssl rand -hex 32`"});
  }
  return ring;
}

}  // namespace orrery::s3server
