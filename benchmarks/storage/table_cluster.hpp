// A master and three workers with tables, as processes of this machine, and rows for benchmarks.
#pragma once

#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/random.hpp"
#include "benchmarks/measure.hpp"
#include "storage/tables/table_client.hpp"
#include "tests/support/process.hpp"

namespace weft::bench {

/// The table `t`, of eight partitions with three replicas. Ends with the object.
class TableCluster {
 public:
  static constexpr std::uint32_t kPartitions = 8;
  static constexpr std::uint64_t kValueBytes = 1000;

  /// Options of the master, and those of each worker, that the benchmark adds.
  struct More {
    std::vector<std::string> master, worker;
  };
  TableCluster(const std::string& weft, const std::string& directory, const More& more = {}) {
    const std::string port = directory + "/port";
    const auto start = [&](std::vector<std::string> words) {
      const auto& added = words.front() == "master" ? more.master : more.worker;
      words.insert(words.end(), added.begin(), added.end());
      words.insert(words.begin(), weft);
      processes_.push_back(
          std::make_unique<test::Process>(words, test::ProcessOptions{.deadline = std::chrono::hours(1), .daemon = true}));
    };
    start({"master", "--listen", "127.0.0.1:0", "--port-file", port, "--data-dir", directory + "/data"});
    test::eventually([&] { return !test::read_file(port).empty(); });
    std::string& address = address_ = test::read_file(port);
    address.erase(address.find_last_not_of('\n') + 1);
    for (const char* name : {"w1", "w2", "w3"})
      start({"worker", "--master", address, "--name", name, "--host", name, "--chunk-dir", directory + "/" + name, "--scrub-rate",
             "0"});
    tables_ = need(storage::tables::TableClient::connect(address));
    test::eventually([&] { return tables_->create("t", {kPartitions, 3}).has_value(); });
    test::eventually([&] {
      const auto status = tables_->describe("t");
      return status && status->short_partitions == 0;
    });
  }
  storage::tables::TableClient& tables() { return *tables_; }
  const std::string& address() const { return address_; }  // of the master

  static std::string key(std::uint64_t number) {
    char text[32];
    std::snprintf(text, sizeof text, "key-%012llu", static_cast<unsigned long long>(number));
    return text;
  }
  static std::string value(Random& random) {
    std::string value(kValueBytes, 'x');
    for (char& byte : value) byte = static_cast<char>('a' + random.below(26));
    return value;
  }
  void fill(std::uint64_t first, std::uint64_t count, std::uint64_t round) {
    Random random(round);
    std::vector<storage::tables::TableWrite> batch;
    for (std::uint64_t i = first; i < first + count; ++i) {
      batch.push_back({key(i), value(random)});
      if (batch.size() >= 16'000 || i + 1 == first + count) need(tables_->put("t", std::exchange(batch, {})));
    }
  }

 private:
  std::string address_;
  std::vector<std::unique_ptr<test::Process>> processes_;
  std::shared_ptr<storage::tables::TableClient> tables_;
};

}  // namespace weft::bench
