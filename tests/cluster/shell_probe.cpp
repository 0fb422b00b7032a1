// A job program whose tasks run a shell script: for tests of what user code must not be able to do.
#include <array>
#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string>

#include <signal.h>
#include <sys/wait.h>
#include <weft/weft.h>

namespace {

struct Options {
  std::string script;
  std::uint32_t tasks = 1;
};

void declare(weft::Arguments& arguments, Options& options) {
  arguments.option("script", options.script, "What each task has /bin/sh do; its output is the task's record").required();
  arguments.option("--tasks", options.tasks, "How many");
}

/// What the script printed. Throws the last line of it when the script fails.
std::string output_of(const std::string& script) {
  sigset_t none;  // the thread of a task has signals blocked, which a shell inherits: it would never hear of its children's ends
  sigemptyset(&none);
  pthread_sigmask(SIG_SETMASK, &none, nullptr);
  FILE* const pipe = popen(("exec 2>&1\n" + script).c_str(), "r");
  if (pipe == nullptr) throw std::runtime_error("no shell can be started");
  std::string text;
  std::array<char, 4096> room;
  for (std::size_t got = 0; (got = fread(room.data(), 1, room.size(), pipe)) != 0;) text.append(room.data(), got);
  const int status = pclose(pipe);
  if (status == 0) return text;
  while (text.ends_with('\n')) text.pop_back();
  throw std::runtime_error("the script failed: " + text.substr(text.rfind('\n') + 1));
}

void define(weft::Flow& flow, const Options& options) {
  const auto printed = flow.generate(
                               options.tasks, [options](std::uint64_t) { return output_of(options.script); }, options.tasks)
                           .collect();
  for (const std::string& text : printed) std::fputs(text.c_str(), stdout);
}

}  // namespace

int main(int argc, char** argv) { return weft::main<Options>(argc, argv, "Runs a script in each task", declare, define); }
