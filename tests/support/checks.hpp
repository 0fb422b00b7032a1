// Small questions that many tests ask.
#pragma once

#include <algorithm>
#include <string>

#include <unistd.h>

namespace weft::test {

inline bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }
/// One line with its end.
inline bool one_line(const std::string& text) { return std::count(text.begin(), text.end(), '\n') == 1; }
inline bool exists(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

}  // namespace weft::test
