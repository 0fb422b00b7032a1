#include "engine/master/nodes/lost_workers.hpp"

#include <algorithm>

#include <fmt/core.h>

namespace weft::master {

std::optional<std::string> LostWorkers::add(LostWorker worker) {
  const auto before =
      std::find_if(lost_.rbegin(), lost_.rend(), [&](const LostWorker& other) { return other.name == worker.name; });
  std::optional<std::string> alarm;
  if (before != lost_.rend() && worker.at - before->at < kAlarmWithin) {
    alarm = fmt::format(
        "it was lost twice within a minute ({}, then {}): see the end of its log on {}; until it is mended, stop it there, so that "
        "jobs "
        "are not given to it again",
        before->reason, worker.reason, worker.host);
  }
  const Duration now = worker.at;
  lost_.push_back(std::move(worker));
  recent(now);
  return alarm;
}

const std::deque<LostWorker>& LostWorkers::recent(Duration now) {
  while (!lost_.empty() && (lost_.size() > kMostKept || now - lost_.front().at > kKept)) lost_.pop_front();
  return lost_;
}

}  // namespace weft::master
