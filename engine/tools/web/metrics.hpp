// Measurements as OpenMetrics (docs/monitoring.md), for Prometheus and its kin.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "engine/master/protocol/protocol.hpp"
#include "engine/tools/web/cluster.hpp"

namespace weft::web {

inline constexpr const char* kMetricsType = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Families of samples as text. Misuse (a sample before its family) is asserted.
class Metrics {
 public:
  enum class Type : bool { gauge, counter };
  using Labels = std::initializer_list<std::pair<std::string_view, std::string_view>>;

  /// The samples that follow are of this family, and of the unit in which its name ends (bytes, seconds, …), if any.
  void family(std::string_view name, std::string_view help, Type type = Type::gauge);
  void sample(double value, Labels labels = {});
  /// A family of one sample without labels; `value` is a number.
  void single(std::string_view name, std::string_view help, auto value, Type type = Type::gauge) {
    family(name, help, type);
    sample(static_cast<double>(value));
  }
  /// Complete; nothing may be added after it.
  std::string text();

 private:
  std::string text_, name_;
  Type type_ = Type::gauge;
};

/// Of the process that asks: memory, processor time, descriptors.
void add_process(Metrics& metrics);

/// What a master knows, as values.
struct ClusterReadings {
  client::MasterList masters;
  std::vector<client::NodeStatus> nodes;
  client::JobList jobs;
  std::vector<client::GroupInfo> groups;
  client::SchedulerInfo scheduler;
  std::optional<storage::StorageReport> storage{};  // nothing: it keeps no files
};
/// Samples by worker are left out where there are more than 1,000 workers, samples by pool where there are more than 1,000 pools:
/// the sets of labels are bounded.
void add_cluster(Metrics& metrics, const ClusterReadings& state);

/// All that the master of this page serves.
Result<std::string> master_metrics(Cluster& cluster);

}  // namespace weft::web
