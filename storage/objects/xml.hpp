// The answers of S3 services, which are small XML documents: elements below the root by name. Namespaces are ignored.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace weft::storage::objects {

/// Owns what it was parsed from. A document that is no XML is empty. One thread at a time.
class XmlDocument {
 public:
  XmlDocument();
  XmlDocument(XmlDocument&&) noexcept;
  ~XmlDocument();

  /// Its name; empty when there is no document.
  std::string root() const;
  /// Of the first child of the root with this name, or below it ("Error/Code"); empty when there is none.
  std::string text(const char* path) const;
  /// For each child of the root called `element`, in order: the texts of its children `names`, an empty one where there is none.
  std::vector<std::vector<std::string>> rows(const char* element, const std::vector<const char*>& names) const;

 private:
  friend XmlDocument parse_xml(std::string_view text);
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

XmlDocument parse_xml(std::string_view text);

/// As the content of an element.
std::string xml_escaped(std::string_view text);

}  // namespace weft::storage::objects
