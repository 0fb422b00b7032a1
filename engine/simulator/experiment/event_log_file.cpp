#include "engine/simulator/experiment/event_log_file.hpp"

#include <variant>

#include <fmt/core.h>

#include "base/version.hpp"
#include "engine/master/log/event_line.hpp"
#include "engine/master/log/event_log.hpp"

namespace weft::simulator::experiment {

namespace {

constexpr std::size_t kBuffer = 1u << 20;

}  // namespace

Result<EventLogFile> EventLogFile::create(const std::string& path, const std::string& scheduler) {
  auto file = NamedFile::create(path, IfExists::replace);
  if (!file) return fail(std::move(file).error().wrap("the event log"));
  EventLogFile log(std::move(*file));
  master::EventLine first;
  first.event = "log_started";
  first.version = 1;
  first.program = fmt::format("weft simulate {}", version());
  first.scheduler = scheduler;
  log.add_line(master::to_json(std::move(first)));
  return log;
}

void EventLogFile::add(master::Time at, const master::Event& event) {
  const auto* beat = std::get_if<master::WorkerHeartbeat>(&event);
  if (beat != nullptr && !beat->capacity) return;  // a replay has its own measurements
  add_line(master::event_json(at, event));
}

void EventLogFile::add(master::Time at, const master::Command& command) {
  if (const auto line = master::command_json(at, command)) add_line(*line);
}

void EventLogFile::add_line(const std::string& line) {
  (text_ += line) += '\n';
  if (text_.size() >= kBuffer) write();
}

void EventLogFile::write() {
  if (written_) written_ = file_.append(as_bytes(text_));
  text_.clear();
}

Result<void> EventLogFile::close() {
  write();
  if (written_) written_ = file_.close();
  if (!written_) return fail(std::move(written_).error().wrap("the event log"));
  return {};
}

}  // namespace weft::simulator::experiment
