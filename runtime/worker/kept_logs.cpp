#include "runtime/worker/kept_logs.hpp"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <unistd.h>

#include "base/file.hpp"
#include "base/text.hpp"
#include "runtime/protocol/worker.hpp"

namespace weft::runtime {
namespace {

const std::string kEarlier = "earlier-";

/// Of which job the file is a log (WorkerContext::log_path()).
std::optional<JobId> job_of(std::string_view name) {
  constexpr std::string_view kBegin = "job-", kEnd = ".log";
  if (!name.starts_with(kBegin) || !name.ends_with(kEnd)) return std::nullopt;
  name.remove_prefix(kBegin.size());
  const auto number = parse_number<std::uint64_t>(name.substr(0, name.find('.')));
  return number ? std::optional(JobId(*number)) : std::nullopt;
}

}  // namespace

KeptLogs::KeptLogs(const WorkerContext& worker, std::size_t most) : worker_(worker), most_(most) {
  using Time = std::filesystem::file_time_type;
  std::map<JobId, Time> written;
  std::error_code ignored;
  const auto directory = std::filesystem::path(worker_.log_path(JobId())).parent_path();
  for (const auto& entry : std::filesystem::directory_iterator(directory, ignored)) {
    const auto job = job_of(entry.path().filename().string());
    if (!job) continue;
    Time& last = written.try_emplace(*job, Time::min()).first->second;
    last = std::max(last, entry.last_write_time(ignored));
  }
  std::vector<std::pair<Time, JobId>> jobs;
  for (const auto& [job, last] : written) jobs.emplace_back(last, job);
  std::sort(jobs.begin(), jobs.end());
  for (const auto& [last, job] : jobs) jobs_.push_back(job);
  trim();
}

void KeptLogs::numbered(std::uint64_t numbering) {
  namespace fs = std::filesystem;
  if (numbering == 0) return;
  const auto directory = fs::path(worker_.log_path(JobId())).parent_path();
  const std::string mark = directory / "numbering", now = std::to_string(numbering);
  const auto before = read_file(mark);
  if (before && *before == now) return;
  if (before || numbering != protocol::kKeptNumbering) {  // otherwise both are of an earlier release, and go on
    std::vector<fs::path> logs, earlier;
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(directory, ignored)) {
      const std::string name = entry.path().filename().string();
      if (name.starts_with(kEarlier)) earlier.push_back(entry.path());
      if (job_of(name)) logs.push_back(entry.path());
    }
    for (const fs::path& log : earlier) fs::remove(log, ignored);
    for (const fs::path& log : logs) {
      fs::rename(log, directory / (kEarlier + log.filename().string()), ignored);
      fs::remove(log, ignored);  // what could not be renamed must not be shown either
    }
    jobs_.clear();
  }
  (void)write_file(mark, now);
}

void KeptLogs::begun(JobId job) { std::erase(jobs_, job); }

void KeptLogs::ended(JobId job) {
  begun(job);
  jobs_.push_back(job);
  trim();
}

void KeptLogs::trim() {
  const std::size_t gone = jobs_.size() - std::min(jobs_.size(), most_);
  for (std::size_t i = 0; i < gone; ++i) {
    unlink(worker_.log_path(jobs_[i]).c_str());
    unlink(worker_.driver_log_path(jobs_[i]).c_str());
  }
  jobs_.erase(jobs_.begin(), jobs_.begin() + static_cast<std::ptrdiff_t>(gone));
}

}  // namespace weft::runtime
