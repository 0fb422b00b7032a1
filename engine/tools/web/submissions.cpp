#include "engine/tools/web/submissions.hpp"

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <utility>

#include <fmt/core.h>
#include <unistd.h>

#include "base/log.hpp"
#include "base/text.hpp"
#include "engine/tools/display/json_members.hpp"
#include "engine/tools/web/followed_process.hpp"

namespace weft::web {

namespace {

constexpr std::size_t kMostRunning = 64;
constexpr std::size_t kKept = 256;            // with those that have ended
constexpr std::size_t kMostArguments = 1000;  // of a program

/// An executable file in the directory, and nothing that a name could lead to elsewhere.
Result<std::string> file_of(const std::string& directory, const std::string& program) {
  if (program.empty() || program.find('/') != std::string::npos || program.find('\0') != std::string::npos ||
      program.starts_with('.'))
    return fail(Code::invalid_argument, fmt::format("program '{}' is no name of a file in --submit-dir", escaped(program)));
  std::string file = directory + "/" + program;
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(file, ignored) || ::access(file.c_str(), X_OK) != 0)
    return fail(Code::not_found, fmt::format("there is no program {} in --submit-dir", escaped(program)));
  return file;
}

Result<void> check_arguments(const std::vector<std::string>& arguments) {
  if (arguments.size() > kMostArguments)
    return fail(Code::invalid_argument, fmt::format("a program gets at most {} arguments", kMostArguments));
  if (std::any_of(arguments.begin(), arguments.end(), [](const std::string& each) { return each.find('\0') != std::string::npos; }))
    return fail(Code::invalid_argument, "no argument may have a byte 0");
  return {};
}

}  // namespace

struct Submissions::Driver {
  std::uint64_t number = 0;
  std::string program;
  std::vector<std::string> arguments;
  std::unique_ptr<FollowedProcess> process;

  void write(JsonWriter& json) const {
    const bool running = process->running();  // first: what it wrote is whole when it has ended
    tools::members(json, "submission", number, "program", program, "arguments", arguments, "state", running ? "running" : "ended");
    if (!running) tools::members(json, "exit_code", process->exit_code());
    tools::members(json, "output", process->output());
  }
};

Submissions::Submissions(std::string directory, std::string master)
    : directory_(std::move(directory)), master_(std::move(master)) {}

Submissions::~Submissions() = default;

Result<std::uint64_t> Submissions::start(const std::string& program, const std::vector<std::string>& arguments) {
  WEFT_ASSIGN(const std::string file, file_of(directory_, program));
  WEFT_TRY(check_arguments(arguments));
  const std::lock_guard lock(mutex_);
  const auto running =
      std::count_if(drivers_.begin(), drivers_.end(), [](const auto& each) { return each.second->process->running(); });
  if (static_cast<std::size_t>(running) >= kMostRunning)
    return fail(Code::resource_exhausted,
                fmt::format("{} programs run that were started over HTTP; wait until one has ended", running));
  auto driver = std::make_unique<Driver>();
  driver->program = program;
  driver->arguments = arguments;
  FollowedProcess::Options options{.path = file, .arguments = arguments};
  options.arguments.insert(options.arguments.begin(), file);
  options.arguments.insert(options.arguments.end(), {"--cluster", master_});
  WEFT_ASSIGN(driver->process, FollowedProcess::start(std::move(options)));
  driver->number = ++last_;
  Log("http").info("submission {}: started {} as process {}", driver->number, program, driver->process->id());
  drivers_.emplace(driver->number, std::move(driver));
  forget_the_oldest();
  return last_;
}

/// Of those that have ended.
void Submissions::forget_the_oldest() {
  for (auto driver = drivers_.begin(); drivers_.size() > kKept && driver != drivers_.end();)
    driver = driver->second->process->running() ? std::next(driver) : drivers_.erase(driver);
}

Result<const Submissions::Driver*> Submissions::driver(std::uint64_t number) const {
  const auto found = drivers_.find(number);
  if (found == drivers_.end()) return fail(Code::not_found, fmt::format("there is no submission {}", number));
  return found->second.get();
}

Result<void> Submissions::stop(std::uint64_t number) {
  const std::lock_guard lock(mutex_);
  WEFT_ASSIGN(const Driver* found, driver(number));
  found->process->signal(SIGTERM);
  return {};
}

Result<std::string> Submissions::describe(std::uint64_t number) const {
  const std::lock_guard lock(mutex_);
  WEFT_ASSIGN(const Driver* found, driver(number));
  JsonWriter json;
  json.begin_object();
  found->write(json);
  return json.end_object().text() + "\n";
}

std::string Submissions::list() const {
  const std::lock_guard lock(mutex_);
  return tools::json_line(tools::objects(drivers_, [](JsonWriter& json, const auto& each) { each.second->write(json); }));
}

}  // namespace weft::web
