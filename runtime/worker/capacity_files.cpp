#include "runtime/worker/capacity_files.hpp"

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <utility>

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.hpp"
#include "base/file.hpp"

namespace weft::runtime {
namespace {

/// How much later than in Greenwich it is here now.
Duration utc_offset() {
  const std::time_t now = std::time(nullptr);
  std::tm here{};
  localtime_r(&now, &here);
  return std::chrono::seconds(here.tm_gmtoff);
}

}  // namespace

void describe_machine(protocol::Register& registration) {
  const auto number = [](int name) { return static_cast<std::uint64_t>(std::max(1L, sysconf(name))); };
  registration.processors = static_cast<std::uint32_t>(number(_SC_NPROCESSORS_ONLN));
  registration.machine_memory = number(_SC_PHYS_PAGES) * number(_SC_PAGESIZE);
}

Result<std::string> read_capacity_text(const std::string& path) {
  // O_NONBLOCK: nobody may write to a FIFO.
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.valid()) return fail(errno_error("cannot read " + path, errno));
  struct stat info {};
  if (::fstat(file.get(), &info) != 0) return fail(errno_error("cannot read " + path, errno));
  if (!S_ISREG(info.st_mode)) return fail(Code::invalid_argument, path + " is no regular file");
  std::string text(protocol::kMostCapacityText + 1, '\0');
  const ssize_t count = ::read(file.get(), text.data(), text.size());
  if (count < 0) return fail(errno_error("cannot read " + path, errno));
  if (static_cast<std::size_t>(count) == text.size())
    return fail(Code::invalid_argument, fmt::format("{} has more than {} bytes", path, protocol::kMostCapacityText));
  text.resize(static_cast<std::size_t>(count));
  return text;
}

CapacityFiles::CapacityFiles(std::string capacity, std::string forecast)
    : capacity_{std::move(capacity), {}, {}}, forecast_{std::move(forecast), {}, {}} {}

void CapacityFiles::File::look(Log& log) {
  if (path.empty()) return;
  auto read = read_capacity_text(path);
  if (read) {
    text = std::move(*read);
    error.clear();
    return;
  }
  if (const std::string why = read.error().to_string(); why != error) {
    log.warn("{}; what it said last stays", why);
    error = why;
  }
}

void CapacityFiles::devices_lost(std::uint32_t lost, std::string why) {
  devices_lost_ = lost;
  devices_why_ = std::move(why);
  devices_why_.resize(std::min<std::size_t>(devices_why_.size(), protocol::kMostCapacityText));
}

std::optional<protocol::CapacityTexts> CapacityFiles::changed() {
  if (capacity_.path.empty() && forecast_.path.empty() && devices_lost_ == 0) return std::nullopt;
  capacity_.look(log_);
  forecast_.look(log_);
  protocol::CapacityTexts texts{capacity_.text, forecast_.text, utc_offset(), devices_lost_, devices_why_};
  if (given_ == texts) return std::nullopt;
  given_ = texts;
  return texts;
}

}  // namespace weft::runtime
