#include "engine/master/core/location_table.hpp"

#include <utility>

namespace weft::master {

std::vector<shuffle::MapOutput> finished_outputs(const schedulers::StageInfo& stage) {
  std::vector<shuffle::MapOutput> outputs;
  outputs.reserve(stage.finished);
  for (std::uint32_t map = 0; map < stage.tasks.size(); ++map) {
    const schedulers::TaskInfo& task = stage.tasks[map];
    if (task.state == schedulers::TaskState::finished) outputs.push_back({map, task.attempt(), task.node});
  }
  return outputs;
}

void LocationTable::clear() {
  sent_.clear();
  table_.reset();
  written_table_.reset();
  written_.clear();
  ++version_;
}

bool LocationTable::send_to(NodeId node) { return std::exchange(sent_.try_emplace(node, 0).first->second, version_) != version_; }

const OutputTable& LocationTable::outputs(const schedulers::StageInfo& stage) {
  const bool right = table_ && version_of_table_ == version_ && table_->size() == stage.finished;
  if (right) return table_;
  version_of_table_ = version_;
  table_ = std::make_shared<const std::vector<shuffle::MapOutput>>(finished_outputs(stage));
  std::vector<shuffle::Written> written;
  written.reserve(table_->size());
  for (const shuffle::MapOutput& output : *table_) written.push_back(written_by(output.map));
  written_table_ = std::make_shared<const std::vector<shuffle::Written>>(std::move(written));
  return table_;
}

void LocationTable::wrote(std::uint32_t map, shuffle::Written partitions) {
  if (map >= written_.size()) written_.resize(std::size_t{map} + 1);
  written_[map] = std::move(partitions);
}

const shuffle::Written& LocationTable::written_by(std::uint32_t map) const {
  static const shuffle::Written kNotKnown;
  return map < written_.size() ? written_[map] : kNotKnown;
}

}  // namespace weft::master
