// Answers of the protocol as XML documents.
#pragma once

#include <string>
#include <string_view>

#include "live/net/message.h"
#include "live/s3/xml.h"
#include "live/s3server/names.h"

namespace orrery::s3server {

inline constexpr std::string_view kS3Namespace = "http://s3.amazonaws.com/doc/2006-03-01/";

inline void add_text(s3::XmlElement& to, std::string_view name, std::string_view text) {
  to.children.push_back({std::string(name), std::string(text), {}});
}

inline s3::XmlElement& add_child(s3::XmlElement& to, std::string_view name) {
  return to.children.emplace_back(s3::XmlElement{std::string(name), {}, {}});
}

inline std::string xml_document(const s3::XmlElement& root,
                                std::string_view name_space = kS3Namespace) {
  std::string text = s3::write_xml(root);
  if (!name_space.empty()) {
    text.insert(text.find('<' + root.name) + 1 + root.name.size(),
                " xmlns=\"" + std::string(name_space) + '"');
  }
  return text;
}

inline net::Response xml_response(const s3::XmlElement& root,
                                  std::string_view name_space = kS3Namespace, int status = 200) {
  return {
      .status = status, .content_type = "application/xml", .body = xml_document(root, name_space)};
}

// Returns a refusal as an error document of the protocol.
net::Response error_response(const Refused& refusal, std::string_view resource,
                             std::string_view request_id);

}  // namespace orrery::s3server
