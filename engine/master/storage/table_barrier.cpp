#include "engine/master/storage/table_barrier.hpp"

#include <utility>

#include <fmt/core.h>

#include "base/clock.hpp"

namespace weft::master {
namespace {

using namespace storage::tables;
using namespace std::chrono_literals;
constexpr auto kDeadline = 5s;
constexpr auto kLater = 100ms;

/// Of its primary's data port; empty when there is none.
std::string address_of(const PartitionStatus& partition) {
  if (partition.primary.empty()) return {};
  for (const MemberStatus& member : partition.members)
    if (member.name == partition.primary) return member.address;
  return {};
}

Error no_primary(const PartitionStatus& partition) {
  return {Code::unavailable, fmt::format("no worker can serve it{}{}", partition.fault.empty() ? "" : ": ", partition.fault)};
}

}  // namespace

// Tickets of a master that was here before are never given again.
TableBarrier::TableBarrier(rpc::Reactor& reactor, Ask ask)
    : reactor_(reactor),
      ask_(std::move(ask)),
      ticket_(static_cast<std::uint64_t>(std::chrono::system_clock::now().time_since_epoch().count())) {}

void TableBarrier::in_line(const std::string& table, Job job) {
  auto& line = lines_[table];
  line.push_back(std::move(job));
  if (line.size() == 1) next(table);
}

std::size_t TableBarrier::jobs(const std::string& table) const {
  const auto line = lines_.find(table);
  return line == lines_.end() ? 0 : line->second.size();
}

void TableBarrier::next(const std::string& table) {
  reactor_.post([this, alive = std::weak_ptr(alive_), table] {
    if (alive.expired()) return;
    const Job job = lines_.at(table).front();
    job([this, alive, table] {
      if (alive.expired()) return;
      const auto line = lines_.find(table);
      line->second.pop_front();
      if (line->second.empty())
        lines_.erase(line);
      else
        next(table);
    });
  });
}

void TableBarrier::later(std::function<void()> task) {
  const std::uint64_t id = ++next_timer_;
  timers_[id] = reactor_.after(kLater, [this, id, task = std::move(task)] {
    const auto timer = std::move(timers_.at(id));
    timers_.erase(id);
    task();
  });
}

void TableBarrier::each(const TableStatus& table, const PartitionOperation& operation, OnDone done) {
  struct All {
    std::size_t left;
    Result<void> result;
    OnDone done;
  };
  const auto all = std::make_shared<All>(All{table.partitions.size(), {}, std::move(done)});
  for (std::uint32_t p = 0; p < table.partitions.size(); ++p) {
    const auto arrived = [all, p](const Result<void>& one) {
      if (!one && all->result) all->result = fail(Error(one.error()).wrap(fmt::format("partition {}", p)));
      if (--all->left == 0) all->done(all->result);
    };
    ask_primary(table, p, operation, arrived);
  }
}

void TableBarrier::those_led(const TableStatus& table, const Partitions& partitions, const PartitionOperation& operation,
                             std::function<void(Partitions failed)> done) {
  struct All {
    std::size_t left;
    Partitions failed;
    std::function<void(Partitions)> done;
  };
  std::vector<std::uint32_t> led;
  Partitions away;  // their worker may come back in the same epoch
  for (const std::uint32_t p : partitions) {
    if (p >= table.partitions.size()) continue;
    if (address_of(table.partitions[p]).empty())
      away.insert(p);
    else
      led.push_back(p);
  }
  const auto all = std::make_shared<All>(All{led.size(), std::move(away), std::move(done)});
  if (led.empty())
    return reactor_.post([all, alive = std::weak_ptr(alive_)] {
      if (!alive.expired()) all->done(all->failed);
    });
  for (const std::uint32_t p : led)
    ask_primary(table, p, operation, [all, p](const Result<void>& one) {
      if (!one) all->failed.insert(p);
      if (--all->left == 0) all->done(all->failed);
    });
}

void TableBarrier::ask_primary(const TableStatus& table, std::uint32_t number, const PartitionOperation& operation, OnDone done) {
  const auto arrived = [alive = std::weak_ptr(alive_), done = std::move(done)](const Result<void>& one) {
    if (!alive.expired()) done(one);
  };
  const PartitionStatus& partition = table.partitions.at(number);
  const std::string address = address_of(partition);
  if (address.empty()) return reactor_.post([arrived, why = no_primary(partition)] { arrived(fail(why)); });
  ask_(address, {{table.id, number}, partition.epoch, operation}, kDeadline,
       [arrived](const Result<PartitionReply>& reply) { arrived(reply ? Result<void>() : fail(reply.error())); });
}

Result<void> check_led(const TableStatus& table) {
  for (std::uint32_t p = 0; p < table.partitions.size(); ++p)
    if (address_of(table.partitions[p]).empty()) return fail(no_primary(table.partitions[p]).wrap(fmt::format("partition {}", p)));
  return {};
}

}  // namespace weft::master
