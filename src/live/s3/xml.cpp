#include "live/s3/xml.h"

#include <algorithm>
#include <pugixml.hpp>
#include <sstream>

namespace orrery::s3 {
namespace {

std::unexpected<Diagnostics> xml_fault(const char* code, const std::string& what) {
  return fail({.code = code, .place = {}, .what = what, .why = {}, .fix = {}});
}

std::string_view without_prefix(std::string_view name) {
  const auto colon = name.find(':');
  return colon == name.npos ? name : name.substr(colon + 1);
}

// Returns false if the tree is deeper than allowed.
bool copy(const pugi::xml_node& from, XmlElement& to, int depth_left) {
  if (depth_left <= 0) return false;
  to.name = without_prefix(from.name());
  to.text = from.text().get();
  for (const pugi::xml_node& node : from.children()) {
    if (node.type() != pugi::node_element) continue;
    if (!copy(node, to.children.emplace_back(), depth_left - 1)) return false;
  }
  if (!to.children.empty()) to.text.clear();
  return true;
}

void copy(const XmlElement& from, pugi::xml_node to) {
  pugi::xml_node node = to.append_child(from.name.c_str());
  if (!from.text.empty()) node.text().set(from.text.c_str());
  for (const XmlElement& child : from.children) copy(child, node);
}

}  // namespace

const XmlElement* XmlElement::child(std::string_view wanted) const {
  const auto at = std::ranges::find(children, wanted, &XmlElement::name);
  return at == children.end() ? nullptr : &*at;
}

std::string_view XmlElement::text_of(std::string_view child_name) const {
  const XmlElement* found = child(child_name);
  return found ? std::string_view(found->text) : std::string_view();
}

Result<XmlElement> read_xml(std::string_view text, const XmlLimits& limits) {
  if (text.size() > limits.bytes_max) return xml_fault("xml.limit", "the document is too large");
  pugi::xml_document document;
  // A key may consist of blanks only.
  const auto parsed =
      document.load_buffer(text.data(), text.size(),
                           pugi::parse_default | pugi::parse_ws_pcdata_single, pugi::encoding_utf8);
  if (!parsed) return xml_fault("xml.malformed", parsed.description());
  XmlElement root;
  if (!copy(document.document_element(), root, limits.depth_max)) {
    return xml_fault("xml.limit", "the document is nested too deeply");
  }
  return root;
}

std::string write_xml(const XmlElement& root) {
  pugi::xml_document document;
  copy(root, document);
  std::ostringstream out;
  document.save(out, "", pugi::format_raw, pugi::encoding_utf8);
  // A reader turns a bare carriage return into a line feed, and pugixml writes it bare, so it is
  // escaped here.
  std::string text = std::move(out).str();
  for (std::size_t at = 0; (at = text.find('\r', at)) != text.npos;) text.replace(at, 1, "&#13;");
  return text;
}

}  // namespace orrery::s3
