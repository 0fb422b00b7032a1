// A catalogue, and workers that report what it has ordered. There are no databases, and tests set the clock.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "storage/tables/catalogue.hpp"

namespace weft::storage::tables {

class CatalogueTest : public testing::Test {
 protected:
  static TableNode site(const std::string& name) { return {name, "host-" + name, "rack", name + ":1"}; }
  /// The heartbeat of a worker that has exactly the partitions of its orders. Returns its next orders.
  TableOrders heartbeat(const std::string& name, bool first = false) {
    TableHeartbeat message;
    message.first = first;
    for (const auto& [place, report] : replicas[name]) message.replicas.push_back(report);
    TableOrders orders = catalogue.heartbeat(site(name), message, now);
    for (const Assignment& assignment : orders.assignments) {
      ReplicaReport& report = replicas[name][assignment.place];
      report.place = assignment.place;
      report.revision = assignment.revision;
      if (assignment.primary == name) report.epoch = assignment.epoch;
    }
    return orders;
  }
  /// All that are named are heard of until nothing changes any more.
  void settle(const std::vector<std::string>& names) {
    for (int round = 0; round < 4; ++round) {
      catalogue.tick(now);
      for (const std::string& name : names) heartbeat(name);
    }
  }
  void make(const std::vector<std::string>& names, std::uint32_t partitions = 1) {
    for (const std::string& name : names) heartbeat(name, true);
    ASSERT_TRUE(catalogue.create("t", partitions, static_cast<std::uint32_t>(names.size())));
    settle(names);
    const TableId id = catalogue.describe("t")->id;
    for (std::uint32_t p = 0; p < partitions; ++p) {
      InSyncChange change{{id, p}, status(p).epoch, 0, names, 0};
      Assignment assignment;
      if (!catalogue.change_in_sync(status(p).primary, change, assignment)) {
        change.revision = assignment.revision;
        ASSERT_TRUE(catalogue.change_in_sync(status(p).primary, change, assignment));
      }
    }
    settle(names);
  }
  PartitionStatus status(std::uint32_t partition = 0) const { return catalogue.describe("t")->partitions.at(partition); }
  ReplicaReport& replica(const std::string& name) { return replicas[name].at({catalogue.describe("t")->id, 0}); }
  void lose(const std::string& name) { catalogue.node_lost(name, now); }
  /// What was made durable, read again.
  void restart() {
    for (const Change& change : catalogue.take_changes())
      change.value ? void(kept[change.key] = *change.value) : void(kept.erase(change.key));
    catalogue = TableCatalogue();
    for (const auto& [key, value] : kept) ASSERT_TRUE(catalogue.restore(key, value));
    catalogue.restored(now);
  }

  Time now = std::chrono::hours(1);
  TableCatalogue catalogue;
  std::map<std::string, std::map<PlaceId, ReplicaReport>> replicas;
  std::map<std::string, std::string> kept;
};

}  // namespace weft::storage::tables
