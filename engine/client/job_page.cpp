#include "engine/client/job_page.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <system_error>

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.hpp"
#include "base/rpc/rpc.hpp"
#include "base/text.hpp"
#include "runtime/worker/spawn.hpp"

namespace weft::client {

namespace {

namespace fs = std::filesystem;

constexpr Duration kStartPatience = std::chrono::seconds(20);
constexpr std::size_t kMostSaid = 4096;

/// Beside this program, else in $PATH.
Result<std::string> program_weft() {
  std::error_code ignored;
  const fs::path beside = fs::read_symlink("/proc/self/exe", ignored).parent_path() / "weft";
  if (::access(beside.c_str(), X_OK) == 0) return beside.string();
  const char* path = std::getenv("PATH");
  for (const std::string_view directory : split(path == nullptr ? "" : path, ':'))
    if (const std::string program = std::string(directory) + "/weft"; !directory.empty() && ::access(program.c_str(), X_OK) == 0)
      return program;
  return fail(Code::not_found, "--http needs the program weft, beside this program or in $PATH; install weft, or leave --http out");
}

}  // namespace

Result<std::string> page_address(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  const std::string port = colon == std::string::npos ? text : text.substr(colon + 1);
  const std::string address = colon == std::string::npos ? "127.0.0.1:" + port : text;
  if (colon != 0 && parse_number<std::uint16_t>(port) && rpc::Endpoint::parse(address)) return address;
  return fail(Code::invalid_argument,
              fmt::format("'{}' is no address of a page; write PORT or HOST:PORT, such as 7078", escaped(text)));
}

Result<std::unique_ptr<JobPage>> JobPage::start(const std::string& http, const std::string& log) {
  WEFT_ASSIGN(const std::string address, page_address(http));
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return fail(errno_error("cannot make a pipe", errno));
  Fd output(ends[0]);
  const Fd input(ends[1]);
  runtime::SpawnOptions options;
  WEFT_ASSIGN(options.path, program_weft());
  options.arguments = {"weft", "history", log, "--follow", "--http", address, "--log", "error"};
  options.output = input.get();
  options.own_group = true;
  WEFT_ASSIGN(const pid_t process, runtime::spawn(options));
  std::unique_ptr<JobPage> page(new JobPage(process, std::move(output)));
  if (auto shown = page->wait_until_shown(); !shown) return fail(std::move(shown).error().wrap(fmt::format("--http {}", http)));
  return page;
}

/// Reads the line that says where it is, or why it is not. The other end of the pipe is open here, too: what ends is waited for.
Result<void> JobPage::wait_until_shown() {
  std::string said;
  for (const TimePoint deadline = SystemClock().now() + kStartPatience; SystemClock().now() < deadline;) {
    pollfd ready{output_.get(), POLLIN, 0};
    if (::poll(&ready, 1, 100) == 1) {
      char bytes[512];
      const ssize_t size = ::read(output_.get(), bytes, sizeof bytes);
      if (size > 0) said.append(bytes, static_cast<std::size_t>(size));
    }
    const std::size_t line = said.find('\n');
    if (const std::size_t at = std::min(said.find("http://"), said.find("https://")); at < line && line != std::string::npos) {
      url_ = said.substr(at, line - at);
      return {};
    }
    if (line != std::string::npos || said.size() > kMostSaid)
      return fail(Code::unavailable, std::string(trim(said.substr(said.starts_with("weft: ") ? 6 : 0, line))));
    if (int status = 0; ::waitpid(process_, &status, WNOHANG) == process_) {
      process_ = -1;
      return fail(Code::unavailable, "the page ended: " + runtime::describe_exit(status));
    }
  }
  return fail(Code::deadline_exceeded, "the page does not start");
}

JobPage::~JobPage() {
  if (process_ < 0) return;
  ::kill(process_, SIGKILL);  // it holds nothing that must be put in order
  while (::waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void tell_page(const std::string& job, const JobPage& page, bool quiet) {
  if (!quiet) std::fprintf(stderr, "%s: page at %s\n", job.c_str(), page.url().c_str());
}

}  // namespace weft::client
