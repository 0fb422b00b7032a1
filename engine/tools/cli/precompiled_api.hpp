// <weft/weft.h> compiled beforehand, which saves each job program a second or two of its compiler's time.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "base/result.hpp"

namespace weft::tools {

/// True if the first directive of the source includes <weft/weft.h>, so that nothing changes when it is read before everything
/// else.
bool begins_with_api(std::string_view source);

/// The precompiled header in a directory of compiled programs. It may be missing: a compiler that does not find it, or cannot use
/// it, reads the header itself.
class PrecompiledApi {
 public:
  static constexpr std::string_view kEnding = ".gch";
  /// About what it takes.
  static constexpr std::uint64_t kBytes = 128u << 20;

  /// `key` names what it is compiled with: another compiler, other flags, another weft have another one.
  PrecompiledApi(const std::filesystem::path& cache, const std::string& key) : header_(cache / ("api-" + key + ".hpp")) {}
  ~PrecompiledApi() { stop(); }
  PrecompiledApi(const PrecompiledApi&) = delete;
  PrecompiledApi& operator=(const PrecompiledApi&) = delete;

  /// For the compiler of a program: none if the header is not there. Using it makes it the one that was used last.
  std::vector<std::string> words() const;

  /// Begins to compile it into the directory `work`, unless it is there. `compiler` is the compiler and its flags.
  Result<void> start(std::vector<std::string> compiler, const std::filesystem::path& work);
  /// Removes one that cannot be read.
  void remove();
  /// Waits for what start() began. One that cannot be compiled is left out.
  void finish();

 private:
  std::filesystem::path compiled() const { return header_.string() + std::string(kEnding); }
  void stop();

  const std::filesystem::path header_;  // of one line
  std::filesystem::path made_;
  pid_t child_ = -1;
};

}  // namespace weft::tools
