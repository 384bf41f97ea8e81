#include "live/s3server/policy.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "core/base/text.h"
#include "live/s3server/policy_words.h"

namespace orrery::s3server {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kPolicyBytesMax = 20 << 10;  // S3's limit
constexpr int kDepthMax = 16;                      // the parser is recursive
constexpr std::size_t kPoliciesKept = 1000;        // policies of at most 20 KiB each; above this
                                                   // number all are forgotten
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

// Reads one string or a list of strings.
Answer<std::vector<std::string>> texts_of(const Json& from, const char* what) {
  std::vector<std::string> out;
  if (from.is_string()) out.push_back(from.get<std::string>());
  if (from.is_array()) {
    for (const Json& one : from) {
      if (!one.is_string()) {
        return malformed(std::string(what) + " must be a string or a list of strings.");
      }
      out.push_back(one.get<std::string>());
    }
  }
  if (out.empty()) return malformed(std::string(what) + " is missing or empty.");
  return out;
}

// Returns the tenant that a principal names; empty if it has none of the forms of policy.h.
std::string tenant_of(std::string_view principal) {
  if (!principal.starts_with("arn:")) return std::string(principal);
  const auto parts = split(principal, ':');
  const bool known =
      parts.size() == 6 && parts[1] == "aws" && parts[2] == "iam" && parts[3].empty();
  if (!known) return {};
  if (parts[5] == "root") return std::string(parts[4]);
  if (!parts[5].starts_with("user/")) return {};
  return std::string(parts[5].substr(parts[5].rfind('/') + 1));
}

Answer<void> read_principal(const Json& from, PolicyStatement& to) {
  if (from.is_object()) {
    for (const auto& [kind, value] : from.items()) {
      if (kind == "AWS") continue;
      return malformed("A Principal must name tenants under AWS; " + kind + " is not supported.");
    }
  }
  const Json& named = from.is_object() && from.contains("AWS") ? from["AWS"] : from;
  const auto names = texts_of(named, "Principal");
  if (!names) return std::unexpected(names.error());
  for (const std::string& name : *names) {
    to.anyone |= name == "*";
    if (name == "*") continue;
    to.tenants.push_back(tenant_of(name));
    if (to.tenants.back().empty()) return malformed("A Principal is malformed.");
  }
  return {};
}

Answer<void> read_resources(const Json& from, std::string_view bucket, PolicyStatement& to) {
  const auto names = texts_of(from, "Resource");
  if (!names) return std::unexpected(names.error());
  const std::string below = std::string(bucket) + '/';
  for (const std::string& name : *names) {
    if (!name.starts_with(kArn)) return malformed("A Resource must begin with arn:aws:s3:::.");
    if (name.find("${") != name.npos) {
      return refused("NotImplemented", "Policy variables are not supported.");
    }
    to.resources.push_back(name.substr(kArn.size()));
    const std::string& resource = to.resources.back();
    const bool objects = resource.starts_with(below) && resource != below;
    if (resource != bucket && !objects && resource != std::string(bucket) + '*') {
      return malformed("A Resource is outside this bucket.");
    }
  }
  return {};
}

// Each action must exist in S3 and apply to at least one of the resources.
Answer<void> read_actions(const Json& from, std::string_view bucket, PolicyStatement& to) {
  auto actions = texts_of(from, "Action");
  if (!actions) return std::unexpected(actions.error());
  const auto is_of_bucket = [bucket](const std::string& resource) {
    return matches_wildcard(resource, bucket);
  };
  const auto is_of_objects = [bucket](const std::string& resource) { return resource != bucket; };
  const bool on_bucket = std::ranges::any_of(to.resources, is_of_bucket);
  const bool on_objects = std::ranges::any_of(to.resources, is_of_objects);
  for (const std::string& action : *actions) {
    std::string pattern = lowered(action);
    if (pattern == "*") pattern = "s3:*";
    if (!pattern.starts_with("s3:")) return malformed("An Action must begin with s3:.");
    const ActionScope scope = scope_of_action(pattern);
    if (!scope.any()) return malformed("Policy has invalid action: S3 has no " + action + '.');
    if (!(scope.bucket && on_bucket) && !(scope.objects && on_objects)) {
      return malformed("Action does not apply to any resource in statement: " + action + '.');
    }
    to.actions.push_back(std::move(pattern));
  }
  return {};
}

// Conditions are not supported, so none is accepted. A condition that S3 would refuse too gets a
// different error, because its author has made a mistake.
std::unexpected<Refused> refused_condition(const Json& from) {
  if (!from.is_object()) return malformed("A Condition must be an object of operators.");
  for (const auto& [operation, keys] : from.items()) {
    if (!is_condition_operator(lowered(operation))) {
      return malformed("Invalid Condition type: " + operation + '.');
    }
    if (!keys.is_object()) {
      return malformed("An operator of a Condition must be an object of keys and values.");
    }
    for (const auto& [key, value] : keys.items()) {
      if (!is_condition_key(lowered(key))) {
        return malformed("Policy has an invalid condition key: " + key + '.');
      }
    }
  }
  return refused("NotImplemented", "Condition is not supported.");
}

Answer<void> check_fields(const Json& from) {
  constexpr std::string_view kKnown[] = {"Sid", "Effect", "Principal", "Action", "Resource"};
  constexpr std::string_view kNot[] = {"NotPrincipal", "NotAction", "NotResource"};
  for (const auto& [name, value] : from.items()) {
    if (name == "Condition") return refused_condition(value);
    if (std::ranges::find(kNot, name) != std::end(kNot)) {
      return refused("NotImplemented", name + " is not supported.");
    }
    if (std::ranges::find(kKnown, name) == std::end(kKnown)) {
      return malformed("A Statement has no field " + name + '.');
    }
  }
  return {};
}

Answer<PolicyStatement> statement_of(const Json& from, std::string_view bucket) {
  if (!from.is_object()) return malformed("A Statement must be an object.");
  if (auto good = check_fields(from); !good) return std::unexpected(good.error());
  PolicyStatement to;
  const std::string effect =
      from.value("Effect", Json()).is_string() ? from["Effect"].get<std::string>() : std::string();
  if (effect != "Allow" && effect != "Deny") return malformed("Effect must be Allow or Deny.");
  to.allows = effect == "Allow";
  if (auto good = read_principal(from.value("Principal", Json()), to); !good) {
    return std::unexpected(good.error());
  }
  if (auto good = read_resources(from.value("Resource", Json()), bucket, to); !good) {
    return std::unexpected(good.error());
  }
  if (auto good = read_actions(from.value("Action", Json()), bucket, to); !good) {
    return std::unexpected(good.error());
  }
  return to;
}

// Returns a discarded value if the text is not JSON. `twice` is set to a field that occurs twice in
// one object, because a reader would see only one of the two.
Json read_json(std::string_view text, std::string& twice) {
  std::vector<std::set<std::string>> open;
  const auto look = [&](int, Json::parse_event_t event, Json& part) {
    if (event == Json::parse_event_t::object_start) open.emplace_back();
    if (event == Json::parse_event_t::object_end && !open.empty()) open.pop_back();
    if (event == Json::parse_event_t::key && !open.empty()) {
      const std::string name = part.get<std::string>();
      if (!open.back().insert(name).second) twice = name;
    }
    return true;
  };
  return Json::parse(text, look, false);
}

Answer<void> check_frame(const Json& document) {
  for (const auto& [name, value] : document.items()) {
    if (name == "Statement" || name == "Id") continue;
    if (name != "Version") return malformed("A policy has no field " + name + '.');
    if (value != "2012-10-17" && value != "2008-10-17") {
      return malformed("Version must be 2012-10-17 or 2008-10-17.");
    }
  }
  return {};
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
  std::string twice;
  const Json document = read_json(json, twice);
  if (!document.is_object()) return malformed("The policy is not a JSON object.");
  if (!twice.empty()) return malformed(twice + " appears twice in one object.");
  if (auto good = check_frame(document); !good) return std::unexpected(good.error());
  const auto statements = document.find("Statement");
  if (statements == document.end()) return malformed("Statement is missing.");
  BucketPolicy policy;
  const Json list = statements->is_array() ? *statements : Json::array({*statements});
  for (const Json& one : list) {
    auto statement = statement_of(one, bucket);
    if (!statement) return std::unexpected(statement.error());
    policy.statements.push_back(std::move(*statement));
  }
  if (policy.statements.empty()) return malformed("The policy has no Statement.");
  return policy;
}

std::optional<bool> policy_says(const BucketPolicy& policy, std::string_view tenant,
                                std::string_view action, std::string_view resource) {
  const std::string asked = lowered(action);
  std::optional<bool> says;
  for (const PolicyStatement& one : policy.statements) {
    const bool who = one.anyone || (!tenant.empty() &&
                                    std::ranges::find(one.tenants, tenant) != one.tenants.end());
    const auto fits = [](const std::vector<std::string>& patterns, std::string_view text) {
      return std::ranges::any_of(
          patterns, [&](const std::string& pattern) { return matches_wildcard(pattern, text); });
    };
    if (!who || !fits(one.actions, asked) || !fits(one.resources, resource)) continue;
    if (!one.allows) return false;
    says = true;
  }
  return says;
}

std::shared_ptr<const BucketPolicy> PolicyBook::read(std::string_view json,
                                                     std::string_view bucket) {
  {
    const std::scoped_lock lock(mutex_);
    const auto at = entries_.find(json);
    if (at != entries_.end() && at->second.bucket == bucket) return at->second.policy;
  }
  auto policy = policy_of(json, bucket);
  Entry entry{std::string(bucket), nullptr};
  if (policy) entry.policy = std::make_shared<const BucketPolicy>(std::move(*policy));
  const std::scoped_lock lock(mutex_);
  if (entries_.size() >= kPoliciesKept) entries_.clear();
  return entries_.insert_or_assign(std::string(json), std::move(entry)).first->second.policy;
}

}  // namespace orrery::s3server
