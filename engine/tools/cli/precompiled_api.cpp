#include "engine/tools/cli/precompiled_api.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <utility>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.hpp"
#include "base/file.hpp"
#include "runtime/worker/spawn.hpp"

namespace weft::tools {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kApi = "<weft/weft.h>";

/// What is left of the source behind spaces, lines without anything, and comments.
std::string_view behind_comments(std::string_view text) {
  while (true) {
    text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
    if (!text.starts_with("//") && !text.starts_with("/*")) return text;
    const std::string_view end = text[1] == '/' ? "\n" : "*/";
    const std::size_t at = text.find(end, 2);
    text.remove_prefix(at == std::string_view::npos ? text.size() : at + end.size());
  }
}

}  // namespace

bool begins_with_api(std::string_view source) {
  std::string_view rest = behind_comments(source);
  for (const std::string_view word : {std::string_view("#"), std::string_view("include"), kApi}) {
    rest.remove_prefix(std::min(rest.find_first_not_of(" \t"), rest.size()));
    if (!rest.starts_with(word)) return false;
    rest.remove_prefix(word.size());
  }
  return true;
}

std::vector<std::string> PrecompiledApi::words() const {
  std::error_code ignored;
  if (!fs::exists(compiled(), ignored) || !fs::exists(header_, ignored)) return {};
  const auto now = fs::file_time_type::clock::now();
  fs::last_write_time(compiled(), now, ignored);
  fs::last_write_time(header_, now, ignored);
  return {"-include", header_};
}

Result<void> PrecompiledApi::start(std::vector<std::string> compiler, const fs::path& work) {
  std::error_code ignored;
  if (fs::exists(compiled(), ignored)) return {};
  WEFT_TRY(write_file(header_, "#include <weft/weft.h>\n"));
  made_ = work / "api.gch";
  const Fd output(::open((work / "api-messages").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  if (!output.valid()) return fail(errno_error("cannot write to " + work.string(), errno));
  std::vector<std::string> words = std::move(compiler);
  words.insert(words.end(), {"-x", "c++-header", header_, "-o", made_});
  const std::string program = words.front();
  WEFT_ASSIGN(child_, runtime::spawn({.path = program,
                                      .arguments = std::move(words),
                                      .environment = {"LC_ALL=C"},
                                      .directories = {},
                                      .output = output.get()}));
  return {};
}

void PrecompiledApi::remove() {
  std::error_code ignored;
  fs::remove(compiled(), ignored);
}

void PrecompiledApi::finish() {
  if (child_ < 0) return;
  int status = 0;
  while (::waitpid(child_, &status, 0) < 0)
    if (errno != EINTR) break;
  child_ = -1;
  std::error_code ignored;
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) fs::rename(made_, compiled(), ignored);
}

void PrecompiledApi::stop() {
  if (child_ < 0) return;
  ::kill(child_, SIGKILL);
  finish();
}

}  // namespace weft::tools
