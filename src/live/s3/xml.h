// The documents of the S3 protocol as trees of names and texts, by pugixml.
//
// Attributes, comments and namespace prefixes have no meaning in this protocol and are dropped. An
// element has either children or text. Documents may be hostile: entities defined in a document are
// not expanded, and size and depth are limited.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/diagnostic.h"

namespace orrery::s3 {

struct XmlElement {
  std::string name;
  std::string text = {};
  std::vector<XmlElement> children = {};

  const XmlElement* child(std::string_view name) const;  // returns the first such child, or null
  std::string_view text_of(std::string_view child_name) const;  // returns the text of the first
                                                                // such child, or an empty text
};

struct XmlLimits {
  std::size_t bytes_max = std::size_t{16} << 20;  // a page of 1,000 keys of the greatest length has
                                                  // 6 MB
  int depth_max = 16;
};

// Returns the root of the document. A fault has the code "xml.malformed" or "xml.limit".
Result<XmlElement> read_xml(std::string_view text, const XmlLimits& limits = {});
std::string write_xml(const XmlElement& root);

}  // namespace orrery::s3
