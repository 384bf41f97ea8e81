#include "live/s3server/policy.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/base/text.h"

namespace orrery::s3server {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kPolicyBytesMax = 20 << 10;  // S3's limit
constexpr int kDepthMax = 16;                      // the parser recurses
constexpr std::string_view kArn = "arn:aws:s3:::";

std::unexpected<Refused> malformed(std::string why) {
  return refused("MalformedPolicy", std::move(why));
}

bool is_deep(std::string_view text) {
  int depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (quoted && text[i] == '\\') {
      ++i;
    } else if (text[i] == '"') {
      quoted = !quoted;
    } else if (!quoted && (text[i] == '{' || text[i] == '[')) {
      if (++depth > kDepthMax) return true;
    } else if (!quoted && (text[i] == '}' || text[i] == ']')) {
      --depth;
    }
  }
  return false;
}

// One text or a list of them.
Answer<std::vector<std::string>> texts_of(const Json& from, const char* what) {
  std::vector<std::string> out;
  if (from.is_string()) out.push_back(from.get<std::string>());
  if (from.is_array()) {
    for (const Json& one : from) {
      if (!one.is_string()) return malformed(std::string(what) + " is a text or a list of texts.");
      out.push_back(one.get<std::string>());
    }
  }
  if (out.empty()) return malformed(std::string(what) + " is missing or empty.");
  return out;
}

std::string tenant_of(std::string_view principal) {
  if (!principal.starts_with("arn:")) return std::string(principal);
  if (const auto slash = principal.rfind('/'); slash != principal.npos) {
    return std::string(principal.substr(slash + 1));
  }
  const auto parts = split(principal, ':');
  return parts.size() >= 5 ? std::string(parts[4]) : std::string();
}

Answer<void> read_principal(const Json& from, PolicyStatement& to) {
  const Json& named = from.is_object() && from.contains("AWS") ? from["AWS"] : from;
  const auto names = texts_of(named, "Principal");
  if (!names) return std::unexpected(names.error());
  for (const std::string& name : *names) {
    to.anyone |= name == "*";
    if (name == "*") continue;
    to.tenants.push_back(tenant_of(name));
    if (to.tenants.back().empty()) return malformed("A Principal is not understood.");
  }
  return {};
}

Answer<void> read_resources(const Json& from, std::string_view bucket, PolicyStatement& to) {
  const auto names = texts_of(from, "Resource");
  if (!names) return std::unexpected(names.error());
  for (const std::string& name : *names) {
    if (!name.starts_with(kArn)) return malformed("A Resource begins with arn:aws:s3:::.");
    to.resources.push_back(name.substr(kArn.size()));
    const std::string& resource = to.resources.back();
    if (resource != bucket && !resource.starts_with(std::string(bucket) + '/') &&
        resource != std::string(bucket) + '*') {
      return malformed("A Resource is not of this bucket.");
    }
  }
  return {};
}

Answer<PolicyStatement> statement_of(const Json& from, std::string_view bucket) {
  if (!from.is_object()) return malformed("A Statement is an object.");
  for (const auto& [name, value] : from.items()) {
    const bool known = name == "Sid" || name == "Effect" || name == "Principal" ||
                       name == "Action" || name == "Resource";
    if (!known) return refused("NotImplemented", name + " is not kept in policies here.");
  }
  PolicyStatement to;
  const std::string effect =
      from.value("Effect", Json()).is_string() ? from["Effect"].get<std::string>() : std::string();
  if (effect != "Allow" && effect != "Deny") return malformed("Effect is Allow or Deny.");
  to.allows = effect == "Allow";
  if (auto good = read_principal(from.value("Principal", Json()), to); !good) {
    return std::unexpected(good.error());
  }
  auto actions = texts_of(from.value("Action", Json()), "Action");
  if (!actions) return std::unexpected(actions.error());
  for (const std::string& action : *actions) {
    if (action != "*" && !action.starts_with("s3:")) return malformed("An Action begins with s3:.");
  }
  to.actions = std::move(*actions);
  if (auto good = read_resources(from.value("Resource", Json()), bucket, to); !good) {
    return std::unexpected(good.error());
  }
  return to;
}

}  // namespace

bool matches_wildcard(std::string_view pattern, std::string_view text) {
  std::size_t p = 0, t = 0, star = pattern.npos, from = 0;
  while (t < text.size()) {
    if (p < pattern.size() && (pattern[p] == '?' || (pattern[p] == text[t] && pattern[p] != '*'))) {
      ++p;
      ++t;
    } else if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      from = t;
    } else if (star != pattern.npos) {
      p = star + 1;
      t = ++from;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

Answer<BucketPolicy> policy_of(std::string_view json, std::string_view bucket) {
  if (json.size() > kPolicyBytesMax || is_deep(json)) return malformed("The policy is too large.");
  const Json document = Json::parse(json, nullptr, false);
  if (!document.is_object()) return malformed("The policy is no JSON object.");
  const auto statements = document.find("Statement");
  if (statements == document.end()) return malformed("Statement is missing.");
  BucketPolicy policy;
  const Json list = statements->is_array() ? *statements : Json::array({*statements});
  for (const Json& one : list) {
    auto statement = statement_of(one, bucket);
    if (!statement) return std::unexpected(statement.error());
    policy.statements.push_back(std::move(*statement));
  }
  if (policy.statements.empty()) return malformed("There is no Statement.");
  return policy;
}

std::optional<bool> policy_says(const BucketPolicy& policy, std::string_view tenant,
                                std::string_view action, std::string_view resource) {
  std::optional<bool> says;
  for (const PolicyStatement& one : policy.statements) {
    const bool who = one.anyone || (!tenant.empty() &&
                                    std::ranges::find(one.tenants, tenant) != one.tenants.end());
    const auto fits = [](const std::vector<std::string>& patterns, std::string_view text) {
      return std::ranges::any_of(
          patterns, [&](const std::string& pattern) { return matches_wildcard(pattern, text); });
    };
    if (!who || !fits(one.actions, action) || !fits(one.resources, resource)) continue;
    if (!one.allows) return false;
    says = true;
  }
  return says;
}

}  // namespace orrery::s3server
