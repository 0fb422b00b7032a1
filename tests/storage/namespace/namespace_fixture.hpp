// What the tests of the namespace share: a world of workers in two racks.
#pragma once

#include <cstddef>
#include <set>
#include <string>

#include "storage/namespace/namespace.hpp"
#include "tests/storage/namespace/world.hpp"

namespace weft::storage {

inline bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

class NamespaceTest : public testing::Test {
 protected:
  /// Three workers in each of two racks.
  void two_racks() {
    for (const char* name : {"a1", "a2", "a3"}) world.add(name, "A");
    for (const char* name : {"b1", "b2", "b3"}) world.add(name, "B");
  }
  Namespace& ns() { return *world.ns; }
  std::string refusal(const Result<void>& result) { return result ? "accepted" : result.error().to_string(); }
  std::size_t racks_of(const std::string& path) {
    std::set<std::string> racks;
    for (const std::string& name : world.names_at(path)) racks.insert(world.workers.at(name).rack);
    return racks.size();
  }
  bool healthy() {
    const StorageReport report = ns().report();
    return report.under_replicated == 0 && report.over_replicated == 0 && report.missing_chunks == 0 &&
           report.corrupt_replicas == 0 && report.copies == 0;
  }

  World world;
};

}  // namespace weft::storage
