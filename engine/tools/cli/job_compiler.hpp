// Compiles the source of a job program, or finds what it was compiled to before.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "base/fd.hpp"
#include "base/result.hpp"

namespace weft::tools {

struct CompileOptions {
  std::string source;
  std::string compiler;  // empty: the one that compiled weft
  std::uint64_t cache_bytes = 1u << 30;
  bool full = false;  // print all that the compiler says, not only what concerns the source
};

struct CompiledJob {
  std::string program;
  Fd in_use;  // while it is open, in this process or one that inherits it, the program is not evicted
};

/// Where compiled programs are kept: $XDG_CACHE_HOME/weft/run, or ~/.cache/weft/run.
Result<std::filesystem::path> run_cache();

/// The program, compiled as lib/weft/job-flags beside this program's bin/ says. A program is found again by the content of the
/// source and of its own headers, the flags, the compiler, and weft's version and libraries. The least recently used ones go when
/// all take more than `cache_bytes` together. The cache has mode 0700; several processes may use it at once. What the compiler says
/// of errors goes to standard error, and the error is one line. Blocks.
Result<CompiledJob> compile_job(const CompileOptions& options);

}  // namespace weft::tools
