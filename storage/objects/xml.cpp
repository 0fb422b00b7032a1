#include "storage/objects/xml.hpp"

#include <pugixml.hpp>

namespace weft::storage::objects {

struct XmlDocument::Impl {
  pugi::xml_document document;
};

XmlDocument::XmlDocument() : impl_(std::make_unique<Impl>()) {}
XmlDocument::XmlDocument(XmlDocument&&) noexcept = default;
XmlDocument::~XmlDocument() = default;

std::string XmlDocument::root() const { return impl_->document.document_element().name(); }
std::string XmlDocument::text(const char* path) const {
  return impl_->document.document_element().first_element_by_path(path).child_value();
}

std::vector<std::vector<std::string>> XmlDocument::rows(const char* element, const std::vector<const char*>& names) const {
  std::vector<std::vector<std::string>> all;
  for (const pugi::xml_node& node : impl_->document.document_element().children(element)) {
    std::vector<std::string>& row = all.emplace_back();
    for (const char* const name : names) row.emplace_back(node.child_value(name));
  }
  return all;
}

XmlDocument parse_xml(std::string_view text) {
  XmlDocument parsed;
  // pugixml neither resolves external entities nor expands nested ones, and does not recurse: bounded by the text's length.
  if (!parsed.impl_->document.load_buffer(text.data(), text.size(), pugi::parse_default | pugi::parse_ws_pcdata_single))
    parsed.impl_->document.reset();
  return parsed;
}

std::string xml_escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out.push_back(c);
    }
  }
  return out;
}

}  // namespace weft::storage::objects
