#include "live/s3server/access.h"

#include <algorithm>
#include <array>

#include "live/s3server/xml_answer.h"

namespace orrery::s3server {
namespace {

constexpr std::array<std::string_view, 7> kCanned = {
    "private",           "public-read",
    "public-read-write", "authenticated-read",
    "bucket-owner-read", "bucket-owner-full-control",
    "log-delivery-write"};

bool lets_read(std::string_view acl, const Caller& who) {
  return acl.starts_with("public-read") || (acl == "authenticated-read" && who.tenant);
}

void add_grant(s3::XmlElement& list, std::string_view kind, std::string_view value,
               std::string_view permission) {
  s3::XmlElement& grant = add_child(list, "Grant");
  s3::XmlElement& grantee = add_child(grant, "Grantee");
  add_text(grantee, kind, value);
  if (kind == "ID") add_text(grantee, "DisplayName", value);
  add_text(grant, "Permission", permission);
}

// The type of a grantee is an attribute, and our XML trees have no attributes.
std::string with_types(std::string text) {
  constexpr std::string_view kPlain = "<Grantee>";
  for (std::size_t at = 0; (at = text.find(kPlain, at)) != text.npos;) {
    const bool group = text.compare(at + kPlain.size(), 5, "<URI>") == 0;
    const std::string typed =
        std::string(
            R"(<Grantee xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:type=")") +
        (group ? "Group" : "CanonicalUser") + "\">";
    text.replace(at, kPlain.size(), typed);
    at += typed.size();
  }
  return text;
}

}  // namespace

bool is_canned_acl(std::string_view acl) {
  return std::ranges::find(kCanned, acl) != kCanned.end();
}

Answer<void> check_bucket_access(const Caller& who, const Bucket& bucket, Need need) {
  if (who.tenant && who.tenant->id == bucket.owner) return {};
  const bool listed = need == Need::list && lets_read(bucket.acl, who);
  const bool written = need == Need::write && bucket.acl == "public-read-write";
  if (listed || written) return {};
  return refused("AccessDenied");
}

Answer<void> check_object_access(const Caller& who, const Bucket& bucket, const Version& version) {
  if (who.tenant && (who.tenant->id == bucket.owner || who.tenant->id == version.owner)) return {};
  if (lets_read(version.acl, who)) return {};
  return refused("AccessDenied");
}

net::Response acl_answer(const std::string& owner, std::string_view acl) {
  s3::XmlElement root{"AccessControlPolicy"};
  s3::XmlElement& shown = add_child(root, "Owner");
  add_text(shown, "ID", owner);
  add_text(shown, "DisplayName", owner);
  s3::XmlElement& list = add_child(root, "AccessControlList");
  const std::string groups = "http://acs.amazonaws.com/groups/global/";
  if (acl.starts_with("public-read")) add_grant(list, "URI", groups + "AllUsers", "READ");
  if (acl == "public-read-write") add_grant(list, "URI", groups + "AllUsers", "WRITE");
  if (acl == "authenticated-read") add_grant(list, "URI", groups + "AuthenticatedUsers", "READ");
  add_grant(list, "ID", owner, "FULL_CONTROL");
  net::Response response = xml_response(root);
  response.body = with_types(std::move(response.body));
  return response;
}

}  // namespace orrery::s3server
