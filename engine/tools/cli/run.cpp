// weft run FILE.cpp -- ARGUMENTS: compiles the source of a job program, unless that was done before, and becomes the program.
#include <cerrno>
#include <filesystem>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "base/text.hpp"
#include "engine/tools/cli/command.hpp"
#include "engine/tools/cli/job_compiler.hpp"
#include "storage/parquet/module.hpp"

namespace weft::tools {
namespace {

struct RunOptions {
  CompileOptions compile;
  std::vector<std::string> arguments;
};

Result<void> run_source(const RunOptions& options) {
  WEFT_ASSIGN(const CompiledJob job, compile_job(options.compile));
  storage::parquet::tell_children();  // the program is not beside the module
  std::vector<std::string> words{std::filesystem::path(options.compile.source).stem().string()};
  words.insert(words.end(), options.arguments.begin(), options.arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  ::execv(job.program.c_str(), argv.data());
  return fail(errno_error("cannot run " + job.program, errno));
}

}  // namespace

void add_run(CLI::App& app, Action& action) {
  const Command<RunOptions> command(app, action, "run",
                                    "Compile the source of a job program and run it; its own options stand behind --", run_source);
  CompileOptions& compile = command.options().compile;
  command.app().add_option("FILE", compile.source, "The source: C++ with a main() that calls weft::main")->required();
  command.app().add_flag("--full", compile.full, "Show all that the compiler says, not only what concerns FILE");
  add_value(command.app(), "--compiler", compile.compiler, "PROGRAM", "The compiler, instead of the one that compiled weft");
  add_parsed(command.app(), "--cache", compile.cache_bytes, "SIZE", parse_size,
             "What compiled programs and weft's header may take in the cache, ~/.cache/weft/run, together (1GiB)");
  command.app().add_option("ARGUMENT", command.options().arguments, "Words for the program, behind --");
}

}  // namespace weft::tools
