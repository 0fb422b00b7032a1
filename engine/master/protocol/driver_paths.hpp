// Which files a job's command line may name, so that its driver is started where they are.
#pragma once

#include <string>
#include <vector>

namespace weft::client {

/// No more paths of a command line are looked at.
inline constexpr std::size_t kMostDriverPaths = 256;

/// What words of a command line would be as paths of files, made absolute from `directory`: words that are no options and no URLs
/// but file://PATH, and what follows the = of "--option=path". Each once, in their order. Whether they are there is not looked at.
std::vector<std::string> paths_in(const std::vector<std::string>& words, const std::string& directory);

/// The local files, directories and patterns that are given for --input of a job program, as they are written but
/// without file://.
std::vector<std::string> inputs_in(const std::vector<std::string>& words);

/// Whether --input, --output or --stats of a job program is given a local path that is relative: it means something in the
/// directory of the submission only.
bool need_directory(const std::vector<std::string>& words);

}  // namespace weft::client
